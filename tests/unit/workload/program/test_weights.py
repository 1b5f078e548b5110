"""Mixes of transactions: which there can be, and how they are drawn and dealt when they change."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.load.programs import EXPLICIT, SINGLE, program
from tuibench.errors import UsageError
from tuibench.workload.generate.generator import Generator
from tuibench.workload.program.program import MAX_DECK_CARDS, Program, validated_mix, weights_of, with_weights

OLD = msgspec.structs.replace(EXPLICIT, name="old", weight=90)
NEW = msgspec.structs.replace(SINGLE, name="new", weight=10)
BOTH = program(OLD, NEW)
DECK = msgspec.structs.replace(BOTH, deck=True)
DRAWS = 20_000


def drawn(generator: Generator, draws: int = DRAWS) -> Counter[int]:
    return Counter(generator.draw() for _ in range(draws))


def test_a_mix_has_the_weights_given_and_keeps_the_others() -> None:
    assert weights_of(BOTH) == {"old": 90, "new": 10}
    assert validated_mix(BOTH, {"new": 90}) == {"old": 90, "new": 90}
    assert validated_mix(BOTH, {"new": 0.5, "old": 0}) == {"old": 0, "new": 0.5}
    assert weights_of(with_weights(BOTH, (1, 2))) == {"old": 1, "new": 2}


@pytest.mark.parametrize(
    ("of", "given", "words"),
    [
        (BOTH, {"newer": 1}, "test has no transaction 'newer' .did you mean 'new'"),
        (BOTH, {"new": -1}, "the weight of new must be between 0 and"),
        (BOTH, {"new": float("nan")}, "must be between"),
        (BOTH, {"new": float("inf")}, "must be between"),
        (BOTH, {"new": 0, "old": 0}, "at least one transaction needs a weight above 0"),
        (DECK, {"new": 0.5}, "in a deck a weight is a number of cards, not 0.5"),
        (DECK, {"new": MAX_DECK_CARDS}, "a deck has at most 10,000 cards"),
    ],
)
def test_what_is_no_mix_is_refused_in_words(of: Program, given: dict[str, float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        validated_mix(of, given)


def test_transactions_are_drawn_by_the_new_weights_from_the_next_one_on() -> None:
    """Five standard deviations of a binomial count."""
    generator = Generator(BOTH, 1, 0)
    for share, weights in ((0.1, None), (0.5, (50, 50)), (1.0, (0, 3)), (0.0, (1, 0))):
        if weights is not None:
            generator.set_weights(weights)
        slack = 5 * (DRAWS * share * (1 - share)) ** 0.5
        assert abs(drawn(generator)[1] - DRAWS * share) <= slack


@given(st.lists(st.integers(0, 9), min_size=2, max_size=2).filter(any), st.integers(0, 30))
def test_a_deck_is_dealt_again_with_the_exact_mix(weights: list[int], before: int) -> None:
    generator = Generator(DECK, 1, 0)
    drawn(generator, before)
    generator.set_weights(weights)
    for _ in range(3):
        deck = drawn(generator, sum(weights))
        assert [deck[0], deck[1]] == weights


def test_the_same_seed_and_the_same_changes_give_the_same_draws() -> None:
    runs = []
    for _ in range(2):
        generator = Generator(BOTH, 7, 3)
        first = [generator.draw() for _ in range(20)]
        generator.set_weights((1, 1))
        runs.append(first + [generator.draw() for _ in range(20)])
    assert runs[0] == runs[1]
