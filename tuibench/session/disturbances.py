"""Reasons why a sample is not comparable: an outage, lost connections, an overloaded host.

Figures measured during a disturbance are not attributed to a change.
"""

from tuibench.diagnosis.indicators import is_host_starved
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.tick import ERROR, Tick
from tuibench.mysql.errors import UNREACHABLE_CODES

NO_ANSWER = "the server did not answer"
NOT_COUNTED = "the server does not count its statements"
CONNECTIONS_LOST = "connections to the server were lost"
HOST_STARVED = "this host was suspended, or tuibench got no CPU time"
WORKER_SILENT = "a worker process did not report"

OF_EVENTS = {
    EventKind.PAUSE: "the load was paused",
    EventKind.RESUME: "the load was paused",
    EventKind.RESET: "the figures were reset",
    EventKind.RESTART: "the server was restarted",
    EventKind.PROBE: "a probe changed the load",
}
"""Events that end a window, with their descriptions."""


def disturbance(sample: Sample, interval_seconds: float) -> str:
    """The reason why this sample is not comparable; empty if it is."""
    if sample.traffic is not None:
        return HOST_STARVED if is_host_starved(sample, interval_seconds) else ""
    if sample.load is None:
        return WORKER_SILENT
    if sample.server is None and not sample.load.sums.get("completed"):
        return NO_ANSWER
    if _lost_connections(sample.load):
        return CONNECTIONS_LOST
    return HOST_STARVED if is_host_starved(sample, interval_seconds) else ""


def _lost_connections(load: Tick) -> bool:
    lost = any(int(code) in UNREACHABLE_CODES for code in load.counts(ERROR))
    return lost or bool(load.sums.get("reconnects"))
