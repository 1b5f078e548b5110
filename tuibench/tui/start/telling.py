"""What stands below the form: what is wrong, what a look showed, how far work is, or what comes next."""

from collections.abc import Mapping, Sequence

from textual.content import Content

from tuibench.errors import TuibenchError
from tuibench.model.finding import Finding, Severity
from tuibench.tui.start.backstage import FIELDS, Outlook, Step
from tuibench.tui.start.stage import Next

GLYPHS = {
    Severity.STOP: ("✗", "$error bold"),
    Severity.WARNING: ("▲", "$warning"),
    Severity.NOTE: ("·", "$muted"),
    Severity.OK: ("✓", "$success"),
}
"""How much a finding matters, worst first: a glyph beside the colour."""

_BAR_WIDTH = 40
_INVITATIONS = {
    Next.START: "All is well.",
    Next.START_ALL_THE_SAME: "The run works; what is marked ▲ falsifies its figures.",
    Next.MEND: "This has to be mended first.",
}


def faults(found: Mapping[str, str]) -> Content:
    """A line for each field that is wrong."""
    return _lines(
        Content.assemble(("✗ ", "$error bold"), (f"{FIELDS.get(name, name)}: ", "$strong bold"), text)
        for name, text in found.items()
    )


def failure(error: TuibenchError) -> Content:
    """What went wrong, and what to do about it."""
    lines = [Content.assemble(("✗ ", "$error bold"), error.message)]
    if error.hint:
        lines.append(Content.assemble(("  → ", "$muted"), error.hint))
    return _lines(lines)


def work(step: Step) -> Content:
    """Long work: a bar where its share is known, and its words."""
    if step.share is None:
        return Content.assemble(("… ", "$primary bold"), step.words)
    done = round(min(max(step.share, 0.0), 1.0) * _BAR_WIDTH)
    bar = (("█" * done, "$primary"), ("·" * (_BAR_WIDTH - done), "$faint"))
    return Content.assemble(*bar, (f" {step.share:4.0%}  ", "$strong bold"), step.words)


def outlook(seen: Outlook, coming: Next) -> Content:
    """What comes next, then what matters, worst first; what is well is only counted."""
    lines = [_invitation(seen, coming)]
    for severity in (Severity.STOP, Severity.WARNING, Severity.NOTE):
        for finding in seen.findings:
            if finding.severity is severity:
                lines += _finding(finding)
    well = sum(finding.severity is Severity.OK for finding in seen.findings)
    if well:
        lines.append(Content.assemble(("✓ ", "$success"), (f"{well} checks are well", "$muted")))
    return _lines(lines)


def plain(text: str) -> Content:
    return Content.assemble((text, "$muted"))


def _invitation(seen: Outlook, coming: Next) -> Content:
    words = f"Enter makes them: {seen.makeable}." if coming is Next.MAKE else _INVITATIONS.get(coming, "")
    return Content.assemble((words, "$strong bold"))


def _finding(finding: Finding) -> list[Content]:
    glyph, style = GLYPHS[finding.severity]
    lines = [Content.assemble((f"{glyph} ", style), finding.found)]
    if finding.remedy:
        lines.append(Content.assemble(("  → ", "$muted"), (finding.remedy, "$muted")))
    return lines


def _lines(lines: "Sequence[Content] | object") -> Content:
    return Content("\n").join(lines)  # type: ignore[arg-type]
