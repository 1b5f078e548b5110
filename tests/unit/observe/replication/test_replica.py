"""What a replica says of itself, in the words of both flavours."""

from typing import Any

import pytest

from tests.unit.observe.fakes import TARGET, FakeClock
from tuibench.errors import RunError, SQLError
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import AccessDeniedError
from tuibench.observe.replication.replica import ReplicaReader, parse_status
from tuibench.observe.replication.source import LogPosition

MYSQL: dict[str, Any] = {
    "Replica_IO_Running": "Yes",
    "Replica_SQL_Running": "Yes",
    "Seconds_Behind_Source": 3,
    "Relay_Source_Log_File": "binlog.000002",
    "Exec_Source_Log_Pos": 4711,
    "Replica_SQL_Running_State": "Waiting for an event",
    "Last_SQL_Error": "",
    "Last_IO_Error": "",
}
MARIADB: dict[str, Any] = {
    "Slave_IO_Running": "Yes",
    "Slave_SQL_Running": "No",
    "Seconds_Behind_Master": None,
    "Relay_Master_Log_File": "binlog.000002",
    "Exec_Master_Log_Pos": 4711,
    "Slave_SQL_Running_State": "",
    "Last_SQL_Error": "Error 'Duplicate\nentry'",
    "Last_IO_Error": "",
}


def test_a_replica_that_works() -> None:
    status = parse_status([MYSQL])
    assert (status.lag_seconds, status.is_running, status.state) == (3.0, True, "Waiting for an event")
    assert status.replayed == LogPosition("binlog.000002", 4711)


def test_one_that_stopped_says_why() -> None:
    status = parse_status([MARIADB])
    assert (status.lag_seconds, status.is_running) == (None, False)
    assert status.state == "the applier is stopped: Error 'Duplicate entry'"
    receiver = parse_status([{**MYSQL, "Replica_IO_Running": "Connecting"}])
    assert receiver.state == "the receiver is stopped"


def test_the_worst_channel_counts() -> None:
    assert parse_status([MYSQL, {**MYSQL, "Seconds_Behind_Source": 9}]).lag_seconds == 9
    assert not parse_status([MYSQL, MARIADB]).is_running


def test_a_server_that_is_none() -> None:
    with pytest.raises(RunError, match="not a replica"):
        parse_status([])


async def test_a_login_that_is_refused_is_tried_once() -> None:
    tried = []

    async def refuse(target: Target) -> Connection:
        tried.append(target)
        raise AccessDeniedError("refuses user 'ann'", "", 1045)

    reader = ReplicaReader(TARGET, FakeClock(), refuse)
    assert [await reader.read() for _ in range(3)] == [None] * 3
    assert (len(tried), reader.last_error) == (1, "refuses user 'ann'")


async def test_a_server_that_is_away_is_tried_again() -> None:
    tried = []

    async def away(target: Target) -> Connection:
        tried.append(target)
        raise SQLError(2003, "cannot reach it")

    reader = ReplicaReader(TARGET, FakeClock(), away)
    await reader.read()
    await reader.read()
    assert (len(tried), reader.last_error) == (2, "cannot reach it")
