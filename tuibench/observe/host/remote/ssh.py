"""Reads a remote Linux host over the system's ssh: one long-running command that prints figures on request.

Keys, jump hosts and known hosts are those of ~/.ssh: ssh runs with BatchMode, so it never prompts. The
command ends when its input is closed, including by the end of this process.
"""

import asyncio
import contextlib
from asyncio.subprocess import PIPE, Process

from tuibench.model.server import ServerInfo
from tuibench.observe.host.remote.proc_text import (
    COMMAND,
    RemoteFacts,
    parse_facts,
    parse_totals,
    request_line,
)
from tuibench.observe.host.remote.source import HostAddress, HostReading, HostSource, HostSourceError

SSH_OPTIONS = (
    "-T", "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=5", "-oServerAliveCountMax=3",
    "-oClearAllForwardings=yes",
)  # fmt: skip
LINE_BYTES = 1 << 20
STDERR_BYTES = 2000
END_SECONDS = 1.0


class SshSource(HostSource):
    """One connection; the next reading after its loss opens another one."""

    def __init__(self, address: HostAddress, server: ServerInfo) -> None:
        self._address = address
        self._server = server
        self._process: Process | None = None
        self._facts = RemoteFacts()
        self._number = 0

    @property
    def arguments(self) -> list[str]:
        """The command line of ssh."""
        address = self._address
        port = ("-p", str(address.port)) if address.port else ()
        user = ("-l", address.user) if address.user else ()
        return ["ssh", *SSH_OPTIONS, *port, *user, "--", address.host, f"exec sh -c '{COMMAND}'"]

    async def read(self) -> HostReading:
        """One reading. Raises HostSourceError with the error message of ssh."""
        try:
            process = await self._connected()
            self._number += 1
            lines = await self._ask(process, request_line(self._number, self._facts), self._number)
            totals = parse_totals(lines, self._facts)
        except (OSError, ValueError, IndexError) as error:
            raise HostSourceError(await self._reason(str(error))) from error
        except asyncio.CancelledError:
            await self.close()
            raise
        if totals is None:
            raise HostSourceError(await self._reason("its figures are not complete"))
        facts = self._facts
        ended = facts.server_pid is not None and facts.server_pid not in totals.processes
        note = f"the server's process {facts.server_pid} has ended" if ended else facts.note
        return HostReading(totals, len(totals.cores) or 1, facts.server_pid, note)

    def follow(self, server: ServerInfo) -> None:
        """Find the server's process again, over a new connection."""
        self._server = server
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()

    async def close(self) -> None:
        """End the command; kill ssh if it does not exit by itself."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), END_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _connected(self) -> Process:
        if self._process is not None:
            return self._process
        self._process = await asyncio.create_subprocess_exec(
            *self.arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=LINE_BYTES, start_new_session=True
        )
        path = self._server.pid_file.replace("\n", "")
        self._facts = parse_facts(await self._ask(self._process, f"{path}\n", 0), self._server)
        return self._process

    async def _ask(self, process: Process, request: str, number: int) -> list[str]:
        """The lines of a response. Raises OSError if the connection is lost."""
        if process.stdin is None or process.stdout is None:
            raise OSError("ssh has no pipes")
        process.stdin.write(request.encode())
        await process.stdin.drain()
        lines: list[str] = []
        while True:
            line = (await process.stdout.readline()).decode(errors="replace")
            if not line.endswith("\n"):
                raise OSError("the connection was closed")
            text = line[:-1]
            if text == f"end {number}":
                return lines
            if text.startswith("error "):
                raise OSError(text.removeprefix("error "))
            lines.append(text)

    async def _reason(self, otherwise: str) -> str:
        """The reason for a lost connection: the last line that ssh wrote to stderr; ends ssh."""
        process = self._process
        await self.close()
        output = b""
        if process is not None and process.stderr is not None:
            with contextlib.suppress(TimeoutError):
                output = await asyncio.wait_for(process.stderr.read(STDERR_BYTES), END_SECONDS)
        lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
        return f"ssh {self._address.host}: {lines[-1] if lines else otherwise}"
