"""stdout while a run goes on, and what it means that nobody reads it any more: `tuibench run … | head -3`."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

import typer

from tuibench.errors import ExitCode

Write = Callable[[str], object]


def to_stdout(text: str) -> None:
    typer.echo(text, nl=False)


class Outlet:
    """Writes to stdout. Once its reader is gone, `gone` is called, and whatever else comes is dropped."""

    def __init__(self, gone: Callable[[], None]) -> None:
        self.is_gone = False
        self._gone = gone

    def write(self, text: str) -> None:
        if self.is_gone:
            return
        try:
            to_stdout(text)
        except BrokenPipeError:
            self.is_gone = True
            drop_the_rest()
            self._gone()

    def judged(self, code: ExitCode) -> ExitCode:
        """The exit code of a run that ended because nobody read it, unless it has failed."""
        ended = self.is_gone and code in (ExitCode.DONE, ExitCode.INTERRUPTED)
        return ExitCode.READER_GONE if ended else code


@contextlib.contextmanager
def read_by_somebody() -> Iterator[None]:
    """Ends the program as SIGPIPE would where the reader of its output is gone."""
    try:
        yield
    except BrokenPipeError:
        drop_the_rest()
        sys.exit(ExitCode.READER_GONE)


def drop_the_rest() -> None:
    """What is still to be written goes nowhere, so that the interpreter's last flush does not complain."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
