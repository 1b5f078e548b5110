"""Samples of server and host: one observation per tick; sessions and statements while a viewer shows them.

A viewer renews its lease on the server's sessions every few seconds. When the lease runs out, the connection
to the server is closed, so a viewer that vanished costs nothing.

Statements are not read before a viewer's request. After that, they are read at further requests, at most
every three seconds, and once at each change with a marker on the charts, so that the periods before and after
it can be compared. The load's own statements, as measured by the client, are always included.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from contextlib import nullcontext

import msgspec

from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import DeniedError, RunError, SQLError, UsageError
from tuibench.base.units import DASH, pluralize
from tuibench.metrics.lock_graph import lock_graph
from tuibench.model.counters import Counter
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.findings import Culprit
from tuibench.model.message import ReplicaChoice
from tuibench.model.server import (
    KILL_NEEDS,
    Activity,
    HotRow,
    ServerInfo,
    StatementDetail,
    StatementReport,
    Target,
    TimeReport,
)
from tuibench.model.tick import (
    CLIENT,
    ERROR,
    HOST,
    OWN,
    SERVER,
    Histogram,
    ReplicaSample,
    Tick,
    bucket_upper_bound,
    prefixed,
    unseen_sums,
)
from tuibench.mysql.connection import OwnConnections
from tuibench.observe.host import HostSampler, find_server_process
from tuibench.observe.remote_host import CONNECT_SECONDS, RemoteHost
from tuibench.observe.sessions import ActivitySampler
from tuibench.observe.statement_times import QueryTimer
from tuibench.observe.statements import CLIENT_SOURCE, StatementSampler, StatementSums, statement_rows
from tuibench.observe.status import ServerObservation, StatusSampler, variable_changes
from tuibench.observe.tally import TallyReader, compared
from tuibench.observe.wait_sampler import TimeSampler, account_sums
from tuibench.session.lifecycle import StartTask
from tuibench.session.reconciliation import Reading
from tuibench.session.replicas import ReplicaMonitor
from tuibench.tuning.restore import UNKNOWN_AUTHOR

OwnIds = Callable[[], Awaitable[Set[int]]]


class Hosts:
    """Reads the server's host, and this one."""

    def __init__(self, local: HostSampler | None, remote: RemoteHost | None, *, is_local: bool) -> None:
        """`local` is None only in tests; `remote` is None unless the server's host is read over the
        network.
        """
        self._local = local
        self._remote = remote
        self._is_local = is_local
        self._is_lost = False
        self.news = ""
        """The text of an event of the last reading: the remote host was lost, or is back."""

    @classmethod
    def of(
        cls,
        server: ServerInfo,
        host_metrics: str,
        own_pids: Callable[[], Iterable[int]],
        clock: Clock,
        interval_seconds: float,
    ) -> "Hosts":
        """The hosts of a session; nothing is sent yet. Raises UsageError for an invalid `host_metrics`."""
        remote = RemoteHost.of(host_metrics, server, clock, interval_seconds) if host_metrics else None
        is_local = server.is_local and remote is None
        process = find_server_process(server) if is_local else None
        return cls(HostSampler(process, own_pids, clock), remote, is_local=is_local)

    @property
    def server_pid(self) -> int | None:
        """The server's process, if it is on this host."""
        return self._local.server_pid if self._is_local and self._local is not None else None

    async def connect(self) -> None:
        """The first reading of the other host. Raises RunError if it cannot be read."""
        if self._remote is None:
            return
        self._remote.begin()
        first = await self._remote.finish(CONNECT_SECONDS)
        if first.failed:
            raise RunError(
                f"--host-metrics: {first.note}",
                "ssh must log in without a prompt (ssh -o BatchMode=yes HOST true); "
                "a node_exporter answers with curl URL",
            )

    def begin(self) -> None:
        """Start the slow part; `finish` collects it."""
        if self._remote is not None:
            self._remote.begin()

    async def finish(self) -> Tick:
        """The hosts since the last call, under their prefixes: the server's host, and this one if that is
        another one. If the server's host is missing, the tick says why.
        """
        local = (self._local.sample() if self._local is not None else None) or Tick()
        if self._is_local:
            why = self._local.note if self._local is not None else ""
            host = local.moved("", HOST)
            return msgspec.structs.replace(host, missing={**host.missing, "host": why}) if why else host
        client = local.moved("", CLIENT)
        if self._remote is None:
            return client
        found = await self._remote.finish()
        if found.failed == self._is_lost:
            self.news = ""
        elif found.failed:
            self.news = f"the server's host cannot be read: {found.note}"
        else:
            self.news = "the server's host is read again"
        self._is_lost = found.failed
        host = (found.sample or Tick()).moved("", HOST)
        note = {"host": found.note} if found.note else {}
        return Tick(
            sums=host.sums | client.sums,
            levels=host.levels | client.levels,
            missing=host.missing | client.missing | note,
        )

    def follow(self, server: ServerInfo) -> None:
        """Follow the new process of a server that was restarted."""
        if self._remote is not None:
            self._remote.follow(server)
        elif self._is_local and self._local is not None:
            self._local.follow(find_server_process(server))

    async def close(self) -> None:
        if self._remote is not None:
            await self._remote.close()


VARIABLES_EVERY_TICKS = 10
LAST_LOOK_ATTEMPTS = 10
LONGEST_READING = 1.5
"""If a reading of a host lasts longer than this many ticks, its CPU time is not attributed to the operations
of the tick.
"""
SILENCE_SECONDS = 0.5
"""Seconds without a reading before a warning: a reading may last longer than a very short interval."""


class TickObservation(msgspec.Struct, frozen=True, kw_only=True):
    """One observation of server and hosts."""

    server: Tick | None
    hosts: Tick = Tick()
    """The hosts under their prefixes."""
    replicas: tuple[ReplicaSample, ...] = ()
    events: tuple[tuple[EventKind, str], ...] = ()
    settings_changed: bool = False
    """True if variables changed, but not by this session, or if the server was restarted."""
    restarted: bool = False
    traffic: Tick | None = None
    """The work of the server's clients, in a session without load."""
    time: Tick | None = None
    """The account of the time."""
    tally: Mapping[str, float] = {}
    """The growth of the counts that the load's tables keep."""

    def tick(self, end: float, load: Tick | None, *, shows_traffic: bool) -> Tick:
        """The whole tick, with all sources under their prefixes; it ends `end` seconds into the load.

        Its throughput is that of the server's traffic if the session `shows_traffic`, else that of the load.
        """
        shown = self.traffic if shows_traffic else load
        server, hosts = self.server or Tick(), self.hosts
        sums = dict(shown.sums) if shown else {}
        done: dict[str, float] = {name: sums[name] for name in ("completed", "queries") if name in sums}
        if server.sums:
            sums |= prefixed(SERVER, done) | server.sums
        of_host = hosts.counts(HOST)
        if of_host and of_host["seconds"] <= LONGEST_READING * (shown.seconds if shown else 0.0):
            of_host |= done
        sums |= hosts.sums | prefixed(HOST, of_host | unseen_sums(of_host))
        hists = dict(shown.hists) if shown else {}
        sums |= self.tally
        levels, peaks = server.levels | hosts.levels, dict[str, float]()
        running = levels.get(Counter.THREADS_RUNNING)
        if shows_traffic and shown is not None and running is not None:
            sums["thread_seconds"] = running * shown.seconds
            peaks["threads_running"] = running
        missing = (shown.missing if shown else {}) | server.missing | hosts.missing
        if self.time is not None and shown is not None:
            sums |= account_sums(self.time, shown)
            missing |= self.time.missing
        lags = [each.lag_seconds for each in self.replicas if each.lag_seconds is not None]
        peaks |= {"lag_seconds": max(lags)} if lags else {}
        arrears: dict[str, float] = {}
        if load is not None:
            levels |= load.levels
            peaks |= load.peaks
            if shows_traffic:
                sums |= prefixed(OWN, {**load.sums, "seconds": load.seconds})
                sums |= {name: load.sums[name] for name in load.sums if name.startswith(ERROR)}
                arrears = prefixed(OWN, load.arrears)
                arrears |= {name: load.arrears[name] for name in load.arrears if name.startswith(ERROR)}
                hists |= {OWN + name: each for name, each in load.hists.items()}
            else:
                arrears = load.arrears
        return Tick(
            end=end,
            seconds=shown.seconds if shown else 0.0,
            sums=sums,
            arrears=arrears,
            levels=levels,
            peaks=peaks,
            hists=hists,
            missing=missing,
        )


class Sampler:
    """Samples server and host, and keeps the first and the last reading for the reconciliation."""

    def __init__(
        self,
        sampler: StatusSampler,
        hosts: Hosts,
        replicas: ReplicaMonitor | None = None,
        author_of: Callable[[str, str], str] = lambda setting, value: UNKNOWN_AUTHOR,
        interval_seconds: float = 1.0,
        account: TimeSampler | None = None,
        timer: QueryTimer | None = None,
    ) -> None:
        self.timer = timer
        """Measures the session's own statements, for a session with traffic."""
        self.own_values: Callable[[], Mapping[str, str]] = dict
        """The values of the settings that this session has changed."""
        self.own_changes: Callable[[], tuple[int, bool]] = lambda: (0, False)
        """The number of changes by this session, and whether a change is in progress."""
        self._account = account
        self._account_task: asyncio.Task[None] | None = None
        self._tally: TallyReader | None = None
        self._author_of = author_of
        self._sampler = sampler
        self._hosts = hosts
        self._replicas = replicas
        self._variables: dict[str, str] | None = None
        self._first: Reading = None
        self._pending: ServerObservation | None = None
        self._ticks_to_warn = max(1, math.ceil(SILENCE_SECONDS / interval_seconds))
        self._silent_ticks = 0
        self._is_status_checked = False
        self._servers: set[str] = set()
        self._take_turns = False
        self._counters_restarted = False
        self.last_observations: list[ServerObservation] = []
        """What `end` has read: the traffic after the last tick that had an answer."""

    @classmethod
    def of(
        cls,
        target: Target,
        server: ServerInfo,
        clock: Clock,
        interval_seconds: float,
        own_pids: Callable[[], Set[int]],
        author_of: Callable[[str, str], str],
        *,
        with_traffic: bool = False,
        host_metrics: str = "",
        replicas: ReplicaChoice = ReplicaChoice(),  # noqa: B008 (it is frozen)
        accounted: OwnIds | None = None,
        keeps_keys: bool = True,
        own: OwnConnections,
    ) -> "Sampler":
        """A sampler of a server, its host and this one. Nothing is sent yet.

        `author_of` names the author of a setting's value, as the beginning of a sentence. `accounted` are the
        connections whose time is accounted for; `with_traffic`, it is that of all of the server's clients but
        these.
        """
        timer = QueryTimer() if with_traffic else None
        sampler = StatusSampler(target, clock, interval_seconds=interval_seconds, timer=timer, own=own)
        hosts = Hosts.of(server, host_metrics, own_pids, clock, interval_seconds)
        account = None
        if accounted is not None and not target.further:
            account = TimeSampler(
                target, server, clock, accounted, lambda: hosts.server_pid, timer=timer, own=own
            )
            account.locks.keeps_keys = keeps_keys
        wanted = ReplicaMonitor(replicas, target, clock, own) if replicas.is_wanted else None
        return cls(sampler, hosts, wanted, author_of, interval_seconds, account, timer)

    async def log_in(self) -> None:
        """Open the connections: a load that starts first may use up all connections of the server."""
        await self._sampler.variables()
        await self._hosts.connect()
        if self._replicas is not None:
            await self._replicas.connect()
        if self._account is not None:
            await self._account.log_in()

    async def keep_tally(self, tally: TallyReader) -> None:
        """Read the counts of the load's tables at every tick, from now on."""
        self._tally = tally
        await tally.begin()

    async def begin(self) -> None:
        """Take the first reading, with which all later ones are compared, before the load starts. The account
        of the time begins after it.
        """
        if self._tally is not None:
            await self._tally.begin()
        self._variables = await self._sampler.variables()
        self._hosts.begin()
        await self._hosts.finish()
        self._first = _reading(await self._sampler.sample(0))
        if self._account is not None and self._account_task is None:
            self._account_task = asyncio.create_task(self._account.run(), name="account of time")

    async def reset_stats(self, transactions_total: int) -> None:
        """Repeats the first reading, while the load is idle. The next observation contains its result."""
        if self._tally is not None:
            await self._tally.begin()
        async with self._account.lock if self._account is not None else nullcontext():
            observation = await self._sample(transactions_total)
            self._first = _reading(observation)
            if self._account is not None:
                self._account.locks.reset()
        self._pending, self._counters_restarted = observation, False

    async def observe(self, tick: int, transactions_total: int | None) -> TickObservation:
        """Samples server and host. `transactions_total` is None without a load."""
        self._hosts.begin()
        if self._replicas is not None:
            self._replicas.begin()
        tally = await self._tally.growth() if self._tally is not None else {}
        observation = self._with_pending(await self._sample(transactions_total))
        events = self._noticed(observation)
        foreign: list[tuple[EventKind, str]] = []
        if observation.restarted:
            # After a restart, the server is another process, with its initial variables.
            self._variables = await self._sampler.variables()
            info = await self._sampler.info()
            if info is not None:
                self._hosts.follow(info)
        elif tick % VARIABLES_EVERY_TICKS == 0:
            foreign = await self._foreign_changes()
        hosts = await self._hosts.finish()
        replicas = await self._replicas.finish() if self._replicas is not None else ()
        of_replicas = self._replicas.news if self._replicas is not None else ()
        lost = [(EventKind.WARNING, text) for text in (self._hosts.news, *of_replicas) if text]
        return TickObservation(
            server=observation.tick,
            hosts=hosts,
            replicas=replicas,
            events=(*events, *foreign, *lost),
            settings_changed=bool(foreign) or observation.restarted,
            restarted=observation.restarted,
            traffic=observation.traffic,
            time=self._account.collect() if self._account is not None else None,
            tally=tally,
        )

    async def last_tally(self, acknowledged: int | None, unknown: int) -> dict[str, float]:
        """The growth of the tables' counts since the last tick, compared with the commits that the load has
        seen; only the growth if these are None, since some were never reported. The load must have ended.
        """
        if self._tally is None:
            return {}
        grown, total = await self._tally.growth(), self._tally.total
        if acknowledged is None or total is None:
            return grown
        missed = compared(self._tally.tally, total, acknowledged, unknown)
        return {name: grown.get(name, 0.0) + missed.get(name, 0.0) for name in grown | missed}

    async def end(self, questions: int) -> tuple[Reading, Reading]:
        """The first and the last reading. The load must have ended, after it has sent `questions` statements.

        The first reading is None if the counters were reset in between. The server processes the disconnects
        of many connections slightly later: the last reading is one that has all the load's questions, and
        after which only tuibench's own reading was counted.
        """
        await self._end_account()
        before, last = None, None
        for _ in range(LAST_LOOK_ATTEMPTS):
            observation = await self._sample()
            self.last_observations.append(observation)
            before, last = last, _reading(observation)
            if before is None or last is None or _others(before) != _others(last):
                continue
            first = None if self._counters_restarted else self._first
            if first is None or _others(last) - _others(first) >= questions:
                break
        return None if self._counters_restarted else self._first, last

    @property
    def server_pid(self) -> int | None:
        """The server's process, if it is on this host."""
        return self._hosts.server_pid

    @property
    def present_culprit(self) -> Culprit | None:
        """The connection that blocks most of the others at present."""
        return self._account.locks.present if self._account is not None else None

    def watch_time(self) -> None:
        """Report who waits, for a few seconds. Raises UsageError without an account of the time."""
        if self._account is None:
            raise UsageError("there is no account of the time: several servers, or --no-waits")
        self._account.watch_detail()

    @property
    def time_report(self) -> TimeReport | None:
        """Who waits; None without a request, or before anything is known."""
        is_read = self._account is not None and self._account.detail.is_read
        return self._account.detail.report() if self._account is not None and is_read else None

    def culprit(self, start_ns: int, end_ns: int) -> Culprit | None:
        """The connection that blocked the others in a span; None if there is none, or it is not known."""
        return self._account.locks.culprit(start_ns, end_ns) if self._account is not None else None

    @property
    def hot_rows(self) -> tuple[HotRow, ...]:
        """The rows for which transactions have waited the longest since the last reset."""
        return self._account.locks.hot_rows if self._account is not None else ()

    def know_transactions(self, transactions: Mapping[str, Sequence[str]]) -> None:
        """Set the load's transactions, each with its statements, for the account of the time."""
        if self._account is not None:
            self._account.detail.transactions = transactions

    async def close(self) -> None:
        await self._end_account()
        if self._account is not None:
            await self._account.close()
        await self._hosts.close()
        if self._replicas is not None:
            await self._replicas.close()
        if self._tally is not None:
            await self._tally.close()
        await self._sampler.close()

    async def _end_account(self) -> None:
        """End the account of the time after its last query, so that its statement has been counted."""
        if self._account is None or self._account_task is None:
            return
        async with self._account.lock:
            self._account_task.cancel()
        task, self._account_task = self._account_task, None
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()

    async def _sample(self, transactions_total: int | None = None) -> ServerObservation:
        observation = await self._sampler.sample(transactions_total)
        self._counters_restarted |= observation.restarted or observation.counters_reset
        return observation

    def _with_pending(self, observation: ServerObservation) -> ServerObservation:
        """The observation, with what a reading in between has noticed."""
        pending, self._pending = self._pending, None
        if pending is None:
            return observation
        return msgspec.structs.replace(
            observation,
            restarted=observation.restarted or pending.restarted,
            replaced_by=observation.replaced_by or pending.replaced_by,
            counters_reset=observation.counters_reset or pending.counters_reset,
        )

    def _noticed(self, observation: ServerObservation) -> list[tuple[EventKind, str]]:
        events: list[tuple[EventKind, str]] = []
        self._silent_ticks = self._silent_ticks + 1 if observation.tick is None else 0
        if self._silent_ticks == self._ticks_to_warn:
            events.append((EventKind.WARNING, f"the server does not answer: {observation.last_error}"))
        if observation.tick is not None and not self._is_status_checked:
            self._is_status_checked = True
            events += [(EventKind.WARNING, text) for text in status_gaps(observation.tick)]
        if observation.replaced_by:
            events += self._other_server(observation.replaced_by)
        elif observation.restarted:
            events.append((EventKind.RESTART, "the server was restarted; its counters restarted from zero"))
        elif observation.counters_reset:
            events.append((EventKind.WARNING, "the server's counters were reset (FLUSH STATUS)"))
        return events

    def _other_server(self, identity: str) -> list[tuple[EventKind, str]]:
        """The event for an answer of another server: one for each server, and one more if they take turns."""
        if identity not in self._servers:
            self._servers.add(identity)
            return [(EventKind.RESTART, f"another server answers at this address: {identity}")]
        if self._take_turns:
            return []
        self._take_turns = True
        text = "several servers answer at this address in turn, so that figures of the server are missing"
        return [(EventKind.WARNING, f"{text}: connect to one of them")]

    async def _foreign_changes(self) -> list[tuple[EventKind, str]]:
        """Changes by others. A reading during a change by tuibench is compared the next time."""
        changes = self.own_changes()
        before, after = self._variables, await self._sampler.variables()
        if after is None or changes[1] or self.own_changes() != changes:
            return []
        self._variables = after
        return [
            (
                EventKind.FOREIGN,
                f"{self._author_of(name, new)} {name} {old} → {new}",
            )
            for name, old, new in variable_changes(before or after, after, self.own_values())
        ]


def status_gaps(tick: Tick) -> list[str]:
    """The warning about figures that a server of another make lacks; empty if it has all of them."""
    expected = (
        Counter.UPTIME,
        Counter.QUESTIONS,
        Counter.THREADS_RUNNING,
        Counter.THREADS_CONNECTED,
        Counter.OPEN_TABLES,
        Counter.SLOW_QUERIES,
    )
    missing = ", ".join(counter for counter in expected if counter not in tick.levels)
    return [f"the server's status lacks {missing}: these figures are {DASH}"] if missing else []


def _others(reading: ServerObservation) -> int:
    """Statements apart from tuibench's own sampling and control; 0 if the server does not count
    statements.
    """
    own = reading.own_statements
    return reading.counters.get(Counter.QUESTIONS, own) - own


def _reading(observation: ServerObservation) -> Reading:
    return None if observation.tick is None else observation


LEASE_SECONDS = 5.0
LEASE_TICKS = 3.0
"""Duration of a lease, in samples; the longer of both limits applies."""

ExpectKill = Callable[[int], Awaitable[None]]

MOST_DETAILS = 4
"""Sessions whose statements are read in full at one time."""

KILL_PRIVILEGE = f"KILL needs {KILL_NEEDS}"
REFUSALS = {
    1094: ("connection {id} no longer exists", "its query may have ended by itself"),
    1095: ("connection {id} belongs to another user", KILL_PRIVILEGE),
}


class ActivityMonitor:
    """Reads the server's sessions at every sample, unless the previous reading is still in progress. Nothing
    is sent before a viewer asks.
    """

    def __init__(
        self,
        sampler: ActivitySampler,
        own_ids: OwnIds,
        publish: Callable[[Activity], None],
        clock: Clock,
        interval_seconds: float,
        expect_kill: ExpectKill,
        start_task: StartTask,
    ) -> None:
        self._sampler = sampler
        self._own_ids = own_ids
        self._publish = publish
        self._clock = clock
        self._expect_kill = expect_kill
        self._start_task = start_task
        self._is_closed = False
        self._lease_ns = int(max(LEASE_SECONDS, LEASE_TICKS * interval_seconds) * NS_PER_SECOND)
        self._until_ns: int | None = None
        self._details: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_wanted(self) -> bool:
        return self._until_ns is not None and self._clock.now_ns() < self._until_ns

    def renew(self, detail: int = 0) -> None:
        """Renew the lease. The first reading starts at once. The next reading has the statement of connection
        `detail` in full, unless that is 0.
        """
        was_wanted = self.is_wanted
        if detail and len(self._details) < MOST_DETAILS:
            self._details.add(detail)
        self._until_ns = self._clock.now_ns() + self._lease_ns
        if not was_wanted:
            self.tick()

    def tick(self) -> None:
        """Start another reading, or close the connection if the lease has expired. Returns at once."""
        if self._is_closed or (self._task is not None and not self._task.done()):
            return
        if self.is_wanted:
            self._task = self._start_task(self._take_sample(), "activity")
        elif self._until_ns is not None:
            self._until_ns = None
            self._task = self._start_task(self._sampler.close(), "activity")

    async def kill(self, id: int) -> str:
        """Kills the query of a connection; returns the reply as text. Raises SQLError for a refusal."""
        await self._expect_kill(id)
        try:
            await self._sampler.kill(id)
        except SQLError as error:
            raise kill_error(error, id) from error
        finally:
            self._until_ns = self._until_ns or 0
        return f"connection {id} was asked to end its query"

    async def close_connection(self, id: int) -> str:
        """Closes a connection that is not tuibench's; returns what that rolls back, and whom it frees. Raises
        UsageError for one of its own, SQLError for a refusal.
        """
        own = await self._own_ids()
        if not id:
            raise UsageError(
                "a prepared XA transaction has no connection to close",
                "XA RECOVER lists it; XA ROLLBACK ends it",
            )
        if id in own:
            raise UsageError(
                f"connection {id} belongs to this session of tuibench; it is not closed",
                "change the threads, or stop the load, to end its transactions",
            )
        found = await self._sampler.look(own)
        try:
            await self._sampler.kill(id, whole=True)
        except SQLError as error:
            raise kill_error(error, id) from error
        finally:
            self._until_ns = self._until_ns or 0
        return closed_text(id, found)

    async def close(self) -> None:
        """End the query in progress, and log out. No further query is sent."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self._until_ns = None
        await self._sampler.close()

    async def _take_sample(self) -> None:
        details, self._details = frozenset(self._details), set()
        activity = await self._sampler.look(await self._own_ids(), details)
        if activity is not None:
            self._publish(activity)


def closed_text(id: int, before: Activity | None) -> str:
    """What closing a connection has ended, from the sessions just before."""
    if before is None:
        return f"connection {id} is closed"
    sessions = {each.id: f" ({each.user}@{each.host})" for each in before.sessions}
    blockers = {each.id: f" ({each.user}@{each.host}, {each.doing})" for each in before.blockers}
    changed = before.rows_changed(id)
    frees = next((root.frees for root in lock_graph(before.waits) if root.id == id), 0)
    words = []
    if changed:
        words.append(f"{pluralize(changed, 'changed row')} {'is' if changed == 1 else 'are'} rolled back")
    if frees:
        words.append(f"{pluralize(frees, 'session')} no longer {'waits' if frees == 1 else 'wait'} for it")
    what = ", ".join(words)
    who = blockers.get(id) or sessions.get(id, "")
    return f"connection {id}{who} is closed{': ' * bool(what)}{what}"


def kill_error(error: SQLError, id: int) -> SQLError:
    """A refusal of KILL as a message with a hint."""
    if error.code in REFUSALS:
        message, hint = REFUSALS[error.code]
        return SQLError(error.code, f"{message.format(id=id)} (error {error.code})", hint)
    if isinstance(error, DeniedError):
        return SQLError(
            error.code, f"this login has no privilege to end queries (error {error.code})", KILL_PRIVILEGE
        )
    return error


LEAST_SECONDS = 3.0
"""Minimum time between two readings for viewers."""

OwnStatements = Callable[[], Mapping[str, Histogram]]


class _TimedSums:
    """The cumulative figures at one moment."""

    def __init__(self, at_ns: int, sums: dict[str, StatementSums], label: str = "") -> None:
        self.at_ns = at_ns
        self.sums = sums
        self.label = label


class StatementMonitor:
    """Reports the statements with the most execution time in a period."""

    def __init__(
        self,
        sampler: StatementSampler,
        publish: Callable[[StatementReport], None],
        clock: Clock,
        start_task: StartTask,
    ) -> None:
        self.own: OwnStatements = dict
        self.own_sql: Callable[[str], str] = lambda name: ""
        """The text of a statement of the load by its name; empty if it is not known."""
        self._sampler = sampler
        self._publish = publish
        self._clock = clock
        self._start_task = start_task
        self._first: _TimedSums | None = None
        self._changed: _TimedSums | None = None
        self._top: tuple[str, ...] = ()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self._read_at_ns: int | None = None
        self._pending: str = ""
        self._wanted = ""
        self._detail: StatementDetail | None = None

    def renew(self, detail: str = "") -> None:
        """Process a viewer's request. Returns at once; the report is published, with the statement of the key
        `detail` in full unless that is empty.
        """
        now_ns = self._clock.now_ns()
        is_due = self._read_at_ns is None or now_ns - self._read_at_ns >= LEAST_SECONDS * NS_PER_SECOND
        is_new = bool(detail) and (self._detail is None or self._detail.key != detail)
        if is_new:
            self._wanted = detail
        if is_due or is_new:
            self._begin("")

    def on_event(self, event: Event) -> None:
        """Start another period at a change with a marker on the charts, if statements were requested. The
        event of its effect has the same marker, and starts none.
        """
        is_change = event.kind in CHANGE_KINDS and not event.experiment
        if is_change and event.marker is not None and self._first is not None:
            self._pending = event.text
            self._begin(event.text)

    async def close(self) -> None:
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self._sampler.close()

    def _begin(self, change: str) -> None:
        if self._is_closed or (self._task is not None and not self._task.done()):
            return
        self._task = self._start_task(self._take_reading(change), "statements")

    async def _take_reading(self, change: str) -> None:
        change, self._pending = change or self._pending, ""
        reading = await self._sampler.read(self._top)
        if reading is None:
            return
        own = {f"{CLIENT_SOURCE} {name}": client_sums(name, times) for name, times in self.own().items()}
        timed = _TimedSums(self._clock.now_ns(), reading.totals | own, change)
        self._read_at_ns = timed.at_ns
        if self._first is None:
            self._first = timed
        elif change:
            self._first, self._changed = self._changed or self._first, timed
        if self._wanted:
            self._detail, self._wanted = await self._read_detail(self._wanted), ""
        self._report(timed, reading.gaps)

    async def _read_detail(self, key: str) -> StatementDetail:
        source, _, name = key.partition(" ")
        if source != CLIENT_SOURCE:
            return await self._sampler.detail(key)
        if sql := self.own_sql(name):
            return await self._sampler.detail(key, sql)
        return StatementDetail(key=key, note="the load does not tell the text of this statement")

    def _report(self, now: _TimedSums, gaps: tuple[str, ...]) -> None:
        first, changed = self._first, self._changed
        if first is None:
            return
        rows = statement_rows(first.sums, changed.sums if changed else None, now.sums)
        self._top = tuple(key for key, sums in now.sums.items() if any(row.text == sums.text for row in rows))
        base = changed or first
        self._publish(
            StatementReport(
                seconds=(now.at_ns - base.at_ns) / NS_PER_SECOND,
                rows=rows,
                before_seconds=(changed.at_ns - first.at_ns) / NS_PER_SECOND if changed else 0.0,
                change=changed.label if changed else "",
                gaps=gaps,
                detail=self._detail,
            )
        )


def client_sums(name: str, times: Histogram) -> StatementSums:
    """A statement of the load as the client measured it, the network included."""
    ends = {int(bucket_upper_bound(bucket)): count for bucket, count in times.counts.items()}
    return StatementSums(name, CLIENT_SOURCE, times.count, float(times.sum_us), distribution=ends)
