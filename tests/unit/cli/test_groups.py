"""Options declared once as fields reach the command as one value."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer

from tuibench.cli.groups import Without, grouped


@dataclass(frozen=True)
class Shared:
    size: Annotated[int, typer.Option("--size", "-s", help="How big.")] = 3
    loud: Annotated[bool, typer.Option("--loud", help="Shout.")] = False


def program(received: list[Any]) -> typer.Typer:
    @grouped
    def command(name: Annotated[str, typer.Argument()], shared: Shared, last: int = 7) -> None:
        received.append((name, shared, last))

    app = typer.Typer(add_completion=False)
    app.command()(command)
    return app


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x"], ("x", Shared(), 7)),
        (["x", "-s", "9", "--loud", "--last", "1"], ("x", Shared(9, True), 1)),
        (["--size=4", "x"], ("x", Shared(4), 7)),
    ],
)
def test_fields_are_options_of_the_command(arguments: list[str], expected: tuple[str, Shared, int]) -> None:
    received: list[Any] = []
    program(received)(arguments, standalone_mode=False)
    assert received == [expected]


def test_the_options_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    program([])(["--help"], standalone_mode=False)
    text = capsys.readouterr().out
    assert "How big." in text
    assert "Shout." in text
    assert "shared" not in text


def test_fields_that_a_command_does_without_keep_their_defaults() -> None:
    received: list[Any] = []

    @grouped
    def command(shared: Annotated[Shared, Without("size")], size: str = "own") -> None:
        received.append((shared, size))

    app = typer.Typer(add_completion=False)
    app.command()(command)
    app(["--loud", "--size", "other"], standalone_mode=False)
    assert received == [(Shared(3, True), "other")]
