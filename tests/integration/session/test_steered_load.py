"""What is done to the load of a real server: a plan, another mix of transactions, a network made longer."""

import asyncio
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.integration.support import sbtest
from tests.integration.support.commands import tuibench
from tests.integration.support.session_process import FULL_SPEED_MS, Watcher, session_spec, watched
from tests.ticks import known
from tuibench.load.tables import prepare_tables
from tuibench.metrics.thresholds import LEVEL_SAMPLES
from tuibench.model.event import EventKind
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    ResumePlan,
    SetDelay,
    SetPlan,
    SetThreads,
    SetWeights,
    StartAbTest,
    StartProbe,
    StartTune,
    Stop,
    StopExperiment,
    Undo,
)
from tuibench.model.plan import WATCH
from tuibench.model.schedule import PlanPhase, parse_schedule
from tuibench.model.tick import Latency
from tuibench.model.tune import parse_tune_words
from tuibench.mysql.connection import connect
from tuibench.servers.server import PrivateServer

DELAY_MS = 20.0
TWO_KINDS = """
name = "two-kinds"
summary = "a read, or a write in a transaction of three round trips"
data_set = "sbtest"

[[transactions]]
name = "reading"
weight = 90
autocommit = true

[[transactions.steps]]
let.id = { make = "key", high = "table_size" }
statements = [{ name = "point_select", sql = "SELECT c FROM {table} WHERE id=?", bind = ["id"] }]

[[transactions]]
name = "writing"
weight = 10

[[transactions.steps]]
let.id = { make = "key", high = "table_size" }
statements = [{ name = "update", sql = "UPDATE {table} SET k=k+1 WHERE id=?", bind = ["id"] }]
"""


@pytest.fixture(scope="module")
def tables(mariadb: PrivateServer) -> PrivateServer:
    asyncio.run(prepare_tables(mariadb.target, sbtest.program(table_size=500)))
    return mariadb


def far_away(watcher: Watcher) -> list[Latency]:
    """The latency of the writing transactions in each tick that began with the delay."""
    delayed = [load.named("trx.") for load in watcher.loads if load.levels["client_delay_ms"]]
    found = [kinds["writing"].latency() for kinds in delayed if "writing" in kinds]
    return [latency for latency in found if latency is not None]


@pytest.mark.one_flavour
async def test_the_mix_and_the_network_are_changed_while_the_load_runs(
    tables: PrivateServer, tmp_path: Path
) -> None:
    profile = tmp_path / "two-kinds.toml"
    profile.write_text(TWO_KINDS)
    async with watched(session_spec(tables.target, str(profile), delay_ms=FULL_SPEED_MS)) as watcher:
        assert watcher.hello.status.weights == {"reading": 90, "writing": 10}
        answer = await watcher.submit(SetWeights({"reading": 0}))
        assert (answer.ok, answer.text) == (True, "weights: 0/10")
        assert not (await watcher.submit(SetWeights({"eating": 1}))).ok
        await watcher.until(lambda: any(set(load.named("trx.")) == {"writing"} for load in watcher.loads))
        answer = await watcher.submit(SetDelay(DELAY_MS))
        assert answer.text == "simulated network delay: 20ms on each round trip"
        await watcher.until(lambda: len(far_away(watcher)) >= 2)
        assert far_away(watcher)[-1].min >= 3 * DELAY_MS, "BEGIN, UPDATE and COMMIT each go all the way"
        assert watcher.status.client_delay_ms == DELAY_MS
        assert (await watcher.submit(Undo())).text.startswith(
            "undone: network delay 0ms → 20ms; next: weights"
        )
        assert watcher.status.client_delay_ms == 0
        assert (await watcher.submit(ApplyPreset("unsafe"))).ok
        assert len(watcher.status.undo) == 2
        assert (await watcher.submit(Undo())).ok
        assert _value(watcher, "innodb_flush_log_at_trx_commit") == "1"
        await watcher.submit(Stop())
        summary = (await watcher.end()).summary
    assert [event.text for event in watcher.told(EventKind.WEIGHTS)] == ["weights: reading 90 → 0"]
    assert len(watcher.told(EventKind.DELAY)) == 2
    assert summary.client_delay_ms == DELAY_MS
    assert any("simulated" in warning for warning in summary.warnings)
    assert sum(kind.count for kind in summary.by_transaction.values()) == summary.transactions.total
    assert summary.reconciliation.foreign == 0


async def test_an_ab_test_started_by_hand_leaves_everything_as_it_was(tables: PrivateServer) -> None:
    async with watched(session_spec(tables.target, "oltp_point_select")) as watcher:
        await watcher.until(lambda: bool(watcher.loads))
        before = {state.name: state.value for state in watcher.status.settings}
        assert (await watcher.submit(ChangeSetting("long_query_time", "7"))).ok
        answer = await watcher.submit(StartAbTest(subject="long_query_time", a="2", b="many"))
        assert not answer.ok, "both values are tried before anything is said to run"
        answer = await watcher.submit(StartAbTest(subject="long_query_time", a="2", b="3", max_seconds=40))
        assert answer.ok, answer.text
        refused = await watcher.submit(StartProbe())
        assert "A/B test is running" in refused.text
        await watcher.until(lambda: watcher.status.ab is not None)
        assert (await watcher.submit(StopExperiment("ab"))).ok
        await watcher.until(lambda: _value(watcher, "long_query_time").startswith("7"))
        await watcher.submit(Stop())
        summary = (await watcher.end()).summary
    assert summary.ab is not None
    assert (summary.ab.by_hand, summary.ab.a, summary.ab.b) == (True, "2", "3")
    connection = await connect(tables.target)
    ((restored,),) = await connection.query("SELECT @@GLOBAL.long_query_time")
    await connection.close()
    assert float(restored) == float(before["long_query_time"])


@pytest.mark.parametrize("profile", ["oltp_point_select", WATCH])
async def test_a_screening_started_by_hand_leaves_everything_as_it_was(
    tables: PrivateServer, profile: str
) -> None:
    """On a load of ours, and on a server's own traffic."""
    spec = session_spec(tables.target, profile)
    if profile == WATCH:
        spec = replace(spec, plan=replace(spec.plan, is_watch=True, options={}))
    async with watched(spec) as watcher:
        await watcher.ticks(LEVEL_SAMPLES + 2 if profile == WATCH else 1)
        before = _value(watcher, "innodb_io_capacity")
        order = StartTune(parse_tune_words(["innodb_io_capacity", "10m"]))
        answer = await watcher.submit(order)
        assert answer.ok, answer.text
        assert "already running" in (await watcher.submit(order)).text
        test = StartAbTest(subject="long_query_time", a="2", b="3")
        assert "screening" in (await watcher.submit(test)).text
        await watcher.until(lambda: _value(watcher, "innodb_io_capacity") != before)
        assert (await watcher.submit(StopExperiment("tune"))).ok
        await watcher.until(lambda: _value(watcher, "innodb_io_capacity") == before)
        await watcher.until(lambda: watcher.tune is not None and watcher.tune.is_over)
        assert (await watcher.submit(StartTune(parse_tune_words(["no_such_topic"])))).ok is False
        await watcher.submit(Stop())
        summary = (await watcher.end()).summary
    assert summary.tune is not None
    assert {one.candidate.setting for one in summary.tune.results} == {"innodb_io_capacity"}


def _value(watcher: Watcher, name: str) -> str:
    return next(state.value for state in watcher.status.settings if state.name == name)


@pytest.mark.one_flavour
async def test_a_run_follows_its_plan_and_ends_with_it(tables: PrivateServer) -> None:
    options = ("--tables=2", "--table-size=500", "--plan=2:1s,5:1s,1..2/1.5s")
    done = await asyncio.to_thread(tuibench, "run", "oltp_point_select", *options, target=tables.target)
    assert done.code == 0, done.err
    threads = re.findall(r"^\[ \ds \] thds: (\d)", done.out, re.M)
    assert threads, done.out
    assert set(threads) <= {"1", "2", "5"}, "a starved machine may miss an interval"
    assert "the server counted the same" in done.err


@pytest.mark.one_flavour
async def test_a_plan_is_taken_over_by_hand_and_goes_on(tables: PrivateServer) -> None:
    async with watched(session_spec(tables.target, "oltp_point_select")) as watcher:
        await watcher.submit(SetPlan(parse_schedule("3:1s,6:1h")))
        await watcher.until(lambda: bool(watcher.loads) and known("open_connections", watcher.loads[-1]) == 6)
        answer = await watcher.submit(SetThreads(4))
        assert answer.text == "threads: 4; the plan is held"
        assert watcher.status.plan is not None
        assert (watcher.status.plan.phase, watcher.status.plan.stage) == (PlanPhase.HELD, 2)
        assert (await watcher.submit(ResumePlan())).ok
        await watcher.until(lambda: known("open_connections", watcher.loads[-1]) == 6)
        await watcher.submit(Stop())
        await watcher.end()
    drawn = [event.text for event in watcher.events if event.kind is EventKind.THREADS]
    assert drawn == [
        "plan 1/2: 3 threads for 1s",
        "plan 2/2: 6 threads for 1h",
        "threads 6 → 4",
        "plan continues with 6 threads",
    ]
