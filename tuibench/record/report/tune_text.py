"""Result of a screening of settings: the tornado table, what is best together, and how to keep it."""

from collections.abc import Iterator

from tuibench import units
from tuibench.document import Block, Section, Shape, Table, Text, section, write_text
from tuibench.metrics.inference.ab_tests.tornado import change_text, tune_table
from tuibench.metrics.inference.messages import FIGURE_NAMES, comparison_text, difference_text
from tuibench.model.experiments.effect import Comparison
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
    return write_text(tuple(tune_blocks(result)))


def tune_blocks(result: TuneResult) -> Iterator[Block | Section]:
    """What was measured and how, the effects, the best together, how to keep them, what was not tested."""
    plan = result.plan
    tried = units.pluralize(len(result.results), "value")
    head = (
        f"Tune: {tried} in {units.duration(result.seconds)}, {units.pluralize(result.blocks, 'block')} of "
        f"windows of {plan.window_seconds:g} s, {result.disturbed} disturbed"
    )
    method = METHOD.format(figure=FIGURE_NAMES[plan.primary], rate=100 * plan.false_rate)
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
    lines = [f"{FIGURE_NAMES[one.figure]} {comparison_text(one, is_trial=True)}" for one in both.comparisons]
    found = both.comparison(result.plan.primary)
    if found is not None and found.percent is not None:
        add_up = "they add up" if _adds_up(found, both.product_percent) else "they depend on each other"
        lines.append(f"expected from the single effects: {units.signed(both.product_percent)} %: {add_up}")
    lines += [f"misses {both.misses}"] * bool(both.misses)
    return section(f"The best together: {names}", Text(tuple(lines)))


def _adds_up(found: Comparison, product: float) -> bool:
    low, high = found.percent_low, found.percent_high
    return low is not None and high is not None and low <= product <= high


def _keep(result: TuneResult) -> Iterator[Text]:
    """The lines of my.cnf, the statements and the risks of the winner."""
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
    """A candidate with a verdict, for the log of a run."""
    found = one.comparison(result.plan.primary)
    effect = f": {FIGURE_NAMES[result.plan.primary]} {difference_text(found, is_trial=True)}" if found else ""
    return f"{change_text(one.candidate)}: {one.verdict}{effect}"
