"""What a command says to whoever watches it, apart from its data. Nothing depends on its being heard."""

import contextlib

import typer


def say(text: str) -> None:
    """Talk, as opposed to data, goes to stderr."""
    to_stderr(f"{text}\n")


def warn(text: str) -> None:
    """Something that the user should know, though the work goes on."""
    say(f"warning: {text}")


def moment(elapsed_seconds: float) -> str:
    """When something happened, before what is said of it; the run's time begins after its warm-up."""
    return "[ warm-up ]" if elapsed_seconds < 0 else f"[ {elapsed_seconds:.0f}s ]"


def to_stderr(text: str) -> None:
    """A piece of talk as it is."""
    with contextlib.suppress(OSError):
        typer.echo(text, nl=False, err=True)
