"""Code on the pages of the documentation is parsed: command lines by the program's parser, files as TOML."""

import re
import shlex
import tomllib
from pathlib import Path

import click

from tests import profile_reference
from tests.paths import ROOT
from tests.tables import for_each
from tuibench.cli.main import COMMANDS, LazyGroup
from tuibench.cli.parsing import arguments

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "tests" / "bench" / "README.md"]
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
    for _, text in blocks("sh", "console"):
        for line in text.replace("\\\n", " ").splitlines():
            line = re.sub(r"^\$ |^ID=\$\(|\)$", "", line).replace("$ID", "20261121-0912")
            if line.startswith(f"{program} "):
                found.append(line)
    return sorted(set(found))


@for_each("line", command_lines("tuibench"))
def test_a_command_of_a_page_is_one_of_the_program(line: str) -> None:
    words = arguments.normalize(shlex.split(line, comments=True)[1:], COMMANDS)
    command = LazyGroup(name="tuibench").get_command(click.Context(click.Command("tuibench")), words[0])
    assert command is not None
    with command.make_context(words[0], words[1:]) as context:
        assert context.params


@for_each("line", command_lines("make"))
def test_a_target_of_a_page_is_in_the_makefile(line: str) -> None:
    targets = [word for word in shlex.split(line, comments=True)[1:] if word.isidentifier() or "-" in word]
    assert set(targets[:1]) <= TARGETS


@for_each(("page", "text"), blocks("toml"))
def test_a_file_on_a_page_can_be_read(page: str, text: str) -> None:
    assert tomllib.loads(text), page


def test_there_are_pages_and_commands() -> None:
    assert len(command_lines("tuibench")) > 40
    assert len(blocks("toml")) > 5


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
