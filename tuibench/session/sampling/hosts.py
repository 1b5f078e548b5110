"""The hosts of a session: the server's host, local or remote, and the client's host if it is another one."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tuibench.clock import Clock
from tuibench.errors import RunError
from tuibench.model.server import ServerInfo
from tuibench.model.tick import Tick
from tuibench.observe.host.remote.remote_host import CONNECT_SECONDS, RemoteHost
from tuibench.observe.host.sampler import HostSampler
from tuibench.observe.host.server_process import find_server_process


class HostsObservation(NamedTuple):
    """`host` is the server's host, `client` this host if the server is on another one; `note` is the reason
    why the former is missing. `news` is the text of an event: the remote host was lost, or is back.
    """

    host: Tick | None = None
    client: Tick | None = None
    note: str = ""
    news: str = ""


class Hosts:
    """`local` is None only in tests. `remote` reads the server's host, None if this was not requested."""

    def __init__(self, local: HostSampler | None, remote: RemoteHost | None, *, is_local: bool) -> None:
        self._local = local
        self._remote = remote
        self._is_local = is_local
        self._is_lost = False

    @classmethod
    def of(
        cls,
        server: ServerInfo,
        host_metrics: str,
        own_pids: Callable[[], Iterable[int]],
        clock: Clock,
        interval_seconds: float,
    ) -> "Hosts":
        """Nothing is sent yet. Raises UsageError for a source that is none."""
        remote = RemoteHost.of(host_metrics, server, clock, interval_seconds) if host_metrics else None
        is_local = server.is_local and remote is None
        process = find_server_process(server) if is_local else None
        return cls(HostSampler(process, own_pids, clock), remote, is_local=is_local)

    async def connect(self) -> None:
        """The first reading of the other host. Raises RunError where it cannot be read."""
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

    async def finish(self) -> HostsObservation:
        """The hosts since the last call."""
        local = self._local.sample() if self._local is not None else None
        if self._is_local:
            return HostsObservation(local)
        if self._remote is None:
            return HostsObservation(client=local)
        found = await self._remote.finish()
        return HostsObservation(found.sample, local, found.note, self._news(found.failed, found.note))

    def follow(self, server: ServerInfo) -> None:
        """The server was restarted: it has another process."""
        if self._remote is not None:
            self._remote.follow(server)
        elif self._is_local and self._local is not None:
            self._local.follow(find_server_process(server))

    async def close(self) -> None:
        if self._remote is not None:
            await self._remote.close()

    def _news(self, failed: bool, note: str) -> str:
        before, self._is_lost = self._is_lost, failed
        if failed == before:
            return ""
        return f"the server's host cannot be read: {note}" if failed else "the server's host is read again"
