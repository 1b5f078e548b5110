"""What the project says of itself: the Pythons it runs on, and where its pages lead."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAP = ROOT / "docs" / "architecture.md"
PLACES = re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", MAP.read_text(encoding="utf-8"))
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "tests" / "bench" / "README.md"]

Version = tuple[int, ...]


def versions(text: str) -> set[Version]:
    return {tuple(map(int, found.split("."))) for found in re.findall(r"\b3\.\d+", text)}


PROMISED = versions("\n".join(PROJECT["classifiers"]))


def test_the_oldest_python_promised_is_the_oldest_taken() -> None:
    assert versions(PROJECT["requires-python"]) == {min(PROMISED)}
    assert sys.version_info[:2] >= min(PROMISED)


def test_every_python_promised_is_tested() -> None:
    """The job on MariaDB has a matrix of them."""
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    (matrix,) = re.findall(r"^ +python: \[(.*)\]$", workflow, re.MULTILINE)
    assert versions(matrix) >= PROMISED


def test_the_map_leads_somewhere() -> None:
    assert len(PLACES) > 40


@pytest.mark.parametrize("place", sorted(set(PLACES)))
def test_what_the_map_names_is_there(place: str) -> None:
    assert (ROOT / place).exists() or (ROOT / "tuibench" / place).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_links_to_what_is_there(page: Path) -> None:
    """Pictures are not asked for: a packed source has none."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text)
    assert not [link for link in links if not (page.parent / link).exists()]
