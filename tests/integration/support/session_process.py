"""A session of its own process and a viewer of it, as the tests start and watch them."""

import asyncio
import contextlib
import itertools
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.integration.support.commands import DEADLINE_SECONDS, none_left, ours
from tests.ticks import known
from tuibench.base import paths
from tuibench.base.errors import RunError
from tuibench.model.event import Event, EventKind
from tuibench.model.message import (
    Command,
    CommandReply,
    SampleGap,
    ServiceSpec,
    SessionEnded,
    SessionSpec,
    SessionUpdate,
    Status,
)
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.probe import ProbeState
from tuibench.model.server import Activity, Target
from tuibench.model.tick import Sample, Tick
from tuibench.model.tune import TuneResult
from tuibench.session.client import SessionClient
from tuibench.session.registry import launch

SERVICE = "tuibench.session.service"
DURABILITY = "SELECT @@innodb_flush_log_at_trx_commit, @@sync_binlog"
DURABLE, UNSAFE = (1, 1), (0, 0)
LEISURE_MS = 2.0
"""How far away the server seems to be: a load that only has to be there leaves the processors to others."""
FULL_SPEED_MS = 0.0
_numbers = itertools.count(1)


class Watcher:
    """A viewer that keeps everything it hears, and can wait for what it has not heard yet."""

    def __init__(self, client: SessionClient, directory: Path) -> None:
        self.pid = client.hello.pid
        self.directory = directory
        self.hello = client.hello
        self.status: Status = client.hello.status
        self.samples: list[Sample] = []
        self.events: list[Event] = []
        self.activity: Activity | None = None
        self.probe: ProbeState | None = None
        self.tune: TuneResult | None = None
        self.ended: SessionEnded | None = None
        self.hung_up = False
        self._client = client
        self._heard = asyncio.Condition()
        self._listening = asyncio.create_task(self._listen())

    @property
    def loads(self) -> list[Tick]:
        return [sample.load for sample in self.samples if sample.load is not None]

    def told(self, kind: EventKind) -> list[Event]:
        return [event for event in self.events if event.kind is kind]

    async def submit(self, command: Command) -> CommandReply:
        return await asyncio.wait_for(self._client.submit(command), DEADLINE_SECONDS)

    async def until(self, condition: Callable[[], bool], seconds: float = DEADLINE_SECONDS) -> None:
        """Listens until the condition on what was heard holds; fails with what was heard if time is up."""
        try:
            async with asyncio.timeout(seconds), self._heard:
                await self._heard.wait_for(condition)
        except TimeoutError:
            pytest.fail(f"not heard in {seconds:.0f} s; {self._account()}")

    async def ticks(self, number: int = 1) -> None:
        """Listens to so many more samples."""
        wanted = len(self.samples) + number
        await self.until(lambda: len(self.samples) >= wanted)

    async def works(self) -> None:
        """Listens until transactions are done: on a busy machine a tick may see none."""
        heard = len(self.loads)
        await self.until(lambda: any(known("tps", load) for load in self.loads[heard:]))

    async def end(self) -> SessionEnded:
        """Listens to the last word."""
        await self.until(lambda: self.hung_up)
        assert self.ended is not None
        return self.ended

    async def close(self) -> None:
        self._listening.cancel()
        await self._client.close()

    def _account(self) -> str:
        told = [f"{event.elapsed_seconds:.1f}s {event.kind} {event.text}" for event in self.events]
        return (
            f"{len(self.samples)} samples, the last: {self.samples[-1:]}; {self.status.state}; events: {told}"
        )

    async def _listen(self) -> None:
        async for message in self._client.messages():
            await self._take(message)
        async with self._heard:
            self.hung_up = True
            self._heard.notify_all()

    async def _take(self, message: SessionUpdate) -> None:
        async with self._heard:
            match message:
                case Sample():
                    self.samples.append(message)
                case Event():
                    self.events.append(message)
                case Status():
                    self.status = message
                case Activity():
                    self.activity = message
                case ProbeState():
                    self.probe = message
                case TuneResult():
                    self.tune = message
                case SampleGap():
                    pytest.fail(f"{message.samples} samples were not sent")
                case SessionEnded():
                    self.ended = message
            self._heard.notify_all()


def session_spec(
    target: Target,
    profile: str = "oltp_read_write",
    *,
    threads: int = 2,
    interval_seconds: float = 0.25,
    delay_ms: float = LEISURE_MS,
    **options: OptionValue,
) -> SessionSpec:
    """A session without a time limit on small tables: 2 × 500 rows unless `options` say otherwise."""
    name = f"test-{next(_numbers)}"
    plan = RunPlan(
        profile=profile,
        options={"tables": 2, "table_size": 500, **options},
        threads=threads,
        seconds=None,
        interval_seconds=interval_seconds,
        client_delay_ms=delay_ms,
        seed=1,
    )
    return SessionSpec(session=name, plan=plan, target=target, run_directory=str(paths.runs_dir() / name))


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


async def join(socket: Path, directory: Path) -> Watcher:
    return Watcher(await SessionClient.join(socket), directory)


@contextlib.asynccontextmanager
async def watched(spec: SessionSpec, grace_seconds: float | None = 60.0) -> AsyncIterator[Watcher]:
    """A session in its own process, with a viewer. On leaving, its process and its helpers must have ended.

    A test that fails does not wait for the grace: its session is killed.
    """
    home = paths.runtime_dir().parent
    socket = paths.runtime_dir() / f"{spec.session}.sock"
    log = home / "log" / "service"
    try:
        await launch(ServiceSpec(session=spec, socket=str(socket), grace_seconds=grace_seconds), log)
    except RunError as error:
        error.add_note(log.read_text())
        raise
    watcher = await join(socket, Path(spec.run_directory))
    try:
        yield watcher
    except BaseException:
        _kill(watcher.pid)
        raise
    finally:
        await watcher.close()
        assert await asyncio.to_thread(none_left, home), ours(home)
