"""Recorded runs against the first: what was not the same about them, what casts doubt on that, figures."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from tuibench.metrics.contrast import METRICS, Tick, coarse, contrast, value_of
from tuibench.metrics.relative import Bound, crossings
from tuibench.model.contrast import Compared, Difference, Row, Verdict
from tuibench.model.event import CHANGES, EventKind
from tuibench.model.sample import Sample
from tuibench.record.run import Run

PASSED_OVER = (
    "*.seed",
    "plan.options.threads",
    "*.free_bytes",
    "*.swap_used_bytes",
    "*.disk_free_bytes",
    "*.uptime_seconds",
    "round trip.*",
    "server.identity",
    "server.pid_file",
    "server.datadir",
    "server.socket",
    "server.where",
    "server.port",
    "variables.gtid_*",
    "variables.timestamp",
)
"""What is another in every run, or tells only where things lie."""

ABSENT = "–"
STATEMENTS = "statements"
STEERED = CHANGES - {EventKind.MARK}


def compared(runs: Sequence[Run], bounds: Sequence[Bound] = ()) -> Compared:
    """All of it; the first run is what the others are held against."""
    names = named(runs)
    ticks = [coarse(ticks_of(run), len(run.measured)) for run in runs]
    rows = tuple(
        Row(
            metric=metric.name,
            title=metric.title,
            unit=metric.unit,
            better=metric.better,
            first=value_of(metric, ticks[0]),
            others=tuple(contrast(metric, ticks[0], each) for each in ticks[1:]),
        )
        for metric in METRICS
    )
    return Compared(
        runs=names,
        differences=_telling(list(differences(runs))),
        doubts=tuple(doubts(runs, names, rows)),
        rows=rows,
        crossed=tuple(crossings(bounds, rows, names)),
    )


def named(runs: Sequence[Run]) -> tuple[str, ...]:
    """Each run by its name; those that are called the same (in two places) are numbered."""
    ids = [run.id for run in runs]
    return tuple(
        name if ids.count(name) == 1 else f"{name} ({ids[: place + 1].count(name)})"
        for place, name in enumerate(ids)
    )


def ticks_of(run: Run) -> Iterator[Tick]:
    """What each measured tick adds to the figures."""
    samples = {sample.elapsed_seconds: sample for sample in run.measured}
    for at, interval in run.intervals():
        sample = samples[at]
        yield Tick(
            interval.seconds,
            interval.transactions,
            interval.reads + interval.writes + interval.others,
            interval.errors,
            interval.latency,
            _log_fsyncs(sample, interval.seconds),
            _server_cpu_ms(sample, interval.seconds),
        )


def _log_fsyncs(sample: Sample, seconds: float) -> float | None:
    rate = sample.server.log_fsyncs_per_second if sample.server else None
    return None if rate is None else rate * seconds


def _server_cpu_ms(sample: Sample, seconds: float) -> float | None:
    host = sample.host
    if host is None or host.cpu_server is None:
        return None
    return host.cpu_server / 100 * host.cores * seconds * 1e3


# What was not the same


def differences(runs: Sequence[Run]) -> Iterator[Difference]:
    """Each value of plan, server, host and program that is another in some run."""
    tables = [dict(_facts(run)) for run in runs]
    for path in dict.fromkeys(path for table in tables for path in table):
        values = tuple(table.get(path, ABSENT) for table in tables)
        if len(set(values)) > 1 and not any(fnmatchcase(path, pattern) for pattern in PASSED_OVER):
            group, _, name = path.partition(".")
            yield Difference(group=group, path=name, values=values)


def _telling(found: list[Difference]) -> tuple[Difference, ...]:
    """Other options make other statements, which says nothing more: they count where nothing else differs."""
    of_plan = [one for one in found if one.group == "plan" and one.path != STATEMENTS]
    return tuple(one for one in found if one.path != STATEMENTS or not of_plan)


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    """Everything about a run that may move its result, by its path."""
    plan, environment = run.plan, run.environment
    yield from _flat("plan", {**msgspec.to_builtins(plan.plan), "options": plan.options or plan.plan.options})
    yield "plan.data", plan.data_set or ABSENT
    yield f"plan.{STATEMENTS}", plan.profile_digest[:12] or ABSENT
    yield "server.target", plan.target.where
    yield "server.database", plan.target.database
    yield from _flat("server", msgspec.to_builtins(plan.server))
    yield "program.version", plan.version
    if environment is not None:
        yield "client.location", environment.location
        yield from _flat("host", msgspec.to_builtins(environment.host))
        yield from _flat("disk", msgspec.to_builtins(environment.disk))
        yield from _flat("variables", environment.variables)


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{path}.{key}", inner)
    elif isinstance(value, list | tuple):
        yield path, ", ".join(str(inner) for inner in value) or ABSENT
    else:
        yield path, ABSENT if value in (None, "") else str(value)


# What speaks against it


def doubts(runs: Sequence[Run], names: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Why the figures may not be comparable, whatever they say."""
    for run, name in zip(runs, names, strict=True):
        if run.spoilt_lines:
            yield f"{name}: {run.spoilt_lines} lines of its record could not be read"
        if changes := sum(event.kind in STEERED and event.elapsed_seconds > 0 for event in run.events):
            yield f"{name} was changed {changes} times on the way: its figures mix what was before and after"
        yield from (f"{name}: {warning}" for warning in run.summary.warnings)
    if any(other.value is not None and other.verdict is Verdict.UNKNOWN for other in rows[0].others):
        yield "a run is too short to tell a difference from its noise"
