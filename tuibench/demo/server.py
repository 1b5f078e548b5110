"""A private server as an object with a life cycle: started, reached, restarted, killed, stopped.

    async with await PrivateServer.start() as server:
        connection = await connect(server.target)

It is gone, with all its files, when its last owner is: after `stop`, after the program's end, after kill -9.
"""

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tuibench.demo import binaries, stale
from tuibench.demo.binaries import Binary
from tuibench.demo.channel import Channel
from tuibench.demo.instructions import MIB, Create, Halt, Instruction, Kill, Running, Spec, Start
from tuibench.demo.layout import Layout, default_base
from tuibench.errors import RunError, ServerUnavailableError
from tuibench.model.target import Target
from tuibench.mysql.connection import connect

USER = "tuibench"
DATABASE = "sbtest"
PASSWORD_BYTES = 18


class PrivateServer:
    """A running server of our own. Made by `start`; its methods may be called from any event loop.

    `target` is its unix socket, `pid` the server's process (another one after a restart), `directory` holds
    all its files. `watch_fd`, passed on to further processes with `pass_fds`, makes them owners, too.
    """

    def __init__(self, channel: Channel, spec: Spec, running: Running) -> None:
        self._channel = channel
        self._spec = spec
        self._stopped = False
        self._layout = Layout(Path(running.directory))
        self.binary = spec.binary
        self.pid = running.pid
        self.target = Target(
            port=running.port,
            socket=str(self._layout.socket),
            user=spec.user,
            password=spec.password,
            database=spec.database,
        )

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
    ) -> Self:
        """Makes a server in a new directory below `base` and waits until it lets us in.

        `binary` defaults to the first one found, `options` are added to the server's command line. With
        `keep` it goes on when all owners are gone. `template` is a data directory that `binary` has made and
        no server has run on; a copy of it saves making another. Raises ServerUnavailableError, with the
        end of the log.
        """
        spec = Spec(
            binary=await asyncio.to_thread(binaries.find) if binary is None else binary,
            base=str(base or default_base()),
            user=USER,
            password=secrets.token_urlsafe(PASSWORD_BYTES),
            database=DATABASE,
            keep=keep,
            options=tuple(options),
            buffer_pool_bytes=buffer_pool_bytes,
            redo_log_bytes=redo_log_bytes,
            template=str(template or ""),
        )
        channel = Channel()
        try:
            server = cls(channel, spec, await _running(channel, Create(spec)))
            await server.check_login()
        except BaseException:
            channel.abandon()
            await asyncio.shield(asyncio.to_thread(channel.end, remove=True))
            raise
        return server

    @property
    def tcp_target(self) -> Target:
        """The same server and login over loopback TCP."""
        return msgspec.structs.replace(self.target, host="127.0.0.1", socket="")

    @property
    def directory(self) -> Path:
        return self._layout.root

    @property
    def client_options(self) -> Path:
        """An option file with the login, for `--defaults-file` of any client; readable by its owner only."""
        return self._layout.client_options

    @property
    def keeper_pid(self) -> int:
        """The process that watches over the server. SIGTERM makes it stop the server and remove all."""
        return self._channel.pid

    @property
    def watch_fd(self) -> int:
        """Whoever holds this file descriptor keeps the server alive."""
        return self._channel.watch_fd

    @property
    def keep(self) -> bool:
        return self._spec.keep

    async def check_login(self) -> None:
        """Logs in once. Raises ServerUnavailableError if the server does not let us in."""
        connection = await connect(self.target)
        await connection.close()

    async def restart(self) -> None:
        """Shuts the server down in order and starts it on the same socket, port and data."""
        await asyncio.to_thread(self._channel.ask, Halt())
        await self.start_again()

    async def kill(self) -> None:
        """Ends the server's process with SIGKILL and waits for its end; the directory stays."""
        await asyncio.to_thread(self._channel.ask, Kill())

    async def start_again(self) -> None:
        """Starts a server that was killed, on the same socket, port and data."""
        self.pid = (await _running(self._channel, Start())).pid

    async def stop(self) -> None:
        """Ends the server for good; process and directory are gone on return (with `keep`, only the process).

        Raises RunError if something of it could not be removed.
        """
        if self._stopped:
            return
        self._stopped = True
        await asyncio.shield(asyncio.to_thread(self._end))

    def release(self) -> None:
        """Lets go of the server without stopping it: it lives on with `keep`, or while `watch_fd` is held."""
        if not self._stopped:
            self._stopped = True
            self._channel.release()

    def how_to_reach(self) -> str:
        """For the user of a server that is kept: how to log in, and how to end it."""
        return (
            f"{self.binary.flavour} {self.binary.version} keeps running on port {self.target.port}"
            f" and socket {self.target.socket}\n"
            f"  reach it:  tuibench live oltp_read_write --defaults-file={self.client_options}\n"
            f"  log in:    user {self.target.user}, the password is in {self.client_options}\n"
            f"  end it:    kill {self.keeper_pid}    (stops the server and removes {self.directory})"
        )

    def _end(self) -> None:
        self._channel.end(remove=not self.keep)
        if self.keep or not self.directory.exists():
            return
        if not stale.clear(self._layout):
            raise RunError(f"cannot remove {self.directory}", "remove it by hand")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the server; one that is kept is let go instead."""
        if self.keep:
            self.release()
        else:
            await self.stop()


async def _running(channel: Channel, instruction: Instruction) -> Running:
    answer = await asyncio.to_thread(channel.ask, instruction)
    if not isinstance(answer, Running):
        raise ServerUnavailableError(f"the keeper of the private server answered {answer}")
    return answer
