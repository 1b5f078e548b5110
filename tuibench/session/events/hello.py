"""The first message to a viewer: the session, its current status, and its history."""

import os

from tuibench import __version__
from tuibench.model.message import PROTOCOL_VERSION, Hello, Status
from tuibench.model.server import ServerInfo
from tuibench.session.events.event_log import EventLog, SampleHistory
from tuibench.session.spec import SessionSpec

MOST_EVENTS = 500
"""Maximum number of past events that a new viewer receives."""


def build_hello(spec: SessionSpec, server: ServerInfo, status: Status) -> Hello:
    """The session and its current status, without its history and its load."""
    return Hello(
        protocol=PROTOCOL_VERSION,
        version=__version__,
        session=spec.session,
        pid=os.getpid(),
        plan=spec.plan,
        target=spec.target.without_password(),
        data_set="",
        server=server,
        run_directory=spec.run_directory,
        status=status,
    )


def history_fields(
    log: EventLog, history: SampleHistory, samples: int, *, with_events: bool
) -> dict[str, object]:
    """The fields of a Hello about the past: up to `samples` samples, and the events if requested."""
    return {
        "elapsed_seconds": log.elapsed_seconds(),
        "samples": history.newest(samples),
        "events": tuple(log.events[-MOST_EVENTS:]) if with_events else (),
    }
