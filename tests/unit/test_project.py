"""What the project says of itself: pages, schemas, promises, and which processes stay light."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import profile_reference
from tests.integration.conftest import LONGEST
from tests.paths import ROOT
from tests.schemas import FOLDER, SCHEMAS, text
from tests.tables import for_each
from tests.unit.conftest import LONG
from tests.validation import check_valid_value
from tuibench.cli import arguments
from tuibench.cli.main import COMMANDS, command_module, program

# What no linter checks: which processes stay light.


ROOMS_OF_A_RUN = (
    "load", "mysql", "observe", "tuning", "servers", "session.load_run", "session.run", "session.replay",
    "record.reader",
)  # fmt: skip
OF_OTHER_LOADS = ("workload.compiler", "load.commit_ledger", "features.slap.sql")
ENGINES = ("load.asyncio_engine", "load.native_engine")
"""A worker imports the one of its load."""
OF_OTHER_RUNS = (
    "session.http", "features.ab.experiment", "features.cluster.fleet", "features.crash.experiment",
    "observe.cpu_profile", "report.html_plots", "report.answer",
)  # fmt: skip


MADE = """
from tuibench.model.message import SessionSpec
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target
from tuibench.session.load_run import LoadRun
LoadRun(SessionSpec(session="1", plan=RunPlan(profile="oltp_read_only"), target=Target(), run_directory="1"))
"""
"""Makes a run, without an experiment."""


def imported_by(*modules: str, then: str = "") -> set[str]:
    """All modules that a fresh interpreter holds after importing these and executing `then`, and their
    top-level names.
    """
    statement = f"import sys, {', '.join(modules)}\n{then}\nprint(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    found = done.stdout.split()
    return {*found, *(name.partition(".")[0] for name in found)}


@pytest.mark.parametrize(
    "modules",
    [
        ("tuibench.load.worker",),
        ("tuibench.session.service", "tuibench.tuning.guardian"),
    ],
)
def test_processes_without_a_screen_load_nothing_to_draw_with(modules: tuple[str, ...]) -> None:
    loaded = imported_by(*modules)
    assert "tuibench" in loaded
    assert not loaded & {"textual", "rich", "typer"}


def test_a_viewer_loads_what_it_draws_with_and_nothing_that_drives_or_records() -> None:
    """All of it stands between the command and its first picture."""
    loaded = imported_by("tuibench.cli.main", "tuibench.cli.run", "tuibench.tui.viewer")
    assert {"textual", "tuibench.session.client"} <= loaded
    assert not loaded & modules_of(ROOMS_OF_A_RUN)
    assert not loaded & {
        "asyncmy",
        "cryptography",
        "hdrh",
        "prometheus_client",
        "psutil",
        "pydantic",
        "uvloop",
    }


def test_a_run_and_its_worker_load_nothing_for_other_loads() -> None:
    """All of it stands between the command and its first transaction."""
    worker = imported_by("tuibench.load.worker")
    assert not worker & modules_of((*OF_OTHER_LOADS, *ENGINES))
    command = ("tuibench.cli.main", "tuibench.cli.run", "tuibench.cli.runner", "tuibench.cli.headless")
    run = imported_by(*command, then=MADE)
    assert "tuibench.session.load_run" in run
    assert not run & {*modules_of(OF_OTHER_RUNS), "textual", "pydantic", "http"}


@pytest.mark.parametrize(
    ("modules", "most"),
    [
        (("tuibench.load.worker",), 261),
        (("tuibench.tuning.guardian",), 278),
        (("tuibench.cli.main", "tuibench.cli.run", "tuibench.cli.runner", "tuibench.cli.headless"), 486),
        (("tuibench.session.service",), 420),
    ],
)
def test_a_process_starts_with_few_modules(modules: tuple[str, ...], most: int) -> None:
    """Each costs a fraction of a millisecond of CPU at every start."""
    assert len(imported_by(*modules)) <= most


def test_help_of_a_run_loads_little_beside_the_parser() -> None:
    program = (
        "import contextlib, io, sys; from tuibench.cli.main import main\n"
        "sys.argv[1:] = ['run', '--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): main()\n"
        "print(*sys.modules, sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    beside = set(done.stdout.split()) - imported_by("typer")
    assert "tuibench.cli.run" in beside
    assert len(beside) <= 82


def modules_of(names: Sequence[str]) -> set[str]:
    """Their full names; each exists, else it would never be loaded."""
    found = {f"tuibench.{name}" for name in names}
    assert not [name for name in found if find_spec(name) is None]
    return found


# The native engine: a module uses those above it in the list of lib.rs, and so none forms a circle.


NATIVE = ROOT / "native" / "src"
FLOORS = re.findall(r"^//! (\w+) {2,}\w", (NATIVE / "lib.rs").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_modules_of_the_native_engine_are_listed() -> None:
    declared = re.findall(
        r"^(?:pub )?mod (\w+);", (NATIVE / "lib.rs").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(declared) == sorted(FLOORS)


@for_each("path", sorted(path for path in NATIVE.rglob("*.rs") if path.name != "lib.rs"))
def test_a_module_of_the_native_engine_uses_only_those_below_it(path: Path) -> None:
    own = FLOORS.index(path.relative_to(NATIVE).parts[0].removesuffix(".rs"))
    used = re.findall(r"\bcrate::(\w+)", path.read_text(encoding="utf-8"))
    assert not [name for name in used if FLOORS.index(name) > own]


# What the project says of itself: the Pythons it runs on, and where its pages lead.


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = ROOT / ".github" / "workflows"
MAP = ROOT / "docs" / "architecture.md"
PLACES = re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", MAP.read_text(encoding="utf-8"))
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "README.md",
    ROOT / "README.zh-CN.md",
    ROOT / ".github" / "CONTRIBUTING.md",
    ROOT / ".github" / "SECURITY.md",
    ROOT / "docs" / "schemas" / "README.md",
    ROOT / "profiles" / "README.md",
    ROOT / "tuibench" / "metrics" / "README.md",
    ROOT / "tuibench" / "features" / "scenes" / "README.md",
    ROOT / "tests" / "bench" / "README.md",
    ROOT / "tests" / "bench" / "verdicts.md",
]

Version = tuple[int, ...]


def versions(text: str) -> set[Version]:
    return {tuple(map(int, found.split("."))) for found in re.findall(r"\b3\.\d+", text)}


PROMISED = versions("\n".join(PROJECT["classifiers"]))


def test_the_oldest_python_promised_is_the_oldest_taken() -> None:
    assert versions(PROJECT["requires-python"]) == {min(PROMISED)}
    assert sys.version_info[:2] >= min(PROMISED)


@pytest.mark.parametrize(("workflow", "jobs"), [("ci.yml", 2), ("release.yml", 1)])
def test_every_python_promised_is_tested(workflow: str, jobs: int) -> None:
    """The jobs on MariaDB, and those that try the packages, have a matrix of them."""
    text = (WORKFLOWS / workflow).read_text(encoding="utf-8")
    found = re.findall(r"^ +python: \[(.*)\]$", text, re.MULTILINE)
    assert len(found) == jobs
    assert all(versions(matrix) >= PROMISED for matrix in found)


@for_each("workflow", sorted(WORKFLOWS.glob("*.yml")))
def test_actions_are_pinned_by_hash_and_nothing_is_permitted_by_default(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    uses = re.findall(r"^ +-? *uses: (.*)$", text, re.MULTILINE)
    assert all(re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used) for used in uses)
    assert "\npermissions: {}\n" in text


def test_the_containers_of_ci_are_those_of_the_table_of_servers() -> None:
    """docs/servers.md says of each of them when its tests were run."""
    text = (WORKFLOWS / "ci.yml").read_text(encoding="utf-8")
    images = re.findall(r"^ +- ((?:mysql|mariadb|percona/percona-server):[\d.]+)$", text, re.MULTILINE)
    page = (ROOT / "docs" / "servers.md").read_text(encoding="utf-8")
    assert len(images) == 9
    assert not [image for image in images if f"`{image}`" not in page]


@for_each("place", sorted(set(PLACES)))
def test_what_the_map_names_is_there(place: str) -> None:
    assert (ROOT / place).exists() or (ROOT / "tuibench" / place).exists()


@for_each("page", PAGES)
def test_a_page_links_to_what_is_there(page: Path) -> None:
    """Pictures are not asked for: a packed source has none."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text)
    assert not [link for link in links if not (page.parent / link).exists()]


@for_each("page", PAGES)
def test_a_link_into_a_page_leads_to_one_of_its_headings(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    targets = [((page.parent / file) if file else page, anchor) for file, anchor in links]
    assert not [anchor for file, anchor in targets if file.suffix == ".md" and anchor not in anchors(file)]


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


LONGEST_LINE = 460
"""Characters of a line, or of a table's row: longer ones are not read to their end."""


@for_each("page", PAGES)
def test_a_line_of_a_page_is_not_too_long(page: Path) -> None:
    """The rows of generated pages are those of their tables."""
    if page.parent.name in ("profiles", "metrics"):
        return
    lines = page.read_text(encoding="utf-8").splitlines()
    assert not [f"{number}: {len(line)}" for number, line in enumerate(lines, 1) if len(line) > LONGEST_LINE]


NAMED = re.compile(r"(?:[\w.-]+/)+[\w.-]+\.(?:py|rs|md|toml|c)\b|\btest_\w+\.py\b|tests(?:\.\w+)+")
OF_A_USER = ("./", ".config/")
BASES = ("", "tuibench", "docs", "tests", "tests/bench", "native/src")
FILES = {path.name for path in (ROOT / "tests").rglob("*.py")}


@for_each("page", PAGES)
def test_a_page_names_files_that_are_there(page: Path) -> None:
    """Sources, tests, and modules that are started with `python -m`."""
    quoted = re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))
    named = {name for text in quoted for name in NAMED.findall(text) if not name.startswith(OF_A_USER)}
    assert not [name for name in named if not is_there(name)]


def is_there(name: str) -> bool:
    if name.startswith("tests."):
        return find_spec(name) is not None
    return name in FILES or any((ROOT / base / name).exists() for base in BASES)


# Code on the pages of the documentation is parsed: command lines by the program's parser, files as TOML.


BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def blocks(*languages: str) -> list[tuple[str, str]]:
    """Page and text of each block of code in one of the languages."""
    return [
        (page.name, text)
        for page in PAGES
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        if language in languages
    ]


def command_lines(program: str) -> list[str]:
    """The lines of shell blocks that start a program; continued lines are joined."""
    found = []
    for _, shown in blocks("sh", "console"):
        for line in shown.replace("\\\n", " ").splitlines():
            line = re.sub(r"^\$ |^ID=\$\(|\)$", "", line).replace("$ID", "20261121-0912")
            if line.startswith(f"{program} "):
                found.append(line)
    return sorted(set(found))


@for_each("line", command_lines("tuibench"))
def test_a_command_of_a_page_is_one_of_the_program(line: str) -> None:
    words = arguments.normalize(shlex.split(line, comments=True)[1:], COMMANDS)
    command = program().get_command(None, words[0])
    assert command is not None
    with command.make_context(words[0], words[1:]) as context:
        assert context.params


def test_the_readmes_of_both_languages_have_the_same_commands_and_pictures() -> None:
    english, chinese = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md")
    )
    for pattern in (
        r"^(?:tuibench|make|pipx|git) [^#\n]*?(?=\s*(?:#|$))",
        r"!\[[^\]]*\]\(([^)]+)\)",
        r"^#+ ",
    ):
        assert re.findall(pattern, english, re.MULTILINE) == re.findall(pattern, chinese, re.MULTILINE)


@for_each("line", command_lines("make"))
def test_a_target_of_a_page_is_in_the_makefile(line: str) -> None:
    targets = [word for word in shlex.split(line, comments=True)[1:] if word.isidentifier() or "-" in word]
    assert set(targets[:1]) <= TARGETS


@for_each(("page", "text"), blocks("toml"))
def test_a_file_on_a_page_can_be_read(page: str, text: str) -> None:
    assert tomllib.loads(text), page


def test_the_reference_of_the_profile_language_is_of_today() -> None:
    """`.venv/bin/python -m tests.profile_reference` writes it."""
    assert Path(profile_reference.PAGE).read_text(encoding="utf-8") == profile_reference.reference()


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= set(re.findall(r"\]\(([\w-]+\.md)\)", contents))


def test_every_page_has_its_place_on_the_site() -> None:
    """The site's generated pages are the only ones that are not in docs/."""
    navigation = (ROOT / ".github" / "site" / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = set(re.findall(r"([\w-]+\.md)$", navigation, re.MULTILINE))
    assert listed - {"json-schemas.md", "pictures.md"} == {page.name for page in (ROOT / "docs").glob("*.md")}


# The schemas in docs/schemas are of the types as they are today: `python -m tests.schemas` writes them.


PAGE = FOLDER / "README.md"


@for_each("name", SCHEMAS)
def test_a_schema_is_of_today(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_bytes() == text(name), "update it: python -m tests.schemas"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([{"name": "x"}], "file is missing"),
        ([{"name": "x", "file": 1}], "1 is no string"),
        ([{"name": "x", "file": "y", "more": 1}], "more is unknown"),
        ({}, "is no array"),
    ],
)
def test_what_is_not_as_the_schema_says_is_found(value: object, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_valid_value("profiles", value)


def test_each_command_with_json_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for command in COMMANDS:
        if "TextOrJson" in str(getattr(command_module(command), command).__annotations__):
            assert re.search(rf"`{command} [^`]*--(format )?json", page), command


def test_there_are_no_others_and_the_page_lists_them() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(SCHEMAS)
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"[{name}]({name}.json)" in page for name in SCHEMAS)


@for_each("name", SCHEMAS)
def test_every_reference_leads_somewhere(name: str) -> None:
    schema = json.loads(text(name))
    wanted = {part.split('"')[0] for part in text(name).decode().split('"#/$defs/')[1:]}
    assert wanted <= schema.get("$defs", {}).keys()


def test_modules_that_begin_first_or_are_long_are_there() -> None:
    """A module of an old name would begin last."""
    there = {
        path.stem
        for folder in ("integration", "faults")
        for path in ROOT.glob(f"tests/{folder}/**/test_*.py")
    }
    assert there.issuperset(LONGEST)
    assert not [name for name in LONG if not (ROOT / "tests" / "unit" / f"{name}.py").exists()]
