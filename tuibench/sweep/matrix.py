"""Cells of a sweep and their order, from its plan.

Cells on the same tables are adjacent, as only one size of a table can exist at a time. Among
themselves they are ordered as the plan says.

How long a sweep will take: from its plan first, then from the cells that are done.
"""

from collections.abc import Iterable, Sequence
from itertools import cycle, product
from random import Random
from statistics import fmean

import msgspec
from msgspec.structs import replace

from tuibench.model.plan import RunPlan
from tuibench.model.sweep import Cell, CellOrder, CellResult, Sweep, SweepPlan


def all_cells(plan: SweepPlan) -> tuple[Cell, ...]:
    """All cells as they were asked for: repeats within threads, within variants, within cases."""
    repeats = range(1, plan.repeats + 1)
    combined = product(plan.cases, plan.variants, plan.threads, repeats)
    return tuple(
        Cell(number=number, case=case, variant=variant, threads=threads, repeat=repeat)
        for number, (case, variant, threads, repeat) in enumerate(combined, 1)
    )


def cells_in_order(plan: SweepPlan) -> tuple[Cell, ...]:
    """The same cells in the order they run in."""
    cells = all_cells(plan)
    tables = dict.fromkeys(case.data for case in plan.cases)
    blocks = ([cell for cell in cells if cell.case.data == data] for data in tables)
    return tuple(cell for block in blocks for cell in _in_order(plan, block))


def _in_order(plan: SweepPlan, cells: Sequence[Cell]) -> Iterable[Cell]:
    if plan.order is CellOrder.GIVEN:
        return cells
    rounds = [[cell for cell in cells if cell.repeat == repeat] for repeat in range(1, plan.repeats + 1)]
    for number, cells_once in enumerate(rounds):
        if plan.order is CellOrder.RANDOM:
            Random(f"{plan.base.seed}/{number}/{cells_once[0].case.data}").shuffle(cells_once)
        else:
            cells_once[:] = _side_by_side(cells_once)[:: -1 if number % 2 else 1]
    return (cell for cells_once in rounds for cell in cells_once)


def _side_by_side(cells: Iterable[Cell]) -> list[Cell]:
    """The variants of each case and number of threads next to each other, every other time backwards.

    What is compared then runs at about the same time. It costs nothing: each cell makes its own settings and
    puts them back, whichever cell comes next.
    """
    groups: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.case.name, cell.threads), []).append(cell)
    there_and_back = cycle((1, -1))
    return [cell for group in groups.values() for cell in group[:: next(there_and_back)]]


def build_of(cell: Cell) -> str:
    """The name of the private server's program; a comparison of versions calls its variants so."""
    return cell.variant.server or cell.variant.name


def cells_by_start(plan: SweepPlan) -> tuple[Cell, ...]:
    """All cells of a start of a private server together; the variants' starts alternate, to and fro.

    Within a start, cells on the same tables are adjacent, else in the order of the plan.
    """
    cells = all_cells(plan)
    tables = list(dict.fromkeys(case.data for case in plan.cases))
    builds = list(dict.fromkeys(build_of(cell) for cell in cells))
    starts = (
        (repeat, build)
        for repeat in range(1, plan.repeats + 1)
        for build in builds[:: 1 if repeat % 2 else -1]
    )
    return tuple(
        cell
        for start in starts
        for cell in sorted(
            (cell for cell in cells if (cell.repeat, build_of(cell)) == start),
            key=lambda cell: tables.index(cell.case.data),
        )
    )


def cell_plan(plan: SweepPlan, cell: Cell) -> RunPlan:
    """The plan of a cell's session; each repeat has its own seed."""
    base = plan.base
    if cell.variant.load:
        base = msgspec.convert({**msgspec.to_builtins(base), **cell.variant.load}, RunPlan)
    return replace(
        base,
        profile=cell.case.profile,
        options=cell.case.options,
        threads=cell.threads,
        seed=plan.base.seed + cell.repeat - 1,
    )


def max_threads(plan: SweepPlan) -> int:
    """The most that any cell has."""
    return max(plan.threads)


OVERHEAD_SECONDS = 2.5

"""What a cell takes beside its load, as long as none has been seen: workers, connections, settings."""


def cell_seconds(base: RunPlan, results: Sequence[CellResult]) -> float:
    """How long one cell takes, from start to start."""
    load = base.warmup_seconds + (base.seconds or 0.0)
    overheads = [max(0.0, result.seconds - load) for result in results if result.outcome == "done"]
    return load + (fmean(overheads) if overheads else OVERHEAD_SECONDS)


def starting_seconds(sweep: Sweep, *, is_running: bool = False) -> float:
    """How long the private servers take that are still to be started, with their tables; 0 without any.

    With `is_running`, the server of the last start runs, with the tables of the last result.
    """
    setup = sweep.record.versions or sweep.record.servers
    if setup is None:
        return 0.0
    done = {result.cell.number for result in (sweep.results if is_running else sweep.done)}
    left = [cell for cell in cells_by_start(sweep.record.plan) if cell.number not in done]
    known = [start.seconds for start in sweep.starts]
    loading = setup.loading_seconds | {one.data: one.seconds for one in sweep.data if one.seconds is not None}
    seconds, current = 0.0, _running_start(sweep) if is_running else None
    for cell in left:
        start = (build_of(cell), cell.repeat, cell.case.data)
        if current is None or start[:2] != current[:2]:
            further = sum(setup.loading_seconds.values()) - setup.loading_seconds.get(cell.case.data, 0.0)
            seconds += fmean(known) if known else max(0.0, setup.start_seconds - further)
        elif start[2] != current[2]:
            seconds += loading.get(cell.case.data, 0.0)
        current = start
    return seconds


def _running_start(sweep: Sweep) -> tuple[str, int, str] | None:
    """Build and number of the last start, and its tables."""
    if not sweep.starts or not sweep.results:
        return None
    return sweep.starts[-1].build, sweep.starts[-1].start, sweep.results[-1].cell.case.data


def remaining_seconds(base: RunPlan, results: Sequence[CellResult], cells_left: int) -> float:
    """Estimated time of the remaining cells, without the creation of tables."""
    return cells_left * cell_seconds(base, results)
