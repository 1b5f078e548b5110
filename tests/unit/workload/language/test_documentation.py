"""The documentation of the language: every example in it is a profile that works, every name in it is one."""

import re

import pytest

from tests.paths import DOCS
from tests.unit.workload.player import Player, Rows
from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import compile_profile
from tuibench.workload.language.profile_schema import (
    DRAW_KINDS,
    HeadlineText,
    Profile,
    StatementText,
    StepText,
    TransactionText,
)

PAGE = (DOCS / "profiles.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
TABLES = {
    "profile": Profile,
    "headline": HeadlineText,
    "transaction": TransactionText,
    "step": StepText,
    "statement": StatementText,
}


def answer(name: str, values: tuple[object, ...]) -> Rows:
    return [(1, 40), (2, 50), (3, 60)]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.split('"')[1])
def test_an_example_is_a_profile_that_plays(text: str) -> None:
    player = Player(compile_profile(library.parse_profile(text, "docs/profiles.md"), {}), answer)
    played = [player.play() for _ in range(50)]
    assert all(len(call.values) == call.sql.count("?") for sent in played for call in sent)
    assert {len(sent) for sent in played} != {0}


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_of_keys_are_complete(name: str) -> None:
    table = PAGE.partition(f"| key of a {name} |")[2].partition("\n\n")[0]
    told = set(re.findall(r"`(\w+)`", "\n".join(row.split("|")[1] for row in table.split("\n")[2:])))
    assert told == set(TABLES[name].__struct_fields__)


def test_the_table_of_draws_is_complete() -> None:
    table = PAGE.partition("| `make =` |")[2].partition("\n\n")[0]
    rows = [row.split("|") for row in table.split("\n")[2:]]
    told = {row[1].strip(" `"): set(re.findall(r"`(\w+)`", row[2])) for row in rows}
    assert told == {str(tag): set(make.__struct_fields__) for tag, make in DRAW_KINDS.items()}


def test_all_built_in_profiles_are_named() -> None:
    for name in library.available_profiles():
        assert f"`{name}`" in PAGE
