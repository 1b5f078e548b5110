"""Protocol between the start screen and its controller."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from tuibench.model.measurements.finding import Finding, Severity


class FormValues(msgspec.Struct, frozen=True, kw_only=True):
    """Values of the form, as typed text. `server` and `profile` are chosen from lists.

    `place` is a host, host:port or the path of a socket; `seconds` is empty for no limit. The password is
    excluded from the repr and is never stored.
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
"""Input fields, with their labels on the screen."""


class ServerChoice(NamedTuple):
    """A server of the list. One that `is_private` is created for the run, so its fields are not editable."""

    id: str
    label: str
    detail: str
    place: str = ""
    user: str = ""
    database: str = ""
    is_private: bool = False


class ProfileChoice(NamedTuple):
    """A profile of the list, with default options for its data."""

    name: str
    summary: str
    options: str = ""


class ServerCheck(NamedTuple):
    """Result of the check of a server.

    `creatable` describes the missing tables that can be created, empty if there are none.
    """

    findings: tuple[Finding, ...]
    creatable: str = ""

    @property
    def is_blocked(self) -> bool:
        """True if a run is impossible, as yet or at all, or would give wrong results."""
        return any(finding.severity in (Severity.STOP, Severity.NEXT) for finding in self.findings)


class WorkProgress(NamedTuple):
    """Progress of a long operation: description, and completed share (0 to 1), None if unknown."""

    words: str
    share: float | None = None


ProgressCallback = Callable[[WorkProgress], None]
"""Progress callback; may be called from another thread."""


class StartController(Protocol):
    """Checks servers and profiles, and starts runs. Errors are TuibenchErrors; all work can be cancelled.

    `option_names` are the options of the load that the form takes, each as on the command line.
    """

    servers: Sequence[ServerChoice]
    profiles: Sequence[ProfileChoice]
    option_names: Sequence[str]
    first: FormValues

    def faults(self, answers: FormValues) -> Mapping[str, str]:
        """Errors by field; empty if the form describes a valid run."""
        ...

    async def examine(self, answers: FormValues) -> ServerCheck:
        """Check server, host and data, without changes."""
        ...

    async def make(self, answers: FormValues, on_progress: ProgressCallback) -> str:
        """Create the tables; returns a description of them."""
        ...

    async def launch(self, answers: FormValues, on_progress: ProgressCallback) -> Path:
        """Start the run; returns the socket of its session."""
        ...
