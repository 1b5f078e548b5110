"""Messages below the start form: errors, findings, progress, next step."""

from collections.abc import Mapping, Sequence

from textual.content import Content

from tuibench import sanitize
from tuibench.errors import TuibenchError
from tuibench.model.measurements.finding import Finding, Severity
from tuibench.tui.start.controller import FIELD_LABELS, ServerCheck, WorkProgress
from tuibench.tui.start.wizard_step import EnterAction

SEVERITY_GLYPHS = {
    Severity.STOP: ("✗", "$error bold"),
    Severity.NEXT: ("→", "$primary bold"),
    Severity.WARNING: ("▲", "$warning"),
    Severity.NOTE: ("·", "$muted"),
    Severity.OK: ("✓", "$success"),
}
"""Severity of findings, worst first: a glyph in addition to the colour."""

_BAR_WIDTH = 40
_NEXT_TEXTS = {
    EnterAction.START: "All checks passed.",
    EnterAction.START_ALL_THE_SAME: "The run can start; findings marked ▲ make its figures invalid.",
    EnterAction.RECHECK: "Fix this first.",
}


def faults_text(found: Mapping[str, str]) -> Content:
    """One line per invalid field."""
    return _join_lines(
        Content.assemble(
            ("✗ ", "$error bold"), (f"{FIELD_LABELS.get(name, name)}: ", "$strong bold"), sanitize.text(text)
        )
        for name, text in found.items()
    )


def error_text(error: TuibenchError) -> Content:
    """An error, and how to fix it."""
    lines = [Content.assemble(("✗ ", "$error bold"), sanitize.text(error.message))]
    if error.hint:
        lines.append(Content.assemble(("  → ", "$muted"), sanitize.text(error.hint)))
    return _join_lines(lines)


def progress_text(step: WorkProgress) -> Content:
    """Progress of a long operation: a bar if its share is known, and its description."""
    if step.share is None:
        return Content.assemble(("… ", "$primary bold"), sanitize.text(step.words))
    done = round(min(max(step.share, 0.0), 1.0) * _BAR_WIDTH)
    bar = (("█" * done, "$primary"), ("·" * (_BAR_WIDTH - done), "$faint"))
    return Content.assemble(*bar, (f" {step.share:4.0%}  ", "$strong bold"), sanitize.text(step.words))


def server_check_text(seen: ServerCheck, coming: EnterAction) -> Content:
    """Next step, then findings, worst first; passed checks are only counted."""
    lines = [_next_line(seen, coming)]
    for severity in (Severity.STOP, Severity.NEXT, Severity.WARNING, Severity.NOTE):
        for finding in seen.findings:
            if finding.severity is severity:
                lines += _finding_lines(finding)
    well = sum(finding.severity is Severity.OK for finding in seen.findings)
    if well:
        lines.append(Content.assemble(("✓ ", "$success"), (f"{well} checks passed", "$muted")))
    return _join_lines(lines)


def muted_text(text: str) -> Content:
    return Content.assemble((text, "$muted"))


def _next_line(seen: ServerCheck, coming: EnterAction) -> Content:
    words = (
        f"Enter creates the missing tables: {sanitize.text(seen.creatable)}."
        if coming is EnterAction.MAKE
        else _NEXT_TEXTS.get(coming, "")
    )
    return Content.assemble((words, "$strong bold"))


def _finding_lines(finding: Finding) -> list[Content]:
    glyph, style = SEVERITY_GLYPHS[finding.severity]
    lines = [Content.assemble((f"{glyph} ", style), sanitize.text(finding.found))]
    if finding.remedy:
        lines.append(Content.assemble(("  → ", "$muted"), (sanitize.text(finding.remedy), "$muted")))
    return lines


def _join_lines(lines: "Sequence[Content] | object") -> Content:
    return Content("\n").join(lines)  # type: ignore[arg-type]
