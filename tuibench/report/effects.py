"""Texts of effects, A/B tests, costs and steadiness: the same on screen, on stderr, and in reports."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from tuibench.base import units
from tuibench.base.document import Section, Styled, Table, Text, section
from tuibench.metrics.costs import change_cost_lines
from tuibench.metrics.figures import FIGURES, Better, FigureUnit, figure_named
from tuibench.metrics.inference import (
    ALTERNATION,
    TOO_NOISY,
    control_text,
    difference_and_interval,
    is_without_trend,
    movement_reason,
    movement_text,
    verdict_text,
)
from tuibench.metrics.wait_changes import because_text, effect_reason
from tuibench.model.effect import AbTestResult, CommitCost, Comparison, Effect, Verdict
from tuibench.model.findings import Stall, StallConditions, Steadiness
from tuibench.model.server import HotRow

STILL_MOVING = "still moving"
STALL = "stall of "
"""The beginning of the event of a stall."""
SECONDS_TO_MINUTES, MINUTES_TO_HOURS = 2, 120
"""Durations are written in minutes from the first number of minutes on, and in hours from the second."""


def changes_text(comparisons: Iterable[Comparison]) -> str:
    """The verdict on every figure: `TPS +43 % (38..49 %), p95 too noisy to tell (−9..12 %)`. A reason is
    written once; then semicolons separate the figures.
    """
    words, told = list[str](), set[str]()
    for one in comparisons:
        reason, text = "" if one.movement is None else movement_text(one.movement), verdict_text(one)
        if reason in told:
            rest = text.removesuffix(reason).removesuffix(", and ").removesuffix(": ")
            text = ", ".join(filter(None, (rest, "likewise")))
        told |= {reason} - {""}
        words.append(f"{figure_named(one.figure).brief} {text}")
    return ("; " if told else ", ").join(words)


def derivation_text(effect: Effect) -> str:
    """How the differences were computed that do not follow from the levels beside them; empty if
    all follow.
    """
    if effect.alternated_seconds is not None:
        return ""
    control = next(filter(None, map(control_text, effect.comparisons)), "")
    moved = [figure_named(one.figure).brief for one in effect.comparisons if is_without_trend(one)]
    trend = f"corrected for the trend of {' and '.join(moved)} before the change" if moved else ""
    return "; ".join(filter(None, (control, trend)))


def effect_text(effect: Effect) -> str:
    """The text of an effect's event."""
    words = [changes_text(effect.comparisons)]
    words += filter(None, map(control_text, effect.comparisons))
    words += [ALTERNATION] * any(one.movement is not None for one in effect.comparisons)
    words += [STILL_MOVING] * (not effect.settled)
    words += filter(None, [effect_reason(effect)])
    return "; ".join(words)


def effect_line(effect: Effect) -> str:
    """The text of an effect with its change, for a summary."""
    numbers = ", ".join(map(str, effect.markers))
    windows = (
        f"{effect.window_seconds:.0f} s each, {effect.settling_seconds:.0f} s to settle"
        if effect.alternated_seconds is None
        else f"both values alternated for {effect.alternated_seconds:.0f} s"
    )
    return f"effect of {numbers} ({effect.change}): {effect_text(effect)} ({windows})"


def cost_table(costs: Iterable[CommitCost]) -> Table | None:
    """The cost of a commit under each value, without columns that are unknown for all values."""
    known = [cost for cost in costs if cost.transactions]
    shown = [each for each in _COST_FIGURES if any(each[1](cost) is not None for cost in known)]
    if not known or not shown:
        return None
    rows = [
        (
            f"{cost.setting}={cost.value}",
            units.count(cost.transactions),
            *(write(value(cost)) for _, value, write in shown),
        )
        for cost in known
    ]
    header = ("cost of a commit with", "transactions", *(name for name, _, _ in shown))
    return Table(header=header, rows=tuple(rows))


_column_size = partial(units.binary_size, in_column=True)
_COST_FIGURES: tuple[tuple[str, Callable[[CommitCost], float | None], Callable[[float | None], str]], ...] = (
    ("log fsyncs", lambda cost: cost.log_fsyncs, units.small_number),
    ("redo", lambda cost: cost.log_bytes, _column_size),
    ("binlog syncs", lambda cost: cost.binlog_syncs, units.small_number),
    ("binlog", lambda cost: cost.binlog_bytes, _column_size),
    ("lock waits", lambda cost: cost.row_lock_waits, units.small_number),
)


def effect_card(effect: Effect, change: str) -> Section:
    """A change with its effect, under the number of the change."""
    windows = f"{effect.window_seconds:.0f} s before and after, {effect.settling_seconds:.0f} s to settle"
    moving = "" if effect.settled else f"; {STILL_MOVING}"
    others = ", ".join(map(str, effect.markers[:-1]))
    when = f"at {units.hms(effect.at_seconds)}{', together with ' * bool(others)}{others}; {windows}{moving}"
    reason = next(filter(None, map(movement_reason, effect.comparisons)), "")
    doubt = f"{reason}; {ALTERNATION}" if reason else ""
    rows = tuple((_name(one), *_levels(one), _difference(one)) for one in effect.comparisons)
    table = Table(header=("", "before", "after", "difference"), rows=rows)
    return section(
        change,
        table,
        Text(tuple(filter(None, (when, derivation_text(effect), doubt, effect_reason(effect)))), role="note"),
        badge=str(effect.markers[-1]),
    )


def _difference(one: Comparison) -> Styled:
    """The difference, and its interval in small print; the verdict if no difference is known."""
    change, interval = difference_and_interval(one)
    if one.verdict in (Verdict.EQUAL, Verdict.CANNOT_TELL):
        return Styled(verdict_text(one, is_brief=True).partition(" (")[0], "soft", interval)
    arrow = "▲" if one.delta > 0 else "▼"
    if one.verdict is Verdict.NOT_ONLY:
        return Styled(f"{arrow} {change}, not only by this change", "soft", interval)
    better = figure_named(one.figure).better
    role = "better" if (one.delta > 0) is (better is Better.HIGHER) else "worse"
    return Styled(f"{arrow} {change}", role if better else "", interval)


# A/B tests


def trial_sentence(result: AbTestResult) -> str:
    """The result of an A/B test: both values, and the effect."""
    pairs = _cycles(result)
    against = f"{result.subject} {result.b} against {result.a}"
    if result.harm:
        return f"{against}: {result.harm}{_so_far(result)}"
    if result.needs_window_seconds is not None and result.acts_after_seconds is not None:
        needs, acts = f"{result.needs_window_seconds:g}", units.significant(result.acts_after_seconds)
        in_time = f"; {changes_text(result.comparisons)}" if result.comparisons else ""
        return (
            f"{against}: no verdict ({pairs}): a change may take about {acts} s to act, "
            f"too long for windows of {result.window_seconds:g} s; needs windows of {needs} s "
            f"(--window={needs}){in_time}"
        )
    if not result.comparisons and result.left_out:
        return f"{against}: undecided: {_disturbed(result)}{_so_far(result)}{_more(result)}"
    if not result.comparisons:
        return f"{against}: {pairs} are too few for an interval{_so_far(result)}{_more(result)}"
    return f"{against}: {changes_text(result.comparisons)} ({pairs}{_acts(result)}){_more(result)}"


def _disturbed(result: AbTestResult) -> str:
    """How many cycles were left out, why, and what helps."""
    tried = result.left_out + result.counted
    of = f"all {tried}" if not result.counted else f"{result.left_out} of {tried}"
    was = "was" if tried == 1 else "were"
    cycles = f"the only cycle {was}" if tried == 1 else f"{of} cycles {was}"
    why = f" ({'; '.join(result.disturbances)})" if result.disturbances else ""
    return f"{cycles} disturbed{why}; a quieter host or --window={2 * result.window_seconds:g} helps"


def trial_note(result: AbTestResult) -> str:
    """The sentence without the figures, for a place that lists them; the whole sentence if there is no
    verdict.
    """
    if result.harm or result.needs_window_seconds is not None or not result.comparisons:
        return result.sentence
    return f"{_cycles(result)}{_acts(result)}{_more(result)}"


def _cycles(result: AbTestResult) -> str:
    most = "at most " if result.is_sequential else ""
    return f"{result.counted} of {most}{units.pluralize(result.cycles, 'cycle')}"


def _acts(result: AbTestResult) -> str:
    """How long a change takes to act, if the time before that was left out."""
    late = result.acts_after_seconds
    if late is None:
        return ""
    return f", without the first {units.significant(late)} s of a change, until it acts"


def with_sentence(result: AbTestResult) -> AbTestResult:
    """The result with the number of its pairs, and its sentence."""
    result = msgspec.structs.replace(result, counted=len(result.pairs))
    return msgspec.structs.replace(result, sentence=trial_sentence(result))


def trial_section(result: AbTestResult) -> Section:
    """The figures under both values with their differences, and the sentence."""
    left_out = ""
    if result.left_out:
        why = f" ({'; '.join(result.disturbances)})" if result.disturbances else ""
        left_out = f"disturbed cycles, left out: {result.left_out}{why}"
    costs = change_cost_lines(result.cost_a, result.cost_b)
    lines = filter(None, (left_out, *costs, result.sentence, because_text(result.because)))
    return section(
        f"A/B: {result.subject}, A = {result.a}, B = {result.b}",
        comparison_table(result.comparisons, "A", "B") if result.comparisons else None,
        Text(tuple(line.strip() for line in lines)),
    )


def comparison_table(
    comparisons: Iterable[Comparison], first: str, second: str, notes: tuple[str, ...] = ()
) -> Table:
    """A row for each figure: both levels, the difference with its interval, the verdict."""
    header = ("", first, second, "difference", "95 % interval", "verdict")
    return Table(header=header, rows=tuple(map(_row, comparisons)), remarks=1, notes=notes)


def _more(result: AbTestResult) -> str:
    """The estimated remaining time of a test that ends with its verdict."""
    if not result.is_sequential or result.verdict is not Verdict.CANNOT_TELL:
        return ""
    if result.more_seconds is None:
        return "; undecided: the time still needed is unknown"
    return f"; undecided: needs about {_duration_text(result.more_seconds / 60)}"


def _duration_text(minutes: float) -> str:
    """A duration: `47 more seconds`, `2.5 more minutes`, `12 more minutes`, `3 more hours`."""
    if minutes < SECONDS_TO_MINUTES:
        return units.pluralize(max(round(60 * minutes), 1), "more second")
    if minutes < MINUTES_TO_HOURS:
        return f"{units.significant(minutes)} more minutes"
    return f"{minutes / 60:,.0f} more hours"


def _so_far(result: AbTestResult) -> str:
    """The rates measured so far, without a verdict."""
    sides = [pair.a for pair in result.pairs], [pair.b for pair in result.pairs]
    has_tps = all("tps" in side for each in sides for side in each)
    figure = FIGURES["tps" if has_tps else "qps"]
    a, b = (sum(side.get(figure.key, 0.0) for side in each) for each in sides)
    return f"; {figure.brief} {units.difference(100 * (b / a - 1))} so far" if a else ""


def _row(one: Comparison) -> tuple[str, ...]:
    verdict = TOO_NOISY if one.verdict is Verdict.CANNOT_TELL else str(one.verdict)
    verdict += f" within ±{one.tolerance_percent:g} %" * (one.verdict is Verdict.EQUAL)
    return (_name(one), *_levels(one), *difference_and_interval(one), verdict)


def _levels(one: Comparison) -> tuple[str, str]:
    digits = 3 if figure_named(one.figure).unit is FigureUnit.NUMBER else 2
    return units.three_digits(one.before, digits), units.three_digits(one.after, digits)


def _name(one: Comparison) -> str:
    figure = figure_named(one.figure)
    has_unit = figure.unit in (FigureUnit.NUMBER, FigureUnit.PER_SECOND)
    return figure.label if has_unit else f"{figure.label} ({figure.unit})"


STALLS_SHOWN = 5
NOTABLE_AGE_PERCENT = 50.0
"""Percent of the redo log; a younger checkpoint does not delay anything."""


def steadiness_line(found: Steadiness) -> str:
    variation = units.DASH if found.variation is None else units.percent(100 * found.variation, 1)
    return (
        f"TPS of single seconds: p1 {found.p1:,.1f}, p50 {found.p50:,.1f}, p99 {found.p99:,.1f}, "
        f"coefficient of variation {variation}, longest stall {found.longest_stall_seconds:.1f} s"
    )


def stalls_line(found: Steadiness) -> str:
    """The longest stalls; empty without stalls."""
    if not found.stalls:
        return ""
    longest = sorted(found.stalls, key=lambda stall: -stall.seconds)[:STALLS_SHOWN]
    places = ", ".join(
        f"{stall.seconds:.1f} s at {units.hms(stall.start_seconds)}{_in_parentheses(stall)}"
        for stall in sorted(longest, key=lambda stall: stall.start_seconds)
    )
    rest = f" (the longest of {len(found.stalls)})" if len(found.stalls) > len(longest) else ""
    return f"stalls: {places}{rest}"


def conditions_text(found: StallConditions) -> str:
    """The server's activity during a stall; zero and normal values are left out."""
    if not found.is_answered:
        return "the server did not answer"
    age = found.checkpoint_age_percent
    words = [
        f"checkpoint age {units.percent(age)} of the redo log" if (age or 0) >= NOTABLE_AGE_PERCENT else "",
        f"{units.binary_size(found.dirty_bytes)} dirty" if found.dirty_bytes else "",
        f"disk writes {units.milliseconds(found.disk_write_ms)}" if found.disk_write_ms else "",
        f"{units.small_number(found.log_fsyncs_per_second)} log fsyncs/s"
        if found.log_fsyncs_per_second is not None
        else "",
        f"{found.row_lock_waits:,} waiting for row locks" if found.row_lock_waits else "",
        units.pluralize(found.log_waits, "log wait") if found.log_waits else "",
        units.pluralize(found.free_page_waits, "wait") + " for free pages" if found.free_page_waits else "",
    ]
    return ", ".join(word for word in words if word)


HOT_ROWS_SHOWN, LEAST_HOT_SHARE = 5, 0.01


def hot_rows_line(rows: Sequence[HotRow]) -> str:
    """The rows for which transactions waited the longest; empty without any."""
    shown = [
        f"{units.percent(100 * each.share)} {each.name}{f' held by {each.holder}' * bool(each.holder)}"
        for each in rows[:HOT_ROWS_SHOWN]
        if each.share >= LEAST_HOT_SHARE
    ]
    return f"row lock wait by key: {'; '.join(shown)}" if shown else ""


def stall_event_text(stall: Stall) -> str:
    """A completed stall, for the list of events."""
    culprit = stall.culprit.text if stall.culprit is not None else ""
    conditions = conditions_text(stall.conditions) if stall.conditions is not None else ""
    words = "; ".join(filter(None, (culprit, conditions)))
    return f"{STALL}{stall.seconds:.1f} s at {units.hms(stall.start_seconds)}{': ' * bool(words)}{words}"


def _in_parentheses(stall: Stall) -> str:
    errors = ", ".join(f"{code} × {count}" for code, count in stall.errors.items())
    words = (
        stall.culprit.text if stall.culprit is not None else "",
        conditions_text(stall.conditions) if stall.conditions is not None else "",
        f"errors {errors}" if errors else "",
        units.pluralize(stall.unknown_commits, "commit") + " of unknown fate"
        if stall.unknown_commits
        else "",
        f"back at 90 % of the TPS {stall.recovery_seconds:.1f} s later"
        if stall.recovery_seconds is not None
        else "",
    )
    known = "; ".join(filter(None, words))
    return f" ({known})" if known else ""
