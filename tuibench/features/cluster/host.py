"""A host of the load, seen from the session: its agent, clock, reports and loss; the discovery of hosts.

For its fleet, a `HostLink` is a worker: it gets connections and a share of rate and quota, and sends reports.

Clocks are compared by round trips, as in NTP. A reply contains the host's clock at some time between sending
and receiving, so the offset to the middle of the round trip is wrong by at most half the round trip. The
reading with the shortest round trip in a window of recent ones is used; the window follows the drift.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple, assert_never, cast

import msgspec
from msgspec.structs import replace

from tuibench.base.clock import NS_PER_MS, NS_PER_SECOND, Clock, wait_with_timeout
from tuibench.base.errors import RunError, TuibenchError, UsageError
from tuibench.base.units import pluralize
from tuibench.features.cluster.carrier import Carrier, Wire, carriers_of
from tuibench.features.cluster.messages import (
    PROTOCOL,
    AcceptHost,
    AgentHello,
    BeatReply,
    CheckServer,
    Command,
    FromAgent,
    HostChannel,
    HostReport,
    PackedHistogram,
    ServerReached,
    StartHost,
    TimedCommand,
    busy_share,
)
from tuibench.load.fleet import REPORT_SECONDS, Loss, WorkerGoneError, WorkerLink, loss_of
from tuibench.load.messages import (
    Beat,
    BrokenFrameError,
    ConnectionIds,
    Counters,
    Finished,
    MessageChannel,
    Reassign,
    ResetLoadStats,
    StartLoad,
    WorkerReport,
)
from tuibench.metrics.measurement_warnings import cpu_of_host
from tuibench.model.cluster import DASK_SCHEMES, ClusterPlan, HostState, LoadHost
from tuibench.model.findings import ErrorMessage
from tuibench.model.plan import RunPlan
from tuibench.model.server import LOOPBACK_HOSTS, Endpoint, Target
from tuibench.model.tick import HOST, US_PER_MS
from tuibench.mysql.connection import connect

WINDOW = 64
"""Maximum number of readings: half a minute of beats. Clocks drift apart by less than 100 µs per second."""

RECENT = 8


class ClockReading(NamedTuple):
    """The offsets of a host's clocks from one round trip; both are exact to ± half the round trip."""

    round_trip_ns: int
    offset_ns: int
    """Offset of the monotonic clock."""
    wall_offset_seconds: float
    """Offset of the wall clock."""


class ClockOffset:
    """The clock offset of one host, from its last readings."""

    def __init__(self) -> None:
        self._readings: deque[ClockReading] = deque(maxlen=WINDOW)

    def add(
        self,
        sent_ns: int,
        received_ns: int,
        host_ns: int,
        wall_seconds: float,
        host_wall_seconds: float,
    ) -> None:
        """Add a round trip; `wall_seconds` is the session's wall clock when the reply was received."""
        round_trip_ns = max(0, received_ns - sent_ns)
        middle_ns = sent_ns + round_trip_ns // 2
        wall_at_middle = wall_seconds - round_trip_ns / 2e9
        reading = ClockReading(round_trip_ns, host_ns - middle_ns, host_wall_seconds - wall_at_middle)
        self._readings.append(reading)

    @property
    def is_known(self) -> bool:
        return bool(self._readings)

    @property
    def best(self) -> ClockReading:
        """The reading with the shortest round trip. There must be at least one reading."""
        return min(self._readings, key=lambda reading: reading.round_trip_ns)

    @property
    def offset_ns(self) -> int:
        """Nanoseconds by which the host's monotonic clock is ahead of this host's; 0 if unknown."""
        return self.best.offset_ns if self._readings else 0

    @property
    def recent_round_trip_ns(self) -> int:
        """The median of the last round trips; 0 if there are none."""
        recent = list(self._readings)[-RECENT:]
        return int(median(reading.round_trip_ns for reading in recent)) if recent else 0


HELLO_SECONDS = 30.0
"""Timeout from the start of the carrier to the agent's first message."""

REPORT_POLL_SECONDS = 0.1
FIRST_READINGS = 8
"""Number of round trips before the load begins; the shortest one gives the clock offset."""

READING_SECONDS = 15.0
MIN_LEAD_NS, MAX_LEAD_NS = 10_000_000, 500_000_000


class CommandTiming:
    """Chooses the instant at which a command takes effect on all hosts: `lead_ns` after it is sent, so that
    it has arrived everywhere.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.lead_ns = MIN_LEAD_NS

    def follow(self, slowest_round_trip_ns: int) -> None:
        """Set the lead to twice the round trip of the slowest host, within limits."""
        self.lead_ns = min(max(2 * slowest_round_trip_ns, MIN_LEAD_NS), MAX_LEAD_NS)


class HostLink(WorkerLink[FromAgent]):
    """The link to one host; `label` is its name.

    `latest` is its last report, None before the first one. `losses` are the workers that have ended on it,
    and that the fleet has not processed yet. `quota` is the number of transactions that it may start, None
    for no limit.
    """

    def __init__(
        self,
        name: str,
        wire: Wire,
        channel: HostChannel,
        hello: AgentHello,
        carrier: Carrier,
        cluster: ClusterPlan,
        timing: CommandTiming,
    ) -> None:
        self.label = name
        self.name = f"host {name}"
        self.hello = hello
        self.carrier = carrier
        self.offset = ClockOffset()
        self.plan: RunPlan
        self.latest: HostReport | None = None
        self.losses: list[Loss] = []
        self._latencies: list[dict[str, PackedHistogram]] = []
        self.late_commands_ms = 0.0
        self.quota: int | None = None
        self.transactions_per_second = 0.0
        self._done_before = 0
        self._wire = wire
        self._cluster = cluster
        self._timing = timing
        self._clock = timing.clock
        self._last_message_ns = self._clock.now_ns()
        self._has_responded = False
        self._reached: asyncio.Queue[ServerReached] = asyncio.Queue()
        self._reading_taken = asyncio.Event()
        self._failure: ErrorMessage | None = None
        self._reason = ""
        super().__init__(channel)

    @classmethod
    async def connect(cls, carrier: Carrier, cluster: ClusterPlan, timing: CommandTiming) -> "HostLink":
        """Start an agent, and measure the clock offset.

        Raises RunError for a host that does not answer, UsageError for one with another protocol.
        """
        wire = await carrier.open()
        try:
            channel, hello = await _greeted(wire, carrier)
            if hello.protocol != PROTOCOL:
                raise UsageError(
                    f"host {carrier.name or hello.name} runs tuibench {hello.version}, which speaks protocol "
                    f"{hello.protocol}; this one speaks {PROTOCOL}",
                    "install the same version on all hosts",
                )
        except BaseException:
            await wire.close()
            raise
        channel.send(AcceptHost(lease_seconds=cluster.lease_seconds))
        host = cls(carrier.name or hello.name, wire, channel, hello, carrier, cluster, timing)
        try:
            await host.read_clock()
        except BaseException:
            await host.end()
            raise
        return host

    async def read_clock(self) -> None:
        """Measure `FIRST_READINGS` round trips, one after the other. Raises RunError without an answer."""
        for _ in range(FIRST_READINGS):
            self._reading_taken.clear()
            self.beat()
            try:
                await wait_with_timeout(self._reading_taken.wait(), READING_SECONDS)
            except TimeoutError:
                raise self.gone() from None

    def beat(self) -> None:
        """Renew the host's lease."""
        self.channel.send(Beat(self._clock.now_ns()))

    @property
    def silent_seconds(self) -> float:
        """Seconds since the host's last message."""
        return (self._clock.now_ns() - self._last_message_ns) / NS_PER_SECOND

    @property
    def is_unresponsive(self) -> bool:
        """True if replies to beats are missing; its reports are then not waited for."""
        return self.silent_seconds > self._cluster.lease_seconds / 2

    def give_up(self) -> None:
        """Record the loss of the host after lease and grace have expired, so that its load has ended."""
        self._reason = f"no message from it for {self.silent_seconds:.1f} s"
        self.no_more_reports()

    def send(self, message: msgspec.Struct) -> None:
        """Queue a command, with the instant at which it takes effect by the host's clock."""
        at_ns = self._timing.clock.now_ns() + self._timing.lead_ns + self.offset.offset_ns
        match message:
            case StartLoad():
                self.quota = message.limit
                begin = replace(message, lease_seconds=self._cluster.lease_seconds)
                self.channel.send(TimedCommand(at_ns, StartHost(begin=begin, plan=self.plan)))
            case ResetLoadStats(limit=limit):
                self.quota = limit
                self.channel.send(TimedCommand(at_ns, message))
            case Reassign(due_ns=due_ns, quota=quota):
                self.quota = None if self.quota is None else self.quota + quota + len(due_ns)
                shifted = tuple(due + self.offset.offset_ns for due in due_ns)
                self.channel.send(TimedCommand(at_ns, replace(message, due_ns=shifted)))
            case _:
                self.channel.send(TimedCommand(at_ns, cast(Command, message)))

    async def try_server(self, target: Target, seconds: float) -> ServerReached:
        """Have the host log in to the server. Raises WorkerGoneError if it does not answer in time."""
        self.channel.send(TimedCommand(0, CheckServer(target)))
        try:
            return await wait_with_timeout(self._reached.get(), seconds)
        except TimeoutError:
            raise self.gone() from None

    async def awaited_report(self) -> WorkerReport:
        report = asyncio.create_task(self.report())
        deadline_ns = self._clock.now_ns() + round((1 + REPORT_SECONDS) * NS_PER_SECOND)
        try:
            while not (await asyncio.wait({report}, timeout=REPORT_POLL_SECONDS))[0]:
                if self.is_unresponsive or self._clock.now_ns() > deadline_ns:
                    raise TimeoutError
            return report.result()
        finally:
            report.cancel()

    def take_latencies(self) -> list[dict[str, PackedHistogram]]:
        """Return and remove the histograms of its reports since the last call."""
        taken, self._latencies = self._latencies, []
        return taken

    @property
    def ended_ns(self) -> int | None:
        """The end of its load by this host's clock; None before it has ended."""
        if self.latest is None or not self.latest.ended_ns:
            return None
        return self.latest.ended_ns - self.offset.offset_ns

    def has_run(self) -> bool:
        """True if the host has responded since the last call."""
        has_responded, self._has_responded = self._has_responded, False
        return has_responded

    def gone(self) -> WorkerGoneError:
        failure = self._failure
        if failure is not None:
            error = WorkerGoneError(f"{self.name}: {failure.message}", failure.hint)
            error.exit_code = type(error.exit_code)(failure.exit_code)
            return error
        reason = self._reason or self._wire.problem() or "its connection was closed"
        return WorkerGoneError(f"{self.name} was lost: {reason}", self.carrier.remedy(reason))

    async def end(self) -> None:
        """Close the carrier; the agent then ends its load."""
        self._reading.cancel()
        await self._wire.close()

    def on_message(self, message: FromAgent) -> None:
        self._last_message_ns = self._clock.now_ns()
        self._has_responded = True
        match message:
            case BeatReply():
                clock = self._clock
                self.offset.add(
                    message.sent_ns,
                    clock.now_ns(),
                    message.now_ns,
                    clock.wall_seconds(),
                    message.wall_seconds,
                )
                self._reading_taken.set()
            case HostReport():
                counters: Counters = message.report.counters
                done = counters.completed - self._done_before
                self.transactions_per_second = (
                    done / message.report.seconds if message.report.seconds else 0.0
                )
                self._done_before = counters.completed
                self.latest = message
                self.losses += message.losses
                self._latencies.append(message.latencies)
                self.late_commands_ms = max(self.late_commands_ms, message.late_commands_ms)
                gaps = message.report.gaps.shifted(-self.offset.offset_ns)
                self.take_report(replace(message.report, gaps=gaps))
            case ConnectionIds(ids=ids):
                self.take_connection_ids(ids)
            case Reassign(due_ns=due_ns, quota=quota):
                self.quota = None if self.quota is None else self.quota - quota - len(due_ns)
                here = tuple(due - self.offset.offset_ns for due in due_ns)
                self.take_work(replace(message, due_ns=here))
            case Finished(grants=grants):
                self.take_finish(grants)
            case ServerReached():
                self._reached.put_nowait(message)
            case ErrorMessage():
                self._failure = message
                self.no_more_reports()
            case AgentHello():
                self._reason = "it restarted"
                self.no_more_reports()
            case _:
                assert_never(message)

    async def _read(self) -> None:
        try:
            await super()._read()
        except BrokenFrameError as error:
            self._reason = f"it sent an invalid message ({error})"


async def _greeted(wire: Wire, carrier: Carrier) -> tuple[HostChannel, AgentHello]:
    """The channel to the agent, and its first message."""
    try:
        await wait_with_timeout(wire.greet(), HELLO_SECONDS)
        channel: HostChannel = MessageChannel(wire.reader, wire.writer, FromAgent)
        hello = await wait_with_timeout(channel.receive(), HELLO_SECONDS)
    except (EOFError, BrokenFrameError, TimeoutError) as error:
        is_late = isinstance(error, TimeoutError)
        await wire.close()
        problem = wire.problem() or (
            f"no answer for {HELLO_SECONDS:g} s" if is_late else "it closed the connection"
        )
        raise RunError(f"{_where(carrier)} runs no agent: {problem}", carrier.remedy(problem)) from error
    if not isinstance(hello, AgentHello):
        raise RunError(f"{_where(carrier)} runs no agent: it closed the connection", carrier.remedy(""))
    return channel, hello


def _where(carrier: Carrier) -> str:
    return f"host {carrier.name}" if carrier.name else f"the other end of '{carrier.place}'"


MS_PER_SECOND = 1000.0


class LostHost(NamedTuple):
    """A lost host and the time of its loss."""

    host: HostLink
    at_ns: int

    @property
    def line(self) -> LoadHost:
        return LoadHost(name=self.host.label, state=HostState.LOST, cores=self.host.hello.cores)


class HostLoss(Loss, frozen=True, kw_only=True):
    """The loss of a host."""

    seconds: float
    """The time until the other hosts take over its connections."""

    @classmethod
    def of(
        cls,
        host: HostLink,
        error: WorkerGoneError,
        known: WorkerReport | None,
        connections: int,
        seconds: float,
    ) -> "HostLoss":
        """The loss of a host with this number of connections, whose last report is `known`."""
        abandoned = loss_of(host.name, known, error).abandoned if known is not None else 0
        return cls(
            name=host.name,
            connections=connections,
            abandoned=abandoned,
            reason=error.message,
            seconds=seconds,
        )

    @property
    def is_host(self) -> bool:
        return True

    @property
    def event(self) -> str:
        return (
            f"{self.reason}; its load ends within {self.seconds:g} s, then the other hosts open "
            f"{pluralize(self.connections, 'connection')} for it; "
            f"{pluralize(self.abandoned, 'transaction')} in flight and its work since its last report "
            "are not counted"
        )

    @property
    def warning(self) -> str:
        return f"incomplete: {self.reason}; its work after its last report is not counted"


def host_line(host: HostLink) -> LoadHost:
    """The current state of a host, with the figures of its last report."""
    best, latest = host.offset.best, None if host.is_unresponsive else host.latest
    tick = None if latest is None else latest.sample
    usage = LoadHost(name=host.label) if tick is None else cpu_of_host(host.label, tick.moved("", HOST))
    line = replace(
        usage,
        state=HostState.SILENT if host.is_unresponsive else HostState.RUNNING,
        cores=host.hello.cores,
        clock_offset_ms=best.wall_offset_seconds * MS_PER_SECOND,
        clock_error_ms=best.round_trip_ns / 2 / NS_PER_MS,
        round_trip_ms=host.offset.recent_round_trip_ns / NS_PER_MS,
    )
    if latest is None:
        return line
    report, p95_us = latest.report, latest.p95_us
    return replace(
        line,
        connections=report.connections,
        transactions_per_second=host.transactions_per_second,
        p95_ms=None if p95_us is None else p95_us / US_PER_MS,
        workers=latest.workers,
        worker_cpu=busy_share(report),
        lag_p99_ms=report.lag_p99_ms,
    )


def check_files(target: Target) -> None:
    """Raises UsageError for a certificate or key that is not on this host."""
    files = {"--ssl-ca": target.ssl_ca, "--ssl-cert": target.ssl_cert, "--ssl-key": target.ssl_key}
    for option, path in files.items():
        if path and not Path(path).is_file():
            raise UsageError(f"{option}: there is no file {path}", "copy it to the same path on every host")


def local_endpoint(target: Target) -> str:
    """The first local address of the target, which means another server on each host; empty if none is."""
    own = Endpoint(host=target.host, port=target.port, socket=target.socket)
    for each in (own, *target.further, *target.failover):
        if each.socket:
            return f"socket {each.socket}"
        if each.host in LOOPBACK_HOSTS or each.host.startswith("127."):
            return f"{each.host}:{each.port}"
    return ""


async def try_login(target: Target, clock: Clock) -> ServerReached:
    """Log in to the server and disconnect; returns the duration, or the reason for a failure."""
    began_ns = clock.now_ns()
    try:
        check_files(target)
        connection = await connect(target)
    except TuibenchError as error:
        return ServerReached(seconds=(clock.now_ns() - began_ns) / NS_PER_SECOND, problem=error.message)
    seconds = (clock.now_ns() - began_ns) / NS_PER_SECOND
    await connection.close()
    return ServerReached(seconds=seconds)


ENOUGH_SECONDS = 30.0
"""Maximum wait until a scheduler has the requested number of workers."""

POLL_SECONDS = 0.5
Discover = Callable[[], Awaitable[list[Carrier]]]
"""Returns the carriers of the hosts that are available now."""


async def find_carriers(plan: ClusterPlan, clock: Clock) -> tuple[list[Carrier], Discover | None]:
    """The carriers of a plan, and a function that discovers later ones, None without a scheduler.

    There may be more carriers than `plan.hosts`, to replace workers that do not answer. Raises RunError if a
    scheduler does not answer or has too few workers, UsageError for an address that is refused.
    """
    commands = carriers_of(plan)
    places = [place for place in plan.places if place.startswith(DASK_SCHEMES)]
    if not places:
        return commands, None
    from tuibench.features.cluster.carrier import DaskScheduler

    schedulers = [DaskScheduler(place, plan) for place in places]

    async def discover() -> list[Carrier]:
        workers = [carrier for scheduler in schedulers for carrier in await scheduler.carriers()]
        return [*commands, *workers]

    deadline_ns = clock.now_ns() + round(ENOUGH_SECONDS * 1e9)
    while len(found := await discover()) - len(commands) < (plan.hosts or 1):
        if clock.now_ns() > deadline_ns:
            where = ", ".join(scheduler.address for scheduler in schedulers)
            raise RunError(
                f"{where} has {pluralize(len(found) - len(commands), 'worker')} after {ENOUGH_SECONDS:g} s, "
                f"{plan.hosts or 1} are wanted",
                "start more Dask workers, or ask for fewer with --cluster-hosts",
            )
        await clock.sleep(POLL_SECONDS)
    return found, discover
