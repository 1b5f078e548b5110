"""Carriers: the streams of bytes between a session and its agents.

ssh:HOST        the system's ssh, without questions: ssh -T -o BatchMode=yes HOST tuibench agent
exec:COMMAND    any command that connects to an agent: kubectl exec -i, srun, docker exec -i
dask:SCHEDULER  a stream to each worker of a Dask scheduler

Dask finds the workers and encrypts the streams; it does not run the load. The session asks the scheduler for
its workers, installs a handler on each, and opens a stream to each. The handler starts `tuibench agent` and
passes its bytes on. Afterwards the scheduler is only asked for new workers. Lost hosts are detected by
leases, because Dask notices a stopped worker after minutes.

Every client of a scheduler may run programs on its workers. Therefore TLS is required beyond loopback.
This is the only module that imports `distributed`, and only for `dask:`.
"""

import asyncio
import contextlib
import importlib
import os
import shlex
import signal
import socket
from abc import ABC, abstractmethod
from typing import Any, cast
from urllib.parse import urlsplit

from tuibench.base.child_process import StderrTail, end_words
from tuibench.base.clock import listener, wait_with_timeout
from tuibench.base.errors import RunError, UsageError
from tuibench.base.own_process import own_command
from tuibench.features.cluster.messages import MAGIC
from tuibench.model.cluster import AGENT_PROGRAM, EXEC_PLACE, SSH_PLACE, ClusterPlan, check_address

END_SECONDS = 2.0
CLOSE_SECONDS = 1.0
SSH = ("ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
KEEP_ALIVE = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2")
SECRET_VARIABLES = ("MYSQL_PWD", "MYSQL_PASSWORD")

GREETING_BYTES = 1 << 16
"""Maximum bytes that a login shell may print before the agent's first message."""


class HostUnreachableError(RunError):
    """A host does not answer, for example a worker that its scheduler still lists after its end."""


class Wire(ABC):
    """An open carrier: a stream from the agent and one to it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @abstractmethod
    async def close(self) -> None:
        """Close the carrier; the agent then ends its load."""

    @abstractmethod
    def problem(self) -> str:
        """A short description of why the carrier has ended; empty if unknown."""

    async def greet(self) -> None:
        """Skip everything before the agent's first message. Raises EOFError if the stream ends before it."""
        try:
            await self.reader.readuntil(MAGIC)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError) as error:
            raise EOFError from error


class Carrier(ABC):
    """A way to reach one host."""

    name: str
    """The host's name in messages; empty to use the name that its agent reports."""
    place: str
    """The host's address."""
    is_permanent = True
    """Whether the carrier is opened again after a loss; otherwise the host is discovered anew."""

    @abstractmethod
    async def open(self) -> Wire:
        """Start an agent. Raises RunError if the carrier cannot be used."""

    @abstractmethod
    def remedy(self, problem: str) -> str:
        """The hint for an agent that does not answer."""


class CommandWire(Wire):
    """A command whose stdin and stdout carry the agent's bytes. The end of its stderr describes a failure."""

    def __init__(self, process: asyncio.subprocess.Process, place: str) -> None:
        self.process = process
        self._place = place
        self._is_closed = False
        self.writer = cast(asyncio.StreamWriter, process.stdin)
        self.reader = cast(asyncio.StreamReader, process.stdout)
        self._stderr = StderrTail(cast(asyncio.StreamReader, process.stderr))

    def problem(self) -> str:
        words, code = self._stderr.last_line, self.process.returncode
        return words or ("" if code is None else f"its command {end_words(code)}")

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        with contextlib.suppress(TimeoutError, ConnectionError):
            self.writer.close()
            await wait_with_timeout(self.writer.wait_closed(), CLOSE_SECONDS)
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.process.wait(), END_SECONDS)
        if self.process.returncode is None and (report := listener.get()) is not None:
            report(f"{self._place} has not ended within {END_SECONDS:g} s of its load, and is killed")
        # The command has its own session, so that processes which it left running are ended with it:
        # they would keep the pipes open, and asyncio waits for the end of the pipes, too.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await wait_with_timeout(self.process.wait(), END_SECONDS)
        await self._stderr.close(CLOSE_SECONDS)
        cast(Any, self.process)._transport.close()


class CommandCarrier(Carrier):
    """Starts a command, without a shell and without the passwords of this process's environment."""

    def __init__(self, name: str, words: tuple[str, ...], hint: str) -> None:
        self.name = name
        self.place = name or shlex.join(words)
        self._words = words
        self._hint = hint

    async def open(self) -> CommandWire:
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
        return CommandWire(process, self.place)

    def remedy(self, problem: str) -> str:
        return self._hint


def ssh_carrier(host: str, program: str) -> Carrier:
    """The system's ssh to `[user@]host` or `[user@]host:port`, with its configuration file."""
    remote = f"{program} agent"
    if program == AGENT_PROGRAM:
        remote = shlex.join(["sh", "-c", f"{SEARCH} exec {remote}"])
    hint = f"try: {_tried(host, remote)} </dev/null (it must log in without a prompt and find tuibench)"
    return CommandCarrier(host, (*SSH, *KEEP_ALIVE, *_ssh_place(host), remote), hint)


def _ssh_place(host: str) -> tuple[str, ...]:
    """The words of ssh for a host with its port, if any."""
    bare, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    has_port = bool(bare) and port.isdecimal() and (":" not in bare or bare.endswith("]"))
    return ("-p", port, "--", bare.translate(_BRACKETS)) if has_port else ("--", host.translate(_BRACKETS))


def _tried(host: str, remote: str) -> str:
    """The line by which a user can see why ssh fails."""
    place = (word for word in _ssh_place(host) if word != "--")
    return shlex.join(["ssh", "-o", "BatchMode=yes", *place, remote])


_BRACKETS = str.maketrans("", "", "[]")
SEARCH = 'PATH="$PATH:$HOME/.local/bin"'
"""Where `cluster install` puts a program, which a login by ssh often does not search."""


def exec_carrier(command: str, name: str) -> Carrier:
    """Any command, split as a shell would, whose stdin and stdout are an agent's."""
    hint = f"try: {command} </dev/null (its stdin and stdout must be those of tuibench agent)"
    return CommandCarrier(name, tuple(shlex.split(command)), hint)


def shell_carrier(place: str, script: str) -> CommandCarrier:
    """The way to a place, with a shell that runs a script instead of the agent. Raises UsageError for a place
    without one.
    """
    if place.startswith(SSH_PLACE):
        host, remote = place.removeprefix(SSH_PLACE), shlex.join(["sh", "-c", script])
        hint = f"try: {_tried(host, 'true')} (it must log in without a prompt)"
        return CommandCarrier(host, (*SSH, *KEEP_ALIVE, *_ssh_place(host), remote), hint)
    words = shlex.split(place.removeprefix(EXEC_PLACE)) if place.startswith(EXEC_PLACE) else []
    if len(words) < 2 or words[-1] != "agent":
        raise UsageError(
            f"{place}: nothing can be installed there",
            "it takes hosts of ssh, and commands that end with the words: tuibench agent",
        )
    hint = f"try: {shlex.join([*words[:-2], 'sh', '-c', 'true'])}"
    return CommandCarrier(shlex.join(words), (*words[:-2], "sh", "-c", script), hint)


def carriers_of(plan: ClusterPlan) -> list[Carrier]:
    """The carrier of each place that is reached by a command."""
    carriers: list[Carrier] = []
    for place in plan.places:
        if place.startswith(SSH_PLACE):
            carriers.append(ssh_carrier(place.removeprefix(SSH_PLACE), plan.program))
        elif place.startswith(EXEC_PLACE):
            carriers.append(exec_carrier(place.removeprefix(EXEC_PLACE), ""))
    return carriers


OPERATION = "tuibench_agent"
CONNECT_SECONDS = 15.0
ANSWER_SECONDS = 30.0
"""Timeout of a call to Dask: a worker on a busy host takes seconds to import the agent's modules."""

CHUNK_BYTES = 1 << 20
EXTRA = "pip install 'tuibench[cluster]'"
CERTIFICATES_HINT = "give --cluster-ca, --cluster-cert and --cluster-key, or Dask's configuration"
READERS = ["dask", "pickle", "error"]
"""The deserializers of Dask that may decode a response."""


class DaskScheduler:
    """A scheduler, and the streams to its workers."""

    def __init__(self, address: str, plan: ClusterPlan) -> None:
        """Raises UsageError if `distributed` is not installed, or the address or a certificate is refused."""
        check_address(address, plan)
        self.address = address
        self._distributed = _distributed()
        files = {"tls_ca_file": plan.ca, "tls_client_cert": plan.cert, "tls_client_key": plan.key}
        given = {name: path for name, path in files.items() if path}
        security = self._distributed.security.Security(**given)
        try:
            self._arguments = security.get_connection_args("client")
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageError(
                f"{address}: {error}", "give --cluster-ca, --cluster-cert and --cluster-key"
            ) from error
        if address.startswith("tls://") and self._arguments.get("ssl_context") is None:
            raise UsageError(f"{address} needs certificates", CERTIFICATES_HINT)

    async def carriers(self) -> list[Carrier]:
        """A carrier for each present worker of the scheduler. Raises RunError if it does not answer."""
        identity = await self._call(self.address, "identity")
        workers = identity.get("workers", {})
        return [
            DaskCarrier(self, address, str(worker.get("name", ""))) for address, worker in workers.items()
        ]

    async def open(self, address: str) -> Any:
        """Start an agent on a worker; returns its stream. Raises RunError if the worker cannot start one."""
        pickle = self._distributed.protocol.pickle
        await self._call(address, "run", function=pickle.dumps(install_handler))
        comm = await self._connect(address)
        await comm.write({"op": OPERATION, "reply": False})
        return comm

    async def _connect(self, address: str) -> Any:
        try:
            return await wait_with_timeout(
                self._distributed.comm.connect(address, timeout=CONNECT_SECONDS, **self._arguments),
                CONNECT_SECONDS,
            )
        except (OSError, TimeoutError, ValueError) as error:
            reason = str(error.__cause__ or error) or "no answer"
            raise HostUnreachableError(f"{address} cannot be reached: {reason}", REMEDY) from error

    async def _call(self, address: str, operation: str, **arguments: Any) -> Any:
        """Call an operation of a scheduler or worker; returns the response. Raises RunError for an error."""
        comm = await self._connect(address)
        try:
            await comm.write({"op": operation, "reply": True, **arguments})
            answer = await wait_with_timeout(comm.read(deserializers=READERS), ANSWER_SECONDS)
        except (OSError, TimeoutError) as error:
            reason = str(error) or f"no answer for {ANSWER_SECONDS:g} s"
            raise HostUnreachableError(f"{address} cannot be reached: {reason}", REMEDY) from error
        finally:
            comm.abort()
        if isinstance(answer, dict) and answer.get("status") in ("error", "uncaught-error"):
            text = answer.get("exception_text") or answer.get("text") or "an error"
            raise RunError(
                f"{address} cannot start an agent: {text}", f"{EXTRA} in the environment of the worker"
            )
        return answer


REMEDY = "check the address, and that its certificate and yours are of one authority"


class DaskCarrier(Carrier):
    """A Dask worker. After a restart it has another address, and is discovered anew."""

    is_permanent = False

    def __init__(self, scheduler: DaskScheduler, address: str, name: str) -> None:
        host = urlsplit(address).hostname or address
        self.name = name if name and not name.startswith(("tls://", "tcp://")) else host
        self.place = address
        self._scheduler = scheduler

    async def open(self) -> Wire:
        return await DaskWire.over(await self._scheduler.open(self.place))

    def remedy(self, problem: str) -> str:
        return f"see the log of the Dask worker {self.place}; tuibench must be installed there"


class DaskWire(Wire):
    """A stream to a Dask worker, connected to a reader and a writer by a pair of sockets."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self._tasks: list[asyncio.Task[None]] = []
        self._far: asyncio.StreamWriter

    @classmethod
    async def over(cls, comm: Any) -> "DaskWire":
        near, far = socket.socketpair()
        wire = cls(comm)
        wire.reader, wire.writer = await asyncio.open_unix_connection(sock=near)
        reader, wire._far = await asyncio.open_unix_connection(sock=far)
        wire._tasks = [
            asyncio.create_task(work) for work in (_to_comm(reader, comm), _from_comm(comm, wire._far))
        ]
        return wire

    def problem(self) -> str:
        return "its stream was closed" if self._comm.closed() else ""

    async def close(self) -> None:
        self.writer.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._far.close()
        self._comm.abort()


async def _to_comm(reader: asyncio.StreamReader, comm: Any) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            await comm.write(data)
    comm.abort()


async def _from_comm(comm: Any, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while True:
            writer.write(await comm.read())
            await writer.drain()
    writer.close()


def install_handler(dask_worker: Any) -> None:
    """Register the handler that starts agents; runs in a Dask worker, any number of times."""
    dask_worker.handlers[OPERATION] = serve_agent


async def serve_agent(comm: Any) -> None:
    """Start an agent, and pass on its bytes until one side ends; runs in a Dask worker."""
    agent = await asyncio.create_subprocess_exec(
        *own_command("tuibench", "agent"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    if agent.stdin is None or agent.stdout is None:
        return
    pumps = [
        asyncio.create_task(work) for work in (_to_comm(agent.stdout, comm), _from_comm(comm, agent.stdin))
    ]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        agent.stdin.close()
        comm.abort()
        await agent.wait()


def _distributed() -> Any:
    """The package `distributed`. Raises UsageError with the way to install it."""
    try:
        for name in ("comm", "security", "protocol.pickle"):
            importlib.import_module(f"distributed.{name}")
        return importlib.import_module("distributed")
    except ImportError as error:
        raise UsageError(
            "a Dask scheduler needs the package distributed, which is not installed", EXTRA
        ) from error
