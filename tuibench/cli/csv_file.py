"""`--csv`: a row an interval, written as they come, so that a run that is cut short leaves what it had."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from io import FileIO
from pathlib import Path

from tuibench.cli.arguments import STDOUT
from tuibench.cli.outlet import Write, to_stdout
from tuibench.cli.talk import say
from tuibench.errors import UsageError
from tuibench.record import table
from tuibench.record.every import Every
from tuibench.record.text import Interval


class CsvFile:
    """Rows of a run, after their header. One that finds no room is the last one: `is_cut`, and it is said."""

    def __init__(self, write: Write, every_seconds: float, percentiles: tuple[float, ...]) -> None:
        self.is_cut = False
        self._write = write
        self._every = Every(every_seconds)
        self._percentile = percentiles[0] if percentiles else 0.0
        self._write(table.HEADER)

    def tick(self, elapsed_seconds: float, interval: Interval) -> None:
        whole = self._every.take(elapsed_seconds, interval)
        if whole is None or self.is_cut:
            return
        try:
            self._write(table.row(elapsed_seconds, whole, self._percentile))
        except OSError as error:
            self.is_cut = True
            say(f"tuibench: no more rows of CSV can be written: {error.strerror}")


@contextmanager
def csv_file(
    path: str, every_seconds: float, percentiles: tuple[float, ...], stdout: Write = to_stdout
) -> Iterator[CsvFile | None]:
    """The file, None for no path; `-` is stdout. Raises UsageError if it cannot be written."""
    if path in ("", STDOUT):
        yield CsvFile(stdout, every_seconds, percentiles) if path else None
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(path).open("wb", buffering=0))
            file = CsvFile(partial(_written, stream), every_seconds, percentiles)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        yield file


def _written(stream: FileIO, text: str) -> None:
    stream.write(text.encode())
