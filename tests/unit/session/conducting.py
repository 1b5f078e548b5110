"""A whole run of a session in make-believe time: its workers, its server and its settings are played."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tests import examples
from tests.virtual import VirtualClock, in_no_time
from tuibench.load.fleet import Fleet
from tuibench.load.report import WorkerReport
from tuibench.model.plan import Plan
from tuibench.model.summary import Summary
from tuibench.model.target import Target
from tuibench.session.caution import Caution
from tuibench.session.core import Session
from tuibench.session.loading import Load
from tuibench.session.observer import Look, Observer
from tuibench.session.settings import Settings
from tuibench.session.spec import SessionSpec
from tuibench.session.watching import Watching

Play = Callable[["PlayedFleet"], Sequence[WorkerReport]]
"""The reports of a round, as the fleet has been told what to do."""


class PlayedFleet:
    """Workers whose reports a test plays. `told` is what the session asked of them, in order."""

    def __init__(self, clock: VirtualClock, play: Play) -> None:
        self.clock = clock
        self.told: list[str] = []
        self.rate = 0.0
        self.pids: list[int] = []
        self.silent: tuple[int, ...] = ()
        self.unheard: tuple[int, ...] = ()
        self._play = play

    def __len__(self) -> int:
        return 1

    async def report(self, *_: Any, **__: Any) -> list[WorkerReport]:
        return list(self._play(self))

    async def finish(self, _: float) -> list[WorkerReport]:
        return list(self._play(self))

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


class PlayedObserver:
    """Sees neither server nor host."""

    async def log_in(self) -> None:
        return

    async def begin(self, _: int) -> None:
        return

    async def begin_anew(self, *_: int) -> None:
        return

    async def observe(self, *_: object) -> Look:
        return Look(server=None, host=None)

    async def end(self, *_: int) -> tuple[None, None]:
        return None, None

    async def close(self) -> None:
        return


class PlayedSettings:
    """A server without settings."""

    statements = 0
    guardian_pid = 0
    states = presets = ()
    ours: Mapping[str, str] = {}

    is_behind = False

    async def restore(self, _: object) -> list[str]:
        return []

    async def close(self) -> None:
        return


Prepare = Callable[[Session], None]


def conducted(plan: Plan, play: Play, directory: Path, prepare: Prepare = lambda _: None) -> Summary:
    """The summary of a run, after a test has prepared the session for it."""

    async def scenario(clock: VirtualClock) -> Summary:
        spec = SessionSpec(session="s1", plan=plan, target=Target(), run_directory=str(directory))
        session = Session(spec, clock)
        session.server = examples.SERVER
        session.settings = cast(Settings, PlayedSettings())
        session.gate = Caution(examples.SERVER, (), clock)
        session.load = Load(plan, session._program, cast(Fleet, PlayedFleet(clock, play)), clock)
        session.observer = cast(Observer, PlayedObserver())
        session.watch = Watching.of(
            spec,
            session.server,
            session._own_connections,
            session.voice.publish,
            clock,
            session.load.fleet.spare,
        )
        prepare(session)
        return await session.run()

    return in_no_time(scenario)
