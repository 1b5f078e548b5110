"""The state of a session, and how it ends: its outcome, and the error that ended it.

    starting ──> warming up ──> running <──> paused
                                   │
                                   └──> stopping ──> ended

Whatever sets `over` ends the session: a command, a signal, a limit, an error. The state follows.
"""

import asyncio
import contextlib
from collections.abc import Callable

from tuibench.errors import ExitCode, RunError, TuibenchError, UsageError
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.results.summary import RunOutcome
from tuibench.session.events.event_log import EventLog
from tuibench.session.lifecycle.crash_log import internal_error_text

ENDING = frozenset({RunState.STOPPING, RunState.ENDED})
"""States in which nothing is changed any more."""


class Lifecycle:
    """`on_change` is called after each change of the state. `error` is the first that ended the session."""

    def __init__(self, log: EventLog, on_change: Callable[[], None]) -> None:
        self.state = RunState.STARTING
        self.outcome: RunOutcome = "done"
        self.error: TuibenchError | None = None
        self.over = asyncio.Event()
        self._log = log
        self._on_change = on_change

    @property
    def is_ending(self) -> bool:
        return self.state in ENDING

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of a command that runs this session."""
        if self.error is not None:
            return ExitCode(self.error.exit_code)
        return ExitCode.INTERRUPTED if self.outcome == "interrupted" else ExitCode.DONE

    def set_state(self, state: RunState) -> None:
        self.state = state
        self._on_change()

    def publish_status(self) -> None:
        """Notifies listeners that the status has changed."""
        self._on_change()

    def request_stop(self, outcome: RunOutcome = "stopped") -> None:
        """Ends the session in good order. The first request decides the outcome."""
        if not self.over.is_set():
            self.outcome = outcome
            self.over.set()

    def fail(self, error: Exception) -> None:
        """Ends the session with an error. An error of tuibench itself is written to the crash log."""
        known = error if isinstance(error, TuibenchError) else _internal_error(error)
        self.error = self.error or known
        self.outcome = "failed"
        self.over.set()
        with contextlib.suppress(Exception):
            # The failure of a listener may be what is reported here.
            self._log.emit(EventKind.WARNING, str(known))

    def check_running(self) -> None:
        """Raises UsageError once the session is ending: restored settings must not be changed again."""
        if self.is_ending:
            raise UsageError("the run is ending; nothing can be changed any more")


def _internal_error(error: Exception) -> RunError:
    known = RunError(internal_error_text(error))
    known.__cause__ = error
    return known
