"""Reading statements of a scripted server, of either flavour."""

from collections.abc import Sequence

from tests.unit.observe.fakes import TARGET, FakeClock
from tuibench.errors import SQLError
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, Row
from tuibench.observe.activity.statements import (
    DIGEST,
    EXECUTED_NOTE,
    NO_HISTOGRAMS,
    OFF,
    PREPARED,
    PREPARED_NOTE,
    StatementSampler,
)

PLAIN = ("sbtest abc", "SELECT `c` FROM `t` WHERE `id` = ?", 7, 9_000_000, 1_000_000, 70)
EXECUTE = ("sbtest def", "EXECUTE SELECT ?", 3, 5_000_000, 0, 3)
OURS = ("sbtest fff", "SELECT ? FROM `performance_schema` . `x`", 1, 99, 0, 0)
NAMELESS = (" ", None, 5, 5, 5, 5)
INSTANCE = ("SELECT c FROM t WHERE id=? AND k=5", 2, 4_000_000, 0, 20)


class Scripted:
    """A server with a performance schema."""

    thread_id = 5
    statements = 0

    def __init__(self, digests: Sequence[Row], *, is_on: bool = True, counts_cpu: bool = True) -> None:
        self._digests = digests
        self._is_on = is_on
        self._counts_cpu = counts_cpu
        self.asked: list[str] = []

    def quote(self, value: str) -> str:
        return f"'{value}'"

    async def query(self, sql: str) -> Sequence[Row]:
        self.asked.append(sql)
        if sql.startswith("SHOW"):
            return (("performance_schema", "ON" if self._is_on else "OFF"),)
        if "CPU_TIME" in sql and not self._counts_cpu:
            raise SQLError(1054, "Unknown column 'SUM_CPU_TIME'")
        cpu = (2_000_000,) if "CPU_TIME" in sql else (None,)
        if "summary_by_digest" in sql:
            return [(*row, *cpu) for row in self._digests]
        if "prepared_statements_instances" in sql:
            return [(*INSTANCE, *cpu), (*INSTANCE, *cpu)]
        return [("sbtest abc", 250_000_000, 6), ("sbtest abc", 900_000_000, 1)]

    async def close(self) -> None:
        return


def sampler(server: Scripted, flavour: Flavour = Flavour.MYSQL) -> StatementSampler:
    async def log_in(target: Target) -> Connection:
        return server  # type: ignore[return-value]

    return StatementSampler(TARGET, FakeClock(), flavour, log_in=log_in)


async def test_digests_and_their_distributions() -> None:
    server = Scripted((PLAIN, EXECUTE, OURS, NAMELESS))
    reading = await sampler(server).read()
    assert reading is not None
    assert set(reading.totals) == {"sbtest abc", "sbtest def"}
    plain = reading.totals["sbtest abc"]
    assert (plain.source, plain.calls, plain.rows_examined, plain.cpu_ps) == (DIGEST, 7, 70, 2_000_000)
    assert reading.distributions == {"sbtest abc": {250: 6, 900: 1}}
    assert reading.gaps == (EXECUTED_NOTE,)
    assert "SCHEMA_NAME = 'sbtest' AND DIGEST = 'abc'" in server.asked[-1]
    assert not any("prepared_statements_instances" in sql for sql in server.asked)


async def test_prepared_statements_of_one_text_are_added_up_where_digests_lack_them() -> None:
    reading = await sampler(Scripted((PLAIN,))).read()
    assert reading is not None
    prepared = reading.totals[f"{PREPARED} SELECT c FROM t WHERE id=? AND k=?"]
    assert (prepared.calls, prepared.time_ps, prepared.rows_examined) == (4, 8_000_000, 40)
    assert PREPARED_NOTE in reading.gaps


async def test_a_server_without_cpu_times() -> None:
    reading = await sampler(Scripted((PLAIN,), counts_cpu=False)).read()
    assert reading is not None
    assert {each.cpu_ps for each in reading.totals.values()} == {None}


async def test_mariadb_has_no_distributions() -> None:
    reading = await sampler(Scripted((PLAIN,)), Flavour.MARIADB).read()
    assert reading is not None
    assert (reading.distributions, NO_HISTOGRAMS in reading.gaps) == ({}, True)


async def test_a_server_that_counts_nothing_says_so() -> None:
    server = Scripted((PLAIN,), is_on=False)
    reading = await sampler(server).read()
    assert reading is not None
    assert (reading.totals, reading.gaps, len(server.asked)) == ({}, (OFF,), 1)
