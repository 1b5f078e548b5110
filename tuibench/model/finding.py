"""What a look at server and host before a run brings to light.

Short ways to say what a check found.
"""

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """How much a finding matters: not at all, to know, to mend, or so much that a run would be wrong."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    STOP = "stop"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence of what was found, with its figures, and the statement or command that mends it."""

    id: str
    severity: Severity
    found: str
    remedy: str = ""

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.found}: {self.remedy}" if self.remedy else self.found


def ok(id: str, found: str) -> Finding:
    return Finding(id=id, severity=Severity.OK, found=found)


def note(id: str, found: str, remedy: str = "") -> Finding:
    return Finding(id=id, severity=Severity.NOTE, found=found, remedy=remedy)


def warning(id: str, found: str, remedy: str = "") -> Finding:
    return Finding(id=id, severity=Severity.WARNING, found=found, remedy=remedy)


def stop(id: str, found: str, remedy: str = "") -> Finding:
    return Finding(id=id, severity=Severity.STOP, found=found, remedy=remedy)


def not_visible(id: str, what: str, remedy: str = "") -> Finding:
    """This login may not look."""
    return note(id, f"this login may not see {what}", remedy)
