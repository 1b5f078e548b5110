"""The program's exceptions, each with a message, a hint and an exit code; hints for misspelt names.

Each package translates the exceptions of the libraries that it uses into these. `cli` prints an exception as
one line.
"""

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the commands."""

    DONE = 0
    RUN_FAILED = 1
    USAGE_ERROR = 2
    SERVER_UNAVAILABLE = 3
    THRESHOLD_CROSSED = 4
    NOT_RESTORED = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class TuibenchError(Exception):
    """Base of all errors that are reported to the user.

    `message` describes the error and its location in one sentence. `hint` says how to fix it; it may be
    empty.
    """

    exit_code = ExitCode.RUN_FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def full_message(self) -> str:
        """The message for the user, with further facts that the error contains."""
        return self.message

    def __str__(self) -> str:
        return f"{self.full_message} ({self.hint})" if self.hint else self.full_message


class UsageError(TuibenchError):
    """An argument names something that does not exist, or is out of range."""

    exit_code = ExitCode.USAGE_ERROR


class RunError(TuibenchError):
    """The run failed."""


class NotRestoredError(RunError):
    """The work is complete, but a setting still has the value that tuibench set."""

    exit_code = ExitCode.NOT_RESTORED


class SessionUnreachableError(RunError):
    """The session does not exist or does not respond."""

    exit_code = ExitCode.SERVER_UNAVAILABLE


class ServerUnavailableError(TuibenchError):
    """The server cannot be reached or refuses the login; `code` is the server's error number, or 0."""

    exit_code = ExitCode.SERVER_UNAVAILABLE

    def __init__(self, message: str, hint: str = "", code: int = 0) -> None:
        super().__init__(message, hint)
        self.code = code


class ServerUnreachableError(ServerUnavailableError):
    """The connection was refused or timed out; a retry may succeed."""


class ServerBusyError(ServerUnreachableError):
    """The server's queue of new connections is full temporarily."""


class SQLError(TuibenchError):
    """The server, or a proxy in front of it, returned an error.

    `code` is the error number (e.g. 1213), `where` the address that returned it, empty if unknown.
    """

    def __init__(self, code: int, message: str, hint: str = "", where: str = "") -> None:
        super().__init__(message, hint)
        self.code = code
        self.where = where

    @property
    def full_message(self) -> str:
        """The message with address and code, unless it already contains them."""
        place = f"the server at {self.where}: " if self.where and self.where not in self.message else ""
        code = "" if re.search(rf"\berror {self.code}\b", self.message) else f" (error {self.code})"
        return f"{place}{self.message}{code}"

    def at(self, where: str) -> "SQLError":
        """The same error with the server's address, unless it already has one."""
        self.where = self.where or where
        return self


class DeniedError(SQLError):
    """The server refuses a statement, because the login lacks a privilege, or because it refuses all
    logins.
    """

    exit_code = ExitCode.SERVER_UNAVAILABLE


class LockedError(SQLError):
    """A statement of tuibench timed out waiting for a lock of another session."""

    exit_code = ExitCode.SERVER_UNAVAILABLE


class NotReadyError(SQLError):
    """A node of a cluster accepts no statements now, for example while it joins the cluster."""

    exit_code = ExitCode.SERVER_UNAVAILABLE


class ConnectionLostError(SQLError):
    """The connection was lost; whether the last statement took effect is unknown."""


MOMENTARY_ERRORS = (ConnectionLostError, NotReadyError)
"""Errors that are not caused by the statement: a retry may succeed."""


class NoAnswerError(ConnectionLostError):
    """The server did not respond in time; the connection was closed."""

    exit_code = ExitCode.SERVER_UNAVAILABLE


class ProtocolError(ConnectionLostError):
    """The server violated the protocol or exceeded a size limit; the connection was closed."""

    exit_code = ExitCode.SERVER_UNAVAILABLE
    OUT_OF_SYNC = 2014

    def __init__(self, what: str, where: str = "") -> None:
        place = f"the server at {where}" if where else "the server"
        super().__init__(
            self.OUT_OF_SYNC,
            f"{place} violated the MySQL protocol: {what}",
            "check that this is a MySQL or MariaDB server, without a proxy that changes the data",
            where,
        )
        self.what = what

    @property
    def full_message(self) -> str:
        return self.message

    def at(self, where: str) -> "ProtocolError":
        return self if self.where else ProtocolError(self.what, where)


FEW, SHOWN = 8, 3


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """The hint for an unknown name: the nearest valid name, or all names if there are few."""
    import difflib

    names = sorted(set(valid))
    # Leading hyphens are removed: they would make any two options similar.
    bare = {name.lstrip("-"): name for name in names}
    close = difflib.get_close_matches(word.lstrip("-"), bare, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{bare[close[0]]}'?"
    return f"valid: {', '.join(names)}" if 0 < len(names) <= FEW else ""


def abbreviated_list(names: Sequence[str]) -> str:
    """The names in one line: all if there are few, otherwise the first ones and the number of the rest."""
    if len(names) <= FEW:
        return ", ".join(names)
    shown = names[:SHOWN]
    return f"{', '.join(shown)} and {len(names) - len(shown):,} more"


def matching_names(wanted: str, names: Sequence[str]) -> list[str]:
    """The names that match: the equal one, otherwise those with this prefix, otherwise those that contain
    it.
    """
    if wanted in names:
        return [wanted]
    return [name for name in names if name.startswith(wanted)] or [name for name in names if wanted in name]
