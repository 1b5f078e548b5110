"""Every profile on real servers: they count for a transaction of ours what they count for sysbench's."""

import asyncio
import re
import shutil
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from tests.integration.support import sbtest
from tests.paths import DOCS
from tuibench.load.tables import check_tables_ready, drop_tables, prepare_tables
from tuibench.model.server import Target
from tuibench.model.sysbench import SYSBENCH_TESTS
from tuibench.mysql.connection import Connection, PreparedStatement, TextStatement
from tuibench.servers.server import PrivateServer
from tuibench.workload import library
from tuibench.workload.compiler import compile_profile
from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.program import Program, flat_statements

EVENTS = 20
COUNTED = ("begin", "commit", "rollback", "select", "insert", "update", "delete")
SYSBENCHS = [
    name
    for name in library.available_profiles()
    if name in SYSBENCH_TESTS and library.load_profile(name).data_set == "sbtest"
]
SIZE = {"tables": 2, "table_size": 2000}
PAGE = DOCS / "profiles.md"

CASES = [(name, "off") for name in SYSBENCHS]
CASES += [(name, "on") for name in ("oltp_read_write", "oltp_read_only", "oltp_write_only")]

needs_sysbench = pytest.mark.skipif(shutil.which("sysbench") is None, reason="no sysbench program here")


class Engine:
    """Plays transactions over one connection, as `generate` prescribes."""

    def __init__(self, connection: Connection, program: Program, number: int = 0) -> None:
        self._connection = connection
        self._program = program
        self._flat = flat_statements(program)
        self._generator = TransactionGenerator(program, 1, number)
        self._ready: dict[int, PreparedStatement | TextStatement] = {}

    async def play(self) -> list[tuple[str, int]]:
        """One transaction: the statements' names with the rows they affected."""
        which = self._generator.draw()
        done: list[tuple[str, int]] = []
        talk, answer = self._generator.start_interactive(which), None
        while True:
            try:
                index, values = talk.send(answer)
            except StopIteration:
                return done
            flat = self._flat[index]
            answer = await self._fetch(flat.sql, values) if flat.captures else None
            affected = len(answer) if answer is not None else await self._execute(index, values)
            done.append((flat.name, affected))

    async def _execute(self, index: int, values: tuple[Any, ...]) -> int:
        flat = self._flat[index]
        if index not in self._ready:
            self._ready[index] = await sbtest.ready(self._connection, flat)
        return await sbtest.run(self._connection, self._ready[index], values)

    async def _fetch(self, sql: str, values: tuple[Any, ...]) -> Sequence[Sequence[Any]]:
        parts = sql.split("?")
        quoted = [self._connection.quote(value) for value in values]
        return await self._connection.query("".join(a + b for a, b in zip(parts, [*quoted, ""], strict=True)))


async def sysbench(target: Target, test: str, command: str, *options: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "sysbench", test, f"--mysql-socket={target.socket}", f"--mysql-user={target.user}",
        f"--mysql-password={target.password}", f"--mysql-db={target.database}", *options, command,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output = (await process.communicate())[0].decode()
    assert process.returncode == 0, output
    return output


async def counters(connection: Connection) -> dict[str, int]:
    names = ", ".join(f"'Com_{name}'" for name in COUNTED)
    rows = await connection.query(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")
    return {name: int(value) for name, value in rows}


async def counted(target: Target, work: Any) -> dict[str, int]:
    """What the server counted meanwhile, statement by statement."""
    async with sbtest.connected(target) as watcher:
        before = await counters(watcher)
        await work
        return {name: value - before[name] for name, value in (await counters(watcher)).items()}


async def play(target: Target, program: Program, events: int = EVENTS) -> None:
    async with sbtest.connected(target) as connection:
        engine = Engine(connection, program)
        for _ in range(events):
            await engine.play()


def given(name: str) -> tuple[dict[str, object], list[str]]:
    """The options for us and for sysbench, which refuses more than one table for the random selects."""
    options = {**SIZE, "tables": 1} if name.startswith("select") else SIZE
    return dict(options), [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]


@pytest.mark.parametrize(("name", "skip_trx"), CASES)
@pytest.mark.sysbench
@needs_sysbench
@pytest.mark.one_flavour
async def test_the_server_counts_the_same_as_for_sysbench(
    server: PrivateServer, name: str, skip_trx: str
) -> None:
    options, written = given(name)
    program = library.load_program(name, {**options, "skip_trx": skip_trx})
    async with sbtest.empty_database(server.target, "counts") as target:
        await prepare_tables(target, program)
        ours = await counted(target, play(target, program))
        run = sysbench(
            target, name, "run", *written, f"--skip-trx={skip_trx}", "--time=0", f"--events={EVENTS}",
        )  # fmt: skip
        assert ours == await counted(target, run)
        assert sum(ours.values()) >= EVENTS


@pytest.mark.one_flavour
@pytest.mark.parametrize("auto_inc", ["on", "off"])
async def test_inserts_bring_rows(server: PrivateServer, auto_inc: str) -> None:
    program = library.load_program("oltp_insert", {**SIZE, "auto_inc": auto_inc})
    async with sbtest.empty_database(server.target, "inserts") as target:
        await prepare_tables(target, program)
        async with sbtest.connected(target) as connection:
            await check_tables_ready(connection, program)
            assert await rows(connection, program) == (4000 if auto_inc == "on" else 0)
            engine = Engine(connection, program)
            assert [await engine.play() for _ in range(100)] == [[("insert", 1)]] * 100
            assert await rows(connection, program) == (4100 if auto_inc == "on" else 100)


async def rows(connection: Connection, program: Program) -> int:
    counts = [await connection.query(f"SELECT COUNT(*) FROM {table}") for table in program.tables]
    return sum(int(count[0][0]) for count in counts)


@pytest.mark.one_flavour
async def test_deletes_take_rows_and_say_when_there_was_none(server: PrivateServer) -> None:
    program = library.load_program("oltp_delete", {"tables": 1, "table_size": 50})
    async with sbtest.empty_database(server.target, "deletes") as target:
        await prepare_tables(target, program)
        async with sbtest.connected(target) as connection:
            engine = Engine(connection, program)
            affected = [(await engine.play())[0][1] for _ in range(100)]
            assert set(affected) == {0, 1}
            assert await rows(connection, program) == 50 - sum(affected)


@pytest.mark.one_flavour
async def test_bulk_inserts_fill_one_table_for_each_connection(server: PrivateServer) -> None:
    program = library.load_program("bulk_insert", {"threads": 3})
    async with sbtest.empty_database(server.target, "bulk") as target:
        await prepare_tables(target, program)
        async with sbtest.connected(target) as connection:
            await check_tables_ready(connection, program)
            engines = [Engine(connection, program, number) for number in range(4)]
            for engine in engines:
                assert await engine.play() == [("bulk_insert", 1000)]
            counts = [await connection.query(f"SELECT COUNT(*), MAX(id) FROM {t}") for t in program.tables]
            assert [count[0] for count in counts] == [(2000, 500_001_000), (1000, 1000), (1000, 1000)]
        assert (await drop_tables(target, program)).dropped == program.tables


@pytest.mark.sysbench
@needs_sysbench
async def test_bulk_inserts_tables_are_sysbenchs(server: PrivateServer) -> None:
    program = library.load_program("bulk_insert", {"threads": 2})
    async with (
        sbtest.empty_database(server.target, "by_sysbench") as theirs,
        sbtest.empty_database(server.target, "by_tuibench") as ours,
    ):
        await sysbench(theirs, "bulk_insert", "prepare", "--threads=2")
        await prepare_tables(ours, program)
        assert await sbtest.tables(ours) == await sbtest.tables(theirs)
        for table in program.tables:
            assert await sbtest.definition(ours, table) == await sbtest.definition(theirs, table)
        output = await sysbench(ours, "bulk_insert", "run", "--threads=2", "--time=0", "--events=1000")
        assert re.search(r"total number of events: +1000", output)


@pytest.mark.one_flavour
async def test_a_profile_that_captures_runs_on_a_server(server: PrivateServer) -> None:
    """The documentation's own: rows are moved, nothing is lost, and intended rollbacks leave no trace."""
    text = next(
        block for block in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL) if '"move"' in block
    )
    program = compile_profile(library.parse_profile(text, "move.toml"), {"table_size": 500})
    async with sbtest.empty_database(server.target, "move") as target:
        await prepare_tables(target, program)
        async with sbtest.connected(target) as connection:
            before = await total(connection)
            engine = Engine(connection, program)
            endings = [(await engine.play())[-1][0] for _ in range(60)]
            assert set(endings) == {"commit", "rollback"}
            assert abs(await total(connection) - before) <= 4 * 60


async def total(connection: Connection) -> Decimal:
    return Decimal((await connection.query("SELECT SUM(k) FROM sbtest1"))[0][0])
