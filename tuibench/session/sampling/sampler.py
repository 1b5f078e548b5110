"""One observation of server and host per tick, with the events that follow from it."""

import math
from collections.abc import Callable, Mapping, Set

import msgspec

from tuibench.clock import Clock
from tuibench.model.counters import Counter
from tuibench.model.event import EventKind
from tuibench.model.server import ServerInfo
from tuibench.model.target import Target
from tuibench.model.tick import CLIENT, ERROR, HOST, OWN, SERVER, Tick, prefixed
from tuibench.observe.server.status_reading import ServerObservation
from tuibench.observe.server.status_sampler import StatusSampler
from tuibench.observe.server.variables import variable_changes
from tuibench.session.sampling.hosts import Hosts, HostsObservation
from tuibench.session.sampling.replicas import Replicas, ReplicasObservation
from tuibench.session.spec import ReplicaChoice
from tuibench.session.totals.run_summary import ServerReading
from tuibench.tuning.undo.other_sessions import UNKNOWN_AUTHOR
from tuibench.units import DASH

VARIABLES_EVERY_TICKS = 10
LAST_LOOK_ATTEMPTS = 10
LONGEST_READING = 1.5
"""The longest reading of a host, in ticks, whose CPU time is that of the tick's operations."""
SILENCE_SECONDS = 0.5
"""Seconds without a reading before a warning: a reading may last longer than a very short interval."""


class TickObservation(msgspec.Struct, frozen=True, kw_only=True):
    """One observation. `settings_changed` is True if variables changed, but not by this session, or
    `restarted`.

    `traffic` is the work of the server's clients, in a session without load.
    """

    server: Tick | None
    hosts: HostsObservation
    replicas: ReplicasObservation = ReplicasObservation()
    events: tuple[tuple[EventKind, str], ...] = ()
    settings_changed: bool = False
    restarted: bool = False
    traffic: Tick | None = None

    def tick(self, end: float, load: Tick | None, *, shows_traffic: bool) -> Tick:
        """The whole tick, with all sources under their prefixes; it ends `end` seconds into the load.

        Its throughput is that of the server's traffic if the session `shows_traffic`, else that of the load.
        """
        shown = self.traffic if shows_traffic else load
        server, hosts = self.server or Tick(), self.hosts
        host, client = hosts.host or Tick(), hosts.client or Tick()
        sums = dict(shown.sums) if shown else {}
        done: dict[str, float] = {name: sums[name] for name in ("completed", "queries") if name in sums}
        if server.sums:
            sums |= prefixed(SERVER, done) | server.sums
        if host.sums and host.sums["seconds"] <= LONGEST_READING * (shown.seconds if shown else 0.0):
            sums |= prefixed(HOST, done)
        sums |= prefixed(HOST, host.sums) | prefixed(CLIENT, client.sums)
        hists = dict(shown.hists) if shown else {}
        levels = server.levels | prefixed(HOST, host.levels) | prefixed(CLIENT, client.levels)
        missing = {**(shown.missing if shown else {}), **server.missing}
        for prefix, source in ((HOST, host), (CLIENT, client)):
            missing |= {prefix + name: why for name, why in source.missing.items()}
        if hosts.note:
            missing["host"] = hosts.note
        lags = [each.lag_seconds for each in self.replicas.samples if each.lag_seconds is not None]
        peaks = {"lag_seconds": max(lags)} if lags else {}
        arrears: dict[str, float] = {}
        if load is not None:
            levels |= load.levels
            peaks |= load.peaks
            if shows_traffic:
                sums |= prefixed(OWN, {**load.sums, "seconds": load.seconds})
                sums |= {name: load.sums[name] for name in load.sums if name.startswith(ERROR)}
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
    """Samples server and host, and keeps the first and the last reading for the reconciliation.

    `own_changes` are the number of settings that this session has changed, and whether a change is in
    progress.
    """

    def __init__(
        self,
        sampler: StatusSampler,
        hosts: Hosts,
        replicas: Replicas,
        author_of: Callable[[str, str], str] = lambda setting, value: UNKNOWN_AUTHOR,
        interval_seconds: float = 1.0,
    ) -> None:
        self.own_changes: Callable[[], tuple[int, bool]] = lambda: (0, False)
        self._author_of = author_of
        self._sampler = sampler
        self._hosts = hosts
        self._replicas = replicas
        self._variables: dict[str, str] | None = None
        self._first: ServerReading | None = None
        self._pending: ServerObservation | None = None
        self._ticks_to_warn = max(1, math.ceil(SILENCE_SECONDS / interval_seconds))
        self._silent_ticks = 0
        self._is_status_checked = False
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
    ) -> "Sampler":
        """Eyes on a server, its host and this one. Nothing is sent yet.

        `author_of` names the author of a setting's value, as the beginning of a sentence.
        """
        sampler = StatusSampler(target, clock, interval_seconds=interval_seconds, with_traffic=with_traffic)
        hosts = Hosts.of(server, host_metrics, own_pids, clock, interval_seconds)
        return cls(sampler, hosts, Replicas(replicas, target, clock), author_of, interval_seconds)

    async def log_in(self) -> None:
        """Open the connections: a load that starts first may use up all connections of the server."""
        await self._sampler.variables()
        await self._hosts.connect()
        await self._replicas.connect()

    async def begin(self, steering_statements: int) -> None:
        """The reading that everything later is compared with, before the start of the load."""
        self._variables = await self._sampler.variables()
        self._hosts.begin()
        await self._hosts.finish()
        self._first = _reading(await self._sampler.sample(0, steering_statements), steering_statements)

    async def reset_stats(self, steering_statements: int, transactions_total: int) -> None:
        """Repeats the first reading, while the load is idle. The next observation contains its result."""
        observation = await self._sample(transactions_total)
        self._first = _reading(observation, steering_statements)
        self._pending, self._counters_restarted = observation, False

    async def observe(
        self,
        tick: int,
        transactions_total: int | None,
        ours: Mapping[str, str],
        steering_statements: int = 0,
    ) -> TickObservation:
        """Samples server and host. `ours` are the values of the settings that this session changed.

        `transactions_total` is None without a load.
        """
        changes = self.own_changes()
        self._hosts.begin()
        self._replicas.begin()
        observation = self._with_pending(await self._sample(transactions_total, steering_statements))
        events = self._noticed(observation)
        foreign: list[tuple[EventKind, str]] = []
        if observation.restarted:
            await self._follow()
        elif tick % VARIABLES_EVERY_TICKS == 0:
            foreign = await self._foreign_changes(ours, changes)
        hosts, replicas = await self._hosts.finish(), await self._replicas.finish()
        lost = [(EventKind.WARNING, text) for text in (hosts.news, *replicas.news) if text]
        return TickObservation(
            server=observation.tick,
            hosts=hosts,
            replicas=replicas,
            events=(*events, *foreign, *lost),
            settings_changed=bool(foreign) or observation.restarted,
            restarted=observation.restarted,
            traffic=observation.traffic,
        )

    async def end(
        self, steering_statements: int, questions: int
    ) -> tuple[ServerReading | None, ServerReading | None]:
        """The first and the last reading; the load must have ended, after this many `questions`.

        There is no first one to compare with if the counters were reset in between.

        The server processes the disconnects of many connections slightly later: the last reading
        is one that has all the load's questions, and after which nothing but our own reading was counted.
        """
        before, last = None, None
        for _ in range(LAST_LOOK_ATTEMPTS):
            observation = await self._sample(steering_statements=steering_statements)
            self.last_observations.append(observation)
            before, last = last, _reading(observation, steering_statements)
            if before is None or last is None or _others(before) != _others(last):
                continue
            first = None if self._counters_restarted else self._first
            if first is None or _others(last) - _others(first) >= questions:
                break
        return None if self._counters_restarted else self._first, last

    @property
    def connection_ids(self) -> set[int]:
        """The server's ids of the sampler's connections."""
        return self._sampler.connection_ids | self._replicas.connection_ids

    @property
    def replica_statements(self) -> int:
        """Statements sent to the server for its replicas' sake."""
        return self._replicas.statements

    async def close(self) -> None:
        await self._hosts.close()
        await self._replicas.close()
        await self._sampler.close()

    async def _sample(
        self, transactions_total: int | None = None, steering_statements: int = 0
    ) -> ServerObservation:
        observation = await self._sampler.sample(transactions_total, steering_statements)
        self._counters_restarted |= observation.restarted or observation.counters_reset
        return observation

    def _with_pending(self, observation: ServerObservation) -> ServerObservation:
        """The look, and what a reading in between has noticed."""
        pending, self._pending = self._pending, None
        if pending is None:
            return observation
        return msgspec.structs.replace(
            observation,
            restarted=observation.restarted or pending.restarted,
            counters_reset=observation.counters_reset or pending.counters_reset,
        )

    async def _follow(self) -> None:
        """After a restart the server is another process, with the variables it starts with."""
        self._variables = await self._sampler.variables()
        info = await self._sampler.info()
        if info is not None:
            self._hosts.follow(info)

    def _noticed(self, observation: ServerObservation) -> list[tuple[EventKind, str]]:
        events: list[tuple[EventKind, str]] = []
        self._silent_ticks = self._silent_ticks + 1 if observation.tick is None else 0
        if self._silent_ticks == self._ticks_to_warn:
            events.append((EventKind.WARNING, f"the server does not answer: {observation.last_error}"))
        if observation.tick is not None and not self._is_status_checked:
            self._is_status_checked = True
            events += [(EventKind.WARNING, text) for text in status_gaps(observation.tick)]
        if observation.restarted:
            events.append((EventKind.RESTART, "the server was restarted; its counters restarted from zero"))
        elif observation.counters_reset:
            events.append((EventKind.WARNING, "the server's counters were reset (FLUSH STATUS)"))
        return events

    async def _foreign_changes(
        self, ours: Mapping[str, str], changes: tuple[int, bool]
    ) -> list[tuple[EventKind, str]]:
        """Changes by others. What is read while we change a setting is compared the next time."""
        before, after = self._variables, await self._sampler.variables()
        if after is None or changes[1] or self.own_changes() != changes:
            return []
        self._variables = after
        return [
            (
                EventKind.FOREIGN,
                f"{self._author_of(change.name, change.after)} "
                f"{change.name} {change.before} → {change.after}",
            )
            for change in variable_changes(before or after, after, ours)
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


def _others(reading: ServerReading) -> int:
    """Statements that were not our own sampling and steering; 0 if the server does not count statements."""
    return reading.counters.get(Counter.QUESTIONS, reading.own) - reading.own


def _reading(observation: ServerObservation, steering_statements: int) -> ServerReading | None:
    if observation.tick is None:
        return None
    return ServerReading(
        counters=observation.counters,
        own=observation.own_statements + steering_statements,
        uptime_seconds=observation.uptime_seconds,
    )
