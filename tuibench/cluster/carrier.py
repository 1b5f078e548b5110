"""Carriers: how the bytes between a session and an agent travel.

ssh:HOST        the system's ssh, without questions: ssh -T -o BatchMode=yes HOST tuibench agent
exec:COMMAND    any command that has an agent at its other end: kubectl exec -i, srun, docker exec -i
"""

import asyncio
import contextlib
import os
import shlex
from abc import ABC, abstractmethod
from collections import deque
from typing import cast

from tuibench import sanitize
from tuibench.clock import wait_with_timeout
from tuibench.cluster.messages import MAGIC
from tuibench.errors import RunError
from tuibench.model.cluster import EXEC_PLACE, SSH_PLACE, ClusterPlan

STDERR_LINES = 20
"""Lines of a command's stderr that are kept for a message."""

END_SECONDS = 2.0
CLOSE_SECONDS = 1.0
SSH = ("ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
KEEP_ALIVE = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2")
SECRET_VARIABLES = ("MYSQL_PWD", "MYSQL_PASSWORD")

GREETING_BYTES = 1 << 16
"""Maximum bytes that a login shell may print before the agent's first message."""


class HostUnreachableError(RunError):
    """A host that a scheduler lists does not answer: it has ended, or hangs."""


class Wire(ABC):
    """An open carrier: a stream from the agent and one to it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @abstractmethod
    async def close(self) -> None:
        """Closes the carrier; the agent then ends its load."""

    @abstractmethod
    def problem(self) -> str:
        """A short description of the cause of its end; empty if unknown."""

    async def greet(self) -> None:
        """Reads up to the agent's first message. Raises EOFError if the stream ends before."""
        try:
            await self.reader.readuntil(MAGIC)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError) as error:
            raise EOFError from error


class Carrier(ABC):
    """A way to reach one host.

    `name` is the host's name in messages, empty to use the host's own; `place` is its address. A carrier that
    `is_permanent` is retried after a loss; others are discovered again.
    """

    name: str
    place: str
    is_permanent = True

    @abstractmethod
    async def open(self) -> Wire:
        """Starts an agent. Raises RunError if the carrier itself cannot be used."""

    @abstractmethod
    def remedy(self, problem: str) -> str:
        """How to fix an agent that does not answer."""


class CommandWire(Wire):
    """A command whose stdin and stdout are the agent's. The last lines of its stderr describe a failure."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.writer = cast(asyncio.StreamWriter, process.stdin)
        self.reader = cast(asyncio.StreamReader, process.stdout)
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._listening = asyncio.create_task(self._listen(cast(asyncio.StreamReader, process.stderr)))

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while chunk := await stderr.read(4096):
            lines = chunk.decode(errors="replace").splitlines()
            self._stderr.extend(line.strip() for line in lines if line.strip())

    def problem(self) -> str:
        words = sanitize.excerpt(self._stderr[-1]) if self._stderr else ""
        code = self.process.returncode
        if words or code is None:
            return words
        return f"its command ended with exit code {code}"

    async def close(self) -> None:
        with contextlib.suppress(TimeoutError, ConnectionError):
            self.writer.close()
            await wait_with_timeout(self.writer.wait_closed(), CLOSE_SECONDS)
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.process.wait(), END_SECONDS)
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(asyncio.shield(self._listening), CLOSE_SECONDS)
        self._listening.cancel()


class CommandCarrier(Carrier):
    """Starts a command, without a shell and without the passwords of this process's environment."""

    def __init__(self, name: str, words: tuple[str, ...], hint: str) -> None:
        self.name = name
        self.place = name or shlex.join(words)
        self._words = words
        self._hint = hint

    async def open(self) -> Wire:
        environment = {name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=GREETING_BYTES,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            problem = error.strerror or str(error)
            raise RunError(f"{self._words[0]} cannot be started: {problem}", self._hint) from error
        return CommandWire(process)

    def remedy(self, problem: str) -> str:
        return self._hint


def ssh_carrier(host: str, program: str) -> Carrier:
    """The system's ssh to `[user@]host` or `[user@]host:port`, with its configuration file."""
    bare, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    has_port = bool(bare) and port.isdecimal() and (":" not in bare or bare.endswith("]"))
    place = ("-p", port, "--", bare.translate(_BRACKETS)) if has_port else ("--", host.translate(_BRACKETS))
    remote = f"{program} agent"
    tried = shlex.join(["ssh", "-o", "BatchMode=yes", *(("-p", port, bare) if has_port else (host,)), remote])
    hint = f"try: {tried} </dev/null (it must log in without a prompt and find tuibench)"
    return CommandCarrier(host, (*SSH, *KEEP_ALIVE, *place, remote), hint)


_BRACKETS = str.maketrans("", "", "[]")


def exec_carrier(command: str, name: str) -> Carrier:
    """Any command, split as a shell would, whose stdin and stdout are an agent's."""
    hint = f"try: {command} </dev/null (its stdin and stdout must be those of tuibench agent)"
    return CommandCarrier(name, tuple(shlex.split(command)), hint)


def carriers_of(plan: ClusterPlan) -> list[Carrier]:
    """The carrier of each place that is reached by a command."""
    carriers: list[Carrier] = []
    for place in plan.places:
        if place.startswith(SSH_PLACE):
            carriers.append(ssh_carrier(place.removeprefix(SSH_PLACE), plan.program))
        elif place.startswith(EXEC_PLACE):
            carriers.append(exec_carrier(place.removeprefix(EXEC_PLACE), ""))
    return carriers
