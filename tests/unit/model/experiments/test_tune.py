"""What an operator types to start a screening."""

import pytest

from tuibench.errors import UsageError
from tuibench.model.experiments.tune import OPERATORS_BUDGET, TunePlan, parse_tune_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", TunePlan(budget_seconds=OPERATORS_BUDGET)),
        ("30m", TunePlan(budget_seconds=1800.0)),
        ("flushing,durability 90s", TunePlan(budget_seconds=90.0, only=("flushing", "durability"))),
        (
            "innodb_io_capacity ±5% allow-risk",
            TunePlan(
                budget_seconds=OPERATORS_BUDGET,
                only=("innodb_io_capacity",),
                tolerance_percent=5.0,
                allow_risk=True,
            ),
        ),
    ],
)
def test_words_in_any_order(text: str, expected: TunePlan) -> None:
    assert parse_tune_text(text) == expected
    assert parse_tune_text(" ".join(reversed(text.split()))).budget_seconds == expected.budget_seconds


@pytest.mark.parametrize("text", ["a-b", "10", "10%%", "±x%"])
def test_what_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_tune_text(text)
