"""Runs that are long enough to be compared, at a pace of their own."""

from pathlib import Path

from tests.examples import PLAN, summary
from tests.ticks import host_tick
from tests.unit.record.written import ENVIRONMENT, load, plan_record, server_part, tick
from tuibench.model.plan import RunPlan
from tuibench.model.tick import Histogram
from tuibench.record.recorder import RunRecorder

HOST = host_tick(cores=4, cpu_total=60.0, cpu_server=50.0, cpu_tuibench=5.0)


def steady(
    folder: Path, name: str, *, each: int = 50, us: int = 2_000, plan: RunPlan = PLAN, cut_short: bool = False
) -> Path:
    """A run of twelve seconds with so many transactions per second, each of about so many µs."""
    recorder = RunRecorder(folder / name)
    recorder.open(plan_record(plan), ENVIRONMENT)
    for number in range(1, 13):
        done = each + number % 3
        response = Histogram.of([us + 7 * number + 3 * step for step in range(done)])
        seen = load(number, each=done, response=response)
        seen.sums.pop("error.1213", None)
        server = server_part(number, log_fsyncs_per_second=float(done), completed=done)
        recorder.sample(tick(number, seen, server=server, host=HOST))
    if not cut_short:
        recorder.summary(summary(warnings=("simulated: 20 ms",) if name == "odd" else ()))
    recorder.close()
    return folder / name
