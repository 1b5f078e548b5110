"""Expressions and options of profiles."""

from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.base.errors import UsageError
from tuibench.workload import library
from tuibench.workload.draw import EVALUATION_ERRORS, compile_expression, constant_value, fold_constants
from tuibench.workload.expressions import (
    Constant,
    ExpressionType,
    Variable,
    is_variable_name,
    literal,
    parse_expression,
    substitute,
    type_of,
    variable_names,
)
from tuibench.workload.program import Program
from tuibench.workload.values import Gaussian, Pareto, Special, Uniform, Zipfian

# Expressions: their grammar, exact arithmetic, folding, and the kinds of values they put together.


ROW = {"a": 7, "b": 2, "price": Decimal("2.50"), "word": "BC", "none": None, "rows": [[1, "x"], [2, "y"]]}


def value(text: str) -> Any:
    places = {name: place for place, name in enumerate(ROW)}
    return compile_expression(parse_expression(text), places)(list(ROW.values()))


@for_each(
    ("text", "expected"),
    [
        ("a + b * 3", 13),
        ("(a + b) * 3", 27),
        ("a - b - 1", 4),
        ("-a + 10", 3),
        ("a // b", 3),
        ("a % b", 1),
        ("a / b", Decimal("3.5")),
        ("price * 2", Decimal("5.00")),
        ("1 - 0.1 * 3", Decimal("0.7")),
        ("a > b and b > a", False),
        ("a > b or b > a", True),
        ("not a > b", False),
        ("not a == b and true", True),
        ("a >= 7", True),
        ("a <= 6", False),
        ("word == 'BC'", True),
        ("word + '/' + 'x'", "BC/x"),
        ("none == null", True),
        ("a != null", True),
        ("1 if a < b else 2 if b > 5 else 3", 3),
        ("rows[1][1]", "y"),
        ("rows[len(rows) - 1][0]", 2),
        ("[10, a, 30][1]", 7),
        ("max(a, b) - min(a, b)", 5),
        ("false and 1 / 0 == 1", False),
    ],
)
def test_values(text: str, expected: object) -> None:
    assert value(text) == expected
    assert type(value(text)) is type(expected)


@for_each(
    ("text", "message"),
    [
        ("", "unexpected end"),
        ("a +", "unexpected end"),
        ("a b", "'b' is unexpected"),
        ("(a", "unexpected end"),
        ("a)", "')' is unexpected"),
        ("a if b", "unexpected end"),
        ("else", "'else' is unexpected"),
        ("a ** b", "'*' is unexpected"),
        ("a; b", "';' is not valid"),
        ("a.b", "'.' is not valid"),
        ("__import__('os')", "'(' is unexpected"),
        ("'open", "''' is not valid"),
        ("min(a)", "min() takes 2 values, not 1"),
        ("len", "unexpected end"),
        ("(" * 50 + "a" + ")" * 50, "nested too deep"),
        ("not " * 100 + "a", "nested too deep"),
        ("-" * 100 + "a", "nested too deep"),
        ("a" + "[0" * 50 + "]" * 50, "nested too deep"),
        ("a" + " + a" * 300, "too long"),
        ("9" * 50, "is too long"),
        (" " * 3000, "at most 2,000 characters"),
    ],
)
def test_syntax_errors(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_expression(text)
    assert message in error.value.message


@given(st.text(alphabet="ab01. +-*/%<>=!()[],'notifelsrmx\n", max_size=60))
def test_any_text_parses_or_is_a_usage_error(text: str) -> None:
    """Any other error comes through and fails the test; so does a name that the text does not hold."""
    with suppress(UsageError):
        tree = parse_expression(text)
        assert all(name in text for name in variable_names(tree))
        fold_constants(tree)


ARITHMETIC = st.recursive(
    st.integers(0, 99).map(str) | st.sampled_from(["a", "b"]),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=12,
)


@given(ARITHMETIC)
def test_arithmetic_is_pythons_and_folding_changes_no_value(text: str) -> None:
    try:
        expected = eval(text, {"a": 7, "b": 2})  # noqa: S307 (our own digits and signs)
    except ZeroDivisionError:
        with pytest.raises(EVALUATION_ERRORS):
            value(text)
        return
    assert value(text) == expected
    known = {"a": Constant(7), "b": Constant(2)}
    assert fold_constants(substitute(parse_expression(text), known)) == Constant(expected)


def test_folding_leaves_what_is_open_and_settles_what_is_not() -> None:
    assert fold_constants(parse_expression("a and false")) == Constant(False)
    assert fold_constants(parse_expression("true and a")) == Variable("a")
    assert fold_constants(parse_expression("a or 1 < 2")) == Constant(True)
    assert fold_constants(parse_expression("x if 1 > 2 else y")) == Variable("y")
    assert set(variable_names(fold_constants(parse_expression("a + (2 + 3)")))) == {"a"}


def test_an_expression_without_a_value_is_reported() -> None:
    with pytest.raises(UsageError, match="has no value"):
        constant_value(parse_expression("1 // 0"))


@pytest.mark.parametrize("text", ["'a' * 1000000000", "'%999999999d' % 1", "[1][0 - 1]", "null + 1"])
def test_python_surprises_are_errors(text: str) -> None:
    with pytest.raises(UsageError, match="has no value"):
        constant_value(parse_expression(text))


def test_numbers_of_python_are_taken_as_they_are_written() -> None:
    assert constant_value(literal(0.1)) == Decimal("0.1")
    assert constant_value(literal((1, "a"))) == [1, "a"]


@pytest.mark.parametrize(
    ("text", "expected"), [("id", True), ("id + 1", False), ("null", False), ("1", False)]
)
def test_a_name_is_no_expression(text: str, expected: bool) -> None:
    assert is_variable_name(text) is expected


SCOPE: dict[str, ExpressionType] = {"n": "number", "t": "text", "f": "flag", "l": "list", "x": "any"}


@for_each(
    ("text", "kind"),
    [
        ("n + 1", "number"), ("t + 'a'", "text"), ("x + 1", "any"), ("x * 2", "number"), ("n > 1", "flag"),
        ("l[0]", "any"), ("len(l)", "number"), ("n if f else 1", "number"), ("n if x else t", "any"),
        ("f and not f", "flag"), ("null", "any"), ("[n, t]", "list"), ("x == null", "flag"), ("-n", "number"),
    ],
)  # fmt: skip
def test_kinds(text: str, kind: ExpressionType) -> None:
    assert type_of(parse_expression(text), SCOPE) == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n + t", "'+' takes two values of one kind, not a number and a text"),
        ("t * 2", "'*' takes a number, not a text"),
        ("n and f", "'and' takes a flag, not a number"),
        ("n == t", "'==' takes two values of one kind"),
        ("n[0]", "'pick' takes a list"),
        ("1 if n else 2", "'if' takes a flag, not a number"),
        ("f + f", "'+' does not take a flag"),
        ("m + 1", "unknown variable or option 'm'"),
    ],
)
def test_mismatched_types_are_reported(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        type_of(parse_expression(text), SCOPE)
    assert message in error.value.message


# Options as users write them.


DEFAULTS = {
    "tables": 1,
    "table_size": 10_000,
    "range_size": 100,
    "point_selects": 10,
    "simple_ranges": 1,
    "sum_ranges": 1,
    "order_ranges": 1,
    "distinct_ranges": 1,
    "index_updates": 1,
    "non_index_updates": 1,
    "delete_inserts": 1,
    "range_selects": True,
    "auto_inc": True,
    "skip_trx": False,
    "secondary": False,
    "create_secondary": True,
    "mysql_storage_engine": "innodb",
    "rand_type": "special",
    "rand_spec_iter": 12,
    "rand_spec_pct": 1,
    "rand_spec_res": 75,
    "rand_pareto_h": 0.2,
    "rand_zipfian_exp": 0.8,
}


def program(**options: object) -> Program:
    return library.load_program("oltp_read_write", options)


@pytest.mark.parametrize(
    "name", ["oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select"]
)
def test_defaults_are_sysbenchs(name: str) -> None:
    options = library.load_program(name).options
    assert {key: options[key] for key in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize("name", ["table-size", "table_size", "--table-size", "TABLE_SIZE"])
@pytest.mark.parametrize("value", ["500", 500, "500 "])
def test_names_and_values_may_be_written_in_many_ways(name: str, value: object) -> None:
    assert program(**{name: value}).options["table_size"] == 500


@pytest.mark.parametrize(
    ("text", "value"), [("on", True), ("", True), ("OFF", False), ("0", False), (True, True)]
)
def test_flags(text: object, value: bool) -> None:
    assert program(auto_inc=text).options["auto_inc"] is value


@pytest.mark.parametrize(
    ("name", "value", "message", "hint"),
    [
        ("table_sise", 1, "unknown option --table-sise", "did you mean '--table-size'?"),
        (
            "thread_init_timeou",
            1,
            "unknown option --thread-init-timeou",
            "did you mean '--thread-init-timeout'?",
        ),
        ("tables", 0, "--tables: 0 is too small", "at least 1"),
        ("tables", "-4", "--tables: -4 is too small", "at least 1"),
        ("tables", 10**9, "--tables: 1000000000 is too large", "at most 100,000"),
        ("table_size", "many", "--table-size: 'many' is not an integer", ""),
        pytest.param("table_size", "9" * 5000, "is not an integer", "", id="a long number"),
        ("table_size", True, "--table-size: 'True' is not an integer", ""),
        ("table_size", 1.5, "--table-size: '1.5' is not an integer", ""),
        ("auto_inc", "perhaps", "--auto-inc: 'perhaps' is not on or off", ""),
        ("rand_type", "zipf", "--rand-type: 'zipf' is unknown", "did you mean 'zipfian'?"),
        ("rand_pareto_h", "nan", "--rand-pareto-h: 'nan' is not a number", ""),
        ("rand_pareto_h", "1", "--rand-pareto-h: 1.0 is too large", "at most 0.999999"),
        ("mysql_storage_engine", "x */; DROP", "--mysql-storage-engine: 'x */; DROP' is not a name", ""),
    ],
)
def test_invalid_options_with_hint(name: str, value: object, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        program(**{name: value})
    assert message in error.value.message
    assert hint in error.value.hint


def test_options_that_leave_no_statements_are_refused() -> None:
    nothing = dict.fromkeys(("index_updates", "non_index_updates", "delete_inserts"), 0)
    with pytest.raises(UsageError, match="no statements"):
        library.load_program("oltp_write_only", nothing)


@pytest.mark.parametrize(
    ("rand_type", "distribution"),
    [
        ("uniform", Uniform(low=1, high=77)),
        ("gaussian", Gaussian(low=1, high=77, iterations=12)),
        ("special", Special(low=1, high=77, iterations=12, hot_width=0.01, hot_share=0.75)),
        ("pareto", Pareto(low=1, high=77, h=0.2)),
        ("zipfian", Zipfian(low=1, high=77, exponent=0.8)),
    ],
)
def test_rand_type_chooses_how_keys_are_distributed(rand_type: str, distribution: object) -> None:
    step = program(rand_type=rand_type, table_size=77).transactions[0].steps[1]
    assert step.let["id"] == distribution
