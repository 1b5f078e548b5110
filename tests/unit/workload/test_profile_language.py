"""The language of profiles: schema, errors, inheritance, documentation."""

import re
import string
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import DOCS
from tests.tables import for_each
from tests.unit.workload.player import Player, Rows
from tuibench.base.errors import UsageError
from tuibench.workload import library
from tuibench.workload.compiler import compile_profile
from tuibench.workload.language import (
    key_names,
)

# The strict loader: one bad file for each rule, and no text that brings it down.


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
    ("groups = 2", "groups = 0", f"{STEP}.let.c.groups: Expected `int` >= 1", ""),
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


# One faulty profile for each rule of the full language.


PROFILE_ERRORS_GOOD = """
name = "full"
summary = "a test"
data_set = "sbtest"
draw = "deck"
pauses_if = "skip_trx"
headline = { title = "T", transaction = "t", ideal = "2 * tables", needs = "skip_trx" }
lists.words = ["a", "b"]
[steps.named]
let.x = { make = "uniform", high = 9 }
statements = [{ name = "named", sql = "SELECT ?", bind = ["x"] }]
[[transactions]]
name = "t"
weight = 2
think_seconds = 2.5
steps = [
  { let.n = 3, statements = [{ name = "ask", sql = "SELECT a, b FROM t", capture = ["a"], rows = "all" }] },
  { repeat = "n", index = "i", let.m = "words[i % 2]", statements = [
    { name = "loop", sql = "SELECT ?", bind = ["m"] }] },
  { each = "all", into = ["y"], statements = [{ name = "each", sql = "SELECT ?", bind = ["y"] }] },
  { when = "a == null", rollback = 0.5 },
  { table = "n", statements = [
    { name = "part", sql = "SELECT {p}", parts.p = { sql = "?", repeat = 2, bind = [
      "k"], let.k = { make = "key", high = 9 } } }] },
  { steps = [{ statements = [{ name = "inner", sql = "SELECT 1" }] }] },
  "named",
]
"""
HEAD = 'name = "n"\nsummary = "s"\ndata_set = "sbtest"\n'
T = "transactions[0]"
SIZED = """{ let.s = { make = "uniform", low = 2, high = 3 }, statements = [
    { name = "sized", sql = "SELECT {q} FROM {table}", parts.q = { sql = "1", repeat = "s" } }, """
P = f"{T}.steps[4].statements[0].parts"
PROFILE_ERRORS_BAD = [
    ('draw = "deck"', 'draw = "dekc"', "draw: Invalid enum value 'dekc'", "did you mean 'deck'?"),
    ("weight = 2", "weight = 1.5", f"{T}.weight: in a deck, a weight is", ""),
    ("weight = 2", "weight = 20000", "draw: a deck has at most 10,000 cards", ""),
    ('pauses_if = "skip_trx"', 'pauses_if = "tables"', "the option 'tables' is not of the type", ""),
    ('transaction = "t"', 'transaction = "s"', "headline.transaction: unknown transaction 's'", ""),
    ('transaction = "t"', 'transaction = "t", per_seconds = 0', "per_seconds: a time must be above 0", ""),
    ('"2 * tables"', '"2 * connection"', "headline.ideal: unknown variable or option 'connection'", ""),
    ('"2 * tables"', '"\'a\'"', "headline.ideal: ''a'' is a text, not a number", ""),
    ('needs = "skip_trx"', 'needs = "skip"', "headline.needs: unknown option 'skip'", "did you mean"),
    ("think_seconds = 2.5", "think_seconds = -1", f"{T}.think_seconds: a pause is 0 to 3,600 seconds", ""),
    ("think_seconds = 2.5", "keying_seconds = inf", f"{T}.keying_seconds: a pause is 0 to", ""),
    ("lists.words", "lists.tables", "lists.tables: an option is called 'tables', too", ""),
    ("lists.words", "lists.len", "lists.len: a list's name", ""),
    ('["a", "b"]', '["a", inf]', "lists.words: a list contains numbers and texts", ""),
    ('["a", "b"]', '["a", true]', "lists.words[1]: Expected", ""),
    ('  "named"', '  "naemd"', f"{T}.steps[6]: unknown step 'naemd'", "did you mean 'named'?"),
    ('high = 9 }\n', "hihg = 9 }\n", "steps.named.let.x: Object contains", "did you mean 'high'?"),
    ('high = 9 }\n', "high = 'n' }\n", "steps.named.let.x.high: unknown variable or option 'n'", ""),
    ("let.n = 3", "let.n = nan", f"{T}.steps[0].let.n: nan is not a number", ""),
    ("let.n = 3", "let.tables = 3", f"{T}.steps[0].let.tables: 'tables' is an option", ""),
    ("let.n = 3", "let.connection = 3", f"{T}.steps[0].let.connection: 'connection' is an option", ""),
    ("let.n = 3", "let.null = 3", f"{T}.steps[0].let.null: 'null' is not a name", ""),
    ("let.n = 3", 'let.n = "3 +"', f"{T}.steps[0].let.n: unexpected end", ""),
    ("let.n = 3", 'let.n = { make = "chance", percent = 101 }', "let.n: the chance 'n' is 0 to 100", ""),
    ("let.n = 3", 'let.n = { make = "decimal", low = 1, high = 2, places = 99 }', "`int` <= 12", ""),
    ("let.n = 3", 'let.n = { make = "pareto", high = 9, h = 1.0 }', "let.n.h: Expected `float` <= 0.99", ""),
    ("let.n = 3", 'let.n = { make = "zipfian", low = 9, high = 2 }', "let.n: the range of 'n'", ""),
    ("let.n = 3", 'let.n = { make = "list", count = "x", of = { make = "serial" } }', "count: unknown", ""),
    ("let.n = 3", 'let.n = { make = "list", count = 2, of = { make = "list" } }', "Invalid value", ""),
    ('capture = ["a"]', 'capture = ["a b"]', f"{T}.steps[0].statements[0].capture: 'a b' is not a name", ""),
    ('repeat = "n"', 'repeat = "words"', f"{T}.steps[1].repeat: 'words' is a list, not a number", ""),
    ('bind = ["m"]', 'bind = ["words"]', f"{T}.steps[1].statements[0].bind: 'words' is a list", ""),
    ('"words[i % 2]"', '"words[i] * 2 + \'a\'"', f"{T}.steps[1].let.m: '+' takes two values of one kind", ""),
    ('bind = ["y"]', 'bind = ["m"]', f"{T}.steps[2].statements[0].bind: unknown variable or option 'm'", ""),
    (', into = ["y"]', "", f"{T}.steps[2].into: `each` needs names", ""),
    ('each = "all", ', "", f"{T}.steps[2].into: `each` needs names", ""),
    ('each = "all"', 'repeat = 2, each = "all"', f"{T}.steps[2].repeat: a step has either", ""),
    ('each = "all"', 'each = "n"', f"{T}.steps[2].each: 'n' is a number, not a list", ""),
    ('when = "a == null"', 'when = "n"', f"{T}.steps[3].when: 'n' is a number, not a flag", ""),
    ("rollback = 0.5", "rollback = 1.5", f"{T}.steps[3].rollback: true, or a probability", ""),
    ("weight = 2", "autocommit = true", f"{T}.steps[3].rollback: rollback needs a transaction", ""),
    ("{p}", "{q}", f"{T}.steps[4].statements[0].sql: unknown field 'q'", "valid: p, table"),
    ("{p}", "{p} {p}", f"{T}.steps[4].statements[0].parts.p: the SQL must", ""),
    ("parts.p = ", "parts.q = {sql='1',repeat=1}, parts.p = ", "parts: a statement may have", ""),
    ("repeat = 2", "repeat = 0", f"{T}.steps[4].statements[0].parts.p.repeat: 1 to 100,000", ""),
    ("repeat = 2", 'repeat = "nn"', f"{P}.p.repeat: unknown", "did you mean 'n'?"),
    ("repeat = 2", 'repeat = "n"', f"{P}.p.repeat: 'n' is neither", ""),
    ("repeat = 2", 'repeat = 2, index = "words"', f"{P}.p.index: 'words' is an option, a list", ""),
    ('{ table = "n", statements = [', SIZED, f"{P}.q.repeat: a part of variable size is not possible", ""),
    ('needs = "skip_trx"', 'note_if.tables = "x"', "headline.note_if.tables: the option 'tables' is", ""),
    ('"k"], let', '"j"], let', f"{T}.steps[4].statements[0].parts.p.bind: unknown", ""),
    ('sql = "?"', 'sql = "{x}"', f"{T}.steps[4].statements[0].parts.p.sql: a part must not", ""),
    ('repeat = 2', 'repeat = 2, join = "?"', f"{T}.steps[4].statements[0].parts.p.join: placeholders", ""),
    ("parts.p = { sql", "parts.p = { slq", f"{T}.steps[4].statements[0].parts.p: Object contains", "'sql'?"),
    ("steps = [{ statements", f"steps = [{'{ steps = [' * 12}{{ statements", "", ""),
]  # fmt: skip


def test_profile_errors_the_good_profile_is_good() -> None:
    assert compile_profile(library.parse_profile(PROFILE_ERRORS_GOOD, "full.toml"), {}).interactive


@for_each(("right", "wrong", "message", "hint"), PROFILE_ERRORS_BAD)
def test_errors_name_file_and_key(right: str, wrong: str, message: str, hint: str) -> None:
    assert right in PROFILE_ERRORS_GOOD
    with pytest.raises(UsageError) as error:
        library.parse_profile(PROFILE_ERRORS_GOOD.replace(right, wrong, 1), "full.toml")
    assert error.value.message.startswith("full.toml: ")
    assert message in error.value.message
    assert hint in error.value.hint
    assert "\n" not in error.value.message


def test_steps_are_nested_ten_deep_at_most() -> None:
    for depth, fits in ((9, True), (10, False), (400, False)):
        inner = "steps = [{" * depth + 'statements = [{ name = "s", sql = "SELECT 1" }]' + "}]" * depth
        text = f'{HEAD}transactions = [{{ name = "t", steps = [{{{inner}}}] }}]'
        if fits:
            assert library.parse_profile(text, "deep.toml")
            continue
        with pytest.raises(UsageError, match=r"deep.toml: .*(nested|deep)"):
            library.parse_profile(text, "deep.toml")


@pytest.mark.parametrize(
    ("let", "options", "message"),
    [
        ('{ make = "uniform", high = "tables - 1" }', {}, "from 1 to 0 is empty"),
        (f'{{ make = "uniform", low = -{10**37 * 6}, high = {10**37 * 4} }}', {}, "more than 38 digits"),
        (f'{{ make = "decimal", high = {10**27}, low = 0, places = 1 }}', {}, "more than 28 digits"),
        ('{ make = "uniform", high = "tables / 2" }', {}, "'tables / 2' is 0.5, not a whole number"),
        ('{ make = "chance", percent = "tables" }', {"tables": 101}, "0 to 100 percent, not 101"),
        (
            '{ make = "nurand", a = 9, low = 1, high = "connection" }',
            {},
            "must be the same on every connection",
        ),
        (
            '{ make = "nurand", a = 9, low = 1, high = 9, loaded_c = 1 }',
            {},
            "as far from 1 as TPC-C requires",
        ),
        ('{ make = "nurand", a = -1, low = 1, high = 9 }', {}, "must be between 0"),
        ('"1 // (tables - 1)"', {}, "an expression has no value"),
    ],
)
def test_errors_in_options_are_reported_before_the_run(
    let: str, options: dict[str, object], message: str
) -> None:
    statement = 'statements = [{ name = "s", sql = "SELECT ?", bind = ["x"] }]'
    text = f'{HEAD}transactions = [{{ name = "t", steps = [{{ let.x = {let}, {statement} }}] }}]'
    with pytest.raises(UsageError) as error:
        compile_profile(library.parse_profile(text, "n.toml"), options)
    assert message in error.value.message


# A profile that stands upon another.


EXTENDS_HEAD = 'summary = "s"\n'


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(f'name = "{name}"\n{EXTENDS_HEAD}{text}')
    return path


def test_tables_add_up_and_the_rest_is_taken_over(tmp_path: Path) -> None:
    base = write(
        tmp_path, "base", 'extends = "oltp_read_only"\ndefaults.range_size = 5\ndefaults.tables = 2\n'
    )
    top = write(
        tmp_path,
        "top",
        f'extends = "{base}"\ndefaults.tables = 3\n'
        'options.more = { type = "flag", default = true, help = "h" }\n',
    )
    profile = library.load_profile(str(top))
    assert (profile.name, profile.data_set, profile.extends) == ("top", "sbtest", "")
    assert profile.defaults == {"range_size": 5, "tables": 3}
    assert set(profile.options) == {"more"}
    assert profile.transactions == library.load_profile("oltp_read_only").transactions


def test_a_default_may_be_given_to_an_option_of_the_base(tmp_path: Path) -> None:
    path = write(tmp_path, "few", 'extends = "select_random_points"\ndefaults.random_points = 3\n')
    assert library.load_program(str(path)).options["random_points"] == 3


def test_own_transactions_stand_instead(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "own",
        'extends = "oltp_read_write"\ntransactions = [{ name = "t", steps = ["sum_ranges"] }]\n',
    )
    (transaction,) = library.load_profile(str(path)).transactions
    assert transaction.name == "t"


def test_ones_own_profile_of_a_built_in_name_extends_the_built_in_one(tuibench_home: Path) -> None:
    folder = tuibench_home / "config" / "profiles"
    write(folder, "oltp_read_only", 'extends = "oltp_read_only"\ndefaults.tables = 9\n')
    assert library.load_program("oltp_read_only").options["tables"] == 9


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            'extends = "oltp_read_wirte"\n',
            "extends: there is no profile 'oltp_read_wirte'",
            "'oltp_read_write'?",
        ),
        ('extends = "oltp_read_only"\ndefaults.tabels = 1\n', "defaults.tabels: unknown option", "'tables'?"),
        (
            'extends = "oltp_read_only"\ntransactions = [{ name = "t", steps = ["sum_range"] }]\n',
            "transactions[0].steps[0]: unknown step 'sum_range'",
            "'sum_ranges'?",
        ),
        ("", "data_set: a profile needs data_set", ""),
    ],
)
def test_errors_name_the_file_that_extends(tmp_path: Path, text: str, message: str, hint: str) -> None:
    path = write(tmp_path, "bad", text)
    with pytest.raises(UsageError) as error:
        library.load_profile(str(path))
    assert error.value.message.startswith(f"{path}: {message}")
    assert hint in error.value.hint


def test_a_cycle_of_extends_is_reported(tmp_path: Path) -> None:
    one = write(tmp_path, "one", f'extends = "{tmp_path}/two.toml"\n')
    write(tmp_path, "two", f'extends = "{one}"\n')
    with pytest.raises(UsageError, match="extends itself"):
        library.load_profile(str(one))


def test_a_long_chain_of_extends_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "p0", 'extends = "oltp_read_only"\n')
    for number in range(1, 20):
        write(tmp_path, f"p{number}", f'extends = "{tmp_path}/p{number - 1}.toml"\n')
    assert library.load_profile(f"{tmp_path}/p5.toml").data_set == "sbtest"
    with pytest.raises(UsageError, match="at most 10 profiles"):
        library.load_profile(f"{tmp_path}/p19.toml")


# The documentation of the language: every example in it is a profile that works, every name in it is one.


PAGE = (DOCS / "profiles.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


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


def test_all_built_in_profiles_are_named() -> None:
    for name in library.available_profiles():
        assert f"`{name}`" in PAGE
