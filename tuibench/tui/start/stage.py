"""How far the operator has come, and what the enter key does next. No widget, no I/O.

A private server is nobody's: enter starts at once. Any other is looked at first, and only the second enter
puts load on it.

    FILLING ──look──> READY ──start──> (the run)
       ^                ^
       └─ any change ─┐ │
                      MISSING ──make──┘       BLOCKED: what stops a run has to be mended first
"""

from enum import Enum

from tuibench.tui.start.backstage import Outlook


class Next(Enum):
    """What enter does. The value is what the footer says."""

    START = "start"
    LOOK = "look at the server"
    MAKE = "make the tables"
    MEND = "look again"
    START_ALL_THE_SAME = "start all the same"


def following(outlook: Outlook | None, *, is_private: bool) -> Next:
    """What comes next after what is known; `outlook` is None until the server was looked at."""
    if is_private:
        return Next.START
    if outlook is None:
        return Next.LOOK
    if outlook.makeable:
        return Next.MAKE
    if outlook.is_blocked:
        return Next.MEND
    return Next.START_ALL_THE_SAME if _has_warnings(outlook) else Next.START


def _has_warnings(outlook: Outlook) -> bool:
    return any(finding.severity.value == "warning" for finding in outlook.findings)
