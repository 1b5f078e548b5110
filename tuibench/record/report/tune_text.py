"""Text of a screening of settings: a tornado chart, the effect of each candidate, and the lines to make it
permanent.
"""

from collections.abc import Iterable, Iterator

from tuibench import units
from tuibench.metrics.inference.ab_tests.tornado import (
    BAR_CELLS,
    HEADINGS,
    bar,
    change_text,
    in_order,
    late_text,
    scale,
)
from tuibench.metrics.inference.messages import FIGURE_NAMES, comparison_text, difference_text
from tuibench.model.experiments.effect import Comparison, EffectFigure
from tuibench.model.experiments.tune import CandidateResult, TuneResult

METHOD = (
    "Each value was alternated with the original settings, in random order; then the undecided values shared "
    "windows, a random half of them in each. Intervals are confidence sequences at the level of e-BY: of all "
    "verdicts on {figure}, at most {rate:.0f} % are false on average."
)
RESTORED = "Every setting was restored"
RESTORED_NOT_IN_EFFECT = f"{RESTORED}; the statements above are not in effect"


def tune_text(result: TuneResult) -> str:
    """The whole text, ending in a newline."""
    return "\n".join([*head_lines(result), *_tornado(result), *answer_lines(result)]) + "\n"


def answer_lines(result: TuneResult) -> list[str]:
    """The best together, how to keep them, and what was not tested. It begins with an empty line."""
    return [*_together(result), *_keep(result), *_left_out(result)]


def head_lines(result: TuneResult) -> Iterator[str]:
    """What was measured, and how."""
    plan = result.plan
    tried = units.pluralize(len(result.results), "value")
    yield (
        f"Tune: {tried} in {units.duration(result.seconds)}, {units.pluralize(result.blocks, 'block')} of "
        f"windows of {plan.window_seconds:g} s, {result.disturbed} disturbed"
    )
    yield METHOD.format(figure=FIGURE_NAMES[plan.primary], rate=100 * plan.false_rate)
    if not result.is_complete:
        yield "It ended early: --resume continues it."


def _tornado(result: TuneResult) -> Iterator[str]:
    shown = [one for one in result.results if one.comparison(result.plan.primary)]
    most = scale(result)
    width = max((len(change_text(one.candidate)) for one in result.results), default=0)
    if shown:
        yield ""
        axis = (
            f"{'−' + format(most, 'g') + ' %':<{BAR_CELLS // 2}}0{format(most, 'g') + ' %':>{BAR_CELLS // 2}}"
        )
        yield f"{f'Effect on {FIGURE_NAMES[result.plan.primary]}':{width + 2}}  {axis}"
    for verdict, heading in HEADINGS.items():
        found = in_order(result, verdict)
        if not found:
            continue
        yield ""
        yield heading.format(tolerance=result.plan.tolerance_percent)
        for one in found:
            yield _line(one, result, width, most)


def _line(one: CandidateResult, result: TuneResult, width: int, most: float) -> str:
    found = one.comparison(result.plan.primary)
    name = f"  {change_text(one.candidate):{width}}"
    if why := one.failure or late_text(one):
        return f"{name}  {why}"
    if found is None:
        return f"{name}  {' ' * BAR_CELLS}  {units.pluralize(one.pairs, 'pair')}"
    others = [
        f"{FIGURE_NAMES[other.figure]} {difference_text(other, is_trial=True)}"
        for other in one.comparisons
        if other.figure is not found.figure and other.figure is not EffectFigure.FSYNCS
    ]
    words = [difference_text(found, is_trial=True), *others]
    words += [f"misses {one.misses}"] * bool(one.misses) + ["▲ can lose data"] * one.candidate.at_risk
    return f"{name}  {bar(found, most)}  {', '.join(words)}"


def _together(result: TuneResult) -> Iterator[str]:
    both = result.together
    if both is None:
        return
    yield ""
    names = ", ".join(change_text(result.result_of(number).candidate) for number in both.candidates)
    yield f"The best together: {names}"
    for one in both.comparisons:
        yield f"  {FIGURE_NAMES[one.figure]} {comparison_text(one, is_trial=True)}"
    found = both.comparison(result.plan.primary)
    if found is not None and found.percent is not None:
        yield (
            f"  expected from the single effects: {units.signed(both.product_percent)} %: "
            + ("they add up" if _adds_up(found, both.product_percent) else "they depend on each other")
        )
    if both.misses:
        yield f"  misses {both.misses}"


def _adds_up(found: Comparison, product: float) -> bool:
    low, high = found.percent_low, found.percent_high
    return low is not None and high is not None and low <= product <= high


def _keep(result: TuneResult) -> Iterator[str]:
    """The lines of my.cnf, the statements and the risks of the winner."""
    yield ""
    winners = [result.result_of(number) for number in result.winner]
    if not winners:
        yield f"No tested value is known to be better. {result.not_restored or RESTORED}."
        return
    yield "To keep these settings, in my.cnf below [mysqld]:"
    yield from (f"  {one.option_line}" for one in winners if one.option_line)
    yield "or until the next restart:"
    yield from (f"  {one.sql};" for one in winners)
    yield "Risk:"
    yield from (f"  {one.candidate.setting}: {one.candidate.risk}" for one in winners)
    yield f"{result.not_restored or RESTORED_NOT_IN_EFFECT}."


def _left_out(result: TuneResult) -> Iterable[str]:
    if not result.left_out:
        return ()
    width = max(len(one.setting) for one in result.left_out)
    rows = [f"  {one.setting:{width}}  {one.why}" for one in result.left_out]
    return ("", "Not tested:", *rows)


def candidate_line(one: CandidateResult, result: TuneResult) -> str:
    """A candidate with a verdict, for the log of a run."""
    found = one.comparison(result.plan.primary)
    effect = f": {FIGURE_NAMES[result.plan.primary]} {difference_text(found, is_trial=True)}" if found else ""
    return f"{change_text(one.candidate)}: {one.verdict}{effect}"
