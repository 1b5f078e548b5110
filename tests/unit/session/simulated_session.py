"""A whole run of a session in make-believe time: its workers, its server and its settings are played."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast
from unittest import mock

from tests import examples
from tests.virtual import VirtualClock, in_no_time
from tuibench.load.fleet import Loss
from tuibench.load.messages import WorkerReport
from tuibench.load.native_engine import Chosen, choose_before_login
from tuibench.model.cluster import LoadHost
from tuibench.model.message import SessionSpec
from tuibench.model.plan import EngineChoice, RunPlan
from tuibench.model.server import ServerInfo, Target
from tuibench.model.summary import Summary, UnrestoredSetting
from tuibench.session import load, load_run
from tuibench.session import run as session_run
from tuibench.session.load_run import LoadRun
from tuibench.session.sampling import Sampler, TickObservation
from tuibench.session.settings import ProductionGuard, Settings
from tuibench.workload.program import Program

Play = Callable[["PlayedFleet"], Sequence[WorkerReport]]
"""The reports of a round, as the fleet has been told what to do."""


class PlayedFleet:
    """Workers whose reports a test plays. `told` is what the session asked of them, in order."""

    def __init__(self, clock: VirtualClock, play: Play) -> None:
        self.clock = clock
        self.told: list[str] = []
        self.rate = 0.0
        self.pids: list[int] = []
        self.overdue: tuple[str, ...] = ()
        self.silent: tuple[str, ...] = ()
        self.losses: list[Loss] = []
        self.hosts: tuple[LoadHost, ...] = ()
        self.worker_count = 1
        self.ended_ns: int | None = None
        self.unresponsive: tuple[str, ...] = ()
        self._play = play

    def __len__(self) -> int:
        return 1

    def take_notices(self) -> list[str]:
        return []

    async def report(self, *_: Any, **__: Any) -> list[WorkerReport]:
        return list(self._play(self))

    async def finish(self, _: float) -> list[WorkerReport]:
        return list(self._play(self))

    async def start(self) -> None:
        return

    async def finished(self) -> None:
        await asyncio.Event().wait()

    async def set_threads(self, threads: int) -> None:
        self.told.append(f"threads {threads}")

    def set_rate(self, rate_per_second: float) -> None:
        self.rate = rate_per_second
        self.told.append("set_rate")

    async def kill(self) -> None:
        self.told.append("kill")

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: self.told.append(name)


class PlayedSampler:
    """Sees neither server nor host."""

    time_report = timer = None
    hot_rows = ()

    present_culprit: None = None

    async def log_in(self) -> None:
        return

    async def begin(self) -> None:
        return

    async def reset_stats(self, *_: int) -> None:
        return

    def watch_time(self) -> None:
        return

    def know_transactions(self, *_: object) -> None:
        return

    async def observe(self, *_: object) -> TickObservation:
        return TickObservation(server=None)

    async def last_tally(self, *_: object) -> dict[str, float]:
        return {}

    async def end(self, *_: int) -> tuple[None, None]:
        return None, None

    async def close(self) -> None:
        return


class PlayedSettings:
    """A server without settings."""

    guardian_pid = 0
    states = presets = ()
    ours: Mapping[str, str] = MappingProxyType({})

    kept: tuple[str, ...] = ()
    not_restored: tuple[UnrestoredSetting, ...] = ()

    is_behind = False

    def __init__(self, guard: ProductionGuard) -> None:
        self.guard = guard
        self.done: list[str] = []

    def control_load(self, _: object) -> None:
        return

    def author_of(self, setting: str, value: str) -> str:
        return ""

    async def keep(self) -> str:
        return ""

    async def restore(self, _: object) -> list[str]:
        self.done.append("restore")
        return []

    async def close(self) -> None:
        self.done.append("close")


Prepare = Callable[[LoadRun], None]


@contextmanager
def played_server(clock: VirtualClock, play: Play, refusal: Exception | None = None) -> Iterator[None]:
    """A run within this context finds a server, its settings and workers that are played.

    A `refusal` is what its preflight check ends with, after the workers have started.
    """

    async def run_preflight(
        target: Target,
        plan: RunPlan,
        program: Program,
        meanwhile: Callable[[ServerInfo, RunPlan], Awaitable[None]],
    ) -> tuple[ServerInfo, tuple[str, ...], tuple[str, ...]]:
        await meanwhile(examples.SERVER, plan)
        if refusal is not None:
            raise refusal
        return examples.SERVER, (), ()

    async def choose(wanted: EngineChoice, program: Program, _: Target) -> Chosen:
        return choose_before_login(wanted, program)

    async def open_settings(*given: Any) -> Settings:
        (guard,) = [each for each in given if isinstance(each, ProductionGuard)]
        return cast(Settings, PlayedSettings(guard))

    async def no_environment(*_: object) -> None:
        return

    with (
        mock.patch.object(load_run, "run_preflight", run_preflight),
        mock.patch.object(load_run, "choose", choose),
        mock.patch.object(load, "Fleet", return_value=PlayedFleet(clock, play)),
        mock.patch.object(Settings, "open", open_settings),
        mock.patch.object(Sampler, "of", return_value=PlayedSampler()),
        mock.patch.object(session_run, "read_environment", no_environment),
        mock.patch.object(session_run, "instruments_of", return_value=()),
    ):
        yield


def simulate_session(
    plan: RunPlan, play: Play, directory: Path, prepare: Prepare = lambda _: None
) -> Summary:
    """The summary of a run, after a test has prepared it."""

    async def scenario(clock: VirtualClock) -> Summary:
        spec = SessionSpec(session="s1", plan=plan, target=Target(), run_directory=str(directory / "record"))
        with played_server(clock, play):
            async with LoadRun(spec, clock) as run:
                prepare(run)
                return await run.run()

    return in_no_time(scenario)
