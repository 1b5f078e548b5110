"""Progress of long work on stderr: a bar on a terminal, a line at the end elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tuibench.load.prepare_load import Progress


@contextmanager
def loading_bar(words: str) -> Iterator[Callable[[Progress], None] | None]:
    """Shows how far a load of tables is; yields what to call with each Progress, None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
        TextColumn("{task.fields[rate]:,.0f} rows/s"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(words, total=0, rate=0.0)

        def show(progress: Progress) -> None:
            bars.update(
                task, total=progress.total_rows, completed=progress.rows, rate=progress.rows_per_second
            )

        yield show
