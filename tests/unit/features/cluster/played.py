"""Hosts in virtual time: real agents and real links, with a network and workers that a test plays.

A network can be slow, frozen or cut; a host's clock can be ahead of the session's.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast
from unittest import mock

import msgspec

from tests.unit.load.programs import SINGLE, program
from tests.virtual import VirtualClock
from tuibench.base.clock import NS_PER_SECOND
from tuibench.base.errors import RunError
from tuibench.features.cluster.agent import Agent
from tuibench.features.cluster.carrier import Carrier, Wire
from tuibench.features.cluster.fleet import Cluster, HostFleet
from tuibench.features.cluster.messages import MAGIC, PROTOCOL, AgentChannel, AgentHello, ToAgent
from tuibench.load.fleet import Forward, WorkerGoneError, WorkerLink, WorkerProcess
from tuibench.load.messages import (
    Adjust,
    Beat,
    Counters,
    FinishLoad,
    MessageChannel,
    RequestReport,
    StartLoad,
    WorkerReport,
)
from tuibench.model.cluster import ClusterPlan
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target
from tuibench.model.tick import Histogram

SERVER = Target(host="db.example", user="ann", password="secret")
PLAN = RunPlan(profile="test", threads=8, workers=1)
HELLO = AgentHello(protocol=PROTOCOL, version="1", python="3.11", name="machine", cores=2, descriptors=4096)


class ShiftedClock:
    """A clock of a host that is ahead of the session's."""

    def __init__(self, clock: VirtualClock, ahead_ns: int) -> None:
        self._clock = clock
        self._ahead_ns = ahead_ns

    def now_ns(self) -> int:
        return self._clock.now_ns() + self._ahead_ns

    def wall_seconds(self) -> float:
        return self._clock.wall_seconds() + self._ahead_ns / NS_PER_SECOND

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


class NoChannel:
    """The channel of a worker without a process: nothing ever arrives."""

    async def receive(self) -> None:
        await asyncio.Event().wait()


class PlayedWorker(WorkerLink[Any]):
    """A worker that does ten transactions for each connection and report. `told` is when it got what."""

    pid = 4711

    def __init__(self, forward: Forward) -> None:
        self.name = f"worker process {self.pid}"
        self.told: list[tuple[float, msgspec.Struct]] = []
        self.numbers: tuple[int, ...] = ()
        self.is_silent_now = False
        self.has_ended_at: float | None = None
        self.started: StartLoad | None = None
        self._done = 0
        super().__init__(cast(MessageChannel[Any], NoChannel()), forward)

    def send(self, message: msgspec.Struct) -> None:
        if not isinstance(message, Beat):
            self.told.append((asyncio.get_running_loop().time(), message))
        match message:
            case StartLoad():
                self.started = message
            case Adjust(connections=tuple() as numbers):
                self.numbers = numbers
            case RequestReport() | FinishLoad() if not self.is_silent_now:
                self._done += 10 * len(self.numbers)
                self.take_report(self._report())

    def times_of(self, wanted: msgspec.Struct) -> list[float]:
        return [at for at, message in self.told if message == wanted]

    def _report(self) -> WorkerReport:
        latencies = Histogram.of([100 + number for number in self.numbers for _ in range(10)])
        in_flight = len(self.numbers)
        return WorkerReport(
            worker=self.started.worker if self.started else 0,
            seconds=1.0,
            cpu_seconds=0.1,
            lag_p99_ms=0.1,
            connections=len(self.numbers),
            counters=Counters(scheduled=self._done + in_flight, completed=self._done, in_flight=in_flight),
            hists={"response": latencies},
        )

    def has_run(self) -> bool:
        return False

    def gone(self) -> WorkerGoneError:
        return WorkerGoneError(f"{self.name} ended")

    def on_message(self, message: Any) -> None:
        raise NotImplementedError

    async def end(self) -> None:
        if self.has_ended_at is None:
            self.has_ended_at = asyncio.get_running_loop().time()
        self._reading.cancel()


class PlayedWire(Wire):
    """A network between a session and an agent: bytes arrive after a delay, in order, unless it is frozen."""

    def __init__(self, host: "PlayedHost") -> None:
        self._host = host
        self._tasks: list[asyncio.Task[None]] = []
        self._agent: asyncio.Task[None]
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self) -> None:
        ours, near = socket.socketpair()
        far, theirs = socket.socketpair()
        self.reader, self.writer = await asyncio.open_unix_connection(sock=ours)
        near_ends, far_ends = [await asyncio.open_unix_connection(sock=each) for each in (near, far)]
        reader, writer = await asyncio.open_unix_connection(sock=theirs)
        self._writers = [self.writer, near_ends[1], far_ends[1], writer]
        for source, sink in ((near_ends[0], far_ends[1]), (far_ends[0], near_ends[1])):
            self._tasks.append(asyncio.create_task(self._carry(source, sink)))
        writer.write(self._host.greeting)
        self.channel: AgentChannel = MessageChannel(reader, writer, ToAgent)
        agent = Agent(self.channel, self._host.clock, lambda pids: None, self._host.hello)
        self._agent = asyncio.create_task(agent.run())

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 20):
            await asyncio.sleep(self._host.delay_seconds)
            await self._host.flows.wait()
            sink.write(data)
        sink.close()

    def cut(self) -> None:
        """Both ends see the end of the connection."""
        for writer in self._writers:
            writer.close()

    async def close(self) -> None:
        self.writer.close()
        await asyncio.sleep(self._host.delay_seconds)
        if self._host.flows.is_set():
            await self._agent
        for task in self._tasks:
            task.cancel()
        self.cut()

    def problem(self) -> str:
        return "Connection reset by peer"


class PlayedHost(Carrier):
    """A host. `workers` are all that its agents started; `opened` counts the connections to it."""

    def __init__(
        self, name: str, clock: VirtualClock, *, ahead_seconds: float = 0.0, delay: float = 0.001
    ) -> None:
        self.name = self.place = name
        self.clock = ShiftedClock(clock, round(ahead_seconds * NS_PER_SECOND))
        self.delay_seconds = delay
        self.hello = HELLO
        self.greeting = b"Welcome!\n" + MAGIC
        self.flows = asyncio.Event()
        self.flows.set()
        self.is_reachable = True
        self.opened = 0
        self.wire: PlayedWire
        self.workers: list[PlayedWorker] = []

    async def open(self) -> Wire:
        if not self.is_reachable:
            raise RunError(f"host {self.name} runs no agent")
        self.opened += 1
        self.wire = PlayedWire(self)
        await self.wire.connect()
        return self.wire

    def remedy(self, problem: str) -> str:
        return "look after it"

    @property
    def worker(self) -> PlayedWorker:
        """Its newest worker."""
        return self.workers[-1]


@asynccontextmanager
async def playing(
    clock: VirtualClock,
    hosts: list[PlayedHost],
    plan: RunPlan = PLAN,
    cluster: ClusterPlan | None = None,
    target: Target = SERVER,
) -> AsyncIterator[HostFleet]:
    """A load on these hosts that has begun."""
    order = cluster or ClusterPlan(places=tuple(host.name for host in hosts))

    async def start(forward: Forward) -> WorkerProcess:
        host = _host_of(forward, hosts)
        host.workers.append(PlayedWorker(forward))
        return cast(WorkerProcess, host.workers[-1])

    with mock.patch.object(WorkerProcess, "start", start):
        joined = await Cluster.connect(order, hosts, clock)
        fleet = HostFleet(plan, target, program(SINGLE), joined)
        try:
            await fleet.start()
            await fleet.set_threads(plan.threads)
            while sum(report.connections for report in await fleet.report()) < plan.threads:
                await clock.sleep(0.02)
            yield fleet
        finally:
            for host in hosts:
                host.flows.set()
            await fleet.kill()


def _host_of(forward: Forward, hosts: list[PlayedHost]) -> PlayedHost:
    """The host whose agent starts a worker that passes its work on like this."""
    channel = cast(Any, forward).__self__._emit.__self__
    return next(host for host in hosts if host.opened and host.wire.channel is channel)
