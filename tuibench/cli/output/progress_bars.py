"""Progress bars on stderr, only if it is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tuibench import sanitize
from tuibench.load.tables import consistency
from tuibench.load.tables.loader import LoadProgress


@contextmanager
def loading_bar(words: str) -> Iterator[Callable[[LoadProgress], None] | None]:
    """Progress bar for loading tables; yields a callback for each LoadProgress, None without a terminal."""
    counts = ("{task.completed:,.0f} of {task.total:,.0f} rows", "{task.fields[rate]:,.0f} rows/s")
    with _progress_bar(words, *counts, rate=0.0) as update:

        def show(progress: LoadProgress) -> None:
            update(total=progress.total_rows, completed=progress.rows, rate=progress.rows_per_second)

        yield show if update else None


@contextmanager
def checking_bar(words: str) -> Iterator[Callable[[consistency.CheckProgress], None] | None]:
    """The same for consistency checks: number of finished conditions, and the running ones."""
    with _progress_bar(
        words, "{task.completed} of {task.total} conditions{task.fields[now]}", now=""
    ) as update:

        def show(progress: consistency.CheckProgress) -> None:
            now = f", asking for {', '.join(progress.under_way)}" if progress.under_way else ""
            update(total=progress.total, completed=progress.done, now=now)

        yield show if update else None


@contextmanager
def _progress_bar(words: str, *texts: str, **fields: Any) -> Iterator[Any]:
    """A bar followed by these columns of text; yields its update function, None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), *map(TextColumn, texts))
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(file=sanitize.unsafe(sys.stderr)),
        transient=True,
    ) as bars:
        task = bars.add_task(words, total=0, **fields)
        yield lambda **changes: bars.update(task, **changes)
