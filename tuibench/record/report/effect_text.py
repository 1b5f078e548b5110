"""Text of effects, trials and costs, the same on screen, on stderr and in the record."""

from collections.abc import Callable, Iterable

import msgspec

from tuibench import units
from tuibench.metrics.inference.messages import (
    ALTERNATION,
    FIGURE_NAMES,
    attribution_text,
    comparison_text,
    verdict_text,
)
from tuibench.metrics.series.cost_messages import change_cost_lines
from tuibench.model.experiments.effect import (
    AbTestResult,
    CommitCost,
    Comparison,
    Effect,
    EffectFigure,
    Verdict,
)

STILL_MOVING = "still moving"


MINUTES_TO_HOURS = 120


def changes_text(comparisons: Iterable[Comparison], *, is_trial: bool = False) -> str:
    """Every figure with verdict, difference and interval: `TPS higher: +43 % (38..49 %), p95 …`."""
    return ", ".join(
        f"{FIGURE_NAMES[one.figure]} {comparison_text(one, is_trial=is_trial)}" for one in comparisons
    )


def effect_text(effect: Effect) -> str:
    """The text of an effect's event."""
    words = [changes_text(effect.comparisons)]
    unattributed = [text for one in effect.comparisons if (text := attribution_text(one))]
    words += unattributed[:1] and [unattributed[0], ALTERNATION]
    words += [STILL_MOVING] * (not effect.settled)
    return "; ".join(words)


def effect_line(effect: Effect) -> str:
    """The text of an effect with its change, for a summary."""
    numbers = ", ".join(map(str, effect.markers))
    windows = f"{effect.window_seconds:.0f} s each, {effect.settling_seconds:.0f} s to settle"
    return f"effect of {numbers} ({effect.change}): {effect_text(effect)} ({windows})"


def cost_line(cost: CommitCost) -> str:
    """The cost of a commit under one value."""
    figures = ", ".join(cost_parts(cost)) or "not counted here"
    return f"cost of a commit with {cost.setting}={cost.value}: {figures}"


def cost_parts(cost: CommitCost) -> list[str]:
    """Each known figure, with its unit."""
    known = (
        (cost.log_fsyncs, "log fsyncs", units.small_number),
        (cost.log_bytes, "redo", units.binary_size),
        (cost.binlog_syncs, "binlog syncs", units.small_number),
        (cost.binlog_bytes, "binlog", units.binary_size),
        (cost.row_lock_waits, "lock waits", units.small_number),
    )
    return [f"{write(value)} {name}" for value, name, write in known if value is not None]


_COST_FIGURES: tuple[tuple[str, Callable[[CommitCost], float | None], Callable[[float | None], str]], ...] = (
    ("log fsyncs", lambda cost: cost.log_fsyncs, units.small_number),
    ("redo", lambda cost: cost.log_bytes, units.binary_size),
    ("binlog syncs", lambda cost: cost.binlog_syncs, units.small_number),
    ("binlog", lambda cost: cost.binlog_bytes, units.binary_size),
    ("lock waits", lambda cost: cost.row_lock_waits, units.small_number),
)


def cost_table(costs: Iterable[CommitCost]) -> list[str]:
    """The cost of a commit under each value, as a table without the columns that are unknown throughout."""
    known = [cost for cost in costs if cost.transactions]
    shown = [each for each in _COST_FIGURES if any(each[1](cost) is not None for cost in known)]
    if not known or not shown:
        return []
    rows = [("cost of a commit with", *(name for name, _, _ in shown))]
    for cost in known:
        figures = (write(value(cost)) for _, value, write in shown)
        rows.append((f"  {cost.setting}={cost.value}", *figures))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [_aligned(row, widths) for row in rows]


# Trials

_HEADING = ("", "A", "B", "95 % interval", "estimate", "verdict")


def trial_sentence(result: AbTestResult) -> str:
    """The result of a trial: both values, and the effect."""
    most = "at most " if result.is_sequential else ""
    pairs = f"{len(result.pairs)} of {most}{result.cycles} cycles"
    against = f"{result.subject} {result.b} against {result.a}"
    if result.needs_window_seconds is not None and result.acts_after_seconds is not None:
        needs = f"{result.needs_window_seconds:g}"
        in_time = f"; {changes_text(result.comparisons, is_trial=True)}" if result.comparisons else ""
        return (
            f"{against}: no verdict ({pairs}): a change may take about {result.acts_after_seconds:.2g} s to "
            f"act, too long for windows of {result.window_seconds:g} s; needs windows of {needs} s "
            f"(--window={needs}){in_time}"
        )
    if not result.comparisons:
        return f"{against}: {pairs} are too few for an interval{_so_far(result)}{_more(result)}"
    late = result.acts_after_seconds
    acts = f", without the first {late:.2g} s of a change, until it acts" if late is not None else ""
    return f"{against}: {changes_text(result.comparisons, is_trial=True)} ({pairs}{acts}){_more(result)}"


def with_sentence(result: AbTestResult) -> AbTestResult:
    """The result with its `sentence` set."""
    return msgspec.structs.replace(result, sentence=trial_sentence(result))


def trial_text(result: AbTestResult) -> str:
    """The table and the sentence, ending in a newline."""
    lines = [f"A/B: {result.subject}, A = {result.a}, B = {result.b}"]
    if result.comparisons:
        rows = [_HEADING, *(_row(one) for one in result.comparisons)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADING))]
        lines += ["    " + _aligned(row, widths) for row in rows]
    if result.left_out:
        why = f" ({'; '.join(result.disturbances)})" if result.disturbances else ""
        lines.append(f"    disturbed cycles, left out: {result.left_out}{why}")
    lines += change_cost_lines(result.cost_a, result.cost_b)
    return "\n".join([*lines, result.sentence, ""]) + "\n"


def _more(result: AbTestResult) -> str:
    """The estimated remaining time of a test that ends with its verdict."""
    if not result.is_sequential or result.verdict is not Verdict.CANNOT_TELL:
        return ""
    if result.more_seconds is None:
        return "; undecided: the time still needed is unknown"
    return f"; undecided: needs about {_duration_text(result.more_seconds / 60)}"


def _duration_text(minutes: float) -> str:
    """A duration with two digits: 0.8 more minutes, 12 more minutes, 3 more hours."""
    if minutes < MINUTES_TO_HOURS:
        return f"{max(minutes, 0.1):.2g} more minutes" if minutes < 10 else f"{minutes:.0f} more minutes"
    return f"{minutes / 60:,.0f} more hours"


def _so_far(result: AbTestResult) -> str:
    """The rates measured so far, without a verdict."""
    figure = EffectFigure.TPS
    if any(figure not in side for sides in _sides(result) for side in sides):
        figure = EffectFigure.QPS
    a, b = ([side.get(figure, 0.0) for side in sides] for sides in _sides(result))
    if not sum(a, 0.0):
        return ""
    return f"; {FIGURE_NAMES[figure]} {units.signed(100 * (sum(b) / sum(a) - 1))} % so far"


def _sides(result: AbTestResult) -> tuple[list[dict[EffectFigure, float]], list[dict[EffectFigure, float]]]:
    return [pair.a for pair in result.pairs], [pair.b for pair in result.pairs]


def _row(one: Comparison) -> tuple[str, ...]:
    if one.percent is None or one.percent_low is None or one.percent_high is None:
        change, edges = units.signed(one.delta, 3), f"{one.low:.3f}..{one.high:.3f}"
    else:
        digits = units.digits_for(one.percent, one.percent_low, one.percent_high)
        change = f"{units.signed(one.percent, digits)} %"
        edges = units.range_text(one.percent_low, one.percent_high, digits) + " %"
    verdict = verdict_text(one.verdict, one.tolerance_percent)
    digits = 2 if one.figure is not EffectFigure.FSYNCS else 3
    levels = (f"{one.before:.{digits}f}", f"{one.after:.{digits}f}")
    return (_LONG_NAMES[one.figure], *levels, edges, change, verdict)


_LONG_NAMES = {
    EffectFigure.TPS: "TPS",
    EffectFigure.QPS: "QPS",
    EffectFigure.P95: "p95 (ms)",
    EffectFigure.FSYNCS: "log fsyncs/trx",
    EffectFigure.FSYNC_RATE: "log fsyncs/s",
}


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [f"{row[0]:<{widths[0]}}"]
    cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
    return "  ".join(cells)
