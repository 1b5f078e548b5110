"""Tornado chart of a screening, for any output: order of the candidates, scale, bars of characters."""

from tuibench import units
from tuibench.model.experiments.effect import Comparison
from tuibench.model.experiments.tune import Candidate, CandidateResult, TuneResult, TuneVerdict

BAR_CELLS = 41
"""Odd, so that zero has its own cell."""

MOST_PERCENT = 400.0
"""The longest bar; the figures beside the bars are exact."""

HEADINGS = {
    TuneVerdict.BETTER: "Better",
    TuneVerdict.WORSE: "Worse",
    TuneVerdict.NO_EFFECT: "No effect within ±{tolerance:g} %",
    TuneVerdict.CANNOT_TELL: "Cannot tell yet",
    TuneVerdict.REFUSED: "Refused by the server",
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


def bar(found: Comparison, most: float, cells_wide: int = BAR_CELLS) -> str:
    """The interval as a line with its estimate, zero in the middle: `·········│──●───·····`. Arrows are ends
    beyond the chart.
    """
    low, middle, high = (
        _cell(percent, most, cells_wide) for percent in (found.percent_low, found.percent, found.percent_high)
    )
    cells = ["─" if low <= place <= high else " " for place in range(cells_wide)]
    cells[cells_wide // 2] = "│"
    if (found.percent_low or 0.0) < -most:
        cells[0] = "◂"
    if (found.percent_high or 0.0) > most:
        cells[-1] = "▸"
    cells[middle] = "●"
    return "".join(cells)


def _cell(percent: float | None, most: float, cells_wide: int) -> int:
    share = 0.0 if percent is None else max(-1.0, min(1.0, percent / most))
    return round((cells_wide - 1) / 2 * (1 + share))
