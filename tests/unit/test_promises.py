"""What the project says of itself: the Pythons it runs on, and where its pages lead."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.tables import for_each

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = ROOT / ".github" / "workflows"
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


def test_the_licence_and_the_version_are_in_one_place() -> None:
    assert PROJECT["license"] == "MIT"
    assert "version" in PROJECT["dynamic"]


def test_the_map_leads_somewhere() -> None:
    assert len(PLACES) > 40


@for_each("place", sorted(set(PLACES)))
def test_what_the_map_names_is_there(place: str) -> None:
    assert (ROOT / place).exists() or (ROOT / "tuibench" / place).exists()


@for_each("page", PAGES)
def test_a_page_links_to_what_is_there(page: Path) -> None:
    """Pictures are not asked for: a packed source has none."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text)
    assert not [link for link in links if not (page.parent / link).exists()]
