"""A run directory as a session leaves it, made in no time."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.examples import EVENT, PLAN, SERVER, sample, status, summary
from tests.ticks import histogram_with, server_tick
from tuibench.model.event import Event, EventKind
from tuibench.model.plan import RunPlan
from tuibench.model.server import Environment, HostFacts, Target
from tuibench.model.settings import COMMIT_ROLES, SettingGroup, SettingState
from tuibench.model.tick import Histogram, Latency, Sample, Tick, with_fewer_digits
from tuibench.record.recorder import STATEMENT_BITS, PlanRecord, RunRecorder

ENVIRONMENT = Environment(tuibench="1.2.3", location="local", host=HostFacts(name="box"))
SYNC = SettingState(
    name="sync_binlog",
    value="1",
    original="1",
    meaning="every commit",
    at_risk=False,
    group=SettingGroup.DURABILITY,
    roles=COMMIT_ROLES,
)
FLUSH = SettingState(
    name="innodb_flush_log_at_trx_commit", value="1", original="1", meaning="every commit", at_risk=False
)


def as_recorded(made: Sample) -> Sample:
    """The sample with the latencies of statements to 1.6 %."""
    hists = {
        name: with_fewer_digits(each, STATEMENT_BITS) if name.startswith("stmt.") else each
        for name, each in made.tick.hists.items()
    }
    return replace(made, tick=replace(made.tick, hists=hists))


def plan_record(plan: RunPlan = PLAN, **changes: Any) -> PlanRecord:
    made = PlanRecord(
        version="1.2.3", session="s1", started_at=1_700_000_000.0, plan=plan, target=Target(), server=SERVER
    )
    return replace(made, **changes)


def server_part(number: int, **changes: Any) -> Tick:
    figures: dict[str, Any] = {
        "uptime_seconds": 100 + number,
        "questions_total": 1000 * number,
        "counters": {"Com_commit": 50 * number, "Aborted_clients": 2},
        "growth": {"Questions": 1000, "Com_commit": 50, "Aborted_clients": 0} if number > 1 else {},
        "completed": 50 if number > 1 else None,
    }
    return server_tick(**(figures | changes))


def load(number: int, *, each: int = 50, response: Histogram | None = None, **changes: Any) -> Tick:
    """Fifty transactions, slower from tick to tick."""
    if response is None:
        response = Histogram.of([1_000 * number + 10 * one for one in range(each)])
    made = Tick(
        seconds=1.0,
        sums={
            "scheduled": each,
            "completed": each,
            "queries": 20 * each,
            "reads": 14 * each,
            "writes": 4 * each,
            "others": 2 * each,
            "commits": each,
            "questions": 20 * each,
            **({"error.1213": 1, "retries": 1} if number == 2 else {}),
        },
        levels={"threads": 8, "connections": 8, "rate": 0.0, "backlog": 0, "in_flight": 8},
        peaks={"worker_cpu": 0.2, "lag_p99_ms": 0.1},
        hists={"response": response, "stmt.commit": histogram_with(latency(number))},
    )
    return replace(made, **changes)


def tick(number: int, of: Tick | None = None, **changes: Any) -> Sample:
    """The sample of a second of a load."""
    return sample(number, **({"load": of or load(number), "server": server_part(number)} | changes))


def latency(number: int) -> Latency:
    return Latency(count=50, min=0.5, avg=1.5, p50=1.0, p95=2.0 * number, p99=3.0, p999=4.0, max=5.0 * number)


def written(directory: Path, ticks: int = 3, *, ended: bool = True, plan: RunPlan = PLAN) -> RunRecorder:
    """A run of so many seconds, with a change of a setting after the second; `ended` or cut off."""
    recorder = RunRecorder(directory)
    recorder.open(plan_record(plan), ENVIRONMENT)
    recorder.status(1_699_999_999.5, status(settings=(SYNC, FLUSH)))
    recorder.event(EVENT)
    for number in range(1, ticks + 1):
        recorder.sample(tick(number))
        if number == 2:
            changed = replace(SYNC, value="0", at_risk=True)
            recorder.event(setting_changed(2.5))
            recorder.status(1_700_000_002.5, status(settings=(changed, FLUSH)))
    if ended:
        recorder.summary(summary(events=(EVENT,)))
    recorder.close()
    return recorder


def setting_changed(elapsed: float) -> Event:
    return Event(
        at=1_700_000_000.0 + elapsed,
        elapsed_seconds=elapsed,
        kind=EventKind.SETTING,
        text="sync_binlog 1 → 0",
        marker=1,
    )
