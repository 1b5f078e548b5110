"""One cell of a sweep: a run with the cell's settings.

The settings are commands like an operator's: journalled, guarded, emitted as events, restored at the end.

The figures of a cell are computed from its summary and its samples, without I/O.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import TuibenchError
from tuibench.metrics.figures import read
from tuibench.metrics.inference.means import MORE
from tuibench.model.command import ApplyPreset, ChangeSetting
from tuibench.model.counters import Counter
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import SessionMessage
from tuibench.model.results.summary import Summary
from tuibench.model.results.sweep import TPS, Cell, CellFigures, CellResult, SweepVariant
from tuibench.model.tick import HOST, Tick
from tuibench.session.load_run import LoadRun
from tuibench.session.spec import SessionSpec


def cell_figures(summary: Summary, samples: Sequence[Sample]) -> CellFigures:
    """The figures of a run; `samples` are those of its measured time."""
    tps = summary.transactions.per_second
    latency, counted = summary.latency_ms, summary.reconciliation
    questions = None if counted.questions_server is None else counted.questions_server - counted.own
    return CellFigures(
        headline=summary.headline.value if summary.headline else tps,
        tps=tps,
        qps=summary.queries.per_second,
        avg_ms=latency.avg if latency else None,
        p95_ms=latency.p95 if latency else None,
        errors=summary.errors.total,
        retries=summary.retries,
        slow_queries=summary.server.deltas.get(Counter.SLOW_QUERIES),
        open_tables=_most(samples, "open_tables"),
        questions_per_second=None if questions is None else questions / (summary.seconds or 1e-9),
        cpu_server=_mean(samples, "cpu_server"),
        cpu_tuibench=_mean(samples, "cpu_tuibench"),
        cpu_total=_mean(samples, "cpu_total"),
        memory_server_bytes=_most(samples, "memory_server"),
        memory_used_bytes=_most(samples, "memory_used"),
        per_transaction=summary.operation_cost.per_transaction,
        per_query=summary.operation_cost.per_query,
        more={name: summary.figures[name] for name in MORE if name in summary.figures},
    )


def _known(samples: Iterable[Sample], figure: str) -> list[float]:
    return [value for sample in samples if (value := read(figure, sample.tick)) is not None]


def _mean(samples: Iterable[Sample], figure: str) -> float | None:
    values = _known(samples, figure)
    return fmean(values) if values else None


def _most(samples: Iterable[Sample], figure: str) -> float | None:
    return max(_known(samples, figure), default=None)


OnMessage = Callable[[SessionMessage], None]


class CellOutcome(NamedTuple):
    """What became of a cell. `error` ended its run; `interrupted` means that it counts for nothing."""

    result: CellResult
    error: TuibenchError | None = None
    interrupted: bool = False


class CellRun:
    """Runs one cell once."""

    def __init__(
        self, cell: Cell, spec: SessionSpec, clock: Clock, *, attempt: int, run: str, on_message: OnMessage
    ) -> None:
        self._cell = cell
        self._attempt = attempt
        self._run_name = run
        self._clock = clock
        self._run = LoadRun(spec, clock)
        self._run.watcher.bus.listeners.extend((self._on_message, on_message))
        self._samples: list[Sample] = []
        self.is_open = False

    async def run(self) -> CellOutcome:
        """From its connections to its restored settings. Raises what kept the run from opening."""
        started_at, begun_ns = self._clock.wall_seconds(), self._clock.now_ns()
        lifecycle = self._run.watcher.lifecycle
        async with self._run:
            self.is_open = True
            try:
                for command in variant_commands(self._cell.variant):
                    await self._run.submit(command)
            except TuibenchError as error:
                lifecycle.fail(error)
            summary = await self._run.run()
        seconds = (self._clock.now_ns() - begun_ns) / NS_PER_SECOND
        result = self._result(summary, started_at, seconds)
        return CellOutcome(result, lifecycle.error, interrupted=summary.outcome == "interrupted")

    def interrupt(self) -> None:
        """Ends the run in good order; only an open one can."""
        self._run.request_stop("interrupted")

    def _on_message(self, message: SessionMessage) -> None:
        if isinstance(message, Sample) and message.elapsed_seconds > 0:
            self._samples.append(message)

    def _result(self, summary: Summary, started_at: float, seconds: float) -> CellResult:
        failure = cell_failure(summary)
        hosts = [sample.host for sample in self._samples if sample.host is not None]
        return CellResult(
            cell=self._cell,
            outcome="failed" if failure else "done",
            attempt=self._attempt,
            failure=failure,
            headline=headline_name(summary),
            figures=None if failure else cell_figures(summary, self._samples),
            started_at=started_at,
            seconds=seconds,
            run=self._run_name,
            limited=summary.client.limited,
            warnings=summary.warnings,
            cores=_level(hosts, "cores"),
            memory_total_bytes=_level(hosts, "memory_total"),
        )


def _level(hosts: Sequence[Tick], name: str) -> int | None:
    return int(hosts[-1].levels.get(HOST + name, 0)) if hosts else None


def variant_commands(variant: SweepVariant) -> tuple[ApplyPreset | ChangeSetting, ...]:
    """What makes the settings of a variant: the preset first, single values over it."""
    preset = (ApplyPreset(variant.preset),) if variant.preset else ()
    return (*preset, *(ChangeSetting(name, value) for name, value in variant.settings.items()))


def headline_name(summary: Summary) -> str:
    """What the profile calls the figure that it is about, with its note: tpmC (not audited)."""
    headline = summary.headline
    if headline is None:
        return TPS
    return f"{headline.title} ({headline.note})" if headline.note else headline.title


def cell_failure(summary: Summary) -> str:
    """Why a run does not count; empty if it does."""
    if summary.failure:
        return summary.failure
    if summary.outcome != "done":
        return f"the run was {summary.outcome}"
    if any(event.kind is EventKind.RESTART for event in summary.events):
        return "the server was restarted in the middle of the run"
    if not summary.server.deltas:
        return "the server's counters were reset during the run, or the server was unreachable at its end"
    return ""
