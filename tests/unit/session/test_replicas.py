"""Replication as source and replica show it."""

import asyncio
from typing import Any

import pytest

from tests.fakes import FakeClock
from tests.unit.observe.fakes import TARGET
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.clock import Clock
from tuibench.base.errors import RunError, SQLError
from tuibench.model.message import ReplicaChoice
from tuibench.model.server import Endpoint, Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import AccessDeniedError
from tuibench.observe.status import MonitoringConnection
from tuibench.session import replicas as monitor
from tuibench.session.replicas import (
    LogPosition,
    ReplicaMonitor,
    ReplicaReader,
    behind,
    found_replicas,
    parse_status,
)

# What a source knows of its replicas.


def test_a_replica_that_reports_its_address() -> None:
    rows = [{"Server_Id": 2, "Host": "db2", "Port": 3307, "Source_Id": 1}]
    assert found_replicas(rows, ["10.0.0.9:4711"]) == {"db2:3307": Endpoint(host="db2", port=3307)}


def test_one_that_does_not_is_where_its_connection_comes_from() -> None:
    rows = [{"Server_id": 2, "Host": "", "Port": 3306}, {"Server_id": 3, "Host": "", "Port": 3307}]
    assert list(found_replicas(rows, ["10.0.0.9:1", "10.0.0.9:2"])) == [
        "10.0.0.9:3306",
        "10.0.0.9:3307",
    ]


def test_with_connections_from_several_hosts_it_has_a_name_only() -> None:
    rows = [{"Server_Id": 2, "Host": "", "Port": 3306}]
    assert found_replicas(rows, ["10.0.0.9:1", "10.0.0.8:2"]) == {"server 2": None}
    assert found_replicas(rows, []) == {"server 2": None}


@pytest.mark.parametrize(
    ("replayed", "bytes_behind"),
    [
        (LogPosition("log.2", 90), 10 + 100 + 7),
        (LogPosition("log.3", 100), 7),
        (LogPosition("log.4", 7), 0),
        (LogPosition("log.1", 0), None),
    ],
)
def test_bytes_over_several_files(replayed: LogPosition, bytes_behind: int | None) -> None:
    sizes = {"log.2": 100, "log.3": 100, "log.4": 50}
    assert behind(replayed, LogPosition("log.4", 7), sizes) == bytes_behind


def test_a_position_beyond_the_end_is_unknown() -> None:
    assert behind(LogPosition("b", 1), LogPosition("a", 1), {"a": 5, "b": 5}) is None


# What a replica says of itself, in the words of both flavours.


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


def test_a_reading_of_servers_that_are_silent_ends_within_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(target: Target) -> Connection:
        await asyncio.Event().wait()
        raise AssertionError

    def connection(target: Target, clock: Clock, **options: Any) -> MonitoringConnection:
        return MonitoringConnection(target, clock, **{**options, "log_in": hang})

    async def scenario(clock: VirtualClock) -> None:
        replicas = ReplicaMonitor(ReplicaChoice(targets=(TARGET,)), TARGET, clock)
        for _ in range(3):
            replicas.begin()
            (sample,) = await replicas.finish()
            assert sample.name == TARGET.where
            assert sample.note.startswith("no answer for ")
        await replicas.close()

    monkeypatch.setattr(monitor, "MonitoringConnection", connection)
    in_no_time(scenario)
