"""State machine of the start form: the action of the enter key. No widgets, no I/O.

A private server has no other users: enter starts at once. Any other server is checked first, and only the
second enter starts the load.

    FILLING ──check─> READY ──start──> (the run)
       ^                ^
       └─ any change ─┐ │
                      MISSING ──make──┘       BLOCKED: the errors must be fixed first
"""

from enum import Enum

from tuibench.tui.start.controller import ServerCheck


class EnterAction(Enum):
    """Action of enter. The value is its text in the footer."""

    START = "start"
    CHECK = "check the server"
    MAKE = "create the tables"
    RECHECK = "check again"
    START_ALL_THE_SAME = "start anyway"


def enter_action(outlook: ServerCheck | None, *, is_private: bool) -> EnterAction:
    """Next action; `outlook` is None until the server was checked."""
    if is_private:
        return EnterAction.START
    if outlook is None:
        return EnterAction.CHECK
    if outlook.creatable:
        return EnterAction.MAKE
    if outlook.is_blocked:
        return EnterAction.RECHECK
    return EnterAction.START_ALL_THE_SAME if _has_warnings(outlook) else EnterAction.START


def _has_warnings(outlook: ServerCheck) -> bool:
    return any(finding.severity.value == "warning" for finding in outlook.findings)
