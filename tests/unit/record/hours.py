"""Ticks as a busy run makes them: statements, counters and latencies as many and as varied as real ones.

Latencies are drawn from log-normal distributions, which have the long tail of real ones.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from random import Random

from msgspec.structs import replace

from tests.examples import status
from tests.ticks import GAUGE_NAMES, changed, host_tick, joined, server_tick
from tests.unit.record.written import ENVIRONMENT, FLUSH, SYNC, plan_record
from tuibench.model import counters as known
from tuibench.model.counters import CUMULATIVE_NAMES
from tuibench.model.plan import RunPlan
from tuibench.model.server import Flavour
from tuibench.model.tick import Histogram, Sample, Tick, merge_histograms
from tuibench.record.recorder import RunRecorder
from tuibench.workload import library
from tuibench.workload.program import Transaction, all_steps

LOOPED = 10
"""How often something is done as often as an expression says, by and by."""
MOST_DRAWS = 200
"""As many tell the percentiles of a statement."""
TRANSACTION_US, STATEMENT_US, SPREAD = 9_000.0, 300.0, 0.7
_MARIADB_ONLY = {str(one) for one in known.Counter if one.facts.flavour is Flavour.MARIADB}
GROWING = sorted(CUMULATIVE_NAMES - _MARIADB_ONLY)[:63]
"""As many as a server has: some of all are of MySQL, some of MariaDB."""


class Busy:
    """One load: `per_second` transactions of a profile, in its mix."""

    def __init__(self, profile: str, per_second: int, seed: int = 1) -> None:
        self._random = Random(seed)
        self._kinds = library.load_program(profile, {}).transactions
        self._weights = [each.weight for each in self._kinds]
        self._per_second = per_second
        self._counters = {name: self._random.randrange(10**8) for name in GROWING}
        self._gauges = {name: self._random.randrange(10**7) for name in sorted(GAUGE_NAMES)[:11]}

    def tick(self, number: int) -> Sample:
        """The next second."""
        done = Counter(
            each.name for each in self._random.choices(self._kinds, self._weights, k=self._per_second)
        )
        by_kind = {name: self._latencies(times, TRANSACTION_US) for name, times in sorted(done.items())}
        said = sum((_statements(each, done[each.name]) for each in self._kinds), Counter[str]())
        queries = said.total()
        several = by_kind if len(self._kinds) > 1 else {}
        load = Tick(
            seconds=1 + self._random.random() / 100,
            sums={
                "scheduled": self._per_second,
                "completed": self._per_second,
                "queries": queries,
                "reads": queries // 2,
                "writes": queries // 3,
                "others": queries - queries // 2 - queries // 3,
                "commits": self._per_second,
                "questions": queries,
                **({"headline": 60 * done.most_common(1)[0][1]} if several else {}),
            },
            levels={"threads": 32, "connections": 32, "rate": 0, "backlog": 0, "in_flight": 32},
            peaks={"worker_cpu": self._random.random(), "lag_p99_ms": self._random.random()},
            hists={
                "response": merge_histograms(by_kind.values()),
                **{f"trx.{name}": each for name, each in several.items()},
                **{
                    f"stmt.{name}": self._latencies(min(times, MOST_DRAWS), STATEMENT_US)
                    for name, times in sorted(said.items())
                },
            },
        )
        return Sample(
            number=number,
            at=1_795_000_000 + number + self._random.random() / 1e3,
            late_ms=self._random.random(),
            tick=joined(float(number), load=load, server=self.next_server(), host=self._host()),
        )

    def next_server(self) -> Tick:
        """The next reading: some counters have grown, some gauges have moved."""
        growth = {
            name: self._random.choice((0, 0, self._random.randrange(10 ** (1 + place % 7))))
            for place, name in enumerate(self._counters)
        }
        self._counters = {name: value + growth[name] for name, value in self._counters.items()}
        self._gauges = {
            name: value + self._random.choice((0, self._random.randrange(-(10**5), 10**5)))
            for name, value in self._gauges.items()
        }
        return server_tick(
            seconds=1 + self._random.random() / 100,
            threads_running=self._random.randrange(34),
            threads_connected=34,
            max_connections=4_000,
            open_tables=131,
            table_open_cache=2_000,
            completed=self._per_second,
            counters=self._counters,
            gauges=self._gauges,
            growth=growth,
        )

    def _host(self) -> Tick:
        return host_tick(
            cores=8,
            cpu_total=100 * self._random.random(),
            cpu_server=100 * self._random.random(),
            cpu_tuibench=100 * self._random.random(),
            memory_used_bytes=self._random.randrange(10**10),
            memory_total_bytes=25_276_514_304,
            disk_read_bytes_per_second=1e6 * self._random.random(),
            disk_write_bytes_per_second=1e8 * self._random.random(),
            net_received_bytes_per_second=1e6 * self._random.random(),
            net_sent_bytes_per_second=1e6 * self._random.random(),
            memory_server_bytes=self._random.randrange(10**9),
            cpu_by_core=tuple(100 * self._random.random() for _ in range(8)),
            swap_used_bytes=0,
            swap_total_bytes=0,
            disk_read_ms=self._random.random(),
            disk_write_ms=10 * self._random.random(),
        )

    def _latencies(self, count: int, median_us: float) -> Histogram:
        return Histogram.of([int(median_us * self._random.lognormvariate(0, SPREAD)) for _ in range(count)])


def written_hour(folder: Path, profile: str, per_second: int, ticks: int = 3600, of: int = 60) -> Path:
    """A run of so many ticks, without its summary, made by repeating the first `of` of them."""
    recorder = RunRecorder(folder)
    recorder.open(
        plan_record(RunPlan(profile=profile, threads=32, seconds=float(ticks), report_seconds=1.0)),
        ENVIRONMENT,
    )
    recorder.status(1_795_000_000.0, status(threads=32, settings=(SYNC, FLUSH)))
    for sample in islice(_repeated(Busy(profile, per_second), of), ticks):
        recorder.sample(sample)
    recorder.close()
    return folder


def _repeated(busy: Busy, of: int) -> Iterator[Sample]:
    """Times and counters go on."""
    made = [busy.tick(number) for number in range(1, of + 1)]
    for number, sample in enumerate(cycle(made), 1):
        at = 1_795_000_000 + number + sample.late_ms / 1e3
        again = changed(sample, elapsed_seconds=float(number), server=busy.next_server())
        yield replace(again, number=number, at=at)


def _statements(kind: Transaction, times: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for step in all_steps(kind.steps):
        repeat = step.repeat if isinstance(step.repeat, int) else LOOPED
        found.update({statement.name: times * repeat for statement in step.statements})
    return Counter({name: count for name, count in found.items() if count})
