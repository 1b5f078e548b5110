"""A sweep for programs: JSON with all that is known, CSV with a row a combination or a row a run."""

import msgspec

from tuibench.metrics.repeats import FIGURES, points
from tuibench.model.sweep import CellResult, Point, Sweep, SweepRecord
from tuibench.record.grid import comma_separated
from tuibench.record.recorder import pretty_json
from tuibench.record.sweep_runs import files_bytes, has_binlog, ping_ms


class SweepExport(msgspec.Struct, frozen=True, kw_only=True):
    """`tuibench.sweep/1` as it is exported: the record, each cell's result, the repeats taken together."""

    record: SweepRecord
    results: tuple[CellResult, ...]
    points: tuple[Point, ...]


def as_json(sweep: Sweep) -> str:
    """Everything; ends in a newline."""
    export = SweepExport(
        record=sweep.record, results=sweep.results, points=points(sweep.record.plan, sweep.results)
    )
    return pretty_json(export).decode()


def points_csv(sweep: Sweep) -> str:
    """A row a combination: the mean of each figure and half of its 95 % interval, empty where not known."""
    header = ("case", "settings", "threads", "runs", "headline_name", "client_limited")
    columns = (part for name in FIGURES for part in (name, f"{name}_ci95"))
    rows = [_point_row(point) for point in points(sweep.record.plan, sweep.results)]
    return comma_separated((*header, *columns), tuple(rows))


def _point_row(point: Point) -> tuple[object, ...]:
    row: list[object] = [
        point.case.name,
        point.variant.name,
        point.threads,
        point.figures["headline"].count,
        point.headline,
        int(point.limited),
    ]
    for name in FIGURES:
        mean = point.figures.get(name)
        row += [mean.mean, mean.half_width] if mean else [None, None]
    return tuple(row)


def runs_csv(sweep: Sweep) -> str:
    """A row a run that counts, in plain units: bytes, milliseconds, percent."""
    header = (
        "case",
        "settings",
        "threads",
        "run",
        "attempt",
        "started_at",
        "headline_name",
        "client_limited",
    )
    machine = ("cores", "memory_bytes", "ping_ms", "binlog", "data", "files_bytes")
    rows = tuple(_run_row(sweep, result) for result in sweep.done)
    return comma_separated((*header, *machine, *FIGURES), rows)


def _run_row(sweep: Sweep, result: CellResult) -> tuple[object, ...]:
    cell, figures = result.cell, result.figures
    return (
        cell.case.name,
        cell.variant.name,
        cell.threads,
        cell.repeat,
        result.attempt,
        result.started_at,
        result.headline,
        int(result.limited),
        result.cores,
        result.memory_total_bytes,
        ping_ms(sweep),
        "on" if has_binlog(sweep, cell.variant) else "off",
        cell.case.size,
        files_bytes(sweep, cell.case.data),
        *(getattr(figures, name, None) for name in FIGURES),
    )
