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
from tuibench.load.messages import ConnectionIds, MessageChannel, StartLoad, WorkerCommand
from tuibench.load.worker_report import Finished, Reassign, WorkerReport
from tuibench.load.workers.replacement import Loss
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target
from tuibench.model.tick import Tick

PROTOCOL = 1
MAGIC = b"\ntuibench agent speaks\n"
BEAT_SECONDS = 0.5


class AgentHello(msgspec.Struct, frozen=True, tag="agent hello", kw_only=True):
    """First message of an agent: the properties of the host.

    `descriptors` is the limit of open files of a process, `native` the version of the native engine, empty
    without it. `namespaces` identify machine, network and mounts: if they equal the session's, loopback
    addresses and sockets are shared.
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
    """The host is alive: the beat's clock, and both clocks of the host."""

    sent_ns: int
    now_ns: int
    wall_seconds: float


class StartHost(msgspec.Struct, frozen=True, tag="start host", kw_only=True):
    """Start a load: the first message for the host's workers, and the plan of the run."""

    begin: StartLoad
    plan: RunPlan


class CheckServer(msgspec.Struct, frozen=True, tag="check server"):
    """Log in to the server once, and disconnect."""

    target: Target


class ServerReached(msgspec.Struct, frozen=True, tag="server reached", kw_only=True):
    """Duration of the login, or the reason for its failure."""

    seconds: float
    problem: str = ""


Command = WorkerCommand | StartHost | CheckServer


class At(msgspec.Struct, frozen=True, tag="at"):
    """A command, with the instant of its effect by the host's clock."""

    at_ns: int
    command: Command


class HostReport(msgspec.Struct, frozen=True, tag="host report", kw_only=True):
    """The merged report of a host's workers, with the state of the host.

    The histograms of `report` are empty: they are in `latencies`, packed. `sample` is None if the host could
    not be sampled. `losses` are those of this round, `overdue` and `silent` the workers with an overdue
    report, `unresponsive` those that did not report the end of their load. `late_commands_ms` is the largest
    delay of a command since the last report. `ended_ns` is the end of the load by the host's clock, 0 before.
    """

    report: WorkerReport
    latencies: PackedLatencies
    workers: int
    sample: Tick | None = None
    losses: tuple[Loss, ...] = ()
    overdue: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    unresponsive: tuple[str, ...] = ()
    late_commands_ms: float = 0.0
    ended_ns: int = 0


class AgentFailed(msgspec.Struct, frozen=True, tag="agent failed", kw_only=True):
    """The error that ends the agent's load; its last message."""

    message: str
    hint: str = ""
    exit_code: int = 1


ToAgent = AcceptHost | Beat | At
FromAgent = (
    AgentHello | BeatReply | HostReport | ConnectionIds | Reassign | Finished | ServerReached | AgentFailed
)
AgentChannel = MessageChannel[ToAgent]
HostChannel = MessageChannel[FromAgent]
