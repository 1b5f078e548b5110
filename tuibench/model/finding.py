"""What a look at server and host before a run brings to light."""

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
