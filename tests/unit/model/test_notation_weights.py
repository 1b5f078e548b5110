"""Weights of transactions as people write them."""

import pytest

from tuibench.errors import UsageError
from tuibench.model.notation import format_weights, parse_weights

NAMES = ("new_order", "payment", "status")


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("45/43/4", {"new_order": 45, "payment": 43, "status": 4}),
        ("45, 43, 4", {"new_order": 45, "payment": 43, "status": 4}),
        ("0 0 0.5", {"new_order": 0, "payment": 0, "status": 0.5}),
        ("payment=50", {"payment": 50}),
        ("payment=50 status=1", {"payment": 50, "status": 1}),
    ],
)
def test_weights_come_in_order_or_by_name(text: str, weights: dict[str, float]) -> None:
    assert parse_weights(text, NAMES) == weights


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "3 weights are required, for new_order, payment, status .such as 1/1/1, or new_order=50"),
        ("1/2", "3 weights are required"),
        ("1/2/3/4", "3 weights are required"),
        ("1/2/x", "'x' is not a weight"),
        ("payment=-1", "'-1' is not a weight"),
        ("payment=1e3", "'1e3' is not a weight"),
        ("payment=", "'' is not a weight"),
        ("order=1", "there is no transaction 'order' .there are new_order, payment, status"),
        ("payment=50 4", "there is no transaction '4'"),
    ],
)
def test_what_is_no_weight_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_weights(text, NAMES)


def test_weights_are_said_in_their_order() -> None:
    assert format_weights({"new": 90, "old": 0.5}) == "90/0.5"
