"""Session's handle of a worker process on this host: start, whether it runs, end."""

import asyncio
import contextlib
import socket
import sys
from pathlib import Path
from typing import assert_never

from tuibench.deadline import wait_with_timeout
from tuibench.errors import RunError
from tuibench.load.messages import ConnectionIds, FromWorker, MessageChannel, SessionChannel
from tuibench.load.worker_report import Finished, Reassign, WorkerReport
from tuibench.load.workers.link import Forward, WorkerGoneError, WorkerLink


class WorkerProcess(WorkerLink[FromWorker]):
    """One worker process and the connection to it."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        channel: SessionChannel,
        forward: Forward = lambda _: None,
    ) -> None:
        self.process = process
        self.pid: int = process.pid
        self.name = f"worker process {process.pid}"
        super().__init__(channel, forward)

    def reset(self, forward: Forward) -> None:
        super().reset(forward)
        self._cpu_ticks: int | None = None

    @classmethod
    async def start(cls, forward: Forward = lambda _: None) -> "WorkerProcess":
        """Starts a process in its own process session, so that the terminal's Ctrl-C does not reach it.

        Raises RunError if the system refuses a process or open files.
        """
        try:
            process, line = await _spawn()
            try:
                channel: SessionChannel = await MessageChannel.over(line, FromWorker)
            except BaseException:
                line.close()
                process.kill()
                await process.wait()
                raise
            return cls(process, channel, forward)
        except OSError as error:
            raise RunError(
                f"cannot start a worker process: {error.strerror or error}",
                "check the account's limits: ulimit -u for processes, ulimit -n for open files",
            ) from error

    def has_run(self) -> bool:
        """Whether the process has used CPU time since the last call; False if unknown."""
        before, self._cpu_ticks = self._cpu_ticks, cpu_ticks(self.pid)
        return self._cpu_ticks is not None and self._cpu_ticks != before

    def on_message(self, message: FromWorker) -> None:
        match message:
            case WorkerReport():
                self.take_report(message)
            case ConnectionIds(ids=ids):
                self.take_connection_ids(ids)
            case Reassign():
                self.take_work(message)
            case Finished(grants=grants):
                self.take_finish(grants)
            case _:
                assert_never(message)

    def gone(self) -> WorkerGoneError:
        return WorkerGoneError(
            f"{self.name} ended unexpectedly",
            "check for a kernel out-of-memory message, then start again",
        )

    async def end(self) -> None:
        """Ends the process; a process that has finished ends on its own."""
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.channel.close(), 1)
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.process.wait(), 1)
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        self._reading.cancel()


def cpu_ticks(pid: int) -> int | None:
    """The CPU time of a process in the system's ticks; None without /proc, or if the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return int(user) + int(system)


async def _spawn() -> tuple[asyncio.subprocess.Process, socket.socket]:
    """Starts the process; returns it with the session's end of the connection."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tuibench.load.workers.worker",
                str(theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        raise
    return process, ours
