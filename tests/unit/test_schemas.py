"""The schemas in docs/schemas are of the types as they are today: `python -m tests.schemas` writes them."""

import json

import pytest

from tests.schemas import FOLDER, SCHEMAS, text


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_of_today(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_bytes() == text(name), "write it anew: python -m tests.schemas"


def test_there_are_no_others_and_the_page_lists_them() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(SCHEMAS)
    page = (FOLDER.parent / "runs.md").read_text(encoding="utf-8")
    assert all(f"[{name}](schemas/{name}.json)" in page for name in SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_reference_leads_somewhere(name: str) -> None:
    schema = json.loads(text(name))
    wanted = {part.split('"')[0] for part in text(name).decode().split('"#/$defs/')[1:]}
    assert wanted <= schema.get("$defs", {}).keys()
