"""`tuibench crash` on real servers: what a kill loses, a ledger that is lied to, and nothing left behind."""

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from tests.integration.features.crash.proxy import Spoil, SpoilingProxy
from tests.integration.support.commands import finished, started, wait_for_output
from tests.integration.support.processes import until
from tests.integration.support.shared import Starter
from tests.validation import check_valid
from tuibench.base.clock import SystemClock
from tuibench.base.errors import UsageError
from tuibench.features.crash.runner import CrashRunner, check_possible
from tuibench.features.sweep.planning import build_variants
from tuibench.load.asyncio_engine import AsyncioEngine
from tuibench.load.commit_ledger import (
    LEDGER_COLUMNS,
    LEDGER_TABLE,
    CommitLedger,
    judge_commits,
    ledger_connector,
    with_ledger,
)
from tuibench.load.messages import StartLoad, execution_options
from tuibench.load.tables import prepare_tables
from tuibench.model.findings import CommitFates, Crash
from tuibench.model.plan import Arrival, OnError, RunPlan
from tuibench.model.server import Target
from tuibench.mysql.connection import connect
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

OPTIONS = {"tables": 1, "table_size": 500}
PLAN = RunPlan(
    profile="oltp_write_only",
    threads=4,
    rate=100.0,
    seconds=0.5,
    warmup_seconds=0.25,
    on_error=OnError.CONTINUE,
)
FLUSH = "innodb_flush_log_at_trx_commit=1,2,0"
NEVER_FLUSHED = ("innodb_flush_log_at_trx_commit=0", "innodb_flush_log_at_timeout=100")
LONGEST_LOSS_SECONDS = 1.5
MINUTES = 180.0
COMMANDS = (
    "oltp_write_only", "--tables=1", "--table-size=500", "--time=0.5", "--warmup-time=0.25", "--rate=100",
    "--threads=4",
)  # fmt: skip


async def crashes(start: Starter, binary: Binary, settings: tuple[str, ...], repeats: int) -> list[Crash]:
    """Crashes of a server of the test's own."""
    program = library.load_program("oltp_write_only", OPTIONS)
    async with await start(binary) as server:
        await prepare_tables(server.target, program)
        runner = CrashRunner(server, PLAN, with_ledger(program), build_variants("", settings), repeats)
        reports = [report async for report in runner.crashes()]
    assert [len(report.crashes) for report in reports] == list(range(1, runner.planned + 1))
    return list(reports[-1].crashes)


def check_consistent(crash: Crash) -> None:
    """What holds for every crash, whatever it loses."""
    assert crash.commits.acknowledged > 0
    assert crash.commits.unexplained == 0
    assert 0 < crash.accepts_seconds <= (crash.first_commit_seconds or 0)
    assert crash.recovered_seconds is not None
    assert 0 < crash.ledger_share < 1
    assert crash.binlog is not None
    assert crash.binlog.only_in_tables == 0


@pytest.mark.one_flavour
async def test_without_a_flush_a_kill_loses_commits_that_the_binary_log_has(
    start: Starter, binary: Binary
) -> None:
    (crash,) = await crashes(start, binary, NEVER_FLUSHED, 1)
    check_consistent(crash)
    assert 0 < crash.commits.lost <= crash.commits.acknowledged
    # A commit of each thread may be acknowledged after the kill.
    assert crash.commits.lost_seconds > 0 or crash.commits.lost <= PLAN.threads
    assert crash.binlog is not None
    assert 0 <= crash.binlog.only_in_binlog - crash.commits.lost <= PLAN.threads
    assert crash.values["sync_binlog"] == "1"
    assert crash.values["innodb_flush_log_at_timeout"] == "100"


@pytest.mark.whole
async def test_a_kill_loses_nothing_that_was_written_and_a_second_at_most_of_the_rest(
    start: Starter, binary: Binary
) -> None:
    found = await crashes(start, binary, (FLUSH,), 3)
    for crash in found:
        check_consistent(crash)
        assert crash.commits.lost_seconds <= LONGEST_LOSS_SECONDS
        if crash.values["innodb_flush_log_at_trx_commit"] != "0":
            assert crash.commits.lost == 0
    assert sum(crash.commits.lost for crash in found) > 0


async def kept(server: PrivateServer, through: Target) -> CommitFates:
    """The fates of the transactions of a short load whose connections go `through` a proxy."""
    program = library.load_program("oltp_write_only", OPTIONS)
    connection = await connect(server.target)
    await connection.execute(f"CREATE TABLE {LEDGER_TABLE} ({LEDGER_COLUMNS})")
    clock, ledger = SystemClock(), CommitLedger()
    engine = AsyncioEngine(
        StartLoad(
            worker=0,
            workers=1,
            target=through,
            program=with_ledger(program),
            seed=1,
            execution=execution_options(PLAN),
            arrival=Arrival.POISSON,
            limit=100,
        ),
        connect=ledger_connector(ledger, clock),
    )
    engine.set_connections(range(PLAN.threads))
    async with asyncio.timeout(60):
        await engine.finished.wait()
    await engine.stop(5)
    present = await connection.query(f"SELECT * FROM {LEDGER_TABLE}")
    await connection.execute(f"DROP TABLE {LEDGER_TABLE}")
    await connection.close()
    now_ns = clock.now_ns()
    return judge_commits(ledger, [(int(a), int(b), int(c)) for a, b, c in present], now_ns, now_ns)


@pytest.mark.one_flavour
@pytest.mark.parametrize("spoil", Spoil)
async def test_the_ledger_finds_acknowledgements_that_are_dropped_or_invented(
    tables: PrivateServer, tmp_path: Path, spoil: Spoil
) -> None:
    proxy = SpoilingProxy(tables.target, spoil)
    socket = tmp_path / "proxy.sock"
    async with proxy.listening(socket):
        fates = await kept(tables, msgspec.structs.replace(tables.target, socket=str(socket)))
    assert proxy.spoiled >= 10
    assert fates.unexplained == 0
    if spoil is Spoil.DROP:
        assert (fates.unknown, fates.unknown_committed, fates.lost) == (proxy.spoiled, proxy.spoiled, 0)
    else:
        assert (fates.unknown, fates.lost) == (0, proxy.spoiled)


@pytest.mark.whole
async def test_a_loss_of_power_loses_what_was_not_synced(
    binary: Binary, servers: Mapping[str, str], base: Path
) -> None:
    """In a process of its own, whose mounts end with it."""
    try:
        check_possible()
    except UsageError as error:
        pytest.skip(error.message)
    settings = ("--setting=innodb_flush_log_at_trx_commit=1,2", "--setting=innodb_flush_log_at_timeout=100")
    command = ("crash", *COMMANDS, f"--server={binary.path}", *settings, "--repeat=2", "--power")
    with started(*command, "--format=json", env=servers) as process:
        ended = await asyncio.to_thread(finished, process, MINUTES)
    assert ended.code == 0, ended.err
    report = check_valid("crash", ended.out)
    assert report["is_power_loss"] is True
    assert not list(base.iterdir())
    for crash in report["crashes"]:
        assert crash["commits"]["unexplained"] == 0
        is_synced = crash["values"]["innodb_flush_log_at_trx_commit"] == "1"
        assert (crash["commits"]["lost"] == 0) == is_synced


@pytest.fixture
def servers(base: Path) -> Mapping[str, str]:
    """An environment in which private servers live in a folder that must be empty afterwards."""
    return {"TMPDIR": str(base)}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("starting a private server", marks=pytest.mark.whole),
        pytest.param("loaded 1 table", marks=pytest.mark.whole),
        "[1/",
    ],
)
async def test_an_interrupt_leaves_nothing_but_the_report_so_far(
    any_binary: Binary, servers: Mapping[str, str], base: Path, words: str
) -> None:
    command = ("crash", *COMMANDS, f"--server={any_binary.path}", "--format=json")
    with started(*command, env=servers) as process:
        await asyncio.to_thread(wait_for_output, process, words)
        process.send_signal(signal.SIGINT)
        ended = await asyncio.to_thread(finished, process)
    assert ended.code == 130, ended.err
    assert await asyncio.to_thread(until, lambda: not list(base.iterdir()))
    if words == "[1/":
        assert len(check_valid("crash", ended.out)["crashes"]) < 15
    else:
        assert ended.out == ""
