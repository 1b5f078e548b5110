"""stdout while a run goes on, and what it means that nobody reads it any more: `tuibench run … | head -3`."""

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator

import typer

from tuibench.cli.talk import say
from tuibench.errors import ExitCode, RunError

Write = Callable[[str], object]


FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What writing to stdout meets when it is a file on a full or a broken disk."""


def to_stdout(text: str) -> None:
    typer.echo(text, nl=False)


class Outlet:
    """Writes to stdout. Once its reader is gone, `gone` is called, and whatever else comes is dropped.

    The same goes for a disk that is full, which is said.
    """

    def __init__(self, gone: Callable[[], None]) -> None:
        self.is_gone = False
        self._is_full = False
        self._gone = gone

    def write(self, text: str) -> None:
        if self.is_gone:
            return
        try:
            to_stdout(text)
        except OSError as error:
            self.is_gone = True
            self._is_full = not isinstance(error, BrokenPipeError)
            if self._is_full:
                say(f"tuibench: {unwritten(error)}")
            drop_the_rest()
            self._gone()

    def judged(self, code: ExitCode) -> ExitCode:
        """The exit code of a run that ended because nobody read it, unless it has failed."""
        if not self.is_gone or code not in (ExitCode.DONE, ExitCode.INTERRUPTED):
            return code
        return ExitCode.RUN_FAILED if self._is_full else ExitCode.READER_GONE


@contextlib.contextmanager
def read_by_somebody() -> Iterator[None]:
    """Ends the program as SIGPIPE would where the reader of its output is gone.

    Raises RunError where the output cannot be written. All other files have their own words for that.
    """
    try:
        yield
    except BrokenPipeError:
        drop_the_rest()
        sys.exit(ExitCode.READER_GONE)
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        drop_the_rest()
        raise unwritten(error) from error


def unwritten(error: OSError) -> RunError:
    return RunError(f"cannot write the output: {error.strerror or error}", "is the disk full?")


def drop_the_rest() -> None:
    """What is still to be written goes nowhere, so that the interpreter's last flush does not complain."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
