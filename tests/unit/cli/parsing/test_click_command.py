"""Commands declared as functions: options shared as the fields of a dataclass reach them as one value."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import click
import pytest

from tuibench.cli.parsing.click_command import Argument, OmitOptions, build_command
from tuibench.model.option import Option, help_with_default


@dataclass(frozen=True)
class Shared:
    size: Annotated[int, Option("--size", "-s", help="How big.")] = 3
    loud: Annotated[bool, Option("--loud", help="Shout.")] = False
    names: Annotated[list[str] | None, Option("--name", help="Any number of them.")] = None


Calls = list[tuple[Any, ...]]


def program(received: Calls) -> Callable[[list[str]], Any]:
    def command(
        name: Annotated[str, Argument(help="Of it.")], shared: Shared, last: Annotated[int, Option()] = 7
    ) -> None:
        received.append((name, shared, last))

    return lambda arguments: build_command(command).main(arguments, standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x"], ("x", Shared(names=[]), 7)),
        (["x", "-s", "9", "--loud", "--last", "1"], ("x", Shared(9, True, []), 1)),
        (["--size=4", "--name=a", "x", "--name=b"], ("x", Shared(4, names=["a", "b"]), 7)),
    ],
)
def test_fields_are_options_of_the_command(arguments: list[str], expected: tuple[str, Shared, int]) -> None:
    received: Calls = []
    program(received)(arguments)
    assert received == [expected]


def test_the_options_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    program([])(["--help"])
    text = capsys.readouterr().out
    assert "How big [3]." in text
    assert "Shout." in text
    assert "Of it." in text
    assert "shared" not in text


def test_fields_that_a_command_omits_keep_their_defaults() -> None:
    received: Calls = []

    def command(
        context: click.Context,
        shared: Annotated[Shared, OmitOptions("size", "names")],
        size: Annotated[str, Option("--size")] = "own",
    ) -> None:
        received.append((context.args, shared, size))

    build_command(command, context_settings={"allow_extra_args": True}).main(
        ["--loud", "--size", "other", "extra"], standalone_mode=False
    )
    assert received == [(["extra"], Shared(3, True), "other")]


@pytest.mark.parametrize(
    ("default", "expected"), [("", "How."), ("\n", "How."), ("0", "How [0]."), ("10", "How [10].")]
)
def test_a_default_is_shown_unless_it_says_nothing(default: str, expected: str) -> None:
    assert help_with_default("How.", default) == expected
