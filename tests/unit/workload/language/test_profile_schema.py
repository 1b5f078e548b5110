"""The strict loader: one bad file for each rule, and no text that brings it down."""

import string
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.errors import UsageError
from tuibench.workload import library
from tuibench.workload.language.profile_schema import key_names

GOOD = """
name = "mine"
summary = "a test"
data_set = "sbtest"
[defaults]
range_size = 10
[options.hops]
type = "integer"
default = 2
minimum = 1
help = "hops per transaction"
[[transactions]]
name = "hop"
autocommit = "skip_trx"
[[transactions.steps]]
repeat = "hops"
when = "range_selects"
let.id = { make = "key", high = "table_size" }
let.last = "id + range_size - 1"
let.c = { make = "digits", groups = 2 }
statements = [
  { name = "hop", sql = "SELECT c FROM {table} WHERE id BETWEEN ? AND ? OR c=?", bind = ["id", "last", "c"] },
]
"""

STEP = "transactions[0].steps[0]"
BAD = [
    ("name = ", "nmae = ", "top level: Object contains unknown field `nmae`", "did you mean 'name'?"),
    ('summary = "a test"\n', "", "top level: Object missing required field `summary`", ""),
    ('"sbtest"', '"sbtset"', "data_set: unknown data set 'sbtset'", "did you mean 'sbtest'?"),
    ('name = "mine"', "name = 7", "name: Expected `str`, got `int`", ""),
    ('name = "mine"', "name = mine", "not valid TOML", ""),
    ("range_size = 10", "rang_size = 10", "defaults.rang_size: unknown option", "did you mean 'range_size'?"),
    ("range_size = 10", 'range_size = "10"', "defaults.range_size: '10' is not of the type integer", ""),
    ("range_size = 10", "range_size = 0", "defaults.range_size: --range-size: 0 is too small", "at least 1"),
    ("range_size = 10", "range_size = []", "defaults.range_size: Expected", ""),
    ("minimum = 1", "minimun = 1", "options.hops: Object contains unknown field", "did you mean 'minimum'?"),
    ('type = "integer"', 'type = "intger"', "options.hops.type: Invalid enum value", "'integer'?"),
    ('type = "integer"', 'type = "choice"', "options.hops: choices are required", ""),
    ('type = "integer"', 'type = "flag"', "options.hops: '2' is not of the type flag", ""),
    ("default = 2", "default = 0", "options.hops: --hops: 0 is too small", "at least 1"),
    ("options.hops", "options.Hops", "options.Hops: an option's name", ""),
    (
        "options.hops",
        "options.tables",
        "options.tables: the data set sbtest defines this option",
        "[defaults]",
    ),
    (
        'name = "hop"\nauto',
        'name = "hop"\nweight = 0\nauto',
        "transactions[0].weight: a weight must be above 0",
        "",
    ),
    ('"skip_trx"', '"skip_trax"', "transactions[0].autocommit: unknown option", "did you mean 'skip_trx'?"),
    ('"skip_trx"', '"tables"', "transactions[0].autocommit: the option 'tables' is not of the type flag", ""),
    (
        'repeat = "hops"',
        'repeat = "hop"',
        f"{STEP}.repeat: unknown variable or option 'hop'",
        "did you mean 'hops'?",
    ),
    ('repeat = "hops"', "repeat = -1", f"{STEP}.repeat: a repeat count must not be negative", ""),
    ('repeat = "hops"', "repeat = 1.5", f"{STEP}.repeat: Expected `int | str`, got `float`", ""),
    ('repeat = "hops"', "repeat = 200000", f"{STEP}.repeat: at most 100,000", ""),
    (
        '"range_selects"',
        '"range_select"',
        f"{STEP}.when: unknown variable or option",
        "did you mean 'range_selects'?",
    ),
    ('make = "key"', 'make = "keys"', f"{STEP}.let.id.make: Invalid value 'keys'", "did you mean 'key'?"),
    ("high = ", "hihg = ", f"{STEP}.let.id: Object contains unknown field", "did you mean 'high'?"),
    (
        '"table_size"',
        '"table_siz"',
        f"{STEP}.let.id.high: unknown variable or option",
        "did you mean 'table_size'?",
    ),
    ('"id + range_size', '"ids + range_size', f"{STEP}.let.last: unknown variable or option 'ids'", "'id'?"),
    ('"id + range_size', '"c + range_size', f"{STEP}.let.last: unknown variable or option 'c'", ""),
    ("groups = 2", "groups = 0", f"{STEP}.let.c.groups: 1 to 1000 groups", ""),
    ("{table}", "{tabel}", f"{STEP}.statements[0].sql: unknown field 'tabel'", "did you mean 'table'?"),
    (
        "OR c=?",
        "OR c='?'",
        f"{STEP}.statements[0].bind: the SQL has 2 placeholders, 3 variables are bound",
        "",
    ),
    (
        '"last", "c"]',
        '"lst", "c"]',
        f"{STEP}.statements[0].bind: unknown variable or option",
        "did you mean 'last'?",
    ),
    ('sql = "SELECT', 'sql = "" #', "not valid TOML", ""),
    ('{ name = "hop", sql', '{ name = "", sql', f"{STEP}.statements[0]: a statement needs a name", ""),
]


def test_the_good_profile_is_good() -> None:
    assert library.parse_profile(GOOD, "mine.toml").name == "mine"


@for_each(("right", "wrong", "message", "hint"), BAD)
def test_errors_name_file_key_and_nearest_name(right: str, wrong: str, message: str, hint: str) -> None:
    assert right in GOOD
    with pytest.raises(UsageError) as error:
        library.parse_profile(GOOD.replace(right, wrong, 1), "mine.toml")
    assert error.value.message.startswith(f"mine.toml: {message}")
    assert hint in error.value.hint
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("transactions = []", "transactions: a profile needs at least one"),
        (
            'transactions = [{ name = "a", steps = [] }]',
            "transactions[0].steps: a transaction needs at least",
        ),
        (
            'transactions = [{ name = "a", steps = [{ statements = [] }] }]',
            "transactions[0].steps[0].statements: a step needs at least one",
        ),
        (
            "transactions = ["
            '{ name = "a", steps = [{ statements = [{ name = "s", sql = "SELECT 1" }] }] },'
            '{ name = "a", steps = [{ statements = [{ name = "s", sql = "SELECT 1" }] }] }]',
            "transactions[0].name: two transactions are called 'a'",
        ),
        (
            'transactions = [{ name = "a", steps = [{ statements = ['
            '{ name = "s", sql = "SELECT 1" }, { name = "s", sql = "SELECT 2" }] }] }]',
            "transactions[0].steps[0].statements[1].name: a statement with other SQL has the name 's'",
        ),
    ],
)
def test_empty_and_duplicate_parts_are_errors(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        library.parse_profile(f'name = "n"\nsummary = "s"\ndata_set = "sbtest"\n{text}', "mine.toml")
    assert error.value.message.startswith(f"mine.toml: {message}")


def loads_or_says_why(text: str) -> None:
    """Any other error than a UsageError comes through and fails the test."""
    message = "fuzz.toml: "
    try:
        library.parse_profile(text, "fuzz.toml")
    except UsageError as error:
        message = error.message
    assert message.startswith("fuzz.toml: ")


@given(st.text(max_size=300))
def test_any_text_loads_or_is_a_usage_error(text: str) -> None:
    loads_or_says_why(text)


@given(st.data())
def test_a_damaged_profile_loads_or_is_a_usage_error(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(start, min(len(GOOD), start + 40)))
    loads_or_says_why(GOOD[:start] + data.draw(st.text(string.printable, max_size=20)) + GOOD[end:])


KEYS = st.sampled_from([*sorted(key_names()), "id", "range_size", "x"])
WORDS = st.sampled_from(["key", "sum", "digits", "id", "tables", "skip_trx", "integer", "SELECT ?", ""])
VALUES = st.recursive(
    WORDS | st.integers() | st.floats() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def toml(value: object) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case _:
            return repr(value)


@given(
    path=st.sampled_from(["", "let.id", "transactions.steps", "defaults", "options.hops"]),
    key=KEYS,
    value=VALUES,
)
def test_a_profile_of_wrong_shape_loads_or_is_a_usage_error(path: str, key: str, value: object) -> None:
    """Valid TOML with known keys in odd places, of odd types: put in at the end, or in place of a line."""
    lines = GOOD.splitlines()
    prefix = f"{path}." if path else ""
    for place in range(len(lines) + 1):
        text = "\n".join([*lines[:place], f"{prefix}{key} = {toml(value)}", *lines[place + 1 :]])
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        loads_or_says_why(text)
