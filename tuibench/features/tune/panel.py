"""Screening of settings: state, tornado chart, and winner."""

from tuibench.base import units
from tuibench.base.document import Cell, Styled, Table
from tuibench.features.tune.text import (
    HEADINGS,
    change_text,
    effect_bar,
    heading_row,
    in_order,
    late_text,
    scale,
)
from tuibench.metrics.figures import figure_named
from tuibench.metrics.inference import difference_text, verdict_text
from tuibench.model.tune import CandidateResult, TuneResult, TuneVerdict
from tuibench.tui.text import TextLine, TextSpan, pad_line, shorten, table_lines
from tuibench.tui.view import View

MIN_BAR = 15
EFFECT_WIDTH = 22
MARGINS = 5
"""Cells to the left of the name and around the bar."""
MIN_NAME, MAX_NAME = 24, 56


def tune_panel(view: View, width: int, height: int) -> list[TextLine]:
    """Two lines of state, the candidates ordered by verdict, and as much of the winner as fits below them."""
    result = view.tune
    if result is None:
        return []
    head = [_state(view, result), _method(result)]
    ending = _ending(result)
    room = max(0, height - len(head) - len(ending))
    chart = _chart(result, width)
    if len(chart) > room:
        more = len(chart) - max(0, room - 1)
        chart = [*chart[: max(0, room - 1)], (TextSpan(f" {more} more lines: tuibench report", "muted"),)]
    return [pad_line(line, width) for line in (*head, *chart, *ending)][:height]


def _state(view: View, result: TuneResult) -> TextLine:
    known = sum(one.verdict is not TuneVerdict.CANNOT_TELL for one in result.results)
    is_over = result.is_over or view.stopping
    rest = units.time_left(result.plan.budget_seconds - result.seconds)
    state = "over" if is_over else f"at most {rest}"
    words = f"{units.hms(result.seconds)}, {known} of {len(result.results)} have a verdict, {state}"
    return (TextSpan(" SCREENING OF SETTINGS  ", "title"), TextSpan(words, "" if is_over else "strong"))


def _method(result: TuneResult) -> TextLine:
    disturbed = f", {result.disturbed} disturbed" if result.disturbed else ""
    text = (
        f" effect on {figure_named(result.plan.primary).brief} against the old values; "
        f"{units.pluralize(result.blocks, 'block')}{disturbed}"
    )
    if not any(one.candidate.at_risk for one in result.results):
        return (TextSpan(text, "muted"),)
    return (TextSpan(f"{text}; ", "muted"), TextSpan("▲", "risk"), TextSpan(" with a risk", "muted"))


def _chart(result: TuneResult, width: int) -> list[TextLine]:
    """The candidates ordered by verdict, each with its bar or its number of windows."""
    longest = max((len(change_text(one.candidate)) for one in result.results), default=0)
    name = max(MIN_NAME, min(longest, MAX_NAME, width - MIN_BAR - EFFECT_WIDTH - MARGINS))
    most = scale(result)
    rows: list[tuple[Cell, ...]] = []
    for verdict in HEADINGS:
        if found := in_order(result, verdict):
            rows += [heading_row(result, verdict), *(_row(one, result, name, most) for one in found)]
    return table_lines(Table(rows=tuple(rows), words=4), name, EFFECT_WIDTH + MARGINS, width)


def _row(one: CandidateResult, result: TuneResult, name: int, most: float) -> tuple[Cell, ...]:
    found, title = one.comparison(result.plan.primary), _change(one, name)
    if why := one.failure or late_text(one):
        return (title, Styled(why, "soft"))
    if found is None:
        return (title, "", Styled(units.pluralize(one.pairs, "pair"), "soft"))
    words = difference_text(found)
    risk = Styled(" ▲" if one.candidate.at_risk else "", "risk")
    return (title, effect_bar(one, found, most), Styled(f" {words}", "strong"), risk)


def _change(one: CandidateResult, width: int) -> str:
    """Old and new value; if the width is small, the setting's name is shortened."""
    candidate = one.candidate
    if len(change_text(candidate)) <= width:
        return change_text(candidate)
    name = shorten(candidate.setting, max(4, width - len(candidate.change) - 1))
    return shorten(f"{name} {candidate.change}", width)


def _ending(result: TuneResult) -> list[TextLine]:
    """Result of the best candidates together, and the option-file lines of the winner."""
    lines: list[TextLine] = []
    together = result.together
    if together is not None and (found := together.comparison(result.plan.primary)) is not None:
        words = f" the best {len(together.candidates)} together: "
        lines.append((TextSpan(words, "muted"), TextSpan(verdict_text(found), "strong")))
    if result.is_complete or result.is_over:
        kept = winner_lines(result)
        text = f" y copies for my.cnf: {'; '.join(kept)}" if kept else " no value is known to be better"
        is_risky = any(result.result_of(number).candidate.at_risk for number in result.winner)
        risk = TextSpan(" ▲ with a risk" if kept and is_risky else "", "risk")
        lines.append((TextSpan(text, "ok" if kept else "muted"), risk))
    return [(), *lines] if lines else []


def winner_lines(result: TuneResult) -> list[str]:
    """The winner's lines for my.cnf."""
    winners = (result.result_of(number) for number in result.winner)
    return [one.option_line for one in winners if one.option_line]
