"""The graph of lock waits: roots, trees, circles, and whom the end of a root frees."""

from hypothesis import given
from hypothesis import strategies as st

from tuibench.metrics.lock_graph import Root, lock_graph
from tuibench.model.server import LockWait


def waits(*pairs: tuple[int, int], probable: frozenset[tuple[int, int]] = frozenset()) -> list[LockWait]:
    """These waits, each of as many seconds as the waiting connection's number from 100 down."""
    return [
        LockWait(
            waiting=waiting,
            blocking=blocking,
            waiting_is_ours=False,
            blocking_is_ours=False,
            table="t",
            seconds=max(100 - waiting, 0),
            waiting_statement="",
            blocking_statement="",
            is_probable=(waiting, blocking) in probable,
        )
        for waiting, blocking in pairs
    ]


def tree(root: Root) -> list[tuple[int, int]]:
    """Connection and depth, from the top down."""
    return [(each.wait.waiting, len(each.lasts)) for each in root.branches]


def test_a_queue_stands_below_its_root_and_not_as_a_chain() -> None:
    """In a queue for one row each waits for the holder, and for all before it."""
    (root,) = lock_graph(waits((8, 41), (9, 41), (9, 8), (10, 41), (10, 8), (10, 9)))
    assert (root.id, root.frees, tree(root)) == (41, 3, [(8, 1), (9, 1), (10, 1)])
    assert [each.lasts for each in root.branches] == [(False,), (False,), (True,)]


def test_a_chain_stands_as_a_chain() -> None:
    (root,) = lock_graph(waits((9, 41), (8, 9), (7, 9), (6, 8)))
    assert tree(root) == [(9, 1), (7, 2), (8, 2), (6, 3)]
    assert [each.lasts for each in root.branches] == [
        (True,),
        (True, False),
        (True, True),
        (True, True, True),
    ]


def test_who_waits_for_two_roots_is_freed_by_neither_alone() -> None:
    roots = lock_graph(waits((8, 41), (8, 42), (9, 41), (10, 42)))
    assert sorted((root.id, root.frees) for root in roots) == [(41, 1), (42, 1)]


def test_the_root_that_blocks_most_comes_first() -> None:
    assert [root.id for root in lock_graph(waits((1, 50), (2, 60), (3, 60)))] == [60, 50]


def test_a_circle_has_a_root_too() -> None:
    """The one that closed the circle stands for it; others that wait for its members are below it."""
    (root,) = lock_graph(waits((1, 2), (2, 3), (3, 1), (9, 2)))
    assert (root.id, root.is_circle) == (3, True)
    assert {each.wait.waiting for each in root.branches} == {1, 2, 9}


def test_a_certain_wait_counts_more_than_an_inferred_one() -> None:
    found = lock_graph(waits((8, 41), (8, 42), probable=frozenset({(8, 41)})))
    assert [(root.id, root.is_probable) for root in found] == [(42, False)]
    (root,) = lock_graph(waits((8, 41), probable=frozenset({(8, 41)})))
    assert root.is_probable


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=30))
def test_everyone_who_waits_is_in_the_forest_once(pairs: list[tuple[int, int]]) -> None:
    found = lock_graph(waits(*pairs))
    waiting = {a for a, b in pairs if a != b}
    shown = [each.wait.waiting for root in found for each in root.branches]
    circles = [root.id for root in found if root.is_circle]
    assert len(shown) == len(set(shown))
    assert set(shown) | set(circles) == waiting
    for root in found:
        assert root.is_circle == (root.id in waiting)
        assert 0 <= root.frees <= len(root.branches)
        placed = {root.id: 0}
        for each in root.branches:
            assert each.wait.blocking in placed
            assert len(each.lasts) == placed[each.wait.blocking] + 1
            placed[each.wait.waiting] = len(each.lasts)
