"""Values that need no library are what typer makes of them; all others are left to typer."""

import subprocess
import sys
from typing import Annotated, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.core import TyperCommand

from tuibench.cli.main import PARSER_ERROR, LazyGroup, app
from tuibench.cli.values import NotPlainError, QuickCommand, read
from tuibench.model.plan import Backlog

KINDS: tuple[Any, ...] = (str, int, float, bool, list[str])
TEXTS = ("", " ", "8", "+8", "-8", "08", "8.0", "0.5", ".5", "5.", "1e3", "1_000", "nan", "yes", "٣", "a b")


def typers(kind: Any, text: str, *, plainly: bool) -> Any:
    """What a command gets for an option of this kind; the words of the error when it refuses."""
    single = typer.Typer(add_completion=False)

    def command(option: Any) -> Any:
        return option

    command.__annotations__["option"] = Annotated[kind, typer.Option()]
    single.command(cls=QuickCommand if plainly else TyperCommand)(command)
    try:
        return typer.main.get_command(single)([f"--option={text}"], standalone_mode=False)
    except PARSER_ERROR as error:
        return str(error)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not bool])
@pytest.mark.parametrize("text", TEXTS)
def test_a_value_is_what_typer_makes_of_it(kind: Any, text: str) -> None:
    expected = typers(kind, text, plainly=False)
    found = typers(kind, text, plainly=True)
    assert repr(found) == repr(expected)


@given(st.integers() | st.floats(allow_nan=False))
def test_a_number_is_read_exactly_or_not_at_all(number: float) -> None:
    try:
        assert read(type(number), str(number)) == number
    except NotPlainError:
        assert len(str(number)) > 15 or not str(number).lstrip("-").replace(".", "").isdigit()


def test_a_limited_number_is_typers() -> None:
    web = typer.main.get_command(app)
    assert isinstance(web, LazyGroup)
    with pytest.raises(PARSER_ERROR):
        web.get_command(None, "web")(["--port=70000"], standalone_mode=False)


def test_a_word_of_an_enumeration_is_plain_text() -> None:
    found = read(str, Backlog.KEEP)
    assert (found, type(found)) == (Backlog.KEEP.value, str)


@pytest.mark.parametrize(
    "arguments",
    [
        ("attach", "nobody", "--fps=30", "--run-dir=/nonexistent"),
        ("run", "oltp_read_write", "--socket=/nonexistent"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_the_options_of_a_command_load_no_validator(arguments: tuple[str, ...]) -> None:
    code = (
        "import sys; from tuibench.cli.main import main\n"
        f"sys.argv = {['tuibench', *arguments]}\n"
        "try: main()\n"
        "except SystemExit: print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n", done.stderr
