"""Progress of a sweep on stderr: a line per finished cell, and on a terminal a progress bar."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tuibench import sanitize, units
from tuibench.cli.output.log import info, timestamp
from tuibench.load.tables.loader import LoadProgress
from tuibench.model.event import Event, EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import SessionMessage
from tuibench.model.results.sweep import Cell, CellResult, Sweep, SweepPlan
from tuibench.record.sweep.tables import rate_text
from tuibench.session.sweep.matrix import all_cells, remaining_seconds, starting_seconds
from tuibench.units import pluralize

REPORTED_CELL_EVENTS = frozenset({EventKind.RESTART, EventKind.FOREIGN, EventKind.RECONNECT})
"""Events of a cell that are reported immediately."""

SWEEP_WORDS = ("cell", "case", "variant", "run")
VERSIONS_WORDS = ("run", "test", "server", "start")
"""Words for a cell and its axes, of a sweep and of a comparison of versions."""

BarUpdate = Callable[[float, str], None]
"""Receives the number of finished cells, and the current activity."""


class SweepProgress:
    """Reports the progress of a sweep. `print_line` prints a line, `move` updates the bar, if any."""

    def __init__(
        self, plan: SweepPlan, print_line: Callable[[str], None] = info, move: BarUpdate | None = None
    ) -> None:
        self._plan = plan
        self._total = len(all_cells(plan))
        self._print = print_line
        self._move: BarUpdate = move or (lambda done, words: None)
        self._words = ""
        self._done = 0

    def outlook(self, sweep: Sweep) -> str:
        """Number of cells and estimated duration; with the creation of tables only on private servers."""
        left = self._total - len(sweep.done)
        self._done = len(sweep.done)
        plan, base = self._plan, self._plan.base
        took = units.hms(remaining_seconds(base, sweep.done, left) + starting_seconds(sweep))
        already = f", {self._done} of them done" if self._done else ""
        cell, case, variant, repeat = VERSIONS_WORDS if sweep.record.versions else SWEEP_WORDS
        order = "" if sweep.record.versions else f", {plan.order}"
        return (
            f"{pluralize(self._total, cell)}{already}: {pluralize(len(plan.cases), case)} × "
            f"{pluralize(len(plan.variants), variant)} × "
            f"{pluralize(len(plan.threads), 'number')} of threads × "
            f"{pluralize(plan.repeats, repeat)}{order}, "
            f"{base.warmup_seconds:g} + {base.seconds or 0:g} s each{_starts_text(sweep)}: "
            f"about {took} to go"
        )

    def on_cell_start(self, cell: Cell, place: int) -> None:
        self._words = f"{place}/{self._total} {cell.words}"
        self._move(self._done, self._words)

    def on_message(self, message: SessionMessage) -> None:
        """Handle a message of the current cell's session."""
        if isinstance(message, Sample):
            load = self._plan.base.warmup_seconds + (self._plan.base.seconds or 0)
            gone = message.elapsed_seconds + self._plan.base.warmup_seconds
            self._move(self._done + min(0.99, gone / load), self._words)
        elif isinstance(message, Event) and message.kind in REPORTED_CELL_EVENTS:
            self.report(f"{timestamp(message.elapsed_seconds)} {message.text}")

    def ended(self, result: CellResult, place: int, sweep: Sweep) -> None:
        self._done = len(sweep.done)
        left = units.hms(
            remaining_seconds(self._plan.base, sweep.done, self._total - len(sweep.results))
            + starting_seconds(sweep, is_running=True)
        )
        self._print(f"[{place:>{len(str(self._total))}}/{self._total}] {result.cell.words}: "
                  f"{cell_result_text(result)}; {left} left")  # fmt: skip
        self._move(self._done, self._words)

    def report(self, text: str) -> None:
        self._print(text)

    def loading(self, progress: LoadProgress) -> None:
        """Report the progress of loading tables."""
        self._move(self._done, f"loading {progress.rows:,.0f} of {progress.total_rows:,.0f} rows")


def _starts_text(sweep: Sweep) -> str:
    seconds = starting_seconds(sweep)
    return f", and {units.hms(seconds)} for starts and tables" if seconds else ""


def cell_result_text(result: CellResult) -> str:
    """A cell's result in a few words."""
    figures = result.figures
    if figures is None:
        return f"failed: {result.failure}"
    limited = ", client-limited" if result.limited else ""
    return (
        f"{rate_text(figures.headline)} {result.headline}, p95 {units.milliseconds(figures.p95_ms)}{limited}"
    )


@contextmanager
def show_sweep_progress(plan: SweepPlan) -> Iterator[SweepProgress]:
    """Progress of a sweep, with a bar if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield SweepProgress(plan)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(file=sanitize.unsafe(sys.stderr))
    columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task("", total=len(all_cells(plan)))
        yield SweepProgress(
            plan,
            lambda text: console.print(sanitize.text(text), markup=False, highlight=False, soft_wrap=True),
            lambda done, words: bars.update(task, completed=done, description=sanitize.text(words)),
        )
