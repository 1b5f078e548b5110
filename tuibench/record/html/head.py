"""The top of a report: what it is of, the figures everybody looks for, and what speaks against them."""

import time
from collections.abc import Iterator

from tuibench import units
from tuibench.record.html.markup import Markup, joined, tag
from tuibench.record.run import Run
from tuibench.units import clock, count, counted, decimal, milliseconds


def head(run: Run) -> Markup:
    """Title, when, and the figures everybody looks for."""
    plan, figures_, server = run.plan.plan, run.summary, run.plan.server
    started = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(run.plan.started_at))
    return joined(
        tag("h1", f"{plan.profile} on {server.flavour} {server.version}"),
        tag(
            "p",
            f"{started} · {run.plan.data_set or 'tables not described'} · "
            f"{counted(plan.threads, 'thread')} at the start · {figures_.outcome} after "
            f"{clock(figures_.seconds)} · run {run.id}",
            class_="soft",
        ),
        tag("div", [_tile(*tile) for tile in _tiles(run)], class_="tiles"),
    )


def _tiles(run: Run) -> Iterator[tuple[str, str, str]]:
    figures_, latency = run.summary, run.summary.latency_ms
    yield (
        "transactions a second",
        decimal(figures_.transactions.per_second, 1),
        f"{count(figures_.transactions.total)} in all",
    )
    yield (
        "queries a second",
        decimal(figures_.queries.per_second, 1),
        f"{count(figures_.queries.total)} in all",
    )
    if latency is not None:
        yield "p95", milliseconds(latency.p95), f"median {milliseconds(latency.p50)}"
        yield "p99", milliseconds(latency.p99), f"slowest {milliseconds(latency.max)}"
    yield "errors", count(figures_.errors.total), f"{count(figures_.retries)} transactions tried again"


def _tile(title: str, value: str, more: str) -> Markup:
    return tag("div", tag("span", title), tag("b", value), tag("small", more), class_="tile")


def warnings(run: Run) -> Markup:
    """What speaks against the figures, before anything else is said."""
    told = list(run.summary.warnings)
    if run.spoilt_lines:
        told.append(f"{run.spoilt_lines} lines of the record cannot be read")
    if run.summary.failure:
        told.insert(0, f"the run failed: {run.summary.failure}")
    if not told:
        return tag("p", "No warnings: nothing was noticed that puts these figures in doubt.", class_="fine")
    return tag("div", tag("b", "Warnings"), tag("ul", [tag("li", text) for text in told]), class_="warnings")


def note_of(run: Run) -> str:
    """What the file says of itself at its end."""
    return (
        f"Written by tuibench {run.plan.version or ''} from the record of run {run.id}. "
        f"Times on the charts count from the start of the measured load; "
        f"{units.DASH} stands where nothing was measured."
    )
