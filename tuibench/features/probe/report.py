"""What the reports say about a probe: its levels, which must not be averaged, and the formal run."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from tuibench.base import units
from tuibench.base.document import Block, Section, Shape, Text, section
from tuibench.base.units import count, milliseconds, pluralize, three_digits
from tuibench.features.probe.text import (
    bracket_text,
    probe_blocks,
    probe_commands,
    probe_level_text,
    probe_lines,
    probe_table,
    steps_in_order,
    trials_table,
)
from tuibench.model.findings import Mean
from tuibench.model.probe import ProbeResult, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.model.summary import Summary
from tuibench.report.part import ReportPart, Tile

if TYPE_CHECKING:
    from tuibench.report.html_chart import Markup

ON_THE_WAY = frozenset({StepPurpose.UP, StepPurpose.REFINE})


class ProbeReport(ReportPart):
    """The part about the last probe."""

    weight: ClassVar = 2
    is_of_whole_run: ClassVar = True

    def has_results(self, summary: Summary) -> bool:
        return summary.probe is not None

    def has_figures(self, summary: Summary) -> bool:
        return summary.probe is not None and bool(summary.probe.steps)

    def sentence(self, summary: Summary) -> str:
        return next(iter(_lines(summary.probe)), "") if summary.probe is not None else ""

    def tiles(self, summary: Summary) -> Sequence[Tile]:
        if summary.probe is None or summary.probe.plateau is None:
            return ()
        return tuple(_tiles(summary.probe, summary))

    def chart(self, summary: Summary) -> "Markup | None":
        return _charts(summary.probe) if summary.probe is not None else None

    def blocks(self, summary: Summary) -> Sequence[Block | Section]:
        return probe_blocks(summary.probe) if summary.probe is not None else ()

    def sections(self, summary: Summary) -> Iterator[Section]:
        if (found := summary.probe) is not None and found.steps:
            yield _saturation(found)


REPORT = ProbeReport()


def _lines(found: ProbeResult) -> Sequence[str]:
    return found.lines or probe_lines(found)


def _tiles(found: ProbeResult, summary: Summary) -> Iterator[Tile]:
    if found.is_inconclusive:
        yield "saturation point", bracket_text(found), "inconclusive"
    elif (knee := found.knee) is not None:
        name = probe_level_text(found.order, knee.level)
        yield "saturation point", name, "the fewest with 95 % of the plateau"
        yield "transactions per second there", three_digits(knee.tps), f"p95 {milliseconds(knee.p95_ms)}"
    if found.plateau is not None:
        half = found.plateau.half_width
        yield (
            "plateau",
            f"{count(found.plateau.mean)} TPS",
            f"± {count(half)}" if half else "without an interval",
        )
    yield "errors", count(summary.errors.total), f"{pluralize(summary.retries, 'transaction')} retried"


def _saturation(found: ProbeResult) -> Section:
    """Findings, steps, formal run."""
    items: list[str] = []
    for line in map(str.strip, _lines(found)):
        if line.startswith("→") and items:
            # A finding contains its remedy.
            items[-1] += f" {line}"
        else:
            items.append(line)
    trials = (trials_table(found.vulnerable),) if found.vulnerable is not None else ()
    return section(
        "Saturation", Text(tuple(items), Shape.LIST), probe_table(found), *trials, *probe_commands(found)
    )


def _charts(found: ProbeResult) -> "Markup | None":
    """The charts of throughput and p95 by level, side by side."""
    from tuibench.report.html_chart import SMALL, tag
    from tuibench.report.html_plots import ThreadsLine, threads_chart

    steps = [step for step in steps_in_order(found.steps) if step.purpose in ON_THE_WAY]
    if not steps:
        return None
    name = "rate" if found.order.by is Quantity.RATE else "threads"
    levels = sorted({round(step.level) for step in steps})
    measured = {round(step.level): _mean(step.tps, step) for step in steps}
    p95 = {
        round(step.level): Mean(mean=step.p95_ms, half_width=None, count=1) for step in steps if step.p95_ms
    }
    charts = [
        threads_chart(title, levels, [ThreadsLine("measured", each)], write, width=SMALL, by=name)
        for title, each, write in (("TPS", measured, units.si), ("p95", p95, units.milliseconds))
    ]
    if (recovery := found.vulnerable) is not None and recovery.trials:
        ways = recovery.hysteresis
        rates = sorted({round(rate) for way in ways.values() for rate, _ in way})
        lines = [
            ThreadsLine(
                name, {round(rate): Mean(mean=value, half_width=None, count=1) for rate, value in way}
            )
            for name, way in ways.items()
        ]
        title = "Goodput before a burst and after it"
        charts.append(threads_chart(title, rates, lines, units.si, by="rate", width=SMALL))
    return tag("div", charts, class_="pair")


def _mean(value: float, step: ProbeStep) -> Mean:
    half = None if step.half_width is None else step.half_width * value
    return Mean(mean=value, half_width=half, count=1)
