"""Effects, trials and costs in words, the same on screen, on stderr and in the record."""

from collections.abc import Iterable

import msgspec

from tuibench import units
from tuibench.model.cost import CommitCost
from tuibench.model.effect import Comparison, Effect, Figure
from tuibench.model.trial import TrialResult

NAMES = {Figure.TPS: "TPS", Figure.P95: "p95", Figure.FSYNCS: "fsyncs/trx"}
STILL_MOVING = "still moving"


def changes(comparisons: Iterable[Comparison]) -> str:
    """What differs, with its interval, and what does not: `TPS +43 % (38..49 %), no difference in p95`."""
    told = list(comparisons)
    parts = [f"{NAMES[one.figure]} {difference(one)}" for one in told if one.differs]
    same = [NAMES[one.figure] for one in told if not one.differs]
    if same:
        parts.append(f"no difference in {', '.join(same)}")
    return ", ".join(parts)


def difference(one: Comparison) -> str:
    """The change and its interval; in the figure's own unit where there is no relative one."""
    if one.percent is None or one.percent_low is None or one.percent_high is None:
        return units.with_interval(one.delta, one.low, one.high, "")
    return units.with_interval(one.percent, one.percent_low, one.percent_high, " %")


def effect_words(effect: Effect) -> str:
    """The text of an effect's event."""
    words = changes(effect.comparisons)
    return words if effect.settled else f"{words}; {STILL_MOVING}"


def effect_line(effect: Effect) -> str:
    """The same with its change, for a summary."""
    numbers = ", ".join(map(str, effect.markers))
    windows = f"{effect.window_seconds:.0f} s each, {effect.settling_seconds:.0f} s to settle"
    return f"effect of {numbers} ({effect.change}): {effect_words(effect)} ({windows})"


def cost_line(cost: CommitCost) -> str:
    """What a commit cost under one value."""
    told = cost_words(cost)
    return f"cost of a commit with {cost.setting}={cost.value}: {', '.join(told) or 'not counted here'}"


def cost_words(cost: CommitCost) -> list[str]:
    """Each figure that is known, with its unit."""
    known = (
        (cost.log_fsyncs, "log fsyncs", units.small),
        (cost.log_bytes, "redo", units.data),
        (cost.binlog_syncs, "binlog syncs", units.small),
        (cost.binlog_bytes, "binlog", units.data),
        (cost.row_lock_waits, "lock waits", units.small),
    )
    return [f"{write(value)} {name}" for value, name, write in known if value is not None]


# Trials

_HEADING = ("", "A", "B", "difference", "95 % interval")


def trial_sentence(result: TrialResult) -> str:
    """The whole result: which value against which, and what it does."""
    pairs = f"{len(result.pairs)} of {result.cycles} cycles"
    against = f"{result.subject} {result.b} against {result.a}"
    if not result.comparisons:
        return f"{against}: {pairs} are too few for an interval{_so_far(result)}"
    said = ", ".join(_verdict(one) for one in result.comparisons)
    return f"{against}: {said} ({pairs})"


def with_sentence(result: TrialResult) -> TrialResult:
    """The result, said in its own `sentence`, too."""
    return msgspec.structs.replace(result, sentence=trial_sentence(result))


def trial_text(result: TrialResult) -> str:
    """The table and the sentence, ending in a newline."""
    lines = [f"A/B: {result.subject}, A = {result.a}, B = {result.b}"]
    if result.comparisons:
        rows = [_HEADING, *(_row(one) for one in result.comparisons)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADING))]
        lines += ["    " + _aligned(row, widths) for row in rows]
    if result.left_out:
        lines.append(
            f"    cycles left out, disturbed by other changes or a server that was away: {result.left_out}"
        )
    return "\n".join([*lines, result.sentence, ""]) + "\n"


def _verdict(one: Comparison) -> str:
    if one.differs:
        return f"{NAMES[one.figure]} {difference(one)}"
    return f"no difference in {NAMES[one.figure]} ({difference(one).partition('(')[2]}"


def _so_far(result: TrialResult) -> str:
    """The rates seen until now, without any claim."""
    a, b = ([side[Figure.TPS] for side in sides] for sides in _sides(result))
    if not sum(a, 0.0):
        return ""
    return f"; TPS {units.signed(100 * (sum(b) / sum(a) - 1))} % so far"


def _sides(result: TrialResult) -> tuple[list[dict[Figure, float]], list[dict[Figure, float]]]:
    return [pair.a for pair in result.pairs], [pair.b for pair in result.pairs]


def _row(one: Comparison) -> tuple[str, ...]:
    if one.percent is None or one.percent_low is None or one.percent_high is None:
        change, edges = units.signed(one.delta, 3), f"{one.low:.3f}..{one.high:.3f}"
    else:
        digits = units.digits_for(one.percent, one.percent_low, one.percent_high)
        change = f"{units.signed(one.percent, digits)} %"
        edges = units.span(one.percent_low, one.percent_high, digits) + " %"
    verdict = change if one.differs else f"none ({change})"
    digits = 2 if one.figure is not Figure.FSYNCS else 3
    return (_LONG_NAMES[one.figure], f"{one.before:.{digits}f}", f"{one.after:.{digits}f}", verdict, edges)


_LONG_NAMES = {Figure.TPS: "TPS", Figure.P95: "p95 (ms)", Figure.FSYNCS: "log fsyncs/trx"}


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [f"{row[0]:<{widths[0]}}"]
    cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
    return "  ".join(cells)
