"""Output of commands: formats, files, messages on stderr, prompts, and the standard streams.

- A standard stream that the caller has closed is connected to the null device. Otherwise the next socket
  would get its descriptor, and output would be sent to the server.
- A character that the terminal's encoding lacks is printed as a question mark. Control characters are
  escaped, see `sanitize`.
- The reader of stdout may end before the command, as in `tuibench run … | head -3`.

Prompts use typer, which is imported on first use.
"""

import codecs
import contextlib
import errno
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

import typer

from tuibench.base import sanitize, units
from tuibench.base.errors import ExitCode, RunError, UsageError, did_you_mean
from tuibench.cli.arguments import STDOUT


@contextmanager
def writing_to(place: str) -> Iterator[None]:
    """Raises UsageError if the file cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {place}: {error.strerror}") from error


def write_output(place: str, pieces: Iterable[str], mode: str = "w") -> None:
    """Write the pieces to a file, or to stdout. Raises UsageError if the file cannot be written."""
    if place in ("", STDOUT):
        for piece in pieces:
            typer.echo(piece, nl=False)
        return
    with writing_to(place), Path(place).open(mode, encoding="utf-8") as stream:
        stream.writelines(pieces)


def check_writable(path: str) -> None:
    """Raises UsageError if the file cannot be written; called before the run."""
    if path not in ("", STDOUT):
        with writing_to(path):
            Path(path).open("ab").close()


def info(text: str) -> None:
    """Write an informational message to stderr, wrapped between words on a terminal."""
    shown = sanitize.text(text)
    if sys.stderr.isatty():
        cells, indent = shutil.get_terminal_size().columns, len(shown) - len(shown.lstrip())
        shown = "\n".join(units.wrap_words(shown, cells, indent + 2))
    write_stderr(f"{shown}\n")


def warning(text: str) -> None:
    """Write a warning to stderr; the command continues."""
    info(f"warning: {text}")


def failure(text: str) -> None:
    """Write an error that ends the program to stderr.

    All lines but the first are indented, so that those of a log cannot be mistaken for messages of tuibench.
    """
    first, *others = text.splitlines() or [""]
    info(f"tuibench: {first}")
    for line in others:
        info(f"  {line.strip()}")


def timestamp(elapsed_seconds: float) -> str:
    """The time in front of a message, counted from the end of the warm-up; it differs from an interval
    line's.
    """
    return "in the warm-up:" if elapsed_seconds < 0 else f"at {elapsed_seconds:.0f} s:"


def write_stderr(text: str) -> None:
    """Write text to stderr unchanged."""
    try:
        typer.echo(text, nl=False, err=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Redirect `stream` to the null device, so that the interpreter's final flush does not fail."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


Answer = TypeVar("Answer")


def ask_password() -> str:
    """Read a password without echo. Raises KeyboardInterrupt on Ctrl-C and at the end of the input."""
    import typer

    return _answered(
        lambda: str(typer.prompt("Password", hide_input=True, default="", show_default=False, err=True))
    )


def confirm(question: str) -> bool:
    """Ask for confirmation; the default is no. Raises KeyboardInterrupt as `ask_password` does."""
    import typer

    return _answered(lambda: typer.confirm(question, err=True))


def _answered(ask: Callable[[], Answer]) -> Answer:
    import typer

    try:
        return ask()
    except typer.Abort as error:
        raise KeyboardInterrupt from error


STREAM_NAMES = ("stdin", "stdout", "stderr")


def open_closed_streams() -> None:
    """Connect closed standard streams to the null device; must run before anything else is opened."""
    for number, name in enumerate(STREAM_NAMES):
        if not _is_open(number):
            os.dup2(os.open(os.devnull, os.O_RDWR), number, inheritable=True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    for name in STREAM_NAMES[1:]:
        setattr(sys, name, _buffered(getattr(sys, name)))
        # Replace characters that cannot be encoded: ISO-8859-1 and similar encodings lack …, → and ≥.
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors="replace")
    sanitize.protect_streams()


def _buffered(stream: TextIO) -> TextIO:
    """The stream, with a buffer even if PYTHONUNBUFFERED is set.

    Without a buffer, Python treats a write that a signal interrupted as complete, and the rest is lost.
    """
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream.buffer, io.BufferedIOBase):
        return stream
    binary = open(stream.fileno(), "wb", closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(binary, stream.encoding, stream.errors, line_buffering=True)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


Write = Callable[[str], object]


DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of a write to stdout if it is a file on a full or failing disk."""


def write_stdout(text: str) -> None:
    typer.echo(text, nl=False)


class PipeSafeStdout:
    """Writes to stdout. When its reader has closed it, calls `gone` and discards all further output.

    The same applies to a full disk, which is reported.
    """

    def __init__(self, gone: Callable[[], None]) -> None:
        self.is_gone = False
        self._is_full = False
        self._gone = gone

    def write(self, text: str) -> None:
        if self.is_gone:
            return
        try:
            write_stdout(text)
        except OSError as error:
            self.is_gone = True
            self._is_full = not isinstance(error, BrokenPipeError)
            if self._is_full:
                info(f"tuibench: {output_error(error)}")
            discard_output()
            self._gone()

    def judged(self, code: ExitCode) -> ExitCode:
        """The exit code: `code`, or that of a closed stdout if it ended the run."""
        if not self.is_gone or code not in (ExitCode.DONE, ExitCode.INTERRUPTED):
            return code
        return ExitCode.RUN_FAILED if self._is_full else ExitCode.BROKEN_PIPE


@contextlib.contextmanager
def exit_on_broken_pipe() -> Iterator[None]:
    """Exit as after SIGPIPE if the reader of stdout has closed it.

    Raises RunError if stdout cannot be written. Errors of other files are raised unchanged.
    """
    try:
        yield
    except BrokenPipeError:
        discard_output()
        sys.exit(ExitCode.BROKEN_PIPE)
    except OSError as error:
        if error.errno not in DISK_ERRORS or error.filename is not None:
            raise
        discard_output()
        raise output_error(error) from error


def output_error(error: OSError) -> RunError:
    """The error of a write to stdout."""
    return RunError(f"cannot write the output: {error.strerror or error}", "is the disk full?")


def discard_output() -> None:
    discard(sys.stdout)


TEXT, JSON = "text", "json"

FORMATS = (TEXT, JSON)

ONE_FORMAT_ON_STDOUT = "only one format can be printed on stdout"


def check_format(given: str, known: tuple[str, ...] = FORMATS) -> None:
    """Raises UsageError for an unknown format."""
    if given not in known:
        raise UsageError(f"--format: '{given}' is unknown", did_you_mean(given, known))


def echo_json(value: Any) -> None:
    """Write indented JSON to stdout, as UTF-8 whatever the terminal's encoding, with one final newline."""
    from tuibench.record.recorder import pretty_json

    typer.echo(pretty_json(value), nl=False)


GAP = "  "


def align_columns(rows: Sequence[Sequence[str]], first_number: int) -> str:
    """The rows as lines with columns of minimal width; those from `first_number` on are right-aligned."""
    rows = _shown(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        GAP.join(
            cell.rjust(width) if place >= first_number else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def table_width(rows: Sequence[Sequence[str]]) -> int:
    """Width of the longest line."""
    rows = _shown(rows)
    return sum(max(map(len, column)) for column in zip(*rows, strict=True)) + len(GAP) * (len(rows[0]) - 1)


def _shown(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[sanitize.text(cell) for cell in row] for row in rows]
