"""What A/B tests and screenings of settings use of their session."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tuibench.model.command import Command
from tuibench.session.control.settings import Settings
from tuibench.session.events.event_log import EventLog
from tuibench.session.lifecycle.lifecycle import Lifecycle
from tuibench.session.lifecycle.tasks import StartTask
from tuibench.session.load.load_controller import LoadController

Submit = Callable[[Command], Awaitable[str]]
"""Executes a command of the session; returns the reply as text."""


class ExperimentSession(NamedTuple):
    """The parts of a session, which has no `load` if it watches the server's own traffic."""

    load: LoadController | None
    settings: Settings
    lifecycle: Lifecycle
    log: EventLog
    submit: Submit
    start_task: StartTask

    @property
    def rate(self) -> float:
        """The rate of the load; 0 without one."""
        return self.load.rate if self.load is not None else 0.0
