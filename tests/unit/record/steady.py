"""Runs that are long enough to be compared, at a pace of their own."""

from pathlib import Path

from msgspec.structs import replace

from tests.examples import PLAN, summary
from tests.unit.record.written import ENVIRONMENT, detail, plan_record, server_part, tick
from tuibench.model.histogram import Histogram
from tuibench.model.measurements.sample import HostSample
from tuibench.model.plan import RunPlan
from tuibench.record.files.recorder import RunRecorder

HOST = HostSample(
    cores=4,
    cpu_total=60.0,
    cpu_server=50.0,
    cpu_tuibench=5.0,
    cpu_rest=5.0,
    memory_used_bytes=1,
    memory_total_bytes=2,
    disk_read_bytes_per_second=None,
    disk_write_bytes_per_second=None,
    net_received_bytes_per_second=None,
    net_sent_bytes_per_second=None,
)


def steady(
    folder: Path, name: str, *, each: int = 50, us: int = 2_000, plan: RunPlan = PLAN, cut_short: bool = False
) -> Path:
    """A run of twelve seconds with so many transactions per second, each of about so many µs."""
    recorder = RunRecorder(folder / name)
    recorder.open(plan_record(plan), ENVIRONMENT)
    for number in range(1, 13):
        done = each + number % 3
        response = Histogram.of([us + 7 * number + 3 * step for step in range(done)])
        seen = detail(number)
        counts = replace(
            seen.counts, completed=done, reads=14 * done, writes=4 * done, others=2 * done, errors={}
        )
        seen = replace(seen, counts=counts, response=response)
        server = server_part(number, log_fsyncs_per_second=float(done))
        recorder.sample(replace(tick(number, seen), server=server, host=HOST), seen)
    if not cut_short:
        recorder.summary(summary(warnings=("simulated: 20 ms",) if name == "odd" else ()))
    recorder.close()
    return folder / name
