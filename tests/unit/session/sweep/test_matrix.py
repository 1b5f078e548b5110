"""Which cells a sweep has, and in which order they run."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

import msgspec
import pytest

from tests import sweeps
from tests.tables import for_each
from tuibench.model.results.sweep import Cell, CellOrder, SweepCase, SweepPlan, SweepVariant
from tuibench.session.sweep.matrix import all_cells, build_of, cell_plan, cells_by_start, cells_in_order
from tuibench.session.sweep.planning import with_servers


def plan(order: CellOrder, **changes: object) -> SweepPlan:
    return msgspec.structs.replace(sweeps.PLAN, order=order, **changes)


def said(order: CellOrder, **changes: object) -> list[str]:
    return [
        f"{cell.variant.preset[0]}{cell.threads}#{cell.repeat}"
        for cell in cells_in_order(plan(order, **changes))
    ]


def batched(cells: Iterable[Cell], size: int) -> Iterator[tuple[Cell, ...]]:
    """So many at a time."""
    left = iter(cells)
    while batch := tuple(islice(left, size)):
        yield batch


def test_as_given_the_repeats_of_a_cell_follow_each_other() -> None:
    assert said(CellOrder.GIVEN) == ["d4#1", "d4#2", "d8#1", "d8#2", "u4#1", "u4#2", "u8#1", "u8#2"]


def test_interleaved_variants_stand_side_by_side_and_rounds_go_to_and_fro() -> None:
    assert said(CellOrder.INTERLEAVED) == ["d4#1", "u4#1", "u8#1", "d8#1", "d8#2", "u8#2", "u4#2", "d4#2"]


def test_on_private_servers_the_cells_of_a_start_stay_together() -> None:
    variants = with_servers([SweepVariant(name="0"), SweepVariant(name="1")], ["a", "b"])
    assert [variant.name for variant in variants] == ["a, 0", "a, 1", "b, 0", "b, 1"]
    cells = cells_by_start(plan(CellOrder.GIVEN, variants=variants, threads=(4,), repeats=2))
    assert [f"{build_of(cell)}{cell.repeat}" for cell in cells] == [
        "a1",
        "a1",
        "b1",
        "b1",
        "b2",
        "b2",
        "a2",
        "a2",
    ]


def test_a_single_private_server_gives_its_name_to_a_variant_without_one() -> None:
    assert [each.name for each in with_servers([SweepVariant(name="")], ["a"])] == ["a"]
    assert [each.name for each in with_servers([SweepVariant(name="durable")], ["a"])] == ["durable"]


@for_each("repeats", [1, 2, 3])
@for_each("variants", [1, 2, 3])
@for_each("threads", [(4,), (4, 8), (4, 8, 16)])
def test_what_is_compared_runs_at_a_time(repeats: int, variants: int, threads: tuple[int, ...]) -> None:
    """Each group of a case and a number of threads is whole, and no variant always leads."""
    named = tuple(SweepVariant(name=str(number)) for number in range(variants))
    cases = tuple(msgspec.structs.replace(sweeps.CASE, name=name) for name in ("a", "b"))
    wanted = plan(CellOrder.INTERLEAVED, cases=cases, repeats=repeats, variants=named, threads=threads)
    groups = list(batched(cells_in_order(wanted), variants))
    assert len(groups) == 2 * len(threads) * repeats
    assert all(len({(cell.case.name, cell.threads, cell.repeat) for cell in group}) == 1 for group in groups)
    leaders = Counter(group[0].variant.name for group in groups)
    assert len(leaders) == min(variants, 2)
    assert max(leaders.values()) - min(leaders.values()) <= (len(groups) % 2 if variants > 1 else 0)
    follows = [group[0].variant == before[-1].variant for before, group in pairwise(groups)]
    assert all(follows)


def test_interleaved_a_linear_drift_hits_every_combination_alike() -> None:
    places: dict[tuple[str, int], int] = {}
    for place, cell in enumerate(cells_in_order(plan(CellOrder.INTERLEAVED, repeats=4))):
        key = (cell.variant.name, cell.threads)
        places[key] = places.get(key, 0) + place
    assert len(set(places.values())) == 1


def test_random_rounds_hold_every_combination_once_and_follow_the_seed() -> None:
    many = {"threads": (1, 2, 4, 8, 16), "repeats": 3}
    cells = cells_in_order(plan(CellOrder.RANDOM, **many))
    assert [cell.repeat for cell in cells] == [1] * 10 + [2] * 10 + [3] * 10
    assert cells == cells_in_order(plan(CellOrder.RANDOM, **many))
    assert [cell.number for cell in cells] != sorted(cell.number for cell in cells)
    other = msgspec.structs.replace(sweeps.PLAN.base, seed=8)
    assert cells != cells_in_order(plan(CellOrder.RANDOM, **many, base=other))


@pytest.mark.parametrize("order", CellOrder)
def test_every_order_has_every_cell_once(order: CellOrder) -> None:
    wanted = plan(order, repeats=3)
    assert sorted(cell.number for cell in cells_in_order(wanted)) == list(range(1, 13))
    assert [cell.number for cell in all_cells(wanted)] == list(range(1, 13))


def test_cells_on_the_same_tables_stand_together() -> None:
    small, large, other = (
        SweepCase(name=name, profile="p", data=data)
        for name, data in (("a", "10"), ("b", "100"), ("c", "10"))
    )
    cells = cells_in_order(plan(CellOrder.INTERLEAVED, cases=(small, large, other)))
    assert [cell.case.data for cell in cells] == ["10"] * 16 + ["100"] * 8


def test_a_cells_plan_has_its_own_load_and_each_repeat_its_own_seed() -> None:
    cell = all_cells(sweeps.PLAN)[3]
    made = cell_plan(sweeps.PLAN, cell)
    assert (made.profile, made.options, made.threads) == ("oltp_write_only", {"tables": "2"}, 8)
    assert (cell.repeat, made.seed) == (2, 8)
    assert (made.seconds, made.warmup_seconds) == (5.0, 1.0)
