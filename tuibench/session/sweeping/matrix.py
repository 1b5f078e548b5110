"""The cells of a sweep and their order. Pure: a plan in, cells out.

Cells on the same tables stand together, for only one size of a table can be there at a time. Among
themselves they are ordered as the plan says.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from random import Random

from msgspec.structs import replace

from tuibench.model.plan import Plan
from tuibench.model.sweep import Cell, Order, SweepPlan


def cells_of(plan: SweepPlan) -> tuple[Cell, ...]:
    """All cells as they were asked for: repeats within threads, within variants, within cases."""
    repeats = range(1, plan.repeats + 1)
    combined = product(plan.cases, plan.variants, plan.threads, repeats)
    return tuple(
        Cell(number=number, case=case, variant=variant, threads=threads, repeat=repeat)
        for number, (case, variant, threads, repeat) in enumerate(combined, 1)
    )


def ordered(plan: SweepPlan) -> tuple[Cell, ...]:
    """The same cells in the order they run in."""
    cells = cells_of(plan)
    tables = dict.fromkeys(case.data for case in plan.cases)
    blocks = ([cell for cell in cells if cell.case.data == data] for data in tables)
    return tuple(cell for block in blocks for cell in _in_order(plan, block))


def _in_order(plan: SweepPlan, cells: Sequence[Cell]) -> Iterable[Cell]:
    if plan.order is Order.GIVEN:
        return cells
    rounds = [[cell for cell in cells if cell.repeat == repeat] for repeat in range(1, plan.repeats + 1)]
    for number, cells_once in enumerate(rounds):
        if plan.order is Order.RANDOM:
            Random(f"{plan.base.seed}/{number}/{cells_once[0].case.data}").shuffle(cells_once)
        elif number % 2:
            cells_once.reverse()
    return (cell for cells_once in rounds for cell in cells_once)


def plan_of(plan: SweepPlan, cell: Cell) -> Plan:
    """What a session runs for a cell; each repeat has values of its own."""
    return replace(
        plan.base,
        profile=cell.case.profile,
        options=cell.case.options,
        threads=cell.threads,
        seed=plan.base.seed + cell.repeat - 1,
    )


def most_threads(plan: SweepPlan) -> int:
    """The most that any cell has."""
    return max(plan.threads)
