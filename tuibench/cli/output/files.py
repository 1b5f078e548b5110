"""Output of results to stdout or a file."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tuibench.cli.parsing.arguments import STDOUT
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
