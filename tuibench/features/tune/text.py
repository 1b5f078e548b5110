"""Texts of a screening of settings: the tornado table, the best values together, and how to keep them."""

from collections.abc import Iterator, Sequence

from tuibench.base import units
from tuibench.base.document import Bar, Block, Cell, Section, Shape, Styled, Table, Text, section, write_text
from tuibench.metrics.figures import FIGURES, figure_named
from tuibench.metrics.inference import TOO_NOISY, difference_text, verdict_text
from tuibench.model.effect import Comparison
from tuibench.model.tune import Candidate, CandidateResult, TuneResult, TuneVerdict
from tuibench.report.effects import comparison_table

MOST_PERCENT = 400.0
"""The longest bar in percent; the figures beside the bars are not limited."""

HEADINGS = {
    TuneVerdict.BETTER: "Better",
    TuneVerdict.WORSE: "Worse",
    TuneVerdict.NO_EFFECT: "No effect within ±{tolerance:g} %",
    TuneVerdict.CANNOT_TELL: TOO_NOISY.capitalize(),
    TuneVerdict.HARMFUL: "Harmful: broke the guard, and was put back",
    TuneVerdict.REFUSED: "Refused by the server",
}
ROLES = {
    TuneVerdict.BETTER: "better",
    TuneVerdict.WORSE: "worse",
    TuneVerdict.NO_EFFECT: "soft",
    TuneVerdict.CANNOT_TELL: "doubt",
    TuneVerdict.HARMFUL: "worse",
    TuneVerdict.REFUSED: "soft",
}


def change_text(candidate: Candidate) -> str:
    """`innodb_flush_log_at_trx_commit 1 → 2`; sizes have units."""
    return f"{candidate.setting} {candidate.change}"


def in_order(result: TuneResult, verdict: TuneVerdict) -> list[CandidateResult]:
    """The candidates with this verdict, the largest difference first."""
    found = [one for one in result.results if one.verdict is verdict]
    return sorted(found, key=lambda one: -abs(_percent(one.comparison(result.plan.primary))))


def _percent(comparison: Comparison | None) -> float:
    return 0.0 if comparison is None or comparison.percent is None else comparison.percent


def late_text(one: CandidateResult) -> str:
    """Why a measured candidate has no verdict, if its effect comes too late; empty otherwise."""
    seconds = one.needs_window_seconds
    return "" if seconds is None else f"acts too late for these windows: needs --window={seconds:g}"


def scale(result: TuneResult) -> float:
    """The percentage at the ends of the chart: a round number above all estimates and above the intervals of
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
    shown = [each for each in figures if each == primary or each != FIGURES["fsyncs"].key]
    names = [figure_named(figure).brief for figure in shown]
    rows: list[tuple[Cell, ...]] = []
    for verdict in HEADINGS:
        if found := in_order(result, verdict):
            rows += [heading_row(result, verdict), *(_row(one, shown, most) for one in found)]
    header = (f"Effect on {names[0]}", "", *names, "pairs", "")
    return Table(header=header, rows=tuple(rows), words=2, remarks=1)


def heading_row(result: TuneResult, verdict: TuneVerdict) -> tuple[Cell, ...]:
    return (Styled(HEADINGS[verdict].format(tolerance=result.plan.tolerance_percent), ROLES[verdict]),)


def effect_bar(one: CandidateResult, found: Comparison, most: float) -> Bar:
    """A candidate's difference, on the axis of the chart."""
    return Bar(found.percent_low, found.percent, found.percent_high, most, ROLES[one.verdict])


def _row(one: CandidateResult, figures: Sequence[str], most: float) -> tuple[Cell, ...]:
    name, found, why = change_text(one.candidate), one.comparison(figures[0]), one.failure or late_text(one)
    if found is None or why:
        return (name, "", *("" for _ in figures), str(one.pairs), why)
    others = map(one.comparison, figures)
    differences = [units.DASH if other is None else difference_text(other) for other in others]
    remarks = [f"misses {one.misses}"] * bool(one.misses) + ["▲ can lose data"] * one.candidate.at_risk
    return (name, effect_bar(one, found, most), *differences, str(one.pairs), ", ".join(remarks))


METHOD = (
    "Each value was alternated with the original settings, in random order; then the undecided values shared "
    "windows, a random half of them in each. Intervals are confidence sequences at the level of e-BY: of all "
    "verdicts on {figure}, at most {rate:.0f} % are false on average."
)
RESTORED = "Every setting was restored"
RESTORED_NOT_IN_EFFECT = f"{RESTORED}; the statements above are not in effect"


def tune_text(result: TuneResult) -> str:
    """The whole text, ending in a newline."""
    return write_text(tuple(tune_blocks(result)))


def tune_sentence(result: TuneResult) -> str:
    """The finding of the screening, in one sentence."""
    figure, tried = figure_named(result.plan.primary).brief, units.pluralize(len(result.results), "value")
    if result.together is not None and (found := result.together.comparison(result.plan.primary)) is not None:
        names = ", ".join(
            change_text(result.result_of(number).candidate) for number in result.together.candidates
        )
        return f"The best of {tried}: {names}: {figure} {verdict_text(found)}"
    winners = [result.result_of(number) for number in result.winner]
    if not winners:
        if len(result.results) == 1:
            return "The value that was tried is not known to be better"
        return f"None of {tried} is known to be better"
    best = winners[0].comparison(result.plan.primary)
    names = ", ".join(change_text(one.candidate) for one in winners)
    return f"The best of {tried}: {names}" + (f": {figure} {verdict_text(best)}" if best is not None else "")


def winner_table(result: TuneResult) -> Table | None:
    """The figures with the original and with the best values, and the risks of these; None without
    a winner.
    """
    winners = [result.result_of(number) for number in result.winner]
    best = result.together if result.together is not None else next(iter(winners), None)
    if best is None or not best.comparisons:
        return None
    risks = tuple(
        f"▲ {one.candidate.setting}: {one.candidate.risk}" for one in winners if one.candidate.at_risk
    )
    return comparison_table(best.comparisons, "old", "new", risks)


def tune_blocks(result: TuneResult) -> Iterator[Block | Section]:
    """The whole report: method, effects, the best together, how to keep them, and what was not tested."""
    plan = result.plan
    tried = units.pluralize(len(result.results), "value")
    head = (
        f"Tune: {tried} in {units.duration(result.seconds)}, {units.pluralize(result.blocks, 'block')} of "
        f"windows of {plan.window_seconds:g} s, {result.disturbed} disturbed"
    )
    method = METHOD.format(figure=figure_named(plan.primary).brief, rate=100 * plan.false_rate)
    early = () if result.is_complete else ("It ended early: --resume continues it.",)
    yield Text((head, method, *early), role="note")
    yield tune_table(result)
    if result.together is not None:
        yield _together(result)
    yield from _keep(result)
    if result.left_out:
        yield section(
            "Not tested", Table(rows=tuple((one.setting, one.why) for one in result.left_out), words=2)
        )


def _together(result: TuneResult) -> Section:
    both = result.together
    assert both is not None  # noqa: S101
    names = ", ".join(change_text(result.result_of(number).candidate) for number in both.candidates)
    lines = [f"{figure_named(one.figure).brief} {verdict_text(one)}" for one in both.comparisons]
    found = both.comparison(result.plan.primary)
    if found is not None and found.percent is not None:
        low, high = found.percent_low, found.percent_high
        add_up = (
            "they add up"
            if low is not None and high is not None and low <= both.product_percent <= high
            else "they depend on each other"
        )
        lines.append(f"expected from the single effects: {units.difference(both.product_percent)}: {add_up}")
    lines += [f"misses {both.misses}"] * bool(both.misses)
    return section(f"The best together: {names}", Text(tuple(lines)))


def _keep(result: TuneResult) -> Iterator[Text]:
    """The option-file lines, the statements and the risks of the winner."""
    winners = [result.result_of(number) for number in result.winner]
    if not winners:
        yield Text((f"No tested value is known to be better. {result.not_restored or RESTORED}.",))
        return
    options = tuple(one.option_line for one in winners if one.option_line)
    yield Text(options, Shape.CODE, title="To keep these settings, in my.cnf below [mysqld]:")
    yield Text(tuple(f"{one.sql};" for one in winners), Shape.CODE, title="Or until the next restart:")
    risks = tuple(f"{one.candidate.setting}: {one.candidate.risk}" for one in winners)
    yield Text(risks, Shape.LIST, title="Risk:")
    yield Text((f"{result.not_restored or RESTORED_NOT_IN_EFFECT}.",))


def candidate_line(one: CandidateResult, result: TuneResult) -> str:
    """A candidate with its verdict, as an event of the run."""
    found = one.comparison(result.plan.primary)
    effect = f": {figure_named(result.plan.primary).brief} {difference_text(found)}" if found else ""
    effect = f": {one.failure}" if one.verdict is TuneVerdict.HARMFUL else effect
    return f"{change_text(one.candidate)}: {one.verdict}{effect}"
