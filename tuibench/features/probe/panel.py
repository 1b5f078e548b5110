"""Probe panel: progress, result, and the commands of the formal run."""

from collections.abc import Sequence
from itertools import zip_longest

from tuibench.base.units import count, decimal, milliseconds, pluralize, time_left
from tuibench.features.probe.text import commands_title, end_text, steps_in_order
from tuibench.model.probe import ProbeEnd, ProbeResult, ProbeState, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.tui.panels.time_chart import GAP, is_inconclusive
from tuibench.tui.text import (
    TextLine,
    TextSpan,
    fit_line,
    join_parts,
    line_width,
    pad_line,
    text_lines,
    wrap_text,
)
from tuibench.tui.view import View

_WITH_STEPS = 160
"""Width from which the steps are shown beside the result."""
_STEPS = 76


def probe_status(view: View, width: int, height: int) -> list[TextLine]:
    """Current activity of the probe; after its end, the reason for it."""
    state = view.probe
    if state is None:
        return [pad_line((TextSpan("No probe has run yet: P starts one.", "muted"),), width)][:height]
    title = (TextSpan(f"PROBE by {state.order.by}", "title"),)
    slo: TextLine = (TextSpan(" and ".join(state.order.slo), "warn"),) if state.order.slo else ()
    if state.result is not None:
        spent: TextLine = (TextSpan(f"took {state.elapsed_seconds:.0f} s", "muted"),)
        end = (TextSpan(f"done: {_end_text(state, state.result)}", "strong"),)
        return [pad_line(_join_fitting((title, end, slo, spent), width), width)][:height]
    rest: TextLine = (TextSpan(f"at most {time_left(state.left_seconds)}", "muted"),)
    waits = f"waiting for {state.waiting}" if state.waiting else "setting the next level"
    parts: tuple[TextLine, ...] = (title, _current_level(state), slo, rest)
    if state.trial:
        is_goodput = state.vulnerable is not None
        now = (
            f"{'goodput ' * is_goodput}{count(state.tps)}{'/s' if is_goodput else ' TPS'}"
            if state.tps is not None
            else ""
        )
        parts = (title, (TextSpan(state.trial, "strong"),), (TextSpan(now, "tps"),))
        if state.vulnerable is not None:
            tried = pluralize(len(state.vulnerable.trials), "burst")
            waits = f"{tried} tried: does the load recover by itself?"
    under_way = _join_fitting(parts, width)
    below: TextLine = (TextSpan(waits, "muted"),)
    if state.busy:
        # If the whole sentence does not fit, its first words name the problem.
        words = f"measured on a busy host: {state.busy}"
        told = (words, words.partition(", ")[0], words.partition(":")[0], "busy host")
        lines = [join_parts(((TextSpan(text, "warn"),), below), GAP) for text in told]
        below = next((line for line in lines if line_width(line) <= width), lines[-1])
    return [pad_line(fit_line(line, width), width) for line in (under_way, below)][:height]


def _join_fitting(parts: Sequence[TextLine], width: int) -> TextLine:
    """The parts joined, without the last ones that do not fit."""
    while line_width(line := join_parts(parts, GAP)) > width and len(parts) > 2:
        parts = parts[:-1]
    return line


def probe_answer(view: View, width: int, height: int) -> list[TextLine]:
    """Result in one sentence, coloured by its confidence; empty before the result."""
    state = view.probe
    if state is None or state.result is None:
        return []
    role = _answer_role(state, state.result)
    return [
        pad_line((TextSpan(part, role),), width) for part in wrap_text(state.result.lines[0], width)[:height]
    ]


def probe_answer_height(view: View, width: int) -> int:
    """Height of the result sentence in lines."""
    if view.probe is None or view.probe.result is None:
        return 0
    return len(wrap_text(view.probe.result.lines[0], max(width, 1)))


def probe_result(view: View, width: int, height: int, *, is_whole: bool = False) -> list[TextLine]:
    """Further findings and the commands of the formal run, which are never cut; before the result, the newest
    steps. With `is_whole` the panel has the charts' space, too.
    """
    state = view.probe
    if state is None:
        return []
    if state.result is None:
        lines: list[TextLine] = [(TextSpan("No step has finished yet.", "muted"),)]
        if state.steps:
            measured = [_measured_step_line(step) for step in reversed(state.steps)]
            lines = [(TextSpan("STEPS, newest first", "title"),), *measured]
        return [pad_line(fit_line(line, width), width) for line in lines[:height]]
    if width >= _WITH_STEPS:
        # The result is on the left, the steps that fit are on the right.
        left = _found_lines(state.result, width - _STEPS, height, is_whole=is_whole)
        right = _step_lines(state.result)
        if len(right) > height:
            right = [*right[: height - 1], _rest(len(right) - height + 1, is_whole=is_whole)]
        rows = zip_longest(left, right, fillvalue=())
        return [pad_line((*pad_line(line, width - _STEPS), *beside), width) for line, beside in rows][:height]
    return _found_lines(state.result, width, height, _step_lines(state.result), is_whole=is_whole)


def _step_lines(result: ProbeResult) -> list[TextLine]:
    """The table of the steps, by level."""
    measured = [_measured_step_line(step) for step in steps_in_order(result.steps)]
    return [(TextSpan("STEPS by level", "title"),), *measured]


def _rest(lines: int, *, is_whole: bool) -> TextLine:
    where = "the report has all" if is_whole else "enter hides the charts; the report has all"
    return (TextSpan(f"{pluralize(lines, 'more line')}: {where}", "muted"),)


def _found_lines(
    result: ProbeResult, width: int, height: int, below: Sequence[TextLine] = (), *, is_whole: bool
) -> list[TextLine]:
    """Findings, commands, and the lines `below` them, as far as they fit."""
    formal = _formal_lines(result, width, max(height - 1, 2))
    room = height - len(formal)
    details = text_lines(result.lines[1:], width)
    whole = [*details, *formal, *below]
    if len(details) > room > 0:
        details = [*details[: room - 1], _rest(len(whole) - height + 1, is_whole=is_whole)]
    elif len(whole) > height > len(details) + len(formal):
        whole = [*whole[: height - 1], _rest(len(whole) - height + 1, is_whole=is_whole)]
        return [pad_line(fit_line(line, width), width) for line in whole]
    return [pad_line(line, width) for line in (*details[: max(room, 0)], *formal, *below)][:height]


def _answer_role(state: ProbeState, result: ProbeResult) -> str:
    if result.objective is not None and result.objective.most is not None:
        return "good"
    if is_inconclusive(state) or result.client_limited or result.end is ProbeEnd.ABORTED:
        return "warn"
    return "good" if result.knee is not None else "strong"


def _end_text(state: ProbeState, result: ProbeResult) -> str:
    """Reason for the end. If a level meets the objective, that is the reason; the answer below has
    the level.
    """
    if result.objective is not None and result.objective.most is not None:
        return "the objective is met"
    if is_inconclusive(state) and result.end is ProbeEnd.KNEE:
        return "inconclusive"
    return end_text(result)


def _formal_lines(result: ProbeResult, width: int, height: int) -> list[TextLine]:
    """As many whole commands as fit, in order."""
    lines: list[TextLine] = [(TextSpan(commands_title(result), "title"),)]
    for command in result.commands.values():
        parts: list[TextLine] = [(TextSpan(f"  {part}", "strong"),) for part in wrap_text(command, width - 2)]
        if len(lines) + len(parts) > height:
            break
        lines += parts
    return lines if len(lines) > 1 else []


def _current_level(state: ProbeState) -> TextLine:
    if not state.level:
        return (
            TextSpan(
                "without a rate" if state.purpose is StepPurpose.SCALE else "between two steps", "muted"
            ),
        )
    by_rate = state.order.by is Quantity.RATE
    level = f"{count(state.level)}/s" if by_rate else pluralize(round(state.level), "thread")
    known = f" {count(state.tps)} TPS" if state.tps else ""
    width = f" ±{decimal(100 * state.half_width, 1)} %" if state.half_width is not None else ""
    return (
        TextSpan(f"{level} ({state.purpose})", "strong"),
        TextSpan(f", {state.step_seconds:.0f} s", "muted"),
        TextSpan(f"{':' * bool(known)}{known}{width}", "tps"),
    )


def _measured_step_line(step: ProbeStep) -> TextLine:
    known = f" ±{decimal(100 * step.half_width, 1)} %" if step.half_width is not None else ""
    missed = f"  missed {'; '.join(step.missed)}" if step.missed else ""
    return (
        TextSpan(f"{count(step.level):>7}", "strong"),
        TextSpan(f"{count(step.tps):>9} TPS{known:<10}", "tps"),
        TextSpan(f" p95 {milliseconds(step.p95_ms, in_column=True):>9}", "latency"),
        TextSpan("" if step.is_stable else "  not stable", "warn"),
        TextSpan(missed, "warn"),
    )
