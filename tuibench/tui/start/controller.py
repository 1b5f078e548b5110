"""Protocol between the start screen and its controller."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from tuibench.model.measurements.finding import Finding, Severity


class FormValues(msgspec.Struct, frozen=True, kw_only=True):
    """The form as it stands: all of it text, as it was typed. `server` and `profile` are chosen from lists.

    `place` is a host, host:port or the path of a socket; `seconds` is empty for no limit. The password is in
    no repr, and nobody keeps it.
    """

    server: str = ""
    profile: str = ""
    place: str = ""
    user: str = ""
    password: str = ""
    database: str = ""
    threads: str = ""
    seconds: str = ""
    options: str = ""

    def __repr__(self) -> str:
        return f"Answers({self.profile} on {self.server})"


FIELD_LABELS = {
    "place": "at",
    "user": "user",
    "password": "password",
    "threads": "threads",
    "seconds": "for",
    "database": "database",
    "options": "options",
}
"""The fields that are typed, with their names on the screen."""


class ServerChoice(NamedTuple):
    """A server to choose. One that `is_private` is made for the run: nothing about it is to be typed."""

    id: str
    label: str
    detail: str
    place: str = ""
    user: str = ""
    database: str = ""
    is_private: bool = False


class ProfileChoice(NamedTuple):
    """A load to choose, and the options that suit its data."""

    name: str
    summary: str
    options: str = ""


class ServerCheck(NamedTuple):
    """What a look at the server showed.

    `creatable` describes the tables that could be made, empty if none.
    """

    findings: tuple[Finding, ...]
    creatable: str = ""

    @property
    def is_blocked(self) -> bool:
        """True if a run would be wrong, or impossible."""
        return any(finding.severity is Severity.STOP for finding in self.findings)


class WorkProgress(NamedTuple):
    """How far long work is: what is done now, and the share of it (0 to 1), None where nobody can tell."""

    words: str
    share: float | None = None


ProgressCallback = Callable[[WorkProgress], None]
"""Hears of progress; may be called from another thread."""


class StartController(Protocol):
    """Whoever knows servers and profiles. Refusals are raised as TuibenchError; all work can be cancelled."""

    servers: Sequence[ServerChoice]
    profiles: Sequence[ProfileChoice]
    first: FormValues

    def faults(self, answers: FormValues) -> Mapping[str, str]:
        """What is wrong, by field; empty if a run could be made of it."""
        ...

    async def examine(self, answers: FormValues) -> ServerCheck:
        """Looks at server, host and data; changes nothing."""
        ...

    async def make(self, answers: FormValues, tell: ProgressCallback) -> str:
        """Makes the tables; what was made, in words."""
        ...

    async def launch(self, answers: FormValues, tell: ProgressCallback) -> Path:
        """Starts the run; the socket of its session."""
        ...
