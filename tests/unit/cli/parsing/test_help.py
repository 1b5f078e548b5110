"""What the program says of itself: the same words for the same things, and nothing that is not so."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.tables import for_each
from tests.unit.cli.program import Program
from tuibench.cli.main import COMMANDS, LazyGroup, app
from tuibench.cli.parsing import sysbench_syntax
from tuibench.cli.parsing.arguments import normalize
from tuibench.cli.parsing.help import EXAMPLES, SECTION_ORDER, example_lines
from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import known_options

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
"""Every page that speaks of command lines."""


def options_of(command: str) -> set[str]:
    """What the parser of a command takes; where it leaves the rest to the profile, all profiles' options."""
    parser = LazyGroup(name="tuibench").get_command(None, command)
    assert parser is not None
    taken = {name for each in parser.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
    return taken | profile_options() if parser.context_settings.get("ignore_unknown_options") else taken


def own_options() -> set[str]:
    """Those of the program itself, without a command."""
    return {name for each in app.params for name in each.opts} | {"--help"}


def profile_options() -> set[str]:
    known = (known_options(library.load_profile(name)) for name in library.available_profiles())
    return {f"--{name.replace('_', '-')}" for options in known for name in options}


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    return {command: options_of(command) for command in COMMANDS}


def given(words: list[str]) -> set[str]:
    """The options among the words of a command line; what follows `ctl` are words of its own."""
    named = {re.match(r"--?[\w-]+", word) for word in words if re.match(r"--?[a-zA-Z]", word)}
    spelt = {
        found[0].replace("_", "-") if found[0].startswith("--") else found[0] for found in named if found
    }
    return {name if name.startswith("--") else name[:2] for name in spelt}


def lines_of(page: Path) -> Iterator[list[str]]:
    """The command lines of a page, blocks and words in a sentence alike, each beginning with its command."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            yield from command_of(line)
    for span in re.findall(r"`(tuibench [^`]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        yield from command_of(span.replace("\n", " "))


def command_of(line: str) -> Iterator[list[str]]:
    bare = re.sub(r"^(\$ |\w+=\$\()", "", line)
    if bare.startswith("tuibench "):
        yield shlex.split(bare.removesuffix(")"), comments=True)[1:]


@for_each("page", PAGES)
def test_every_command_line_of_a_page_can_be_typed(page: Path, options: dict[str, set[str]]) -> None:
    for line in lines_of(page):
        words = normalize(line, COMMANDS)
        if words[0].partition("=")[0] in own_options():
            continue
        assert words[0] in COMMANDS, words
        assert given(words[1:]) - options[words[0]] == set(), words


@for_each("page", PAGES)
def test_every_option_of_a_page_exists(page: Path, options: dict[str, set[str]]) -> None:
    every = set().union(
        *options.values(),
        own_options(),
        sysbench_syntax.IGNORED_OPTIONS,
        sysbench_syntax.OLD_OPTIONS,
        sysbench_syntax.SWITCHED_PROFILES,
        [sysbench_syntax.SSL, sysbench_syntax.TEST, sysbench_syntax.TEST_MODE, sysbench_syntax.CONFIG_FILE],
    )
    spans = re.findall(r"`(-[^`]*)`", page.read_text(encoding="utf-8"))
    named = set().union(*(given(re.split(r"[\s/]", span)) for span in spans))
    assert {name for name in named if name.startswith("--")} - every == set()


def test_every_command_is_spoken_of() -> None:
    told = "".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md")
    assert [name for name in COMMANDS if f"tuibench {name}" not in told] == []


def test_the_pages_have_command_lines() -> None:
    assert sum(len(list(lines_of(page))) for page in PAGES) > 60


@for_each("page", PAGES)
def test_every_file_that_a_page_leads_to_is_there(page: Path) -> None:
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [place for place in linked if not (page.parent / place).exists()] == []


# Help


@for_each("command", COMMANDS)
def test_the_examples_can_be_typed(command: str, options: dict[str, set[str]]) -> None:
    for line in example_lines(command):
        assert given(shlex.split(line)[2:]) - options[command] == set(), line


def test_who_takes_arguments_has_examples() -> None:
    assert set(COMMANDS) - set(EXAMPLES) == {"start"}


@for_each("command", COMMANDS)
def test_help_is_in_our_own_words(tuibench: Program, command: str) -> None:
    """The parser's names of types say nothing, and neither do defaults that are empty."""
    out = tuibench(command, "--help").out
    assert not re.search(r"<[a-z\[]|\[default|\[required|\[\s*\]", out)
    sections = re.findall(r"^([A-Z].*):$", out, re.MULTILINE)
    known = [title for title in SECTION_ORDER if title in sections]
    assert sections == [*known, *(["Examples"] if command != "start" else [])]
    assert "--compress" not in out


def test_a_default_follows_its_description(tuibench: Program) -> None:
    out = tuibench("run", "--help").out
    assert "Seconds to run before measuring [0]." in out
    assert "With --ab: windows of each value [5]." in out
    assert "--fail-if CONDITION" in out
