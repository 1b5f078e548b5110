"""Instruments: readings of a session that features add beside its ticks.

An instrument has its own pace and its own connection to the server, which is one of the session's own: its
statements are counted as such. It hears every sample and every event, and is closed while the connections of
the session still work.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Set
from typing import NamedTuple

from tuibench.base.clock import Clock
from tuibench.base.feature import installed, resolve
from tuibench.model.event import Event
from tuibench.model.message import SessionSpec
from tuibench.model.server import ServerInfo
from tuibench.model.tick import Sample
from tuibench.mysql.connection import OwnConnections
from tuibench.observe.statement_times import QueryTimer
from tuibench.session.events import EventLog
from tuibench.session.lifecycle import StartTask


class InstrumentSession(NamedTuple):
    """The parts of a session that an instrument uses."""

    spec: SessionSpec
    server: ServerInfo
    clock: Clock
    log: EventLog
    start_task: StartTask
    own: OwnConnections
    """The connections of the session apart from its load."""
    load_ids: Callable[[], Awaitable[Set[int]]]
    """The server's ids of the load's connections."""
    server_pid: Callable[[], int | None]
    """The server's process, if it is on this host."""
    timer: QueryTimer | None
    """Measures the session's own statements, in a session that shows the server's traffic."""


class Instrument(ABC):
    """One instrument of one session."""

    @classmethod
    @abstractmethod
    def of(cls, session: InstrumentSession) -> "Instrument | None":
        """The instrument; None if the plan wants none. Sends nothing yet."""

    @abstractmethod
    async def begin(self) -> None:
        """The record is open, and the load has not started."""

    @abstractmethod
    def on_sample(self, sample: Sample) -> None: ...

    @abstractmethod
    def on_event(self, event: Event) -> None: ...

    @abstractmethod
    async def close(self) -> None:
        """Ends the readings, and logs out. Harmless to repeat."""


def instrument_kinds() -> tuple[type[Instrument], ...]:
    """The kinds of instruments of all features, whose modules declare the handlers of their commands."""
    return tuple(resolve(feature.instrument) for feature in installed() if feature.instrument)


def instruments_of(session: InstrumentSession) -> Iterator[Instrument]:
    """The instruments of all features for a session."""
    for kind in instrument_kinds():
        instrument = kind.of(session)
        if instrument is not None:
            yield instrument
