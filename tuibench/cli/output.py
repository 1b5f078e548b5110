"""Output of commands: files, formats, log, prompts.

Output of results to stdout or a file.

`--format`: the output formats of a command, and the encoding of JSON.

Text tables have columns of minimal width, with numbers right-aligned.

Messages of a command on stderr, separate from its data. A closed stderr is no error.

Prompts on the terminal: password, confirmation. They use typer, which is imported on first use.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeVar

import click

from tuibench import sanitize
from tuibench.cli.arguments import STDOUT
from tuibench.errors import UsageError


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
            click.echo(piece, nl=False)
        return
    with writing_to(place), Path(place).open(mode, encoding="utf-8") as stream:
        stream.writelines(pieces)


def check_writable(path: str) -> None:
    """Raises UsageError if the file cannot be written, to detect that before the run."""
    if path not in ("", STDOUT):
        with writing_to(path):
            Path(path).open("ab").close()


def info(text: str) -> None:
    """Write an informational message to stderr."""
    write_stderr(f"{sanitize.text(text)}\n")


def warning(text: str) -> None:
    """Write a warning: something that the user should know, while the command continues."""
    info(f"warning: {text}")


def failure(text: str) -> None:
    """Write why the program ends. Further lines, such as those of a log, are indented: none of them can be
    mistaken for a message of tuibench.
    """
    first, *others = text.splitlines() or [""]
    info(f"tuibench: {first}")
    for line in others:
        info(f"  {line.strip()}")


def timestamp(elapsed_seconds: float) -> str:
    """Timestamp before a message; the run's time starts after its warm-up."""
    return "[ warm-up ]" if elapsed_seconds < 0 else f"[ {elapsed_seconds:.0f}s ]"


def write_stderr(text: str) -> None:
    """Write text to stderr unchanged."""
    try:
        click.echo(text, nl=False, err=True)
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
