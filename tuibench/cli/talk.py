"""What a command says to whoever watches it, apart from its data."""

import typer


def say(text: str) -> None:
    """Talk, as opposed to data, goes to stderr."""
    typer.echo(text, err=True)
