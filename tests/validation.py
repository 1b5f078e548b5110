"""Whether JSON is as its schema in docs/schemas says: as much of JSON Schema as those schemas use.

Stricter than the standard in one thing: a key that the schema does not know is a fault.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.schemas import FOLDER

TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}
WORDS = frozenset(
    (
        *("$ref", "anyOf", "enum", "type", "properties", "required", "additionalProperties"),
        *("items", "prefixItems", "minItems", "maxItems", "minimum", "maximum"),
        *("title", "description", "default", "discriminator", "$schema", "$defs"),
    )
)
"""All that the schemas say; a word that is not checked here must be found out, not passed over."""


def check_valid(name: str, text: str | bytes) -> Any:
    """The value, if the text is one JSON document of this schema that ends in one newline."""
    assert text[-1:] in ("\n", b"\n")
    assert text[-2:] not in ("\n\n", b"\n\n")
    return check_valid_value(name, json.loads(text, parse_constant=_no_number))


def check_valid_lines(name: str, text: bytes) -> None:
    """One document a line."""
    for line in text.splitlines():
        check_valid_value(name, json.loads(line, parse_constant=_no_number))


def check_valid_value(name: str, value: Any) -> Any:
    schema = json.loads((FOLDER / f"{name}.json").read_bytes())
    found = list(faults(schema, value, schema.get("$defs", {}), name))
    assert not found, found
    return value


def faults(schema: dict[str, Any], value: Any, known: dict[str, Any], at: str) -> Iterator[str]:
    """What is wrong with a value, and where."""
    assert schema.keys() <= WORDS, schema.keys() - WORDS
    if "$ref" in schema:
        yield from faults(known[schema["$ref"].rpartition("/")[2]], value, known, at)
    if "anyOf" in schema:
        tried = [list(faults(each, value, known, at)) for each in schema["anyOf"]]
        if all(tried):
            yield f"{at}: none of {len(tried)}: {min(tried, key=len)}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if "type" in schema and not _is(schema["type"], value):
        yield f"{at}: {value!r} is no {schema['type']}"
    elif isinstance(value, int | float):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            yield f"{at}: {value} is out of range"
    elif isinstance(value, dict):
        yield from _of_object(schema, value, known, at)
    elif isinstance(value, list):
        yield from _of_array(schema, value, known, at)


def _is(kind: str | list[str], value: Any) -> bool:
    kinds = [kind] if isinstance(kind, str) else kind
    return any(
        isinstance(value, TYPES[each]) and (not isinstance(value, bool) or each == "boolean")
        for each in kinds
    )


def _of_object(
    schema: dict[str, Any], value: dict[str, Any], known: dict[str, Any], at: str
) -> Iterator[str]:
    yield from (f"{at}: {name} is missing" for name in schema.get("required", ()) if name not in value)
    own = schema.get("properties", {})
    other = schema.get("additionalProperties", not own)
    for name, each in value.items():
        if name in own:
            yield from faults(own[name], each, known, f"{at}.{name}")
        elif isinstance(other, dict):
            yield from faults(other, each, known, f"{at}.{name}")
        elif not other and "type" in schema:
            yield f"{at}: {name} is unknown"


def _of_array(schema: dict[str, Any], value: list[Any], known: dict[str, Any], at: str) -> Iterator[str]:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{at}: {len(value)} values"
    first = schema.get("prefixItems", [])
    rest = schema.get("items", {})
    for place, each in enumerate(value):
        one = first[place] if place < len(first) else rest
        if one is False:
            yield f"{at}[{place}]: one too many"
        elif isinstance(one, dict):
            yield from faults(one, each, known, f"{at}[{place}]")


def _no_number(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")
