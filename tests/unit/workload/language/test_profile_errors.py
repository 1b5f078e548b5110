"""One faulty profile for each rule of the full language."""

import pytest

from tests.tables import for_each
from tuibench.errors import UsageError
from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import compile_profile

GOOD = """
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
BAD = [
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
    ("let.n = 3", 'let.n = { make = "chance", percent = 101 }', "let.n.percent: 0 to 100", ""),
    ("let.n = 3", 'let.n = { make = "decimal", low = 1, high = 2, places = 99 }', "0 to 12 places", ""),
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
    ("repeat = 2", 'repeat = "n"', f"{T}.steps[4].statements[0].parts.p.repeat: unknown", ""),
    ('"k"], let', '"j"], let', f"{T}.steps[4].statements[0].parts.p.bind: unknown", ""),
    ('sql = "?"', 'sql = "{x}"', f"{T}.steps[4].statements[0].parts.p.sql: a part must not", ""),
    ('repeat = 2', 'repeat = 2, join = "?"', f"{T}.steps[4].statements[0].parts.p.join: placeholders", ""),
    ("parts.p = { sql", "parts.p = { slq", f"{T}.steps[4].statements[0].parts.p: Object contains", "'sql'?"),
    ("steps = [{ statements", f"steps = [{'{ steps = [' * 12}{{ statements", "", ""),
]  # fmt: skip


def test_the_good_profile_is_good() -> None:
    assert compile_profile(library.parse_profile(GOOD, "full.toml"), {}).interactive


@for_each(("right", "wrong", "message", "hint"), BAD)
def test_errors_name_file_and_key(right: str, wrong: str, message: str, hint: str) -> None:
    assert right in GOOD
    with pytest.raises(UsageError) as error:
        library.parse_profile(GOOD.replace(right, wrong, 1), "full.toml")
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
