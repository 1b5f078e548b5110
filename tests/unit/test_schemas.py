"""The schemas in docs/schemas are of the types as they are today: `python -m tests.schemas` writes them."""

import json
import re

import pytest

from tests.schemas import FOLDER, SCHEMAS, text
from tests.tables import for_each
from tests.validation import check_valid_value
from tuibench.cli.main import COMMANDS, command_module

PAGE = FOLDER.parent / "json.md"


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
        module = command_module(command)
        if "echo_json" in vars(module):
            assert re.search(rf"`{command} [^`]*--(format )?json", page), command


def test_there_are_no_others_and_the_page_lists_them() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(SCHEMAS)
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"[{name}](schemas/{name}.json)" in page for name in SCHEMAS)


@for_each("name", SCHEMAS)
def test_every_reference_leads_somewhere(name: str) -> None:
    schema = json.loads(text(name))
    wanted = {part.split('"')[0] for part in text(name).decode().split('"#/$defs/')[1:]}
    assert wanted <= schema.get("$defs", {}).keys()
