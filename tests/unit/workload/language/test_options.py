"""Options as users write them."""

import pytest

from tuibench.errors import UsageError
from tuibench.workload import library
from tuibench.workload.program.program import Program
from tuibench.workload.program.values import Gaussian, Key, Pareto, Special, Uniform, Zipfian

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
        ("uniform", Uniform()),
        ("gaussian", Gaussian(12)),
        ("special", Special(12, 0.01, 0.75)),
        ("pareto", Pareto(0.2)),
        ("zipfian", Zipfian(0.8)),
    ],
)
def test_rand_type_chooses_how_keys_are_distributed(rand_type: str, distribution: object) -> None:
    step = program(rand_type=rand_type, table_size=77).transactions[0].steps[1]
    assert step.let["id"] == Key(1, 77, distribution)  # type: ignore[arg-type]
