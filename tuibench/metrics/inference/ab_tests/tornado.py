"""Tornado table of a screening, for any output: order of the candidates, scale, bars, differences."""

from collections.abc import Sequence

from tuibench import units
from tuibench.document import Bar, Cell, Styled, Table
from tuibench.metrics.inference.messages import FIGURE_NAMES, difference_text
from tuibench.model.experiments.effect import Comparison, EffectFigure
from tuibench.model.experiments.tune import Candidate, CandidateResult, TuneResult, TuneVerdict

MOST_PERCENT = 400.0
"""The longest bar; the figures beside the bars are exact."""

HEADINGS = {
    TuneVerdict.BETTER: "Better",
    TuneVerdict.WORSE: "Worse",
    TuneVerdict.NO_EFFECT: "No effect within ±{tolerance:g} %",
    TuneVerdict.CANNOT_TELL: "Cannot tell yet",
    TuneVerdict.REFUSED: "Refused by the server",
}
ROLES = {
    TuneVerdict.BETTER: "better",
    TuneVerdict.WORSE: "worse",
    TuneVerdict.NO_EFFECT: "soft",
    TuneVerdict.CANNOT_TELL: "doubt",
    TuneVerdict.REFUSED: "soft",
}


def change_text(candidate: Candidate) -> str:
    """`innodb_flush_log_at_trx_commit 1 → 2`, sizes in words."""
    return f"{candidate.setting} {candidate.change}"


def in_order(result: TuneResult, verdict: TuneVerdict) -> list[CandidateResult]:
    """The candidates with this verdict, the largest difference first."""
    found = [one for one in result.results if one.verdict is verdict]
    return sorted(found, key=lambda one: -abs(_percent(one.comparison(result.plan.primary))))


def _percent(comparison: Comparison | None) -> float:
    return 0.0 if comparison is None or comparison.percent is None else comparison.percent


def late_text(one: CandidateResult) -> str:
    """Why a measured candidate has no verdict: its effect comes too late; empty otherwise."""
    seconds = one.needs_window_seconds
    return "" if seconds is None else f"acts too late for these windows: needs --window={seconds:g}"


def scale(result: TuneResult) -> float:
    """The percentage at the ends of the chart: a round number above all estimates, and above the intervals of
    all verdicts.
    """
    decided = (TuneVerdict.BETTER, TuneVerdict.WORSE, TuneVerdict.NO_EFFECT)
    edges = [
        abs(edge)
        for one in result.results
        if (found := one.comparison(result.plan.primary)) is not None
        for edge in (
            found.percent,
            *((found.percent_low, found.percent_high) if one.verdict in decided else ()),
        )
        if edge is not None
    ]
    return min(MOST_PERCENT, units.axis_maximum(max([*edges, 5.0])))


def tune_table(result: TuneResult) -> Table:
    """The candidates under their verdicts, the largest effects first, with bars and differences."""
    primary, most = result.plan.primary, scale(result)
    figures = dict.fromkeys((primary, *(each.figure for one in result.results for each in one.comparisons)))
    shown = [each for each in figures if each is primary or each is not EffectFigure.FSYNCS]
    names = [FIGURE_NAMES[figure] for figure in shown]
    rows: list[tuple[Cell, ...]] = []
    for verdict in HEADINGS:
        if found := in_order(result, verdict):
            rows += [heading_row(result, verdict), *(_row(one, shown, most) for one in found)]
    header = (f"Effect on {names[0]}", "", *names, "pairs", "")
    return Table(header=header, rows=tuple(rows), words=2, remarks=1)


def heading_row(result: TuneResult, verdict: TuneVerdict) -> tuple[Cell, ...]:
    """The heading of the candidates with this verdict."""
    return (Styled(HEADINGS[verdict].format(tolerance=result.plan.tolerance_percent), ROLES[verdict]),)


def effect_bar(one: CandidateResult, found: Comparison, most: float) -> Bar:
    """The difference of a candidate on the axis of the chart."""
    return Bar(found.percent_low, found.percent, found.percent_high, most, ROLES[one.verdict])


def _row(one: CandidateResult, figures: Sequence[EffectFigure], most: float) -> tuple[Cell, ...]:
    name, found, why = change_text(one.candidate), one.comparison(figures[0]), one.failure or late_text(one)
    if found is None or why:
        return (name, "", *("" for _ in figures), str(one.pairs), why)
    others = map(one.comparison, figures)
    differences = [units.DASH if other is None else difference_text(other, is_trial=True) for other in others]
    remarks = [f"misses {one.misses}"] * bool(one.misses) + ["▲ can lose data"] * one.candidate.at_risk
    return (name, effect_bar(one, found, most), *differences, str(one.pairs), ", ".join(remarks))
