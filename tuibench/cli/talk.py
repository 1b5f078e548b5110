"""What a command says to whoever watches it, apart from its data. Nothing depends on its being heard."""

import contextlib

import typer


def say(text: str) -> None:
    """Talk, as opposed to data, goes to stderr."""
    to_stderr(f"{text}\n")


def to_stderr(text: str) -> None:
    """A piece of talk as it is."""
    with contextlib.suppress(BrokenPipeError):
        typer.echo(text, nl=False, err=True)
