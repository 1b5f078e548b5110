"""One cell: a session of its own, with the cell's settings made before its load starts.

The settings are commands like an operator's: journalled, guarded, told as events, put back when the session
ends.
"""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import TuibenchError
from tuibench.model.command import ApplyPreset, ChangeSetting
from tuibench.model.event import EventKind
from tuibench.model.message import Downward
from tuibench.model.sample import Sample
from tuibench.model.summary import Summary
from tuibench.model.sweep import TPS, Cell, CellResult, Variant
from tuibench.session.core import Session
from tuibench.session.spec import SessionSpec
from tuibench.session.sweeping.figures import figures_of

Hear = Callable[[Downward], None]


class Conducted(NamedTuple):
    """What became of a cell. `error` ended its run; `interrupted` means that it counts for nothing."""

    result: CellResult
    error: TuibenchError | None = None
    interrupted: bool = False


class CellRun:
    """Runs one cell once."""

    def __init__(
        self, cell: Cell, spec: SessionSpec, clock: Clock, *, attempt: int, run: str, hear: Hear
    ) -> None:
        self._cell = cell
        self._attempt = attempt
        self._run = run
        self._clock = clock
        self._session = Session(spec, clock)
        self._session.listeners.extend((self._heard, hear))
        self._samples: list[Sample] = []
        self.is_open = False

    async def conduct(self) -> Conducted:
        """From its connections to its restored settings. Raises what kept the session from opening."""
        started_at, begun_ns = self._clock.wall_seconds(), self._clock.now_ns()
        await self._session.open()
        self.is_open = True
        try:
            for command in commands_of(self._cell.variant):
                await self._session.submit(command)
        except TuibenchError as error:
            self._session.fail(error)
        summary = await self._session.run()
        seconds = (self._clock.now_ns() - begun_ns) / NS_PER_SECOND
        result = self._result(summary, started_at, seconds)
        return Conducted(result, self._session.error, interrupted=summary.outcome == "interrupted")

    def interrupt(self) -> None:
        """Ends the run in good order; only an open session can."""
        self._session.request_stop("interrupted")

    def _heard(self, message: Downward) -> None:
        if isinstance(message, Sample) and message.elapsed_seconds > 0:
            self._samples.append(message)

    def _result(self, summary: Summary, started_at: float, seconds: float) -> CellResult:
        failure = failure_of(summary)
        hosts = [sample.host for sample in self._samples if sample.host is not None]
        return CellResult(
            cell=self._cell,
            outcome="failed" if failure else "done",
            attempt=self._attempt,
            failure=failure,
            headline=headline_of(summary),
            figures=None if failure else figures_of(summary, self._samples),
            started_at=started_at,
            seconds=seconds,
            run=self._run,
            limited=summary.client.limited,
            warnings=summary.warnings,
            cores=hosts[-1].cores if hosts else None,
            memory_total_bytes=hosts[-1].memory_total_bytes if hosts else None,
        )


def commands_of(variant: Variant) -> tuple[ApplyPreset | ChangeSetting, ...]:
    """What makes the settings of a variant: the preset first, single values over it."""
    preset = (ApplyPreset(variant.preset),) if variant.preset else ()
    return (*preset, *(ChangeSetting(name, value) for name, value in variant.settings.items()))


def headline_of(summary: Summary) -> str:
    """What the profile calls the figure that it is about, with its note: tpmC (not audited)."""
    headline = summary.headline
    if headline is None:
        return TPS
    return f"{headline.title} ({headline.note})" if headline.note else headline.title


def failure_of(summary: Summary) -> str:
    """Why a run does not count; empty if it does."""
    if summary.failure:
        return summary.failure
    if summary.outcome != "done":
        return f"the run was {summary.outcome}"
    if any(event.kind is EventKind.RESTART for event in summary.events):
        return "the server was restarted in the middle of the run"
    if not summary.server.deltas:
        return "the server's counters began anew in the middle of the run, or it was away at its end"
    return ""
