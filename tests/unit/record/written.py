"""A run directory as a session leaves it, made in no time."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.examples import EVENT, PLAN, SERVER, load_part, sample, status, summary
from tuibench.model.event import Event, EventKind
from tuibench.model.histogram import Histogram, Latency
from tuibench.model.measurements.environment import Environment, HostFacts
from tuibench.model.measurements.sample import Sample, ServerSample
from tuibench.model.plan import RunPlan
from tuibench.model.settings import COMMIT_ROLES, SettingGroup, SettingState
from tuibench.model.target import Target
from tuibench.record.files.recorder import RunRecorder, TickDetail
from tuibench.record.files.schema import PlanRecord, TickCounts

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


def plan_record(plan: RunPlan = PLAN, **changes: Any) -> PlanRecord:
    made = PlanRecord(
        version="1.2.3", session="s1", started_at=1_700_000_000.0, plan=plan, target=Target(), server=SERVER
    )
    return replace(made, **changes)


def server_part(number: int, **changes: Any) -> ServerSample:
    made = ServerSample(
        uptime_seconds=100 + number,
        threads_running=3,
        threads_connected=9,
        max_connections=100,
        open_tables=10,
        table_open_cache=100,
        questions_total=1000 * number,
        slow_queries_total=0,
        counters={"Questions": 1000 * number, "Com_commit": 50 * number, "Aborted_clients": 2},
    )
    return replace(made, **changes)


def detail(number: int, **changes: Any) -> TickDetail:
    """Fifty transactions, slower from tick to tick."""
    response = Histogram.of([1_000 * number + 10 * each for each in range(50)])
    counts = TickCounts(
        scheduled=50,
        completed=50,
        in_flight=8,
        reads=700,
        writes=200,
        others=100,
        commits=50,
        questions=1000,
        errors={1213: 1} if number == 2 else {},
        retries=1 if number == 2 else 0,
        sum_us=response.sum_us,
    )
    made = TickDetail(seconds=1.0, counts=counts, response=response, service=Histogram(), by_transaction={})
    return replace(made, **changes)


def tick(number: int, seen: TickDetail, **changes: Any) -> Sample:
    """The sample that goes with a detail."""
    done = seen.counts.completed
    load = load_part(
        transactions_per_second=done / seen.seconds,
        seconds=seen.seconds,
        latency=seen.response.latency(),
        statements={"commit": latency(number)},
        transactions_total=done * max(0, number),
    )
    return sample(number, load=load, server=server_part(number), **changes)


def latency(number: int) -> Latency:
    return Latency(count=50, min=0.5, avg=1.5, p50=1.0, p95=2.0 * number, p99=3.0, p999=4.0, max=5.0 * number)


def written(directory: Path, ticks: int = 3, *, ended: bool = True, plan: RunPlan = PLAN) -> RunRecorder:
    """A run of so many seconds, with a change of a setting after the second; `ended` or cut off."""
    recorder = RunRecorder(directory)
    recorder.open(plan_record(plan), ENVIRONMENT)
    recorder.status(1_699_999_999.5, status(settings=(SYNC, FLUSH)))
    recorder.event(EVENT)
    for number in range(1, ticks + 1):
        seen = detail(number)
        recorder.sample(tick(number, seen), seen)
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
