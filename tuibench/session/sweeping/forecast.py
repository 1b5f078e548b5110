"""How long a sweep will take: from its plan first, then from the cells that are done."""

from collections.abc import Sequence
from statistics import fmean

from tuibench.model.plan import Plan
from tuibench.model.sweep import CellResult

OVERHEAD_SECONDS = 2.5
"""What a cell takes beside its load, as long as none has been seen: workers, connections, settings."""


def cell_seconds(base: Plan, results: Sequence[CellResult]) -> float:
    """How long one cell takes, from start to start."""
    load = base.warmup_seconds + (base.seconds or 0.0)
    overheads = [max(0.0, result.seconds - load) for result in results if result.outcome == "done"]
    return load + (fmean(overheads) if overheads else OVERHEAD_SECONDS)


def remaining_seconds(base: Plan, results: Sequence[CellResult], cells_left: int) -> float:
    """How long so many more cells take. Making tables is not foreseen."""
    return cells_left * cell_seconds(base, results)
