"""Prompts on the terminal: password, confirmation. They use typer, which is imported on first use."""

from collections.abc import Callable
from typing import TypeVar

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
