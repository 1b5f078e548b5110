"""Which worker keeps which connection, and parts that add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.load.workers.assignment import ConnectionAssignment, split_by_weight

changes = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), min_size=1, max_size=12)
"""Connections asked for, and workers added before."""


@given(changes)
def test_every_number_lives_exactly_once_and_where_it_lived(asked: list[tuple[int, int]]) -> None:
    assignment, workers, home = ConnectionAssignment(), 1, dict[int, int]()
    for connections, more in asked:
        workers += more
        spread = assignment.spread(connections, workers)
        assert len(spread) == workers
        assert sorted(number for numbers in spread for number in numbers) == list(range(connections))
        assert assignment.total == connections
        now = {number: worker for worker, numbers in enumerate(spread) for number in numbers}
        assert all(now[number] == worker for number, worker in home.items() if number in now)
        home = now


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(1, 7))
def test_growth_from_nothing_is_balanced(more: list[int], workers: int) -> None:
    assignment, total = ConnectionAssignment(), 0
    for grown in more:
        total += grown
        sizes = [len(numbers) for numbers in assignment.spread(total, workers)]
        assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 60), st.integers(0, 60), st.integers(1, 5), st.integers(1, 5))
def test_new_ones_go_where_the_fewest_are(before: int, more: int, workers: int, added: int) -> None:
    """Old ones stay, so a new worker may catch up with the others but never overtakes them."""
    assignment = ConnectionAssignment()
    old = [len(numbers) for numbers in assignment.spread(before, workers)]
    new = [len(numbers) for numbers in assignment.spread(before + more, workers + added)]
    grown = [size for size, earlier in zip(new, old + [0] * added, strict=True) if size > earlier]
    assert all(size <= min(new) + 1 for size in grown)


def test_who_leaves_are_the_last_ones() -> None:
    assignment = ConnectionAssignment()
    assert assignment.spread(5, 2) == [(0, 2, 4), (1, 3)]
    assert assignment.spread(2, 2) == [(0,), (1,)]
    assert assignment.spread(3, 3) == [(0,), (1,), (2,)]


@given(st.integers(0, 10**15), st.lists(st.integers(0, 1000), min_size=1, max_size=64))
def test_parts_add_up_and_are_as_even_as_can_be(whole: int, weights: list[int]) -> None:
    given = split_by_weight(whole, weights)
    total = sum(weights)
    if not total:
        assert given == [0] * len(weights)
        return
    assert sum(given) == whole
    for part, weight in zip(given, weights, strict=True):
        assert abs(part * total - whole * weight) <= total


@pytest.mark.parametrize(
    ("whole", "weights", "given"),
    [(500, [1], [500]), (500, [2, 1], [333, 167]), (1, [1, 1], [0, 1]), (0, [3, 3], [0, 0])],
)
def test_some_parts(whole: int, weights: list[int], given: list[int]) -> None:
    assert split_by_weight(whole, weights) == given
