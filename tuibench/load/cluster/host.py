"""Session's handle of a host: its agent, its clocks, whether it responds, its reports.

For a fleet it is what a worker process is: it gets connections, a share of rate and quota, and reports.
"""

import asyncio
from typing import assert_never, cast

import msgspec
from msgspec.structs import replace

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.deadline import wait_with_timeout
from tuibench.errors import RunError, UsageError
from tuibench.load.cluster.carrier import Carrier, Wire
from tuibench.load.cluster.clock_offset import ClockOffset
from tuibench.load.cluster.messages import (
    PROTOCOL,
    AcceptHost,
    AgentFailed,
    AgentHello,
    At,
    Beat,
    BeatReply,
    CheckServer,
    Command,
    FromAgent,
    HostChannel,
    HostReport,
    ServerReached,
    StartHost,
)
from tuibench.load.cluster.packing import PackedLatencies
from tuibench.load.messages import (
    BrokenFrameError,
    ConnectionIds,
    MessageChannel,
    ResetLoadStats,
    StartLoad,
)
from tuibench.load.worker_report import Counters, Finished, Reassign, WorkerReport
from tuibench.load.workers.link import REPORT_SECONDS, WorkerGoneError, WorkerLink
from tuibench.load.workers.replacement import Loss
from tuibench.model.cluster.plan import ClusterPlan
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target

HELLO_SECONDS = 30.0
"""Seconds from the start of the carrier to the agent's first message."""

REPORT_POLL_SECONDS = 0.1
FIRST_READINGS = 8
"""Number of round trips before the load begins; the shortest one gives the clock offset."""

READING_SECONDS = 15.0
MIN_LEAD_NS, MAX_LEAD_NS = 10_000_000, 500_000_000


class CommandTiming:
    """The instant at which commands take effect, the same on all hosts: late enough to arrive everywhere
    before.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.lead_ns = MIN_LEAD_NS

    def follow(self, slowest_round_trip_ns: int) -> None:
        """Sets the lead to twice the round trip of the slowest host, within limits."""
        self.lead_ns = min(max(2 * slowest_round_trip_ns, MIN_LEAD_NS), MAX_LEAD_NS)

    def instant_ns(self) -> int:
        """The instant at which a command sent now takes effect."""
        return self.clock.now_ns() + self.lead_ns


class HostLink(WorkerLink[FromAgent]):
    """One host; `label` is its name.

    `latest` is its last report, None before the first; `losses` are workers that ended on it and that its
    fleet has not yet processed; `quota` is the number of transactions that it may start, None without a
    limit.
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
        self._latencies: list[PackedLatencies] = []
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
        self._failure: AgentFailed | None = None
        self._reason = ""
        super().__init__(channel)

    @classmethod
    async def connect(cls, carrier: Carrier, cluster: ClusterPlan, timing: CommandTiming) -> "HostLink":
        """Starts an agent and measures the clock offset.

        Raises RunError for a host that does not answer, UsageError for one with another protocol.
        """
        wire = await carrier.open()
        try:
            channel, hello = await _greeted(wire, carrier)
            _check_protocol(carrier.name or hello.name, hello)
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
        """Measures some round trips sequentially. Raises RunError if the host stops answering."""
        for _ in range(FIRST_READINGS):
            self._reading_taken.clear()
            self.beat()
            try:
                await wait_with_timeout(self._reading_taken.wait(), READING_SECONDS)
            except TimeoutError:
                raise self.gone() from None

    def beat(self) -> None:
        """Renews the host's lease."""
        self.channel.send(Beat(self._clock.now_ns()))

    @property
    def silent_seconds(self) -> float:
        """Seconds since the host's last message."""
        return (self._clock.now_ns() - self._last_message_ns) / NS_PER_SECOND

    @property
    def is_unresponsive(self) -> bool:
        """Whether beats are missing; then reports are not waited for."""
        return self.silent_seconds > self._cluster.lease_seconds / 2

    def give_up(self) -> None:
        """Records the loss of the host: lease and grace have expired, so its load has ended in any case."""
        self._reason = f"no message from it for {self.silent_seconds:.1f} s"
        self.no_more_reports()

    def send(self, message: msgspec.Struct) -> None:
        """Queues a command, with the instant at which it takes effect by the host's clock."""
        at_ns = self._timing.instant_ns() + self.offset.offset_ns
        match message:
            case StartLoad():
                self.quota = message.limit
                begin = replace(message, lease_seconds=self._cluster.lease_seconds)
                self.channel.send(At(at_ns, StartHost(begin=begin, plan=self.plan)))
            case ResetLoadStats(limit=limit):
                self.quota = limit
                self.channel.send(At(at_ns, message))
            case Reassign(due_ns=due_ns, quota=quota):
                self.quota = None if self.quota is None else self.quota + quota + len(due_ns)
                shifted = tuple(due + self.offset.offset_ns for due in due_ns)
                self.channel.send(At(at_ns, replace(message, due_ns=shifted)))
            case _:
                self.channel.send(At(at_ns, cast(Command, message)))

    async def try_server(self, target: Target, seconds: float) -> ServerReached:
        """Makes the host log in to the server. Raises WorkerGoneError if it does not answer."""
        self.channel.send(At(0, CheckServer(target)))
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

    def take_latencies(self) -> list[PackedLatencies]:
        """The histograms of its reports since the last call."""
        taken, self._latencies = self._latencies, []
        return taken

    @property
    def ended_ns(self) -> int | None:
        """The end of its load by this host's clock; None before."""
        if self.latest is None or not self.latest.ended_ns:
            return None
        return self.latest.ended_ns - self.offset.offset_ns

    def has_run(self) -> bool:
        """Whether it has responded since the last call."""
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
        """Closes the carrier; the agent ends its load if it runs one."""
        self._reading.cancel()
        await self._wire.close()

    def on_message(self, message: FromAgent) -> None:
        self._last_message_ns = self._clock.now_ns()
        self._has_responded = True
        match message:
            case BeatReply():
                self._take_reading(message)
            case HostReport():
                self._take_host_report(message)
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
            case AgentFailed():
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

    def _take_reading(self, reply: BeatReply) -> None:
        clock = self._clock
        self.offset.add(reply.sent_ns, clock.now_ns(), reply.now_ns, clock.wall_seconds(), reply.wall_seconds)
        self._reading_taken.set()

    def _take_host_report(self, message: HostReport) -> None:
        counters: Counters = message.report.counters
        done = counters.completed - self._done_before
        self.transactions_per_second = done / message.report.seconds if message.report.seconds else 0.0
        self._done_before = counters.completed
        self.latest = message
        self.losses += message.losses
        self._latencies.append(message.latencies)
        self.late_commands_ms = max(self.late_commands_ms, message.late_commands_ms)
        gaps = message.report.gaps.shifted(-self.offset.offset_ns)
        self.take_report(replace(message.report, gaps=gaps))


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


def _check_protocol(name: str, hello: AgentHello) -> None:
    """Raises UsageError for an agent with another protocol."""
    if hello.protocol == PROTOCOL:
        return
    raise UsageError(
        f"host {name} runs tuibench {hello.version}, which speaks protocol {hello.protocol}; "
        f"this one speaks {PROTOCOL}",
        "install the same version on all hosts",
    )
