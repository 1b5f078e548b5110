"""`--csv`: a row an interval, written as they come, so that a run that is cut short leaves what it had."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from tuibench.cli.arguments import STDOUT
from tuibench.cli.outlet import Write, to_stdout
from tuibench.errors import UsageError
from tuibench.record import table
from tuibench.record.every import Every
from tuibench.record.text import Interval


class CsvFile:
    """Rows of a run, after their header."""

    def __init__(self, write: Write, every_seconds: float, percentiles: tuple[float, ...]) -> None:
        self._write = write
        self._every = Every(every_seconds)
        self._percentile = percentiles[0] if percentiles else 0.0
        self._write(table.HEADER)

    def tick(self, elapsed_seconds: float, interval: Interval) -> None:
        whole = self._every.take(elapsed_seconds, interval)
        if whole is not None:
            self._write(table.row(elapsed_seconds, whole, self._percentile))


@contextmanager
def csv_file(
    path: str, every_seconds: float, percentiles: tuple[float, ...], stdout: Write = to_stdout
) -> Iterator[CsvFile | None]:
    """The file, None for no path; `-` is stdout. Raises UsageError if it cannot be written."""
    if path in ("", STDOUT):
        yield CsvFile(stdout, every_seconds, percentiles) if path else None
        return
    with _opened(path) as stream:
        yield CsvFile(partial(_flushed, stream), every_seconds, percentiles)


def _flushed(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def _opened(path: str) -> TextIO:
    try:
        return Path(path).open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
