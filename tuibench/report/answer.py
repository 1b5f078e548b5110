"""The answer of a run: one sentence with its figures, and the lines that a screen prints on leaving.

The sentence is about the experiment of the run, if there was one, otherwise about the change with the
strongest effect.
"""

import math
import shlex
from collections.abc import Iterator

from tuibench.base import sanitize
from tuibench.base.document import Table
from tuibench.base.units import count, decimal, hms, milliseconds, pluralize, wrap_words
from tuibench.model.effect import Comparison, Effect, Verdict, latest_effects
from tuibench.model.event import EventKind
from tuibench.model.message import SessionEnded
from tuibench.model.settings import KEPT, brief_change
from tuibench.model.summary import Summary
from tuibench.report.effects import changes_text, comparison_table, derivation_text
from tuibench.report.part import answering_part, report_parts

MOST_CHANGE_LETTERS = 40
SENTENCE_FIGURES = 2
EXIT_LINES = 6
"""Maximum number of lines printed on leaving, above the command that shows the whole report."""

MOST_EXIT_CELLS = 120
"""Maximum width of these lines: longer ones are hard to read, even on a wide terminal."""


def answer_sentence(summary: Summary) -> str:
    """The sentence that answers the question of a run."""
    if summary.failure:
        return f"The run failed: {summary.failure}"
    sentences = (part.sentence(summary) for part in report_parts(summary))
    if sentence := next(filter(None, sentences), ""):
        return sentence
    if summary.ab is not None:
        ab = summary.ab
        if ab.comparisons:
            return f"{ab.subject} {ab.b} against {ab.a}: {changes_text(ab.comparisons[:SENTENCE_FIGURES])}"
        return ab.sentence
    if (effect := main_effect(summary)) is not None:
        return effect_sentence(effect)
    return ""


def effect_sentence(effect: Effect) -> str:
    """A sentence about a change and its effect on the two most important figures."""
    change = brief_change(effect.change, MOST_CHANGE_LETTERS)
    return f"{change}: {changes_text(effect.comparisons[:SENTENCE_FIGURES])}"


def answer_table(summary: Summary) -> Table | None:
    """The figures before and after, with intervals and verdicts; None if there is nothing to compare."""
    if summary.failure:
        return None
    if (part := answering_part(summary)) is not None:
        return part.table(summary)
    if summary.ab is not None:
        ab = summary.ab
        return comparison_table(ab.comparisons, f"A: {ab.a}", f"B: {ab.b}") if ab.comparisons else None
    if (effect := main_effect(summary)) is None:
        return None
    others = len(latest_effects(summary.effects)) - 1
    notes = [f"The strongest effect of {others + 1}; the others are under Changes."] * bool(others)
    if found := derivation_text(effect):
        notes.append(f"Differences: {found}.")
    return comparison_table(effect.comparisons, "before", "after", tuple(notes))


def main_effect(summary: Summary) -> Effect | None:
    """The strongest significant effect, otherwise the strongest one; None without a measured change."""
    return max(
        latest_effects(summary.effects), key=lambda effect: _strength(effect.comparisons), default=None
    )


def _strength(comparisons: tuple[Comparison, ...]) -> tuple[int, float]:
    """A sort key of effects: certainty of the deciding figure, then its distance from zero."""
    if not comparisons:
        return (-1, 0.0)
    first = comparisons[0]
    certainty = 2 if first.differs else int(first.verdict is Verdict.NOT_ONLY)
    ratio = 1 + (first.percent or 0.0) / 100
    return certainty, abs(math.log(ratio)) if ratio > 0 else math.inf


# On leaving


def exit_summary(ended: SessionEnded, width: int) -> list[str]:
    """The lines printed when the screen closes: at most `EXIT_LINES`, then the command for the whole report.

    Lines are broken between words. If space is short, the last line says what was left out.
    """
    summary, cells = ended.summary, min(width, MOST_EXIT_CELLS)
    server = f"{summary.server.flavour} {summary.server.version.partition('-')[0]}"
    load = f"{summary.profile} with {pluralize(summary.threads, 'thread')}"
    what = "the server's own traffic" if summary.watched is not None else load
    lines = [
        *wrap_words(f"{what} on {server}: {summary.outcome} after {hms(summary.seconds)}", cells),
        *wrap_words(_figures(summary), cells),
        *(line for one in summary.not_restored for line in wrap_words(sanitize.text(one.text), cells)),
    ]
    record = wrap_words(f"recorded in {ended.run_directory}", cells)
    left_out = 0
    for fact in _facts(summary):
        more = wrap_words(sanitize.text(fact), cells)
        if len(lines) + len(more) + len(record) <= EXIT_LINES:
            lines += more
        else:
            left_out += 1
    rest = f"and {pluralize(left_out, 'more result')}: " if left_out else "all figures: "
    name = ended.run_directory.rstrip("/").rpartition("/")[2]
    if ended.option_lines:
        record += ["To keep these settings, in my.cnf below [mysqld]:", *ended.option_lines]
    return [*lines, *record, *wrap_words(f"{rest}tuibench report {shlex.quote(name)}", cells)]


def _figures(summary: Summary) -> str:
    """The main figures of the whole run in a line."""
    latency = summary.latency_ms
    words = []
    if (headline := summary.headline) is not None:
        words.append(f"{headline.title} {decimal(headline.value, 1)}")
    words.append(f"{decimal(summary.transactions.per_second, 1)} TPS")
    if latency is not None:
        words += [f"p95 {milliseconds(latency.p95)}", f"p99 {milliseconds(latency.p99)}"]
    words.append(f"{count(summary.transactions.total)} transactions")
    if summary.watched is None:
        words.append(pluralize(summary.errors.total, "error"))
    return ", ".join(words)


def _facts(summary: Summary) -> Iterator[str]:
    """The results of the run, the most important first."""
    answer = answer_sentence(summary)
    if answer:
        yield answer
    further = (sentence for part in report_parts(summary) for sentence in part.further_sentences(summary))
    yield from (sentence for sentence in further if sentence != answer)
    failures = {one.reason for one in summary.not_restored}
    ends = (event.text for event in summary.events if event.kind is EventKind.RESTORE)
    told = [text for text in ends if text not in failures]
    yield from (text for text in told if text.startswith(KEPT))
    if restored := [text for text in told if not text.startswith(KEPT)]:
        yield f"put back: {', '.join(text.removesuffix(', as before') for text in restored)}"
    yield from (f"warning: {warning}" for warning in summary.warnings)
    main = main_effect(summary)
    for effect in reversed(latest_effects(summary.effects)):
        if (sentence := effect_sentence(effect)) != answer and (effect is not main or summary.failure):
            yield sentence
    yield from (result.sentence for result in summary.earlier_ab_tests)
