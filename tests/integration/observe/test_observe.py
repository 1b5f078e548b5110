"""What is observed of real servers: their counters, their variables, their process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.fakes import FakeClock
from tests.ticks import changed, known
from tests.tui.support import script
from tuibench.base.clock import SystemClock
from tuibench.base.units import DASH
from tuibench.metrics.figures import read
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.tick import HOST, Tick
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.info import server_info
from tuibench.observe.host import HostSampler, ServerProcess, find_server_process
from tuibench.observe.status import ServerObservation, StatusSampler, variable_changes
from tuibench.servers.server import PrivateServer
from tuibench.tui.figures import GROUP_HEADING, LEFT_TABLES, RIGHT_TABLES
from tuibench.tui.panels.server import TILES, table_row

ROWS = 25


@asynccontextmanager
async def sampling(server: PrivateServer) -> AsyncIterator[StatusSampler]:
    sampler = StatusSampler(server.target, SystemClock(), interval_seconds=10)
    try:
        yield sampler
    finally:
        await sampler.close()


@asynccontextmanager
async def connected(server: PrivateServer) -> AsyncIterator[Connection]:
    connection = await connect(server.target)
    try:
        yield connection
    finally:
        await connection.close()


async def insert(connection: Connection, table: str) -> None:
    """Makes the table with so many transactions of one statement each."""
    await connection.query(f"CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, n INT) ENGINE=InnoDB")
    for n in range(ROWS):
        await connection.query(f"INSERT INTO {table} (n) VALUES ({n})")
    await connection.query(f"DROP TABLE {table}")


def has_flush_global(info: ServerInfo) -> bool:
    """From MariaDB 11.5 on, FLUSH STATUS resets the counters of its session only."""
    return info.flavour is Flavour.MARIADB and info.version_tuple >= (11, 5)


def sample(observation: ServerObservation) -> Tick:
    assert observation.tick is not None, observation.last_error
    return observation.tick


async def test_who_it_is(server: PrivateServer) -> None:
    async with connected(server) as connection:
        info = await server_info(connection)
    assert info.flavour == server.binary.flavour
    assert info.version_tuple > (5, 7)
    assert (info.socket, info.is_local) == (server.target.socket, True)
    assert Path(info.datadir).is_relative_to(server.directory)
    assert info.port == server.target.port


async def test_its_statements_add_up_with_ours(server: PrivateServer) -> None:
    async with sampling(server) as sampler, connected(server) as connection:
        first = await sampler.sample()
        await insert(connection, "adding_up")
        await sampler.variables()
        last = await sampler.sample()
    asked = sample(last).levels["Questions"] - sample(first).levels["Questions"]
    assert asked - (last.own_statements - first.own_statements) == ROWS + 2


@pytest.mark.parametrize(("flush", "low", "high"), [(1, 0.9, 2.0), (0, 0.0, 0.5)])
async def test_log_fsyncs_follow_the_durability(
    server: PrivateServer, flush: int, low: float, high: float
) -> None:
    async with sampling(server) as sampler, connected(server) as connection:
        await connection.query(f"SET GLOBAL innodb_flush_log_at_trx_commit = {flush}")
        await connection.query("CREATE TABLE fsyncs (id INT PRIMARY KEY) ENGINE=InnoDB")
        await sampler.sample(transactions_total=0)
        for n in range(ROWS):
            await connection.query(f"INSERT INTO fsyncs VALUES ({n})")
        observation = await sampler.sample(transactions_total=ROWS)
        await connection.query("DROP TABLE fsyncs")
        await connection.query("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    per_transaction = read("fsyncs", sample(observation))
    assert per_transaction is not None
    assert low <= per_transaction <= high


async def test_every_figure_is_there_under_load(server: PrivateServer) -> None:
    async with sampling(server) as sampler, connected(server) as connection:
        await sampler.sample(transactions_total=0)
        await insert(connection, "figures")
        seen = sample(await sampler.sample(transactions_total=ROWS))
    names = [*(tile.figure for tile in TILES), "checkpoint_age", "fsyncs_per_second"]
    assert [name for name in names if read(name, seen) is None] == []
    assert known("questions", seen) > 0
    assert seen.levels["Com_insert"] >= ROWS


async def test_flush_status_makes_a_gap(server: PrivateServer) -> None:
    async with sampling(server) as sampler, connected(server) as connection:
        info = await server_info(connection)
        await sampler.sample()
        await connection.query(f"FLUSH {'GLOBAL ' if has_flush_global(info) else ''}STATUS")
        flushed = await sampler.sample()
        after = await sampler.sample()
    assert (flushed.counters_reset, read("questions", sample(flushed))) == (True, None)
    assert after.counters_reset is False
    assert read("questions", sample(after)) is not None


async def test_a_change_by_another_session_is_seen(server: PrivateServer) -> None:
    async with sampling(server) as sampler, connected(server) as connection:
        before = await sampler.variables()
        await insert(connection, "quiet")
        quiet = await sampler.variables()
        await connection.query("SET GLOBAL long_query_time = 7")
        after = await sampler.variables()
        await connection.query("SET GLOBAL long_query_time = DEFAULT")
    assert before is not None
    assert quiet is not None
    assert after is not None
    assert variable_changes(before, quiet) == ()
    assert [(name, new) for name, _, new in variable_changes(quiet, after)] == [
        ("long_query_time", "7.000000")
    ]


async def test_a_user_without_privileges_can_observe(server: PrivateServer) -> None:
    target = msgspec.structs.replace(server.target, user="watcher", password="watching")
    async with connected(server) as connection:
        await connection.query("CREATE USER watcher IDENTIFIED BY 'watching'")
        sampler = StatusSampler(target, SystemClock(), interval_seconds=10)
        observation, info = await sampler.sample(), await sampler.info()
        await sampler.close()
        await connection.query("DROP USER watcher")
    assert sample(observation).levels["max_connections"] > 0
    assert info is not None
    assert info.identity


async def test_its_process_is_found(server: PrivateServer) -> None:
    async with connected(server) as connection:
        info = await server_info(connection)
    for hidden in ((), ("pid_file",), ("pid_file", "socket")):
        known = msgspec.structs.replace(info, **dict.fromkeys(hidden, ""))
        assert find_server_process(known) == ServerProcess(pid=server.pid), hidden


async def test_the_servers_cpu_time_is_measured_separately(server: PrivateServer) -> None:
    clock = FakeClock()
    async with connected(server) as connection:
        found = find_server_process(await server_info(connection))
        host = HostSampler(found, lambda: (), clock)
        await connection.query("SELECT BENCHMARK(1000000, SHA2('work', 256))")
    clock.advance(1)
    tick = host.sample()
    assert tick is not None
    seen = tick.moved("", HOST)
    assert known("cpu_server", seen) is not None
    assert known("cpu_server", seen) > 0.5, "other programs may take most of the machine, never all of it"
    assert known("cpu_server", seen) + known("cpu_tuibench", seen) + known("cpu_rest", seen) == pytest.approx(
        known("cpu_total", seen)
    )
    assert seen.missing.get(HOST + "server_cpu", "") == ""


async def test_a_killed_server_is_a_gap_and_its_successor_is_known(restartable: PrivateServer) -> None:
    server = restartable
    async with sampling(server) as sampler:
        for _ in range(ROWS):
            await sampler.sample()
        await server.kill()
        gaps = [await sampler.sample() for _ in range(3)]
        await server.start_again()
        back, info = await sampler.sample(), await sampler.info()
        assert info is not None
        assert find_server_process(info) == ServerProcess(pid=server.pid)
    assert [gap.tick for gap in gaps] == [None] * 3
    assert all(gap.last_error for gap in gaps)
    assert (back.restarted, read("questions", sample(back))) == (True, None)


async def test_both_flavours_have_the_figures_of_the_server_screen(server: PrivateServer) -> None:
    async with sampling(server) as sampler:
        samples = [changed(script.samples(2)[n], server=(await sampler.sample()).tick) for n in (0, 1)]
    shown = [
        table_row(item, samples)
        for title, items in (*LEFT_TABLES, *RIGHT_TABLES)
        if title != GROUP_HEADING
        for item in items
    ]
    missing = {each.name: each.beside for each in shown if each.now == DASH}
    apart = {"Log fsyncs": "part of data fsyncs"} if server.binary.flavour is Flavour.MARIADB else {}
    assert missing.pop("hits", "no reads") == "no reads"
    assert missing == apart
