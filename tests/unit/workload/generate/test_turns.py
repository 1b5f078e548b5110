"""The turns of one connection: their order, their end, and the logins between them."""

from tuibench.workload.generate.generator import TurnSequence
from tuibench.workload.program.program import Turns


def taken(turns: Turns) -> list[int]:
    taker, dealt = TurnSequence(turns), []
    while not taker.is_exhausted:
        dealt.append(taker.take())
    return dealt


def test_the_cycle_comes_round_and_the_ending_is_last() -> None:
    assert taken(Turns(cycle=(0, 1), count=5, ending=(2,))) == [0, 1, 0, 1, 0, 2]


def test_all_that_are_left_may_be_taken_at_a_stretch() -> None:
    taker = TurnSequence(Turns(cycle=(0,), count=2, ending=(1,)))
    told = [taker.uninterrupted]
    while not taker.is_exhausted:
        taker.take()
        told.append(taker.uninterrupted)
    assert told == [3, 2, 1, 0]


def test_where_new_logins_come_in_each_turn_is_to_be_looked_at() -> None:
    taker = TurnSequence(Turns(cycle=(0, 1), count=4, reconnect_at=frozenset({0})))
    left = []
    while not taker.is_exhausted:
        left.append(taker.needs_reconnect())
        assert taker.uninterrupted == 1
        taker.take()
    assert taker.uninterrupted == 0
    assert left == [False, False, True, False]
