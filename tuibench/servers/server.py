"""A private server: start, connect, restart, kill, stop.

    async with await PrivateServer.start() as server:
        connection = await connect(server.target)

The server and its files are removed when the last owner has ended: after `stop`, after the program's end,
after kill -9.
"""

import asyncio
import secrets
import string
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tuibench.base.errors import RunError
from tuibench.model.hardware import Hardware
from tuibench.model.server import ServerLimits, Target
from tuibench.mysql.connection import connect
from tuibench.servers import binaries, instance
from tuibench.servers.binaries import Binary
from tuibench.servers.disk import library as disk_library
from tuibench.servers.instance import MIB, ServerSpec, ServerState
from tuibench.servers.limits import buffer_pool_bytes as memory_buffer_pool
from tuibench.servers.limits import scope_command
from tuibench.servers.process import DirectoryLayout, default_base
from tuibench.servers.supervisor import SupervisorClient, SupervisorControl, SupervisorRequest

USER = "tuibench"
DATABASE = "sbtest"
CHARACTER_CLASSES = (string.ascii_lowercase, string.ascii_uppercase, string.digits, "-_.+:,@")
"""No character of the last class has a meaning in an option file or an SQL literal."""

CLASS_CYCLES = 8


def make_password() -> str:
    """A random password that every policy of a server accepts, because `--my-cnf` may load one.

    The policies count the characters of each class, and look for words. So the classes alternate, and no two
    letters are adjacent.
    """
    return "".join(secrets.choice(each) for each in CHARACTER_CLASSES * CLASS_CYCLES)


class KillableServer:
    """A private server, controlled through its supervisor."""

    def __init__(self, control: SupervisorControl) -> None:
        self._control = control
        self.pid = 0

    async def kill(self) -> None:
        """Kill the server with SIGKILL and wait for its end; the directory is kept."""
        await asyncio.to_thread(self._control.ask, SupervisorRequest("kill"))

    async def start_again(self, options: Sequence[str] = ()) -> None:
        """Start a killed server on the same socket, port and data.

        `options` are added to its command line for this start.
        """
        start = SupervisorRequest("start", options=tuple(options))
        self.pid = (await asyncio.to_thread(self._control.ask, start)).pid

    def close(self) -> None:
        """Release the control; the server continues."""
        self._control.close()


class PrivateServer(KillableServer):
    """A running private server. `start` creates it; methods may be called from any event loop.

    `directory` contains all its files. Processes that inherit `watch_fd` by `pass_fds` are owners, too.
    """

    def __init__(self, channel: SupervisorClient, spec: ServerSpec, running: ServerState) -> None:
        super().__init__(channel)
        self._channel = channel
        self._spec = spec
        self._stopped = False
        self._layout = DirectoryLayout(Path(running.directory))
        self.binary = spec.binary
        self.pid = running.pid
        """The server's process; a new one after a restart."""
        self.hardware: Hardware | None = None
        """The delays of its simulated disk at the beginning of a session; None if it has none."""
        self.limited = running.limited
        """Its limits in words."""
        self.target = Target(
            port=running.port,
            socket=str(self._layout.socket),
            user=spec.user,
            password=spec.password,
            database=spec.database,
        )
        """The login over its Unix socket."""

    @classmethod
    async def start(
        cls,
        binary: Binary | None = None,
        *,
        keep: bool = False,
        options: Sequence[str] = (),
        base: Path | None = None,
        buffer_pool_bytes: int = 256 * MIB,
        redo_log_bytes: int = 128 * MIB,
        template: Path | None = None,
        limits: ServerLimits | None = None,
        disk: Hardware | None = None,
    ) -> Self:
        """Create a server in a new directory below `base` and wait until a login succeeds.

        `binary` defaults to the first one found; `options` are added to the server's command line. With
        `keep` the server continues without owners. `template` is a data directory, created by `binary` and
        never used by a server, that is copied to save time. `limits` are its processors and memory, which
        determines the buffer pool. With `disk`, its disk can be simulated; a session on the server begins
        with these delays.

        Raises ServerUnavailableError with the end of the log, UsageError if no disk can be simulated here.
        """
        limits = limits or ServerLimits()
        if limits.memory_bytes is not None:
            buffer_pool_bytes = memory_buffer_pool(limits.memory_bytes)
        is_limited = limits != ServerLimits()
        scope, no_scope = await asyncio.to_thread(scope_command) if is_limited else ([], "")
        spec = ServerSpec(
            binary=await asyncio.to_thread(binaries.find_binary) if binary is None else binary,
            base=str(base or default_base()),
            user=USER,
            password=make_password(),
            database=DATABASE,
            keep=keep,
            options=tuple(options),
            buffer_pool_bytes=buffer_pool_bytes,
            redo_log_bytes=redo_log_bytes,
            template=str(template or ""),
            limits=limits,
            disk_library=await asyncio.to_thread(disk_library) if disk is not None else "",
            no_scope=no_scope,
        )
        channel = SupervisorClient(scope)
        try:
            server = cls(
                channel, spec, await asyncio.to_thread(channel.ask, SupervisorRequest("create", spec))
            )
            server.hardware = disk
            await server.check_login()
        except BaseException:
            channel.abandon()
            await asyncio.shield(asyncio.to_thread(channel.end, remove=True))
            raise
        return server

    @property
    def directory(self) -> Path:
        return self._layout.root

    @property
    def client_options(self) -> Path:
        """An option file with the login, for `--defaults-file` of any client; readable by its owner only."""
        return self._layout.client_options

    @property
    def supervisor_pid(self) -> int:
        """The supervisor's process id. SIGTERM makes it stop the server and remove all files."""
        return self._channel.pid

    @property
    def watch_fd(self) -> int:
        """The server lives as long as a process holds this file descriptor."""
        return self._channel.watch_fd

    @property
    def control(self) -> tuple[int, int]:
        """Descriptors by which a session kills the server and starts it again (`SupervisorControl`)."""
        return self._channel.pipes

    @property
    def keep(self) -> bool:
        return self._spec.keep

    async def check_login(self) -> None:
        """Log in once. Raises ServerUnavailableError if the login fails."""
        connection = await connect(self.target)
        await connection.close()

    async def check_running(self) -> None:
        """Check the server's process. After `stop` and `release`, it does nothing.

        Raises ServerUnavailableError with the reason for its end: out of memory, or the end of its log.
        """
        if not self._stopped:
            await asyncio.to_thread(self._channel.ask, SupervisorRequest("check"))

    async def restart(self, options: Sequence[str] = ()) -> None:
        """Shut the server down cleanly and start it again; `options` as for `start_again`."""
        await asyncio.to_thread(self._channel.ask, SupervisorRequest("halt"))
        await self.start_again(options)

    async def save_data(self) -> None:
        """Copy the data directory, for `restore_data`; the server is restarted for it."""
        await self._restart_on(self._layout.data, self._layout.saved_data)

    async def restore_data(self, *, cold: bool = False) -> None:
        """Start the server with the saved data; with `cold`, none of them are in the page cache."""
        await self._restart_on(self._layout.saved_data, self._layout.data, cold=cold)

    async def _restart_on(self, source: Path, copy: Path, *, cold: bool = False) -> None:
        await asyncio.to_thread(self._channel.ask, SupervisorRequest("halt"))
        await asyncio.to_thread(instance.copy_data, source, copy)
        if cold:
            await asyncio.to_thread(instance.drop_from_page_cache, self._layout.data)
        await self.start_again()

    async def stop(self) -> None:
        """End the server and remove its directory (with `keep`, only end it).

        Raises RunError if a file cannot be removed.
        """
        if self._stopped:
            return
        self._stopped = True
        await asyncio.shield(asyncio.to_thread(self._end))

    def release(self) -> None:
        """Release ownership; the server continues with `keep`, or while a process holds `watch_fd`."""
        if not self._stopped:
            self._stopped = True
            self._channel.release()

    def how_to_reach(self) -> str:
        """Instructions for a kept server: how to log in, and how to stop it."""
        return (
            f"{self.binary.flavour} {self.binary.version} keeps running on port {self.target.port}"
            f" and socket {self.target.socket}\n"
            f"  connect:    tuibench live oltp_read_write --defaults-file={self.client_options}\n"
            f"  log in:    user {self.target.user}, the password is in {self.client_options}\n"
            f"  stop it:   kill {self.supervisor_pid}    (stops the server and removes {self.directory})"
        )

    def _end(self) -> None:
        self._channel.end(remove=not self.keep)
        if self.keep or not self.directory.exists():
            return
        if not instance.remove_leftover(self._layout):
            raise RunError(f"cannot remove {self.directory}", "remove it manually")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server; a kept server is released instead."""
        if self.keep:
            self.release()
        else:
            await self.stop()
