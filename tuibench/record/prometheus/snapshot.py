"""What a page of metrics is made of: one moment of a session, with nothing in it that still changes."""

import msgspec

from tuibench.metrics.histogram import Histogram
from tuibench.model.message import Status
from tuibench.model.plan import Plan
from tuibench.model.sample import Sample
from tuibench.model.server import ServerInfo


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Everything since measuring began, whatever the operator lets the figures count from.

    `errors` are failed statements by the server's error number. `response` are the latencies of each kind of
    transaction by its name, `service` those from the real start of all of them, empty in a closed loop.
    """

    completed: int = 0
    failed: int = 0
    abandoned: int = 0
    retries: int = 0
    reconnects: int = 0
    reads: int = 0
    writes: int = 0
    others: int = 0
    errors: dict[int, int] = {}
    response: dict[str, Histogram] = {}
    service: Histogram = msgspec.field(default_factory=Histogram)


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One moment. `sample` is the newest, None before the first; `events` are counted by their kind.

    `where` is the target in words, `started_at` the Unix time at which the session began.
    """

    version: str
    session: str
    plan: Plan
    where: str
    server: ServerInfo
    started_at: float
    status: Status
    totals: Totals
    sample: Sample | None
    events: dict[str, int]
