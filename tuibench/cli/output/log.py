"""Messages of a command on stderr, separate from its data. A closed stderr is no error."""

import contextlib
import os
import sys
from typing import TextIO

import click

from tuibench import sanitize


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
