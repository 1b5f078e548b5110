"""Messages of a command on stderr, apart from its data. A closed stderr is no error."""

import contextlib
import os
import sys
from typing import TextIO

import click

from tuibench import sanitize


def info(text: str) -> None:
    """A line of talk, as opposed to data, goes to stderr."""
    write_stderr(f"{sanitize.text(text)}\n")


def warning(text: str) -> None:
    """Something that the user should know, though the work goes on."""
    info(f"warning: {text}")


def timestamp(elapsed_seconds: float) -> str:
    """The time before a message; the run's time begins after its warm-up."""
    return "[ warm-up ]" if elapsed_seconds < 0 else f"[ {elapsed_seconds:.0f}s ]"


def write_stderr(text: str) -> None:
    """A piece of talk as it is."""
    try:
        click.echo(text, nl=False, err=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """What is still to be written to `stream` goes nowhere: the interpreter's last flush must not fail."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
