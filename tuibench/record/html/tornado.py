"""Tornado chart of a screening: a bar for each candidate, its interval and its estimate around zero."""

from tuibench.metrics.inference.ab_tests.tornado import HEADINGS, change_text, in_order, late_text, scale
from tuibench.metrics.inference.messages import FIGURE_NAMES, difference_text
from tuibench.model.experiments.effect import Comparison, EffectFigure
from tuibench.model.experiments.tune import CandidateResult, TuneResult, TuneVerdict
from tuibench.record.files.run import Run
from tuibench.record.html.markup import Markup, code_block, figure_table, join_markup, tag
from tuibench.record.report.tune_text import answer_lines, head_lines

WIDTH, ROW, NAMES, PAD = 1120, 24, 430, 60
COLOURS = {
    TuneVerdict.BETTER: "#2a9d5c",
    TuneVerdict.WORSE: "#c8452f",
    TuneVerdict.NO_EFFECT: "#7a8794",
    TuneVerdict.CANNOT_TELL: "#b9a13f",
}


def tornado_section(run: Run) -> Markup | None:
    """The chart, a table with both figures, and what to do; None for a run without a screening."""
    result = run.summary.tune
    if result is None:
        return None
    return join_markup(
        [tag("p", line, class_="note") for line in head_lines(result)],
        tornado_chart(result),
        figure_table(
            ("setting", "verdict", "pairs", "TPS", "p95"),
            [_row(one) for verdict in HEADINGS for one in in_order(result, verdict)],
            words=2,
        ),
        code_block(answer_lines(result)[1:]),
    )


def tornado_chart(result: TuneResult) -> Markup:
    """The chart as SVG, the largest effects at the top."""
    most = scale(result)
    rows = [
        (one, found)
        for verdict in COLOURS
        for one in in_order(result, verdict)
        if (found := one.comparison(result.plan.primary)) is not None
    ]
    height = ROW * (len(rows) + 2)
    title = f"Effect on {FIGURE_NAMES[result.plan.primary]}, with its interval"
    drawing = tag(
        "svg",
        tag("title", title),
        [_gridline(percent, most, height) for percent in (-most, -most / 2, 0.0, most / 2, most)],
        [_bar(one, found, place, most) for place, (one, found) in enumerate(rows)],
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        width="100%",
        fill="currentColor",
    )
    return tag("figure", tag("figcaption", title), drawing)


def _x(percent: float, most: float) -> float:
    share = max(-1.0, min(1.0, percent / most))
    middle = (NAMES + WIDTH - PAD) / 2
    return middle + share * (WIDTH - PAD - NAMES) / 2


def _gridline(percent: float, most: float, height: int) -> Markup:
    x = _x(percent, most)
    label = f"{percent:+g} %".replace("-", "−") if percent else "0"
    return join_markup(
        tag(
            "line",
            x1=x,
            x2=x,
            y1=ROW,
            y2=height,
            stroke="currentColor",
            stroke_opacity="0.55" if not percent else "0.18",
        ),
        tag("text", label, x=x, y=ROW - 8, text_anchor="middle", font_size=12),
    )


def _bar(one: CandidateResult, found: Comparison, place: int, most: float) -> Markup:
    y = ROW * (place + 1.5)
    low, high = found.percent_low, found.percent_high
    left = _x(-most if low is None else low, most)
    right = _x(most if high is None else high, most)
    colour = COLOURS[one.verdict]
    name = change_text(one.candidate)
    return tag(
        "g",
        tag("title", f"{name}: {one.verdict}, {difference_text(found, is_trial=True)}"),
        tag("text", name, x=NAMES - 16, y=y + 4, text_anchor="end", font_size=12),
        tag(
            "rect",
            x=left,
            y=y - 5,
            width=max(right - left, 1.0),
            height=10,
            rx=2,
            fill=colour,
            fill_opacity="0.45",
        ),
        tag("circle", cx=_x(found.percent or 0.0, most), cy=y, r=4.5, fill=colour),
    )


def _row(one: CandidateResult) -> tuple[str, ...]:
    differences = (
        difference_text(found, is_trial=True) if (found := one.comparison(figure)) is not None else "–"
        for figure in (EffectFigure.TPS, EffectFigure.P95)
    )
    why = one.failure or one.misses or late_text(one)
    verdict = f"{one.verdict} ({why})" if why else str(one.verdict)
    return (change_text(one.candidate), verdict, str(one.pairs), *differences)
