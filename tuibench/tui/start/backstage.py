"""What the start screen shows and asks for, and the protocol of whoever does the work behind it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from tuibench.model.finding import Finding, Severity


class Answers(msgspec.Struct, frozen=True, kw_only=True):
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


FIELDS = {
    "place": "at",
    "user": "user",
    "password": "password",
    "threads": "threads",
    "seconds": "for",
    "database": "database",
    "options": "options",
}
"""The fields that are typed, with their names on the screen."""


class ServerOffer(NamedTuple):
    """A server to choose. One that `is_private` is made for the run: nothing about it is to be typed."""

    id: str
    label: str
    detail: str
    place: str = ""
    user: str = ""
    database: str = ""
    is_private: bool = False


class ProfileOffer(NamedTuple):
    """A load to choose, and the options that suit its data."""

    name: str
    summary: str
    options: str = ""


class Outlook(NamedTuple):
    """What a look at the server showed. `makeable` describes the tables that could be made, empty if none."""

    findings: tuple[Finding, ...]
    makeable: str = ""

    @property
    def is_blocked(self) -> bool:
        """True if a run would be wrong, or impossible."""
        return any(finding.severity is Severity.STOP for finding in self.findings)


class Step(NamedTuple):
    """How far long work is: what is done now, and the share of it (0 to 1), None where nobody can tell."""

    words: str
    share: float | None = None


Tell = Callable[[Step], None]
"""Hears of progress; may be called from another thread."""


class Backstage(Protocol):
    """Whoever knows servers and profiles. Refusals are raised as TuibenchError; all work can be cancelled."""

    servers: Sequence[ServerOffer]
    profiles: Sequence[ProfileOffer]
    first: Answers

    def faults(self, answers: Answers) -> Mapping[str, str]:
        """What is wrong, by field; empty if a run could be made of it."""
        ...

    async def examine(self, answers: Answers) -> Outlook:
        """Looks at server, host and data; changes nothing."""
        ...

    async def make(self, answers: Answers, tell: Tell) -> str:
        """Makes the tables; what was made, in words."""
        ...

    async def launch(self, answers: Answers, tell: Tell) -> Path:
        """Starts the run; the socket of its session."""
        ...
