"""Statements of real servers: counted where the server counts them, otherwise the reason."""

from tests.integration.support.sbtest import connected, run
from tuibench.base.clock import SystemClock
from tuibench.model.server import Flavour
from tuibench.mysql.info import server_info
from tuibench.observe.statements import OFF, StatementReading, StatementSampler
from tuibench.servers.server import PrivateServer

TEXT, PREPARED = "SELECT 17 + 4", "SELECT ? + 21"
TIMES = 7


async def read(sampler: StatementSampler) -> StatementReading:
    reading = await sampler.read()
    assert reading is not None
    return reading


def calls(reading: StatementReading, words: str) -> int:
    """How often the statements with these words were called, by digests and prepared statements alike."""
    found = [each.calls for each in reading.totals.values() if words in each.text.replace("`", "")]
    return sum(found)


async def test_calls_of_both_kinds_are_counted(server: PrivateServer) -> None:
    async with connected(server.target) as connection:
        info = await server_info(connection)
        sampler = StatementSampler(server.target, SystemClock(), info.flavour)
        try:
            before = await read(sampler)
            prepared = await connection.prepare(PREPARED)
            for _ in range(TIMES):
                await connection.query(TEXT)
                await run(connection, prepared, (5,))
            after = await read(sampler)
        finally:
            await sampler.close()
    if OFF in after.gaps:
        assert info.flavour is Flavour.MARIADB
        assert after.totals == {}
        return
    assert calls(after, "? + ?") - calls(before, "? + ?") >= 2 * TIMES
    assert info.flavour is not Flavour.MYSQL or any(each.distribution for each in after.totals.values())
