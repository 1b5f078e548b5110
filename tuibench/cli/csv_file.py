"""`--csv`: a row an interval, written as they come, so that a run that is cut short leaves what it had."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tuibench.errors import UsageError
from tuibench.record import table
from tuibench.record.every import Every
from tuibench.record.text import Interval


class CsvFile:
    """Rows of a run, after their header."""

    def __init__(self, stream: TextIO, every_seconds: float, percentiles: tuple[float, ...]) -> None:
        self._stream = stream
        self._every = Every(every_seconds)
        self._percentile = percentiles[0] if percentiles else 0.0
        self._write(table.HEADER)

    def tick(self, elapsed_seconds: float, interval: Interval) -> None:
        whole = self._every.take(elapsed_seconds, interval)
        if whole is not None:
            self._write(table.row(elapsed_seconds, whole, self._percentile))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


@contextmanager
def csv_file(path: str, every_seconds: float, percentiles: tuple[float, ...]) -> Iterator[CsvFile | None]:
    """The file, None for no path; `-` is stdout. Raises UsageError if it cannot be written."""
    if path in ("", "-"):
        yield CsvFile(sys.stdout, every_seconds, percentiles) if path else None
        return
    with _opened(path) as stream:
        yield CsvFile(stream, every_seconds, percentiles)


def _opened(path: str) -> TextIO:
    try:
        return Path(path).open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
