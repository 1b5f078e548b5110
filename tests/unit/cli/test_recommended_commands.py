"""A recommended command line works when pasted: it names profile, server, user and database of the run."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.paths import ROOT
from tests.tables import for_each
from tests.unit.cli.parsing.test_help import given, options_of
from tuibench.cli.options.profile_options import split_profile_and_options
from tuibench.cli.options.server_options import ServerOptions
from tuibench.load.tables.inspect_tables import cleanup_line, prepare_line
from tuibench.model.target import Target, server_words
from tuibench.workload import library
from tuibench.workload.datasets import build_data_set

ON_A_SERVER = "run|live|prepare|prewarm|cleanup|check|doctor|probe|tune|sweep|watch"

WITHOUT_SERVER = {
    "record/report/reproduce.py": "completed by server_words",
    "workload/datasets/": "the part of a line that prepare_line and cleanup_line complete",
}
WORDS = (
    "see tuibench cleanup",
    "see tuibench run",
    "tuibench run with the same options",
    "--create-database of tuibench prepare",
    "use tuibench run",
    "tuibench run --help",
    "create tables with tuibench prepare",
    "tuibench check PROFILE",
    "tuibench sweep --",
    "tuibench sweep takes",
    "tuibench sweep --resume",
    "tuibench probe finds",
    "As --engine of tuibench run",
    "tuibench run PROFILE --cluster",
    "tuibench run … records one",
    "it is not a run of tuibench tune",
    "start one with tuibench live",
)
"""Names of commands in a sentence, which are no line to paste."""

SERVER = Target(host="db1", port=3307, user="app", database="my shop", ssl_mode="required", login=("-p",))


def texts_of(path: Path) -> Iterator[str]:
    """The texts of a module, apart from docstrings and examples."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "EXAMPLES"
    ]
    left_out = {id(one) for value in named for one in ast.walk(value)}
    left_out |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def incomplete() -> list[tuple[str, str]]:
    """Texts with a command that needs a server, outside of the places that complete it."""
    found = []
    for path in sorted((ROOT / "tuibench").rglob("*.py")):
        name = path.relative_to(ROOT / "tuibench").as_posix()
        for text in texts_of(path):
            is_line = re.search(rf"\btuibench ({ON_A_SERVER})\b", text)
            if is_line and not any(words in text for words in WORDS):
                found.append((name, text))
    return [each for each in found if not each[0].startswith(tuple(WITHOUT_SERVER))]


def test_no_line_is_written_without_its_server() -> None:
    allowed = {
        "cli/commands/profiles/from_traffic.py",  # the profile that was written
        "demo/server.py",  # with an option file that has the rest
    }
    found = incomplete()
    assert [each for each in found if each[0] not in allowed] == []
    assert any(name == "demo/server.py" for name, _ in found)


@cache
def taken(command: str) -> set[str]:
    return options_of(command)


@for_each("profile", sorted(library.available_profiles()))
def test_tables_are_made_and_dropped_by_a_line_with_profile_and_server(profile: str) -> None:
    """`server_words` themselves are read back in the tests of the commands that repeat a run."""
    program = library.load_program(profile, {})
    for line in (prepare_line(program, SERVER), cleanup_line(program, SERVER)):
        name, command, *words = shlex.split(line)
        assert name == "tuibench"
        assert given(words) - taken(command) == set()
        assert words[-len(server_words(SERVER)) :] == server_words(SERVER)
        rest = words[: -len(server_words(SERVER))]
        named, options = split_profile_and_options(rest[0], rest[1:])
        assert named == profile
        again = library.load_program(profile, dict(options))
        assert build_data_set(again).table_names() == build_data_set(program).table_names()


def test_the_password_is_asked_for_again_and_not_written() -> None:
    target = ServerOptions(host="db1", password="secret", defaults_group_suffix="_eu").target()
    assert target.login == ("--defaults-group-suffix=_eu", "-p")
    assert "secret" not in " ".join(server_words(target))
    assert ServerOptions(host="db1", user="app", no_defaults=True).target().login == ("--no-defaults",)
