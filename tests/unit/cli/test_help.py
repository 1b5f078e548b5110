"""Help, and the command lines that the program recommends."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.tables import for_each
from tests.unit.cli.program import Program
from tuibench.cli import sysbench_syntax
from tuibench.cli.arguments import normalize
from tuibench.cli.help_layout import SECTION_ORDER, example_lines
from tuibench.cli.main import COMMANDS, program
from tuibench.cli.options import split_profile_and_options
from tuibench.cli.server_options import ServerOptions
from tuibench.load.tables import cleanup_line, prepare_line
from tuibench.model.server import Target, server_words
from tuibench.workload import beside, library
from tuibench.workload.compiler import known_options
from tuibench.workload.dataset import build_data_set

# What the program says of itself: the same words for the same things, and nothing that is not so.


PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
"""Every page that speaks of command lines."""


def options_of(command: str) -> set[str]:
    """What the parser of a command takes; where it leaves the rest to the profile, all profiles' options."""
    parser = program().get_command(None, command)
    assert parser is not None
    taken = {name for each in parser.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
    return taken | profile_options() if parser.context_settings.get("ignore_unknown_options") else taken


def own_options() -> set[str]:
    """Those of the program itself, without a command."""
    return {name for each in program().params for name in each.opts} | {"--help"}


@cache
def profile_options() -> set[str]:
    known = [known_options(library.load_profile(name)) for name in library.available_profiles()]
    return {f"--{name.replace('_', '-')}" for options in [*known, beside.OPTIONS] for name in options}


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
        sysbench_syntax.NOTED_OPTIONS,
        sysbench_syntax.OLD_OPTIONS,
        sysbench_syntax.TPCC_OPTIONS,
        sysbench_syntax.SWITCHED_PROFILES,
        ["--ssl", "--allow-script-io"],
        [
            sysbench_syntax.SSL,
            sysbench_syntax.VERIFY_CERTIFICATE,
            sysbench_syntax.TEST,
            sysbench_syntax.TEST_MODE,
            sysbench_syntax.CONFIG_FILE,
        ],
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
    assert [name for name in COMMANDS if not example_lines(name)] == ["start"]


@for_each("command", COMMANDS)
def test_help_is_in_our_own_words(tuibench: Program, command: str) -> None:
    """The parser's names of types say nothing, and neither do defaults that are empty."""
    out = tuibench(command, "--help").out
    assert not re.search(r"<[a-z\[]|\[default|\[required|\[\s*\]", out)
    sections = re.findall(r"^([A-Z].*):$", out, re.MULTILINE)
    known = [title for title in SECTION_ORDER if title in sections]
    assert sections == [*known, *(["Examples"] if command != "start" else [])]
    assert "--mysql-compression" not in out


def test_a_default_follows_its_description(tuibench: Program) -> None:
    out = tuibench("run", "--help").out
    assert "Seconds to run before measuring [0]." in out
    assert "With --ab: windows of each value [5]." in out
    assert "--fail-if CONDITION" in out


# A recommended command line works when pasted: it names profile, server, user and database of the run.


ON_A_SERVER = "run|live|prepare|prewarm|cleanup|check|doctor|probe|tune|sweep|watch"

WITHOUT_SERVER = {
    "report/reproduce.py": "completed by server_words",
    "features/slap/sql.py": "the part of a line that prepare_line and cleanup_line complete",
    "workload/dataset.py": "the part of a line that prepare_line and cleanup_line complete",
    "workload/sbtest.py": "the part of a line that prepare_line and cleanup_line complete",
    "workload/tpcc.py": "the part of a line that prepare_line and cleanup_line complete",
    "workload/benchmarks.py": "the part of a line that prepare_line and cleanup_line complete",
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
    """The texts of a module that names a command line, apart from docstrings and examples."""
    source = path.read_text(encoding="utf-8")
    if not re.search(rf"tuibench ({ON_A_SERVER})\b", source):
        return
    tree = ast.parse(source)
    named = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "examples"
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
        "cli/profiles.py",  # the profile that was written
        "servers/server.py",  # with an option file that has the rest
        "tui/panels/settings.py",  # on private servers
    }
    found = incomplete()
    assert [each for each in found if each[0] not in allowed] == []
    assert any(name == "servers/server.py" for name, _ in found)


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


# Messages recommend options; whoever can print a message has the options that it recommends.


LOADS = ("run", "live", "demo", "probe", "tune", "sweep")
"""The commands that drive a load which their options describe."""

MODULES = {
    "session/load.py": LOADS,
    "session/commands.py": LOADS,
    "session/settings.py": LOADS,
    "session/replicas.py": LOADS,
    "features/cluster/command.py": LOADS,
    "load/engine.py": LOADS,
    "load/connections.py": LOADS,
    "load/asyncio_engine.py": LOADS,
    "load/native_engine.py": LOADS,
    "load/fleet.py": LOADS,
    "load/worker.py": LOADS,
    "tuning/preflight.py": LOADS,
    "metrics/diagnosis.py": LOADS,
    "metrics/measurement_warnings.py": LOADS,
    "record/recorder.py": LOADS,
    "servers/": ("demo", "tune", "sweep", "versions"),
}
"""Where messages come from that several commands print."""

ELSEWHERE = {
    "servers/instance.py": "options of the server program",
    "servers/disk.py": "options of the server program; --disk names the option that was given",
    "servers/binaries.py": "options of the server program, and of apt-get",
    "servers/limits.py": "options of systemd-run",
    "servers/instance.py: --init-file": "an option of the server program",
    "servers/server.py: --defaults-file": "in a command that is printed",
    "features/cluster/command.py": "for an address that another host cannot reach: that of a named server",
    "session/replicas.py": "names the option that was given",
    "session/commands.py: --users": "names the option that was given",
    "metrics/diagnosis.py: --ab": "in a command that is printed",
}
"""Options in texts that are no recommendation to the command, by file, or by file and option."""


def words_of(path: Path) -> Iterator[str]:
    """The options in the texts of a module, apart from those of its docstrings."""
    tree = ast.parse(path.read_text())
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield from re.findall(r"(?<![\w-])--[a-z][a-z-]+", node.value)


@cache
def recommended() -> list[tuple[str, str, str]]:
    """File, option and command."""
    package = ROOT / "tuibench"
    found = []
    for place, commands in MODULES.items():
        files = sorted((package / place).rglob("*.py")) if place.endswith("/") else [package / place]
        for path in files:
            name = path.relative_to(package).as_posix()
            found += [(name, word, command) for word in dict.fromkeys(words_of(path)) for command in commands]
    return found


def is_elsewhere(file: str, option: str) -> bool:
    return file in ELSEWHERE or f"{file}: {option}" in ELSEWHERE


@cache
def missing() -> list[tuple[str, str, str]]:
    options = {command: options_of(command) for command in {command for _, _, command in recommended()}}
    return [(file, word, command) for file, word, command in recommended() if word not in options[command]]


def test_a_command_has_the_options_that_its_messages_recommend() -> None:
    assert [one for one in missing() if not is_elsewhere(*one[:2])] == []
    for command in LOADS:
        assert ("session/load.py", "--thread-init-timeout", command) in recommended()
    superfluous = [
        place
        for place in ELSEWHERE
        if not any(
            file == place.partition(": ")[0] and place.partition(": ")[2] in ("", word)
            for file, word, _ in missing()
        )
    ]
    assert superfluous == []
