"""Relative tables: the first column is 1.00, the others are ratios to it.

For several sweeps the columns are their servers, for one sweep its variants. A row is a case at a number of
threads.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench import units
from tuibench.document import Table
from tuibench.metrics.inference.means import sweep_points
from tuibench.model.results.comparison import struct_differences
from tuibench.model.results.sweep import Mean, Sweep
from tuibench.record.sweep.tables import variant_label

OVERLAPPING = "~"
NOTE = f"{OVERLAPPING} the 95 % intervals of both overlap: the difference may be chance"

MAY_DIFFER = ("base.seed", "prepare", "cleanup", "order")
"""Differences that do not prevent a comparison of two sweeps."""


class RowKey(NamedTuple):
    """A row: `variant` is empty if the variants are the columns."""

    case: str
    variant: str
    threads: int


def servers_table(sweeps: Sequence[Sweep]) -> Table:
    """Sweeps of the same plan compared: one column per server."""
    columns = [
        {
            RowKey(one.case.name, variant_label(one.variant), one.threads): one.figures["headline"]
            for one in known
        }
        for known in (sweep_points(sweep.record.plan, sweep.results) for sweep in sweeps)
    ]
    return _grid(_names(sweeps), columns, notes=tuple(_unlike(sweeps)))


def variants_table(sweep: Sweep) -> Table:
    """The variants of one sweep relative to its first."""
    plan, known = sweep.record.plan, sweep_points(sweep.record.plan, sweep.results)
    columns = [
        {
            RowKey(one.case.name, "", one.threads): one.figures["headline"]
            for one in known
            if one.variant.name == variant.name
        }
        for variant in plan.variants
    ]
    return _grid([variant_label(one) for one in plan.variants], columns)


def _grid(names: Sequence[str], columns: Sequence[dict[RowKey, Mean]], notes: tuple[str, ...] = ()) -> Table:
    keys = list(dict.fromkeys(key for column in columns for key in column))
    with_variant = len({key.variant for key in keys}) > 1
    rows = tuple((*_words(key, with_variant), *(_cell(columns, key, place) for place in range(len(columns))))
                 for key in keys)  # fmt: skip
    is_doubtful = any(cell.endswith(OVERLAPPING) for row in rows for cell in row)
    heading = ("case", "settings", "threads") if with_variant else ("case", "threads")
    return Table(
        title=f"relative to {names[0]}",
        header=(*heading, *names),
        rows=rows,
        words=len(heading),
        notes=(*([NOTE] * is_doubtful), *notes),
    )


def _words(key: RowKey, with_variant: bool) -> tuple[str, ...]:
    return (key.case, key.variant, str(key.threads)) if with_variant else (key.case, str(key.threads))


def _cell(columns: Sequence[dict[RowKey, Mean]], key: RowKey, place: int) -> str:
    first, here = columns[0].get(key), columns[place].get(key)
    if first is None or here is None or not first.mean:
        return units.DASH
    doubtful = OVERLAPPING if place and _overlap(first, here) else ""
    return f"{here.mean / first.mean:.2f}{doubtful}"


def _overlap(one: Mean, other: Mean) -> bool:
    """True if the intervals overlap; single runs have no interval."""
    if one.half_width is None or other.half_width is None:
        return False
    return abs(one.mean - other.mean) <= one.half_width + other.half_width


def _names(sweeps: Sequence[Sweep]) -> list[str]:
    """Each server by flavour and version; equal names are numbered."""
    servers = [sweep.record.surroundings.server for sweep in sweeps]
    names = [f"{server.flavour} {server.version}" for server in servers]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: place + 1].count(name)})"
        for place, name in enumerate(names)
    ]


def _unlike(sweeps: Sequence[Sweep]) -> list[str]:
    """Other differences between the sweeps: the ratio does not depend on the servers alone."""
    first = sweeps[0].record.plan
    return [
        f"sweep {number} differs from the first: {difference}"
        for number, sweep in enumerate(sweeps[1:], 2)
        for difference in struct_differences(first, sweep.record.plan, MAY_DIFFER)
    ]
