"""A source and its replicas: set up in a mode, read before the kill, promoted after it.

`Replicas` is replication from a source; its promotion is what an operator or a tool does:

1. Each replica stops receiving, and applies its relay log to the end.
2. The one with the most transactions becomes the new primary: it forgets its source, and accepts writes.
3. The others become its replicas, in the same mode.

`Group` is MySQL's group replication with a single primary: the group itself elects the new one.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple, Self
from uuid import uuid4

from tuibench.base.clock import NS_PER_SECOND, SystemClock
from tuibench.base.errors import RunError, SQLError
from tuibench.features.crash.runner import connected
from tuibench.features.failover.dialect import USER, Dialect
from tuibench.features.failover.gtid import GtidSet
from tuibench.features.failover.modes import WAIT_POINTS, Mode
from tuibench.features.failover.relay import LateRelay
from tuibench.features.failover.result import SemisyncCounts
from tuibench.mysql.connection import Connection
from tuibench.servers.instance import free_port
from tuibench.servers.server import PrivateServer

POLL_SECONDS = 0.02

SET_UP_SECONDS = 120.0
"""Maximum wait for a replica or a member of the group to be ready, and to have what the source has."""

PROMOTION_SECONDS = 300.0
"""Maximum wait for the end of the relay log, and for an election."""


class MissingTransactions(NamedTuple):
    """Transactions that the most advanced replica lacks."""

    not_received: int
    not_applied: int


class TopologySettings(NamedTuple):
    """What all topologies of a command have in common."""

    dialect: Dialect
    password: str
    """The password of the replicas' account."""
    lag_seconds: float
    semisync_timeout_seconds: float


async def until(condition: Callable[[], Awaitable[bool]], seconds: float, what: str) -> None:
    """Wait for a condition. Raises RunError that begins with `what` if it does not hold in time."""
    limit_ns = SystemClock.now_ns() + round(seconds * NS_PER_SECOND)
    while not await condition():
        if SystemClock.now_ns() > limit_ns:
            raise RunError(f"{what} within {seconds:g} s")
        await asyncio.sleep(POLL_SECONDS)


class Topology(ABC):
    """Running servers with equal data, of which the first one is the source.

    Use it as a context: within it, there are connections to all servers, and relays.
    """

    def __init__(self, servers: Sequence[PrivateServer], mode: Mode, settings: TopologySettings) -> None:
        self.servers = list(servers)
        self.mode = mode
        self.dialect = settings.dialect
        self._settings = settings
        self._admins: dict[PrivateServer, Connection] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            for server in self.servers:
                self._admins[server] = await self._stack.enter_async_context(connected(server.target))
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def source(self) -> PrivateServer:
        return self.servers[0]

    @property
    def replicas(self) -> Sequence[PrivateServer]:
        return self.servers[1:]

    def admin(self, server: PrivateServer) -> Connection:
        """The connection for statements to the server."""
        return self._admins[server]

    @abstractmethod
    async def set_up(self) -> None:
        """Begin the replication in the mode. Raises RunError if it does not begin."""

    async def catch_up(self) -> None:
        """Wait until the replicas have executed what the source has. Raises RunError if they do not."""
        wanted = await self.dialect.executed(self.admin(self.source))
        for server in self.replicas:

            async def has_all(server: PrivateServer = server) -> bool:
                return not wanted - await self.executed(server)

            await until(has_all, SET_UP_SECONDS, "a replica does not have the tables of its source")

    async def executed(self, server: PrivateServer) -> GtidSet:
        """The transactions that a replica has executed. Raises RunError if it does not replicate."""
        return await self.dialect.executed(self.admin(server))

    @abstractmethod
    async def semisync(self) -> SemisyncCounts | None: ...

    @abstractmethod
    async def backlog(self) -> MissingTransactions: ...

    def cut(self) -> None:
        """Cut the source off: what the replicas have not received is not received any more."""
        return

    @abstractmethod
    async def promote(self) -> PrivateServer:
        """Make the most advanced replica the new primary. Raises RunError if that takes too long."""


class Replicas(Topology):
    """A source with asynchronous or semi-synchronous replicas."""

    def __init__(self, servers: Sequence[PrivateServer], mode: Mode, settings: TopologySettings) -> None:
        super().__init__(servers, mode, settings)
        self._relay: LateRelay | None = None

    async def set_up(self) -> None:
        self._relay = await self._replicate(self.source, self.replicas)

    async def executed(self, server: PrivateServer) -> GtidSet:
        state = await self.dialect.replica_state(self.admin(server))
        self._check(server, state.receive_error or state.apply_error)
        return state.executed

    def _check(self, server: PrivateServer, error: str) -> None:
        """Raises RunError for the error of a replica."""
        if error:
            raise RunError(f"server {self.servers.index(server) + 1} does not replicate: {error}")

    async def semisync(self) -> SemisyncCounts | None:
        if self.mode not in WAIT_POINTS:
            return None
        return await self.dialect.semisync_counts(self.admin(self.source))

    async def backlog(self) -> MissingTransactions:
        written = await self.dialect.executed(self.admin(self.source))
        states = [await self.dialect.replica_state(self.admin(each)) for each in self.replicas]
        first = max(states, key=lambda state: len(state.received))
        return MissingTransactions(len(written - first.received), len(first.received - first.executed))

    def cut(self) -> None:
        if self._relay is not None:
            self._relay.cut()

    async def promote(self) -> PrivateServer:
        states = await asyncio.gather(*map(self._applied, self.replicas))
        first = max(self.replicas, key=lambda server: states[self.replicas.index(server)])
        for server in self.replicas:
            await self.dialect.detach(self.admin(server))
        others = [server for server in self.replicas if server is not first]
        if others:
            self._relay = await self._replicate(first, others)
        await self.admin(first).execute("SET GLOBAL read_only = OFF")
        return first

    async def _applied(self, server: PrivateServer) -> int:
        """Stop receiving, and apply the relay log; returns the number of executed transactions."""
        admin = self.admin(server)
        await self.dialect.stop_receiving(admin)
        executed = 0

        async def is_applied() -> bool:
            nonlocal executed
            state = await self.dialect.replica_state(admin)
            self._check(server, state.apply_error)
            executed = len(state.executed)
            return not state.received - state.executed

        await until(is_applied, PROMOTION_SECONDS, "the replica has not applied its relay log")
        return executed

    async def _replicate(self, source: PrivateServer, replicas: Sequence[PrivateServer]) -> LateRelay | None:
        """Make the replicas follow the source in the mode, through a relay if they are to lag."""
        relay, port = None, source.target.port
        if self._settings.lag_seconds:
            relay = LateRelay(port)
            await self._stack.enter_async_context(relay.listening())
            port = relay.port
        for server in replicas:
            await self.dialect.set_replica(self.admin(server), self.mode)
            await self.dialect.follow(self.admin(server), port, self._settings.password)
        admin = self.admin(source)
        await self.dialect.set_source(admin, self.mode, self._settings.semisync_timeout_seconds)

        async def are_ready() -> bool:
            states = [await self.dialect.replica_state(self.admin(server)) for server in replicas]
            for server, state in zip(replicas, states, strict=True):
                self._check(server, state.receive_error or state.apply_error)
            return all(state.is_connected for state in states) and (
                self.mode not in WAIT_POINTS or await self.dialect.semisync_clients(admin) >= len(replicas)
            )

        await until(are_ready, SET_UP_SECONDS, "not every replica has connected to its source")
        if relay is not None:
            relay.seconds = self._settings.lag_seconds
        return relay


MEMBERS_SQL = (
    "SELECT member_port, member_state, member_role FROM performance_schema.replication_group_members"
)


class Group(Topology):
    """A group with a single primary, of MySQL's group replication."""

    async def set_up(self) -> None:
        addresses = [f"127.0.0.1:{free_port()}" for _ in self.servers]
        name = str(uuid4())
        for server, address in zip(self.servers, addresses, strict=True):
            admin = self.admin(server)
            values = {
                "group_name": name,
                "local_address": address,
                "group_seeds": ",".join(addresses),
                "recovery_get_public_key": "ON",
                "bootstrap_group": "ON" if server is self.source else "OFF",
            }
            for key, value in values.items():
                await admin.execute(f"SET GLOBAL group_replication_{key} = {admin.quote(value)}")
            await admin.execute(
                f"CHANGE REPLICATION SOURCE TO SOURCE_USER='{USER}',"
                f" SOURCE_PASSWORD={admin.quote(self._settings.password)}"
                " FOR CHANNEL 'group_replication_recovery'"
            )
            await admin.execute("START GROUP_REPLICATION")
            await admin.execute("SET GLOBAL group_replication_bootstrap_group = OFF")
        for server in self.servers:

            async def is_online(server: PrivateServer = server) -> bool:
                rows = await self.admin(server).query(MEMBERS_SQL)
                return [state for _, state, _ in rows].count("ONLINE") == len(self.servers)

            await until(is_online, SET_UP_SECONDS, "not every member of the group is ONLINE")

    async def semisync(self) -> SemisyncCounts | None:
        return None

    async def backlog(self) -> MissingTransactions:
        written = await self.dialect.executed(self.admin(self.source))
        lacking = [len(written - await self.dialect.executed(self.admin(each))) for each in self.replicas]
        return MissingTransactions(0, min(lacking))

    async def promote(self) -> PrivateServer:
        elected: PrivateServer | None = None

        async def is_elected() -> bool:
            nonlocal elected
            for server in self.replicas:
                try:
                    rows = await self.admin(server).query(MEMBERS_SQL)
                    ((read_only,),) = await self.admin(server).query("SELECT @@GLOBAL.super_read_only")
                except SQLError as error:
                    raise RunError(f"a member of the group has failed: {error.message}") from error
                is_primary = any(
                    (int(port), state, role) == (server.target.port, "ONLINE", "PRIMARY")
                    for port, state, role in rows
                )
                if is_primary and not int(read_only):
                    elected = server
                    return True
            return False

        await until(is_elected, PROMOTION_SECONDS, "the group has not elected a primary")
        assert elected is not None  # noqa: S101
        return elected


def build_topology(servers: Sequence[PrivateServer], mode: Mode, settings: TopologySettings) -> Topology:
    return Group(servers, mode, settings) if mode is Mode.GROUP else Replicas(servers, mode, settings)
