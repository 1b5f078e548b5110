"""Which cells a sweep has, and in which order they run."""

import msgspec
import pytest

from tests import sweeps
from tuibench.model.sweep import Case, Order, SweepPlan
from tuibench.session.sweeping.matrix import cells_of, ordered, plan_of


def plan(order: Order, **changes: object) -> SweepPlan:
    return msgspec.structs.replace(sweeps.PLAN, order=order, **changes)


def said(order: Order, **changes: object) -> list[str]:
    return [
        f"{cell.variant.preset[0]}{cell.threads}#{cell.repeat}" for cell in ordered(plan(order, **changes))
    ]


def test_as_given_the_repeats_of_a_cell_follow_each_other() -> None:
    assert said(Order.GIVEN) == ["d4#1", "d4#2", "d8#1", "d8#2", "u4#1", "u4#2", "u8#1", "u8#2"]


def test_interleaved_rounds_go_to_and_fro() -> None:
    assert said(Order.INTERLEAVED) == ["d4#1", "d8#1", "u4#1", "u8#1", "u8#2", "u4#2", "d8#2", "d4#2"]


def test_interleaved_a_linear_drift_hits_every_combination_alike() -> None:
    places: dict[tuple[str, int], int] = {}
    for place, cell in enumerate(ordered(plan(Order.INTERLEAVED, repeats=4))):
        key = (cell.variant.name, cell.threads)
        places[key] = places.get(key, 0) + place
    assert len(set(places.values())) == 1


def test_random_rounds_hold_every_combination_once_and_follow_the_seed() -> None:
    many = {"threads": (1, 2, 4, 8, 16), "repeats": 3}
    cells = ordered(plan(Order.RANDOM, **many))
    assert [cell.repeat for cell in cells] == [1] * 10 + [2] * 10 + [3] * 10
    assert cells == ordered(plan(Order.RANDOM, **many))
    assert [cell.number for cell in cells] != sorted(cell.number for cell in cells)
    other = msgspec.structs.replace(sweeps.PLAN.base, seed=8)
    assert cells != ordered(plan(Order.RANDOM, **many, base=other))


@pytest.mark.parametrize("order", Order)
def test_every_order_has_every_cell_once(order: Order) -> None:
    wanted = plan(order, repeats=3)
    assert sorted(cell.number for cell in ordered(wanted)) == list(range(1, 13))
    assert [cell.number for cell in cells_of(wanted)] == list(range(1, 13))


def test_cells_on_the_same_tables_stand_together() -> None:
    small, large, other = (
        Case(name=name, profile="p", data=data) for name, data in (("a", "10"), ("b", "100"), ("c", "10"))
    )
    cells = ordered(plan(Order.INTERLEAVED, cases=(small, large, other)))
    assert [cell.case.data for cell in cells] == ["10"] * 16 + ["100"] * 8


def test_a_cells_plan_has_its_own_load_and_each_repeat_its_own_seed() -> None:
    cell = cells_of(sweeps.PLAN)[3]
    made = plan_of(sweeps.PLAN, cell)
    assert (made.profile, made.options, made.threads) == ("oltp_write_only", {"tables": "2"}, 8)
    assert (cell.repeat, made.seed) == (2, 8)
    assert (made.seconds, made.warmup_seconds) == (5.0, 1.0)
