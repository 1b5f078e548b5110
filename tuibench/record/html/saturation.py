"""HTML section of a probe's result: sentences, chart and steps."""

from collections.abc import Sequence

from tuibench import units
from tuibench.model.experiments.probe import ProbeResult, ProbeStep, StepPurpose
from tuibench.model.results.sweep import Mean
from tuibench.model.schedule import Quantity
from tuibench.record.files.run import Run
from tuibench.record.html.markup import Markup, code_block, figure_table, join_markup, tag
from tuibench.record.html.threads_chart import SMALL, ThreadsLine, threads_chart
from tuibench.record.report.probe_text import probe_level_text, probe_lines
from tuibench.units import count, decimal, milliseconds, percent

ON_THE_WAY = frozenset({StepPurpose.UP, StepPurpose.REFINE})
HEADING = ("", "TPS", "± 95 %", "QPS", "p95", "errors", "")


def saturation_section(run: Run) -> Markup | None:
    """The section; None for a run without a probe that measured something."""
    found = run.summary.probe
    if found is None or not found.steps:
        return None
    return join_markup(
        tag("p", " ".join(found.lines or probe_lines(found))),
        _charts(found),
        figure_table(HEADING, [_row(found, step) for step in _in_order(found.steps)]),
        join_markup(tag("p", "For the formal run:"), code_block(found.commands.values()))
        if found.commands
        else None,
    )


def _in_order(steps: Sequence[ProbeStep]) -> list[ProbeStep]:
    """Steps on the way up and in between by level, then those on the way back down."""
    return sorted(steps, key=lambda step: (step.purpose is StepPurpose.BACK, step.level))


def _charts(found: ProbeResult) -> Markup | None:
    """Throughput and p95 by level, side by side."""
    steps = [step for step in _in_order(found.steps) if step.purpose in ON_THE_WAY]
    if not steps:
        return None
    name = "rate" if found.order.by is Quantity.RATE else "threads"
    levels = sorted({round(step.level) for step in steps})
    measured = {round(step.level): _mean(step.tps, step) for step in steps}
    p95 = {
        round(step.level): Mean(mean=step.p95_ms, half_width=None, count=1) for step in steps if step.p95_ms
    }
    charts = [
        threads_chart(f"TPS against {name}", levels, [ThreadsLine("measured", measured)], width=SMALL),
        threads_chart(
            f"p95 against {name}", levels, [ThreadsLine("p95", p95)], units.milliseconds, width=SMALL
        ),
    ]
    return tag("div", charts, class_="pair")


def _mean(value: float, step: ProbeStep) -> Mean:
    half = None if step.half_width is None else step.half_width * value
    return Mean(mean=value, half_width=half, count=1)


def _row(found: ProbeResult, step: ProbeStep) -> tuple[str, ...]:
    half = units.DASH if step.half_width is None else percent(100 * step.half_width, 1)
    return (
        "without a rate" if step.purpose is StepPurpose.SCALE else probe_level_text(found.order, step.level),
        count(step.tps),
        half,
        count(step.qps),
        milliseconds(step.p95_ms),
        f"{decimal(step.errors_percent, 2)} %",
        _remark(found, step),
    )


def _remark(found: ProbeResult, step: ProbeStep) -> str:
    remarks = (
        ("saturated here", step == found.knee),
        ("on the way back", step.purpose is StepPurpose.BACK),
        ("not stable", not step.is_stable),
        (f"missed: {'; '.join(step.missed)}", bool(step.missed)),
    )
    return ", ".join(words for words, holds in remarks if holds)
