"""Statement digests: what grew meanwhile, and what MariaDB keeps no digests of."""

from typing import Any, cast

from tests.virtual import VirtualClock, in_no_time
from tuibench.mysql.connection import Connection
from tuibench.observe.server.digest_reader import DigestCount, read_digests


class Server:
    """A server whose figures are ten times as large at the second look."""

    def __init__(self, prefix: str, executions: list[int]) -> None:
        self._prefix = prefix
        self._executions = executions
        self._times = 1

    def quote(self, text: str) -> str:
        return f"'{text}'"

    async def query(self, sql: str) -> list[tuple[Any, ...]]:
        if "statement/com/Execute" in sql:
            return [(self._executions.pop(0),)] if self._executions else []
        times, self._times = self._times, self._times * 10
        return [("a", f"{self._prefix}SELECT ?", times, 1.0, 2.0), ("b", "PREPARE SELECT ?", 1, 1.0, 2.0)]


def test_executions_that_mariadb_keeps_no_digests_of_are_counted() -> None:
    async def scenario(clock: VirtualClock) -> None:
        found = await read_digests(cast(Connection, Server("", [40, 100])), "shop", 5.0, clock)
        assert found.digests == (DigestCount("SELECT ?", 9),)
        assert (found.seconds, found.unseen) == (5.0, 60)

    in_no_time(scenario)


def test_mysql_has_digests_of_them() -> None:
    async def scenario(clock: VirtualClock) -> None:
        found = await read_digests(cast(Connection, Server("EXECUTE ", [])), "shop", 0.0, clock)
        assert found.digests == (DigestCount("SELECT ?", 1),)
        assert found.unseen == 0

    in_no_time(scenario)
