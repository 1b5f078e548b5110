"""The agent: runs the load of its host for a session on another host.

    agent = Agent(channel, clock, sample_host, hello)
    await agent.run()                 until the session closes the channel, or the lease expires

The agent answers beats immediately, and executes commands one after the other, each at its instant.
`HostLoad` executes them on local workers (`AgentFleet`). It reports in a separate task, because a silent
worker would delay the commands. When the agent ends, for whatever reason, its workers end, too. Its channel
is `stdio_channel`, over stdin and stdout.
"""

import asyncio
import contextlib
import os
import platform
import resource
import socket
import stat
import sys
from collections.abc import Callable, Collection, Coroutine
from pathlib import Path
from typing import Any, assert_never

from msgspec.structs import asdict, replace

from tuibench.base.clock import NS_PER_MS, NS_PER_SECOND, Clock, wait_with_timeout
from tuibench.base.errors import TuibenchError, UsageError
from tuibench.base.installation import native_module
from tuibench.features.cluster.host import check_files, try_login
from tuibench.features.cluster.messages import (
    MAGIC,
    PROTOCOL,
    AcceptHost,
    AgentChannel,
    AgentHello,
    BeatReply,
    CheckServer,
    Command,
    HostReport,
    ReportMerger,
    StartHost,
    TimedCommand,
    ToAgent,
    pack,
)
from tuibench.load import messages
from tuibench.load.fleet import Fleet, Forward, worker_count
from tuibench.load.messages import (
    Adjust,
    Beat,
    Finished,
    Lease,
    MessageChannel,
    Reassign,
    StartLoad,
    WorkerReport,
)
from tuibench.model.callers import CallerPolicy
from tuibench.model.findings import ErrorMessage
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target
from tuibench.model.tick import RESPONSE, Tick
from tuibench.mysql.login import first_logins

SLOTS = 1 << 20
"""Worker numbers reserved per host. A worker's number selects its stream of random arrivals, and its phase of
evenly spaced arrivals.
"""


def _plan_of_host(plan: RunPlan, begin: StartLoad) -> RunPlan:
    """A plan reduced to what is constant during a load; the session sends the rest by commands."""
    threads = -(-plan.threads // begin.workers)
    return replace(
        plan,
        threads=threads,
        events=begin.limit,
        rate=0.0,
        client_delay_ms=0.0,
        **asdict(CallerPolicy()),
        warmup_seconds=0.0,
        users=0,
        idle_connections=0,
        connect_rate=0.0,
    )


class AgentFleet(Fleet):
    """The workers of a host. `emit` is called with work for which the host has no connection."""

    def __init__(self, begin: StartLoad, plan: RunPlan, emit: Forward) -> None:
        most = worker_count(
            _plan_of_host(plan, begin), is_beside_server=begin.target.is_local, is_native=begin.is_native
        )
        super().__init__(
            _plan_of_host(plan, begin),
            begin.target,
            begin.program,
            most,
            charset=begin.charset,
            is_native=begin.is_native,
        )
        self._first = begin
        first_logins().learn(begin.first_logins)
        self._emit = emit
        self._has_begun = begin.has_begun

    async def set_connections(self, numbers: Collection[int]) -> None:
        """Run the connections with these numbers; with a transaction limit no worker is added."""
        if self._plan.events is None:
            await self._grow(len(numbers))
        if not self._is_over:
            self._send_spread(self._assignment.assign(numbers, len(self._workers)))

    def reset_with(self, limit: int | None) -> None:
        """End the warm-up; from now on the host may start `limit` transactions, None for no limit."""
        self._plan = replace(self._plan, events=limit)
        self.reset_stats()

    def set_users(self, users: int) -> None:
        """Set the host's share of the users that share connections."""
        self._plan = replace(self._plan, users=users)
        self._pace_again()
        if not users:
            self._broadcast(Adjust(users=0))

    def set_extra_connections(self, idle: int, logins_per_second: float) -> None:
        """Set the host's share of the idle connections and of the extra logins."""
        self._plan = replace(self._plan, idle_connections=idle, connect_rate=logins_per_second)
        self._pace_again()
        if not idle and not logins_per_second:
            self._broadcast(Adjust(idle=0, logins_per_second=0.0))

    def take_over(self, work: Reassign) -> None:
        """Take over the work of a host without connections."""
        self._workers[self._assignment.busiest].grant_quota(work)

    def pass_on(self, beat: Beat) -> None:
        """Renew the leases of the workers."""
        self._broadcast(beat)

    def forward(self, work: Reassign) -> None:
        if self._assignment.total:
            super().forward(work)
        elif not self._is_over:
            self._emit(work)

    def worker_number(self, index: int) -> int:
        """The number of a worker: the first workers are spread over the host's slots, replacements in
        between.
        """
        place = index * SLOTS // self._most if index < self._most else 1 + index
        return self._first.worker * SLOTS + place

    def begin(self, number: int, limits: list[int | None]) -> StartLoad:
        hosts = max(self._first.workers, self._first.worker + 1)
        return replace(
            super().begin(number, limits),
            workers=hosts * SLOTS,
            lease_seconds=self._first.lease_seconds,
            is_replacement=self._first.is_replacement,
        )


P95 = (95.0,)
SILENCE_POLL_SECONDS = 0.05
"""Interval between two requests for reports while no worker reports."""


class HostLoad:
    """One load on one host."""

    def __init__(
        self,
        start: StartHost,
        channel: AgentChannel,
        clock: Clock,
        sample_host: Callable[[list[int]], Tick | None],
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._sample_host = sample_host
        self._fleet = AgentFleet(start.begin, start.plan, channel.send)
        self._merger = ReportMerger(start.begin.worker, clock.now_ns())
        self._late_ms = 0.0
        self._grants = 1
        self._known_losses = 0
        self._reporting: asyncio.Task[None] | None = None
        self._finishing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the workers. Raises RunError if they do not start."""
        await self._fleet.start()
        self._watch_finish()

    def pass_on(self, beat: Beat) -> None:
        self._fleet.pass_on(beat)

    async def kill(self) -> None:
        for task in (self._reporting, self._finishing):
            if task is not None:
                task.cancel()
        await self._fleet.kill()

    async def execute(self, command: messages.WorkerCommand, late_ms: float) -> None:
        """Execute a command, `late_ms` after its instant."""
        fleet, self._late_ms = self._fleet, max(self._late_ms, late_ms)
        match command:
            case messages.Adjust():
                if command.connections is not None:
                    await fleet.set_connections(command.connections)
                messages.adjust(fleet, command)
            case messages.ResetLoadStats(limit=limit):
                fleet.reset_with(limit)
                self._quota_granted()
            case Reassign():
                fleet.take_over(command)
                self._quota_granted()
            case messages.RequestReport(checkpoint=checkpoint):
                self._reporting = asyncio.create_task(self._report(checkpoint), name="report")
                await asyncio.sleep(0)
            case messages.RequestConnectionIds():
                self._channel.send(messages.ConnectionIds(tuple(sorted(await fleet.connection_ids()))))
            case messages.ExpectKill(connection_id=id):
                await fleet.expect_kill(id)
            case messages.FinishLoad(grace_seconds=grace):
                await self._finish(grace)
            case _:
                assert_never(command)

    async def _report(self, checkpoint: bool) -> None:
        """Send a report after at least one worker has reported; if a worker cannot be replaced, send the
        error.
        """
        try:
            while not (reports := await self._fleet.report(checkpoint=checkpoint)):
                await self._clock.sleep(SILENCE_POLL_SECONDS)
        except TuibenchError as error:
            self._channel.send(ErrorMessage.of(error))
            return
        self._send(reports)

    def _send(
        self, reports: list[WorkerReport], unresponsive: tuple[str, ...] = (), ended_ns: int = 0
    ) -> None:
        fleet = self._fleet
        new, self._known_losses = fleet.losses[self._known_losses :], len(fleet.losses)
        merged = self._merger.merge(reports, self._clock.now_ns())
        response = merged.hist(RESPONSE)
        report = HostReport(
            report=replace(merged, hists={}),
            latencies={name: pack(each) for name, each in merged.hists.items()},
            p95_us=response.percentiles(P95)[0] if response.count else None,
            workers=len(fleet),
            sample=self._sample_host(fleet.pids),
            losses=tuple(new),
            overdue=fleet.overdue,
            silent=fleet.silent,
            unresponsive=unresponsive,
            late_commands_ms=self._late_ms,
            ended_ns=ended_ns,
        )
        self._late_ms = 0.0
        self._channel.send(report)

    async def _finish(self, grace_seconds: float) -> None:
        """End the load; send the pending report, if any, and the last one."""
        pending, self._reporting = self._reporting, None
        if is_owed := pending is not None and not pending.done():
            pending.cancel()
        reports = await self._fleet.finish(grace_seconds)
        ended_ns = self._clock.now_ns()
        if is_owed:
            self._send([])
        self._send(reports, self._fleet.unresponsive, ended_ns)
        await self._fleet.kill()

    def _quota_granted(self) -> None:
        self._grants += 1
        self._watch_finish()

    def _watch_finish(self) -> None:
        """Notify the session when the workers have used all quotas granted so far."""
        if self._finishing is not None:
            self._finishing.cancel()
        self._finishing = asyncio.create_task(self._report_finish(self._grants), name="finish")

    async def _report_finish(self, grants: int) -> None:
        await self._fleet.finished()
        self._channel.send(Finished(grants))


def agent_hello(version: str) -> AgentHello:
    """The agent's hello with the properties of this host."""
    native = native_module()
    return AgentHello(
        protocol=PROTOCOL,
        version=version,
        python=platform.python_version(),
        name=socket.gethostname(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        descriptors=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        native=str(getattr(native, "__version__", "") or "installed") if native is not None else "",
        namespaces=namespaces(),
    )


def namespaces() -> tuple[str, ...]:
    """The boot id of the machine, and the ids of the network and mount namespaces; empty if unavailable.

    Containers on one machine have the same boot id, but share neither loopback addresses nor sockets.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return (boot, *(os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "mnt")))
    except OSError:
        return ()


def is_same_machine(host: AgentHello) -> bool:
    """True if the host shares loopback addresses and sockets with this one."""
    here = namespaces()
    return bool(here) and here == host.namespaces


ACCEPT_SECONDS = 60.0
"""Seconds that the agent waits for the session's first message."""

CLOSE_SECONDS = 1.0
POLL_SECONDS = 0.25
"""How often the agent checks its lease."""


class LeaseOverError(TuibenchError):
    """The session has been silent for longer than the lease."""


class Agent:
    """Runs one host's part of a load. `sample_host` samples the host; it is called with the ids of tuibench's
    processes.
    """

    def __init__(
        self,
        channel: AgentChannel,
        clock: Clock,
        sample_host: Callable[[list[int]], Tick | None],
        hello: AgentHello,
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._sample_host = sample_host
        self._hello = hello
        self._lease = Lease(ACCEPT_SECONDS, clock.now_ns())
        self._commands: asyncio.Queue[TimedCommand] = asyncio.Queue()
        self._load: HostLoad | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve one session until it closes the channel. Raises LeaseOverError if the lease expires."""
        self._channel.send(self._hello)
        parts = (self._receive(), self._execute_all(), self._watch_lease())
        tasks = {asyncio.create_task(part) for part in parts}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except TuibenchError as error:
            self._channel.send(ErrorMessage.of(error))
        finally:
            for task in tasks | self._tasks:
                task.cancel()
            await asyncio.gather(*tasks, *self._tasks, return_exceptions=True)
            if self._load is not None:
                await self._load.kill()
            with contextlib.suppress(TimeoutError):
                await wait_with_timeout(self._channel.close(), CLOSE_SECONDS)

    async def _receive(self) -> None:
        """Handle messages until the session closes the channel."""
        while (message := await self._channel.receive()) is not None:
            match message:
                case Beat(sent_ns=sent_ns):
                    now_ns = self._clock.now_ns()
                    self._lease.renew(now_ns)
                    if self._load is not None and not self._lease.is_over(now_ns):
                        self._load.pass_on(message)
                    self._channel.send(BeatReply(sent_ns, self._clock.now_ns(), self._clock.wall_seconds()))
                case AcceptHost(lease_seconds=seconds):
                    self._lease = Lease(seconds, self._clock.now_ns())
                case TimedCommand():
                    self._commands.put_nowait(message)
                case _:
                    assert_never(message)

    async def _watch_lease(self) -> None:
        """Wait until the lease expires. Raises LeaseOverError then."""
        while seconds := self._lease.seconds_left(self._clock.now_ns()):
            await self._clock.sleep(min(seconds, POLL_SECONDS))
        self._lease.end()
        raise LeaseOverError("no message from the session for longer than the lease: its load has ended")

    async def _execute_all(self) -> None:
        """Execute the commands in their order, each at its instant."""
        while True:
            at = await self._commands.get()
            wait_ns = at.at_ns - self._clock.now_ns()
            if wait_ns > 0:
                await self._clock.sleep(wait_ns / NS_PER_SECOND)
            await self._execute(at.command, late_ms=max(0, -wait_ns) / NS_PER_MS)

    async def _execute(self, command: Command, late_ms: float) -> None:
        match command:
            case StartHost():
                check_files(command.begin.target)
                self._load = HostLoad(command, self._channel, self._clock, self._sample_host)
                await self._load.start()
            case CheckServer(target=target):
                self._start_task(self._check_server(target))
            case _ if self._load is not None:
                await self._load.execute(command, late_ms)
            case _:
                raise AssertionError("a load is begun before it is changed")

    async def _check_server(self, target: Target) -> None:
        self._channel.send(await try_login(target, self._clock))

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


STDIN, STDOUT, STDERR = 0, 1, 2


async def stdio_channel() -> AgentChannel:
    """The agent's channel over stdin and stdout, on which `MAGIC` has been sent.

    Afterwards, the output of libraries goes to stderr. Raises UsageError if stdin and stdout are neither
    pipes nor sockets.
    """
    for mode in (os.fstat(descriptor).st_mode for descriptor in (STDIN, STDOUT)):
        # An event loop cannot wait for a file or for /dev/null.
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            raise _not_by_hand()
    out = os.dup(STDOUT)
    sys.stdout.flush()
    os.dup2(STDERR, STDOUT)
    os.set_inheritable(STDIN, False)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(STDIN, "rb", 0))
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(out, "wb", 0))
    except (ValueError, OSError) as error:
        raise _not_by_hand() from error
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    writer.write(MAGIC)
    channel: AgentChannel = MessageChannel(reader, writer, ToAgent)
    return channel


def _not_by_hand() -> UsageError:
    return UsageError(
        "tuibench agent talks to a session over its stdin and stdout, which must be pipes",
        "a session starts it: tuibench run PROFILE --cluster ssh:host1,host2",
    )
