"""The session's eyes: one look a tick at the server and the host, and what was noticed on the way."""

from collections.abc import Callable, Mapping, Set

import msgspec

from tuibench.clock import Clock
from tuibench.model.event import EventKind
from tuibench.model.sample import HostPart, ServerPart
from tuibench.model.server import ServerInfo
from tuibench.model.target import Target
from tuibench.observe.host import HostSampler
from tuibench.observe.process import find_server
from tuibench.observe.reading import Observation
from tuibench.observe.status import StatusSampler
from tuibench.observe.variables import changes
from tuibench.session.summing import ServerReading
from tuibench.tuning.authors import SOMEBODY

VARIABLES_EVERY_TICKS = 10
LAST_LOOK_ATTEMPTS = 10


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One tick's view. `settings_changed` is True when variables changed, but not by us, or `restarted`."""

    server: ServerPart | None
    host: HostPart | None
    events: tuple[tuple[EventKind, str], ...] = ()
    settings_changed: bool = False
    restarted: bool = False


class Observer:
    """Samples server and host, and keeps the first and the last reading for the reconciliation."""

    def __init__(
        self,
        sampler: StatusSampler,
        host: HostSampler | None,
        who: Callable[[str, str], str] = lambda setting, value: SOMEBODY,
    ) -> None:
        self._who = who
        self._sampler = sampler
        self._host = host
        self._variables: dict[str, str] | None = None
        self._first: ServerReading | None = None
        self._untold: Observation | None = None
        self._away = False
        self._began_anew = False

    @classmethod
    def of(
        cls,
        target: Target,
        server: ServerInfo,
        clock: Clock,
        interval_seconds: float,
        own_pids: Callable[[], Set[int]],
        who: Callable[[str, str], str],
    ) -> "Observer":
        """Eyes on a server, and on this host if the server is on it. Nothing is sent yet.

        `who` names the author of a setting's value, as the beginning of a sentence.
        """
        sampler = StatusSampler(target, clock, interval_seconds=interval_seconds)
        host = HostSampler(find_server(server), own_pids, clock) if server.is_local else None
        return cls(sampler, host, who)

    async def log_in(self) -> None:
        """Takes its connection: a load that is let in before it may leave none, and it has more."""
        await self._sampler.variables()

    async def begin(self, steering_statements: int) -> None:
        """The reading that everything later is compared with: the load has not begun yet."""
        self._variables = await self._sampler.variables()
        if self._host is not None:
            self._host.sample()
        self._first = _reading(await self._sampler.sample(0), steering_statements)

    async def begin_anew(self, steering_statements: int, transactions_total: int) -> None:
        """Another first reading, while the load is at rest. What it shows is told with the next look."""
        observation = await self._sample(transactions_total)
        self._first = _reading(observation, steering_statements)
        self._untold, self._began_anew = observation, False

    async def observe(self, tick: int, transactions_total: int, ours: Mapping[str, str]) -> Look:
        """Looks at server and host now. `ours` are the values of the settings that we changed."""
        observation = self._with_untold(await self._sample(transactions_total))
        events = self._noticed(observation)
        foreign: list[tuple[EventKind, str]] = []
        if observation.restarted:
            await self._follow()
        elif tick % VARIABLES_EVERY_TICKS == 0:
            foreign = await self._foreign_changes(ours)
        return Look(
            server=observation.part,
            host=self._host.sample() if self._host is not None else None,
            events=(*events, *foreign),
            settings_changed=bool(foreign) or observation.restarted,
            restarted=observation.restarted,
        )

    async def end(
        self, steering_statements: int, questions: int
    ) -> tuple[ServerReading | None, ServerReading | None]:
        """The first and the last reading; the load must have ended, after this many `questions`.

        There is no first one to compare with when the counters have begun anew in between.

        The server hears the goodbyes of many connections a little later than they are said: the last reading
        is one that has all the load's questions, and after which nothing but our own reading was counted.
        """
        before, last = None, None
        for _ in range(LAST_LOOK_ATTEMPTS):
            before, last = last, _reading(await self._sample(), steering_statements)
            if before is None or last is None or _others(before) != _others(last):
                continue
            first = None if self._began_anew else self._first
            if first is None or _others(last) - _others(first) >= questions:
                break
        return None if self._began_anew else self._first, last

    @property
    def connection_ids(self) -> set[int]:
        """The server's id of our connection, if there is one."""
        return self._sampler.connection_ids

    async def close(self) -> None:
        await self._sampler.close()

    async def _sample(self, transactions_total: int | None = None) -> Observation:
        observation = await self._sampler.sample(transactions_total)
        self._began_anew |= observation.restarted or observation.counters_reset
        return observation

    def _with_untold(self, observation: Observation) -> Observation:
        """The look, and what a reading in between has noticed."""
        untold, self._untold = self._untold, None
        if untold is None:
            return observation
        return msgspec.structs.replace(
            observation,
            restarted=observation.restarted or untold.restarted,
            counters_reset=observation.counters_reset or untold.counters_reset,
        )

    async def _follow(self) -> None:
        """After a restart the server is another process, with the variables it starts with."""
        self._variables = await self._sampler.variables()
        info = await self._sampler.info()
        if self._host is not None and info is not None:
            self._host.follow(find_server(info))

    def _noticed(self, observation: Observation) -> list[tuple[EventKind, str]]:
        told: list[tuple[EventKind, str]] = []
        if observation.part is None and not self._away:
            told.append((EventKind.WARNING, f"the server does not answer: {observation.trouble}"))
        self._away = observation.part is None
        if observation.restarted:
            told.append((EventKind.RESTART, "the server was restarted; its counters began anew"))
        elif observation.counters_reset:
            told.append((EventKind.WARNING, "the server's counters were reset (FLUSH STATUS)"))
        return told

    async def _foreign_changes(self, ours: Mapping[str, str]) -> list[tuple[EventKind, str]]:
        before, after = self._variables, await self._sampler.variables()
        if after is None:
            return []
        self._variables = after
        return [
            (
                EventKind.FOREIGN,
                f"{self._who(change.name, change.after)} {change.name} {change.before} → {change.after}",
            )
            for change in changes(before or after, after, ours)
        ]


def _others(reading: ServerReading) -> int:
    """Statements that were not our own sampling and steering."""
    return reading.counters["Questions"] - reading.own


def _reading(observation: Observation, steering_statements: int) -> ServerReading | None:
    part = observation.part
    if part is None:
        return None
    return ServerReading(
        counters=part.counters,
        own=observation.own_statements + steering_statements,
        uptime_seconds=part.uptime_seconds,
    )
