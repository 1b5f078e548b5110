"""What a session says of itself, to a viewer and to a script that asks."""

import os

from tuibench import __version__
from tuibench.model.cost import CommitCost
from tuibench.model.headline import Headline
from tuibench.model.message import PROTOCOL_VERSION, Hello, RunState, Status
from tuibench.model.server import ServerInfo
from tuibench.session.events import EventLog
from tuibench.session.history import History
from tuibench.session.loading import Load
from tuibench.session.settings import Settings
from tuibench.session.spec import SessionSpec

MOST_EVENTS = 500
"""Events of the past that a viewer gets when it joins."""


def status_of(state: RunState, load: Load, settings: Settings, caution: tuple[str, ...]) -> Status:
    """What holds now of the load and the settings."""
    return Status(
        state=state,
        threads=load.threads,
        rate=load.rate,
        weights=weights if len(weights := load.weights) > 1 else {},
        client_delay_ms=load.client_delay_ms,
        workers=len(load.fleet),
        settings=settings.states,
        presets=settings.presets,
        caution=caution,
    )


def greeting(
    spec: SessionSpec,
    server: ServerInfo,
    data_set: str,
    status: Status,
    costs: tuple[CommitCost, ...],
    headline: Headline | None,
) -> Hello:
    """What the session is and what holds now, without its past."""
    return Hello(
        protocol=PROTOCOL_VERSION,
        version=__version__,
        session=spec.session,
        pid=os.getpid(),
        plan=spec.plan,
        target=spec.target.without_password(),
        data_set=data_set,
        server=server,
        run_directory=spec.run_directory,
        status=status,
        costs=costs,
        headline=headline,
    )


def past(log: EventLog, history: History, samples: int, *, with_events: bool) -> dict[str, object]:
    """The fields of a Hello that tell the past: so many samples, and the events if they are wanted."""
    return {
        "elapsed_seconds": log.elapsed_seconds(),
        "samples": history.newest(samples),
        "events": tuple(log.events[-MOST_EVENTS:]) if with_events else (),
    }
