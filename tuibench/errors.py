"""The one error tree: what went wrong, what to do about it, and the exit code a command ends with.

Rooms that own a foreign library translate its exceptions into these; `cli` prints them as one line.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status means to a script."""

    DONE = 0
    RUN_FAILED = 1
    WRONG_USAGE = 2
    SERVER_UNAVAILABLE = 3
    THRESHOLD_CROSSED = 4
    INTERRUPTED = 130
    READER_GONE = 141


class TuibenchError(Exception):
    """Base of all errors a user may meet.

    `message` says what and where in one sentence; `hint` says what to do and may be empty.
    """

    exit_code = ExitCode.RUN_FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(TuibenchError):
    """The user asked for something that does not exist or is out of range."""

    exit_code = ExitCode.WRONG_USAGE


class RunError(TuibenchError):
    """The run could not go on."""


class SessionAwayError(RunError):
    """There is no such session, or it does not answer."""

    exit_code = ExitCode.SERVER_UNAVAILABLE


class ServerUnavailableError(TuibenchError):
    """The server cannot be reached or does not let us in."""

    exit_code = ExitCode.SERVER_UNAVAILABLE


class ServerAwayError(ServerUnavailableError):
    """Nobody answers there; it may pass."""


class ServerBusyError(ServerAwayError):
    """The server's queue of new connections is full for a moment."""


class SQLError(TuibenchError):
    """The server answered a statement with an error; `code` is the server's number (e.g. 1213)."""

    def __init__(self, code: int, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class DeniedError(SQLError):
    """The server refuses a statement: to this login, for want of a privilege, or to everybody."""

    exit_code = ExitCode.SERVER_UNAVAILABLE


class ConnectionLostError(SQLError):
    """The connection broke; whether the last statement took effect is unknown."""
