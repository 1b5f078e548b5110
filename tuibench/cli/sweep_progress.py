"""How a sweep goes, on stderr: a line for each cell that ended, and on a terminal a bar below them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tuibench import units
from tuibench.cli.talk import moment, say
from tuibench.load.prepare_load import Progress
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Downward
from tuibench.model.sample import Sample
from tuibench.model.sweep import Cell, CellResult, Sweep, SweepPlan
from tuibench.record.sweep_summary import number
from tuibench.session.sweeping.forecast import remaining_seconds
from tuibench.session.sweeping.matrix import cells_of
from tuibench.units import counted

NOTED = frozenset({EventKind.RESTART, EventKind.FOREIGN, EventKind.RECONNECT})
"""Events of a cell that its operator is told of at once."""

Move = Callable[[float, str], None]
"""Takes how many cells are done, and what is going on."""


class SweepTalk:
    """Hears a sweep and puts it into words. `say` prints a line, `move` the bar, if there is one."""

    def __init__(self, plan: SweepPlan, say: Callable[[str], None] = say, move: Move | None = None) -> None:
        self._plan = plan
        self._total = len(cells_of(plan))
        self._say = say
        self._move: Move = move or (lambda done, words: None)
        self._words = ""
        self._done = 0

    def outlook(self, sweep: Sweep) -> str:
        """What is to be done, and how long it takes; making tables not counted in."""
        left = self._total - len(sweep.done)
        self._done = len(sweep.done)
        plan, base = self._plan, self._plan.base
        took = units.clock(remaining_seconds(base, sweep.done, left))
        already = f", {self._done} of them done" if self._done else ""
        return (
            f"{counted(self._total, 'cell')}{already}: {counted(len(plan.cases), 'case')} × "
            f"{counted(len(plan.variants), 'variant')} × {counted(len(plan.threads), 'number')} of threads × "
            f"{counted(plan.repeats, 'run')}, {plan.order}, "
            f"{base.warmup_seconds:g} + {base.seconds or 0:g} s each: about {took} to go"
        )

    def begins(self, cell: Cell, place: int) -> None:
        self._words = f"{place}/{self._total} {cell.words}"
        self._move(self._done, self._words)

    def hear(self, message: Downward) -> None:
        """What the session of the present cell says."""
        if isinstance(message, Sample):
            load = self._plan.base.warmup_seconds + (self._plan.base.seconds or 0)
            gone = message.elapsed_seconds + self._plan.base.warmup_seconds
            self._move(self._done + min(0.99, gone / load), self._words)
        elif isinstance(message, Event) and message.kind in NOTED:
            self.tell(f"{moment(message.elapsed_seconds)} {message.text}")

    def ended(self, result: CellResult, place: int, sweep: Sweep) -> None:
        self._done = len(sweep.done)
        left = units.clock(remaining_seconds(self._plan.base, sweep.done, self._total - len(sweep.results)))
        self._say(f"[{place:>{len(str(self._total))}}/{self._total}] {result.cell.words}: "
                  f"{told(result)}; {left} left")  # fmt: skip
        self._move(self._done, self._words)

    def tell(self, text: str) -> None:
        self._say(text)

    def loading(self, progress: Progress) -> None:
        """How far a load of tables is."""
        self._move(self._done, f"loading {progress.rows:,.0f} of {progress.total_rows:,.0f} rows")


def told(result: CellResult) -> str:
    """A cell's result in a few words."""
    figures = result.figures
    if figures is None:
        return f"failed: {result.failure}"
    limited = ", client-limited" if result.limited else ""
    return f"{number(figures.headline)} {result.headline}, p95 {units.milliseconds(figures.p95_ms)}{limited}"


@contextmanager
def sweep_talk(plan: SweepPlan) -> Iterator[SweepTalk]:
    """What hears the sweep; with a bar where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield SweepTalk(plan)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task("", total=len(cells_of(plan)))
        yield SweepTalk(
            plan,
            lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True),
            lambda done, words: bars.update(task, completed=done, description=words),
        )
