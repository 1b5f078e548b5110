"""`--ab` and costs on real servers: what fsyncs do is certain on any machine, what TPS does is not."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.support.commands import Finished, ask, finished, started, wait_for_output
from tests.integration.support.session_process import session_spec, watched
from tests.trials import assert_holds
from tuibench.metrics.thresholds import LEVEL_SAMPLES
from tuibench.model.event import EventKind
from tuibench.model.message import StartAbTest, Stop
from tuibench.servers.server import PrivateServer

SETTING = "innodb_flush_log_at_trx_commit"
OPTIONS = (
    "--tables=2",
    "--table-size=500",
    "--threads=2",
    "--interval=0.2",
    "--window=1",
    "--client-delay=2ms",
)
CYCLES = 6
DURABLE = f"SELECT @@{SETTING}, @@sync_binlog"


def trial(tables: PrivateServer, home: Path, what: str, *more: str) -> Finished:
    with started(
        "run",
        "oltp_write_only",
        *OPTIONS,
        f"--ab={what}",
        *more,
        target=tables.target,
        env={"TUIBENCH_HOME": str(home)},
    ) as process:
        return finished(process, 120)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.one_flavour
async def test_a_trial_measures_both_values_and_puts_everything_back(
    tables: PrivateServer, home: Path, tmp_path: Path
) -> None:
    await measured_trial(tables, home, tmp_path)


@pytest.mark.whole
async def test_most_trials_find_the_fsyncs(tables: PrivateServer, home: Path, tmp_path: Path) -> None:
    """A machine with other work leaves cycles out, and then there is no verdict."""

    async def find() -> None:
        summary = await measured_trial(tables, home, tmp_path)
        fsyncs = {one["figure"]: one for one in summary["ab"]["comparisons"]}["fsyncs_per_transaction"]
        assert fsyncs["verdict"] == "lower"
        assert fsyncs["percent"] < -40
        assert_costs(summary["costs"])

    await assert_holds(find, trials=5, chance=0.95)


async def measured_trial(tables: PrivateServer, home: Path, folder: Path) -> dict[str, Any]:
    """The summary of a run with an A/B test, after which the setting is as before."""
    written = folder / "result.json"
    done = trial(tables, home, f"{SETTING}=1,0", f"--cycles={CYCLES}", f"--json={written}")
    assert done.code == 0, done.err
    assert await ask(tables.target, DURABLE) == [(1, 1)]
    summary: dict[str, Any] = json.loads(written.read_bytes())
    ab = summary["ab"]
    orders = {pair["cycle"]: pair["order"] for pair in ab["pairs"]}
    assert set(orders.values()) <= {"AB", "BA"}
    assert len(orders) == len(ab["pairs"]) == CYCLES - ab["left_out"]
    counted = [pair for pair in ab["pairs"] if all("fsyncs_per_transaction" in pair[side] for side in "ab")]
    for pair in counted:
        assert pair["a"]["fsyncs_per_transaction"] > pair["b"]["fsyncs_per_transaction"]
    assert ab["sentence"] in done.out
    return summary


def assert_costs(costs: list[dict[str, Any]]) -> None:
    """Both values were paid for, and one of them with fewer fsyncs; the binary log did not care.

    The server has fsyncs of its own each second, which a slow machine shares out among few transactions.
    """
    by_value = {cost["value"]: cost for cost in costs if cost["setting"] == SETTING}
    assert by_value["1"]["log_fsyncs"] > 0.2
    assert by_value["0"]["log_fsyncs"] < 0.6 * by_value["1"]["log_fsyncs"]
    assert all(cost["log_bytes"] > 100 for cost in by_value.values())
    (binlog,) = [cost for cost in costs if cost["setting"] == "sync_binlog"]
    assert 0.2 < binlog["binlog_syncs"] < 1.5
    assert binlog["binlog_bytes"] > 100


async def test_interrupted_it_tells_what_it_has(any_tables: PrivateServer, home: Path) -> None:
    """Also without a cycle that counts, if other programs take the processors."""
    with started(
        "run",
        "oltp_write_only",
        *OPTIONS,
        "--ab=preset=durable,unsafe",
        "--cycles=50",
        target=any_tables.target,
        env={"TUIBENCH_HOME": str(home)},
    ) as process:
        wait_for_output(process, "of 50 cycles are too few")
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert done.code == 130, done.err
    assert "preset unsafe against durable: " in done.out
    assert await ask(any_tables.target, DURABLE) == [(1, 1)]


async def test_what_the_server_makes_one_value_of_is_no_trial(any_tables: PrivateServer, home: Path) -> None:
    done = trial(any_tables, home, "innodb_flush_log_at_timeout=1,01", "--cycles=4")
    assert done.code == 2, done.err
    assert done.err.splitlines()[-1].startswith("tuibench: innodb_flush_log_at_timeout has the same value")
    assert done.out == ""
    assert await ask(any_tables.target, "SELECT @@innodb_flush_log_at_timeout") == [(1,)]


@pytest.mark.whole
async def test_a_value_that_breaks_the_guard_is_put_back_within_two_samples(
    any_tables: PrivateServer,
) -> None:
    """As slow as the simulated network makes one connection of eight: on any machine."""
    spec = session_spec(
        any_tables.target, "oltp_point_select", threads=8, interval_seconds=0.5, delay_ms=12.0
    )
    spec = replace(spec, plan=replace(spec.plan, guard=("tps>60%",)))
    async with watched(spec) as watcher:
        await watcher.ticks(1)
        early = await watcher.submit(StartAbTest(subject="threads", a="8", b="1"))
        assert not early.ok
        assert "the guard does not know the level yet" in early.text
        await watcher.ticks(LEVEL_SAMPLES + 2)
        assert (await watcher.submit(StartAbTest(subject="threads", a="8", b="1"))).ok
        await watcher.until(lambda: any("is harmful" in event.text for event in watcher.events))
        await watcher.until(lambda: watcher.status.threads == 8)
        await watcher.submit(Stop())
        await watcher.end()
    seen = next(event for event in watcher.events if event.text.startswith("tps>60% is broken: "))
    assert seen.text.endswith("; what an A/B test has set is put back")
    set_at = [
        event for event in watcher.told(EventKind.THREADS) if event.elapsed_seconds < seen.elapsed_seconds
    ]
    back_at = next(
        event for event in watcher.told(EventKind.THREADS) if event.elapsed_seconds > seen.elapsed_seconds
    )
    samples = [
        sample for sample in watcher.samples
        if set_at[-1].elapsed_seconds < sample.elapsed_seconds < back_at.elapsed_seconds
    ]  # fmt: skip
    assert len(samples) <= 3, "one of them has begun before the value was set"
