"""Which name is meant."""

import pytest

from tuibench import suggestions

NAMES = ["20260101-120000-oltp_read_write", "20260101-120500-oltp_insert", "20260102-090000-tpcc"]


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        (NAMES[0], [NAMES[0]]),
        ("20260102", [NAMES[2]]),
        ("20260101", NAMES[:2]),
        ("insert", [NAMES[1]]),
        ("oltp", NAMES[:2]),
        ("", NAMES),
        ("slap", []),
    ],
)
def test_a_name_a_beginning_or_a_part_is_enough(wanted: str, meant: list[str]) -> None:
    assert suggestions.matching_names(wanted, NAMES) == meant


def test_a_name_is_itself_though_others_begin_so() -> None:
    assert suggestions.matching_names("a", ["a", "ab"]) == ["a"]


def test_many_names_are_not_all_listed() -> None:
    assert suggestions.abbreviated_list(["a", "b"]) == "a, b"
    assert (
        suggestions.abbreviated_list([f"run{number}" for number in range(1_203)])
        == "run0, run1, run2 and 1,200 more"
    )
