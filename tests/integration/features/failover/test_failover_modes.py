"""`tuibench failover` on real servers: what each mode loses, what is refused, and nothing left behind."""

import asyncio
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import pytest

from tests.integration.support.commands import ask, finished, started, tuibench, wait_for_output
from tests.integration.support.processes import until
from tests.integration.support.shared import Starter
from tests.validation import check_valid
from tuibench.base.errors import ExitCode, UsageError
from tuibench.features.crash.runner import check_possible
from tuibench.features.failover.dialect import dialect_of
from tuibench.features.failover.gtid import GtidSet
from tuibench.features.failover.modes import Mode
from tuibench.features.failover.result import Failover
from tuibench.features.failover.runner import FailoverRunner
from tuibench.load.commit_ledger import with_ledger
from tuibench.load.tables import prepare_tables
from tuibench.model.plan import OnError, RunPlan
from tuibench.model.server import Flavour
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

OPTIONS = {"tables": 1, "table_size": 500}
PLAN = RunPlan(
    profile="oltp_write_only",
    threads=4,
    rate=30.0,
    seconds=1.0,
    warmup_seconds=1.0,
    on_error=OnError.CONTINUE,
)
"""Random arrivals: connections in step would all be between two commits now and then, without a phantom."""
COMMAND = (
    "failover", "oltp_write_only", "--tables=1", "--table-size=500", "--time=0.5", "--warmup-time=0.25",
    "--threads=4", "--format=json",
)  # fmt: skip
LAG_SECONDS = 0.5
MINUTES = 300.0


async def failovers(
    start: Starter,
    binary: Binary,
    modes: Sequence[Mode],
    *,
    replicas: int = 1,
    lag_seconds: float = LAG_SECONDS,
    semisync_timeout_seconds: float = 60.0,
) -> list[Failover]:
    """A failover in each of the modes, on servers of the test's own."""
    program = library.load_program("oltp_write_only", OPTIONS)
    dialect = dialect_of(binary, modes)
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(await start(binary, options=dialect.options(number)))
            for number in range(1, replicas + 2)
        ]
        await prepare_tables(servers[0].target, program)
        runner = FailoverRunner(
            servers,
            dialect,
            PLAN,
            with_ledger(program),
            modes,
            1,
            lag_seconds=lag_seconds,
            semisync_timeout_seconds=semisync_timeout_seconds,
        )
        await runner.prepare()
        reports = [report async for report in runner.failovers()]
    assert [failover.mode for failover in reports[-1].failovers] == list(modes)
    return list(reports[-1].failovers)


def check_consistent(failover: Failover) -> None:
    """What holds for every failover, whatever it loses."""
    fates = failover.commits
    assert fates.acknowledged > 0
    assert fates.unexplained == 0
    assert failover.errant == failover.errant_rows, "the GTID sets and the tables say the same"
    assert fates.lost <= failover.errant <= fates.lost + fates.unknown - fates.unknown_committed
    assert failover.outage_seconds is not None
    assert failover.recovered_seconds is not None
    assert failover.phantoms <= failover.errant


@pytest.mark.one_flavour
async def test_a_lagging_replica_loses_commits_unless_the_source_waits_for_it(
    start: Starter, binary: Binary
) -> None:
    """A source that waits after its own commit loses none either, but others have read what is gone."""
    found = await failovers(start, binary, (Mode.ASYNC, Mode.SEMISYNC, Mode.SEMISYNC_AFTER_COMMIT))
    for failover in found:
        check_consistent(failover)
    no_wait, after_sync, after_commit = found
    assert no_wait.commits.lost > 0
    assert no_wait.commits.lost_seconds <= 10 * LAG_SECONDS
    assert no_wait.not_received > 0
    assert no_wait.semisync is None
    assert no_wait.phantoms > 0
    assert after_sync.commits.lost == after_sync.phantoms == 0
    assert after_commit.commits.lost == 0
    assert 0 < after_commit.unacknowledged_phantoms == after_commit.phantoms <= PLAN.threads
    for failover in (after_sync, after_commit):
        assert failover.semisync is not None
        assert failover.semisync.acknowledged > 0
        assert (failover.semisync.unacknowledged, failover.semisync.fallbacks) == (0, 0)


@pytest.mark.whole
async def test_a_semisync_timeout_is_counted_and_loses_as_async_does(start: Starter, binary: Binary) -> None:
    (failover,) = await failovers(start, binary, (Mode.SEMISYNC,), semisync_timeout_seconds=0.1)
    check_consistent(failover)
    assert failover.semisync is not None
    assert failover.semisync.fallbacks >= 1
    assert 0 < failover.commits.lost <= failover.semisync.unacknowledged + PLAN.threads
    assert not failover.semisync.is_on


@pytest.mark.whole
async def test_the_other_replica_follows_the_new_primary(start: Starter, binary: Binary) -> None:
    """The load on the new primary would stand still if nobody acknowledged its commits."""
    (failover,) = await failovers(start, binary, (Mode.SEMISYNC,), replicas=2, lag_seconds=0.01)
    check_consistent(failover)
    assert failover.commits.lost == failover.phantoms == 0


@pytest.mark.whole
async def test_a_group_loses_nothing_and_its_old_primary_has_not_diverged(
    start: Starter, binary: Binary
) -> None:
    if binary.flavour is Flavour.MARIADB:
        pytest.skip("MariaDB has no group replication")
    (failover,) = await failovers(start, binary, (Mode.GROUP,), replicas=2)
    check_consistent(failover)
    assert (failover.commits.lost, failover.phantoms, failover.errant) == (0, 0, 0)


async def test_differences_of_sets_are_those_of_the_server(server: PrivateServer) -> None:
    if server.binary.flavour is Flavour.MARIADB:
        pytest.skip("MariaDB does not subtract sets")
    random = Random(7)
    uuids = [f"{number}e11fa47-71ca-11e1-9e33-c80aa9429562" for number in (3, 4)]

    def drawn() -> str:
        spans = [f"{first}-{first + random.randrange(9)}" for first in random.sample(range(1, 60), 6)]
        return ",".join(f"{random.choice(uuids)}:{span}" for span in spans)

    for _ in range(50):
        one, two = drawn(), drawn()
        ((difference,),) = await ask(server.target, f"SELECT GTID_SUBTRACT('{one}', '{two}')")
        assert GtidSet.of_mysql(one) - GtidSet.of_mysql(two) == GtidSet.of_mysql(str(difference))


def test_a_group_of_mariadb_is_refused_before_anything_starts(mariadb_binary: Binary) -> None:
    ended = tuibench(*COMMAND, f"--server={mariadb_binary.path}", "--mode=async,group")
    assert ended.code == ExitCode.USAGE_ERROR
    assert "has no group replication, which is MySQL's" in ended.err
    assert "starting" not in ended.err


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--mode=sync", "--mode is one of async, semisync, semisync-after-commit, group, not 'sync'"),
        ("--lag=-1", "--lag must be between 0 and 60"),
        ("--semisync-timeout=0", "--semisync-timeout must be between 0.001 and 3,600"),
        ("--replicas=0", "--replicas must be between 1 and 5"),
        ("--repeat=0", "--repeat must be between 1 and 1,000"),
    ],
)
def test_an_option_out_of_range_is_refused(option: str, words: str) -> None:
    ended = tuibench(*COMMAND, option)
    assert ended.code == ExitCode.USAGE_ERROR
    assert words in ended.err


@pytest.fixture
def servers(base: Path) -> Mapping[str, str]:
    """An environment in which private servers live in a folder that must be empty afterwards."""
    return {"TMPDIR": str(base)}


@pytest.mark.whole
def test_a_missing_plugin_is_named(binary: Binary, servers: Mapping[str, str], base: Path) -> None:
    if binary.flavour is Flavour.MARIADB:
        pytest.skip("MariaDB is semi-synchronous without a plugin")
    elsewhere = f"--mysqld-option=plugin_dir={base.parent}"
    ended = tuibench(*COMMAND, f"--server={binary.path}", elsewhere, env=servers, seconds=MINUTES)
    assert ended.code == ExitCode.SERVER_UNAVAILABLE
    assert "this MySQL does not have the plugin rpl_semi_sync_source" in ended.err
    assert until(lambda: not list(base.iterdir()))


@pytest.mark.whole
def test_a_source_that_loses_its_power_has_not_diverged_by_what_it_had_not_synced(
    binary: Binary, servers: Mapping[str, str], base: Path
) -> None:
    """In a process of its own, whose mounts end with it."""
    try:
        check_possible()
    except UsageError as error:
        pytest.skip(error.message)
    relaxed = ("sync_binlog=0", "innodb_flush_log_at_trx_commit=2", "innodb_flush_log_at_timeout=100")
    command = (
        *COMMAND, "--power", "--mode=async", "--repeat=1", f"--lag={LAG_SECONDS}", f"--server={binary.path}",
        *(f"--mysqld-option={option}" for option in relaxed),
    )  # fmt: skip
    ended = tuibench(*command, env=servers, seconds=MINUTES)
    assert ended.code == 0, ended.err
    report = check_valid("failover", ended.out)
    assert report["is_power_loss"] is True
    (failover,) = report["failovers"]
    assert failover["errant"] == failover["errant_rows"] < failover["commits"]["lost"]
    assert until(lambda: not list(base.iterdir()))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, "[1/"),
        pytest.param(signal.SIGTERM, "failovers: ", marks=pytest.mark.whole),
        pytest.param(signal.SIGKILL, "[1/", marks=pytest.mark.whole),
    ],
)
async def test_a_signal_leaves_no_server_but_the_report_so_far(
    any_binary: Binary, servers: Mapping[str, str], base: Path, number: signal.Signals, words: str
) -> None:
    with started(*COMMAND, f"--server={any_binary.path}", "--lag=0.1", env=servers) as process:
        await asyncio.to_thread(wait_for_output, process, words)
        process.send_signal(number)
        ended = await asyncio.to_thread(finished, process)
    assert await asyncio.to_thread(until, lambda: not list(base.iterdir()))
    if number == signal.SIGKILL:
        return
    assert ended.code == ExitCode.INTERRUPTED, ended.err
    if words == "[1/":
        report = check_valid("failover", ended.out)
        assert 1 <= len(report["failovers"]) < report["planned"] == 15
    else:
        assert ended.out == ""
