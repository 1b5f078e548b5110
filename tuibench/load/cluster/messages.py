"""Messages between a session and the agent of a host, beside those of workers: theory of operation.

    agent    MAGIC AgentHello ···········  BeatReply ···  HostReport ···  AgentFailed
    session        AcceptHost StartHost    Beat ···       At(instant, RequestReport) ···

The carrier is a stream of bytes in both directions: the stdin and stdout of a command such as ssh, or a
stream from a Dask worker. What comes before MAGIC is a greeting of the login shell, and skipped.

Beats have a task of their own on both sides: they renew the lease, and each is a reading of the host's clocks
(the offset of the one with the shortest round trip holds). Every command carries the instant at which it
takes effect, in the clock of the host that gets it, so that all hosts switch together; commands keep their
order. A command that arrives after its instant takes effect at once, and the host reports how late it was.

Only AgentHello and its field `protocol` are the same in every version. A change to any other message that an
older agent would misread increases PROTOCOL.
"""

import msgspec

from tuibench.load.cluster.packing import PackedLatencies
from tuibench.load.messages import (
    ApplyDelay,
    ApplyExtraConnections,
    ApplyRate,
    ApplySessionSql,
    ApplyUsers,
    ApplyWeights,
    AssignConnections,
    ConnectionIds,
    ExpectKill,
    FinishLoad,
    MessageChannel,
    PauseLoad,
    RequestConnectionIds,
    RequestReport,
    ResetLoadStats,
    ResumeLoad,
    StartLoad,
)
from tuibench.load.worker_report import Finished, Reassign, WorkerReport
from tuibench.load.workers.replacement import Loss
from tuibench.model.measurements.sample import HostSample
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target

PROTOCOL = 1
MAGIC = b"\ntuibench agent speaks\n"
BEAT_SECONDS = 0.5


class AgentHello(msgspec.Struct, frozen=True, tag="agent hello", kw_only=True):
    """First message of an agent: what the host is.

    `descriptors` is the most open files that a process may have, `native` the version of the native engine,
    empty without it. `namespaces` identify machine, network and mounts: where they equal the session's,
    loopback addresses and sockets are the same ones.
    """

    protocol: int
    version: str = ""
    python: str = ""
    name: str = ""
    cores: int = 1
    descriptors: int = 0
    native: str = ""
    namespaces: tuple[str, ...] = ()


class AcceptHost(msgspec.Struct, frozen=True, tag="accept", kw_only=True):
    """The session takes this host; its load ends `lease_seconds` after the last beat."""

    lease_seconds: float


class Beat(msgspec.Struct, frozen=True, tag="beat"):
    """The session is alive; `sent_ns` is its clock."""

    sent_ns: int


class BeatReply(msgspec.Struct, frozen=True, tag="beat reply"):
    """The host is alive; the clock that the beat came with, and both clocks of the host."""

    sent_ns: int
    now_ns: int
    wall_seconds: float


class StartHost(msgspec.Struct, frozen=True, tag="start host", kw_only=True):
    """Begin a load: a worker's first message, which the host's workers share, and the plan it is from."""

    begin: StartLoad
    plan: RunPlan


class CheckServer(msgspec.Struct, frozen=True, tag="check server"):
    """Log in to the server once, and leave."""

    target: Target


class ServerReached(msgspec.Struct, frozen=True, tag="server reached", kw_only=True):
    """How long the login took, or why it failed."""

    seconds: float
    problem: str = ""


LoadCommand = (
    AssignConnections
    | ApplyRate
    | ApplyWeights
    | ApplyUsers
    | ApplyExtraConnections
    | ApplyDelay
    | ApplySessionSql
    | ResetLoadStats
    | Reassign
    | PauseLoad
    | ResumeLoad
    | RequestReport
    | RequestConnectionIds
    | ExpectKill
    | FinishLoad
)
Command = LoadCommand | StartHost | CheckServer


class At(msgspec.Struct, frozen=True, tag="at"):
    """A command, and the instant at which it takes effect by the host's clock."""

    at_ns: int
    command: Command


class HostReport(msgspec.Struct, frozen=True, tag="host report", kw_only=True):
    """The report of a host's workers as one, and what the host did meanwhile.

    The histograms of `report` are empty: they are in `latencies`, packed.
    `sample` is None where the host could not be sampled. `losses` are those of this round, `overdue` and
    `silent` the workers that owe a report, `unresponsive` those that did not report the end of their load.
    `late_commands_ms` is how late the latest command since the last report took effect. `ended_ns` is when
    the load had ended by the host's clock, 0 before its end.
    """

    report: WorkerReport
    latencies: PackedLatencies
    workers: int
    sample: HostSample | None = None
    losses: tuple[Loss, ...] = ()
    overdue: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    unresponsive: tuple[str, ...] = ()
    late_commands_ms: float = 0.0
    ended_ns: int = 0


class AgentFailed(msgspec.Struct, frozen=True, tag="agent failed", kw_only=True):
    """Why the agent ends its load; its last message."""

    message: str
    hint: str = ""
    exit_code: int = 1


ToAgent = AcceptHost | Beat | At
FromAgent = (
    AgentHello | BeatReply | HostReport | ConnectionIds | Reassign | Finished | ServerReached | AgentFailed
)
AgentChannel = MessageChannel[ToAgent]
HostChannel = MessageChannel[FromAgent]
