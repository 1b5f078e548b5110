"""Plain names of errors."""

import pytest

from tuibench.model.sql_errors import ERROR_NAMES, IGNORED_ERRORS, error_rate_label, error_text


def test_the_errors_that_are_retried_by_default_are_those_of_sysbench() -> None:
    assert IGNORED_ERRORS == (1213, 1020, 1205)
    assert set(IGNORED_ERRORS) <= set(ERROR_NAMES)


def test_a_code_is_followed_by_its_name() -> None:
    assert error_text("1213") == "1213 deadlock"
    assert error_text("1062") == "1062"


@pytest.mark.parametrize(
    ("codes", "label"),
    [
        (["1213"], "deadlocks/s"),
        (["1020"], "conflicts/s"),
        (["1213", "1205"], "errors/s"),
        (["1062"], "errors/s"),
        ([], "errors/s"),
    ],
)
def test_a_rate_of_one_kind_has_its_name(codes: list[str], label: str) -> None:
    assert error_rate_label(codes) == label
