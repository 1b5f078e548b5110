"""One round of questions: what is refused is a gap, what is written meanwhile is noticed."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests import examples
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, Row
from tuibench.tuning.preflight.reader import read_server, read_writes_again

OWN_ID = 7
ANSWERS: dict[str, Sequence[Row]] = {
    "SHOW GLOBAL VARIABLES": [("max_connections", "151"), ("read_only", "OFF")],
    "SHOW GLOBAL STATUS": [("Threads_connected", "3"), ("Com_insert", "10"), ("Com_update", "5")],
    "SHOW GRANTS": [("GRANT PROCESS ON *.* TO `app`@`%`",)],
    "SHOW PROCESSLIST": [
        (OWN_ID, "app", "localhost", "sbtest", "Query", 0, "", "SHOW PROCESSLIST", 0.0),
        (8, "shop", "web:1", "shop", "Query", 2, "updating", "UPDATE t SET a=1", 0.0),
        (9, "idle", "web:2", None, "Sleep", 60, "", None, 0.0),
    ],
    "SELECT @@SESSION.max_user_connections": [(20,)],
    "SHOW SLAVE HOSTS": [(2, "r1", 3306, 1)],
    "SHOW REPLICAS": [(2, "r1", 3306, 1, "uuid")],
    "SELECT UNIX_TIMESTAMP": [(1_700_000_003.5,)],
}


class Asked(Connection):
    """Answers by the beginning of the statement; what is not in `answers` is refused."""

    def __init__(self, answers: dict[str, Sequence[Row]]) -> None:
        super().__init__(None, Target(user="app", database="sbtest"))
        self.answers = dict(answers)
        self.sent: list[str] = []
        self.lost = False

    @property
    def thread_id(self) -> int:
        return OWN_ID

    async def query(self, sql: str) -> Sequence[Row]:
        self.sent.append(sql)
        if self.lost:
            raise ConnectionLostError(2013, "gone")
        for beginning, rows in self.answers.items():
            if sql.startswith(beginning):
                wanted = set(re.findall(r"'(\w+)'", sql))
                return [row for row in rows if not wanted or row[0] in wanted]
        raise SQLError(1227, "access denied")


def times(*values: float) -> Any:
    """A clock that says these times."""
    return iter(values).__next__


async def test_all_facts_in_one_round() -> None:
    connection = Asked(ANSWERS)
    facts = await read_server(
        connection,
        examples.SERVER,
        wall_seconds=times(1_700_000_000, 1_700_000_002),
        monotonic_seconds=times(5.0),
    )
    assert len(connection.sent) == 7
    assert facts.variables["max_connections"] == "151"
    assert facts.status == {"Threads_connected": 3}
    assert facts.writes == {"Com_insert": 10, "Com_update": 5}
    assert [(client.id, client.is_busy) for client in facts.clients or ()] == [(8, True), (9, False)]
    assert (facts.replicas, facts.clock_ahead_seconds, facts.database) == (1, 2.5, "sbtest")
    assert facts.sees_all
    assert (facts.user, facts.user_connections) == ("app", 20)


@pytest.mark.parametrize(
    ("flavour", "version", "words"),
    [
        (Flavour.MARIADB, "11.8.2", "SHOW SLAVE HOSTS"),
        (Flavour.MYSQL, "8.0.21", "SHOW SLAVE HOSTS"),
        (Flavour.MYSQL, "9.7.1", "SHOW REPLICAS"),
    ],
)
async def test_each_server_is_asked_for_replicas_in_its_words(
    flavour: Flavour, version: str, words: str
) -> None:
    connection = Asked(ANSWERS)
    await read_server(connection, msgspec.structs.replace(examples.SERVER, flavour=flavour, version=version))
    assert words in connection.sent


async def test_what_may_not_be_seen_is_a_gap() -> None:
    facts = await read_server(Asked({}), examples.SERVER)
    assert (facts.variables, facts.status, facts.grants, facts.clients) == ({}, {}, None, None)
    assert (facts.replicas, facts.clock_ahead_seconds, facts.written) == (0, None, 0)


async def test_a_lost_connection_is_reported() -> None:
    connection = Asked(ANSWERS)
    connection.lost = True
    with pytest.raises(ConnectionLostError):
        await read_server(connection, examples.SERVER)


async def test_a_second_look_notices_writes_and_keeps_who_was_busy_before() -> None:
    connection = Asked(ANSWERS)
    facts = await read_server(connection, examples.SERVER, monotonic_seconds=times(5.0))
    connection.answers["SHOW GLOBAL STATUS"] = [("Com_insert", "14"), ("Com_update", "2")]
    connection.answers["SHOW PROCESSLIST"] = [(9, "idle", "web:2", "shop", "Query", 0, "", "SELECT 1", 0.0)]
    later = await read_writes_again(connection, facts, monotonic_seconds=times(5.75))
    assert (later.written, later.watched_seconds) == (4, 0.75)
    assert sorted(client.id for client in later.busy) == [8, 9]
    assert len(connection.sent) == 7 + 2
