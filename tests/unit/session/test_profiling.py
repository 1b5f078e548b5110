"""A CPU profile of the next window: its end, a longer or shorter one, refusals, and the whole run's."""

import asyncio
from pathlib import Path
from unittest import mock

import pytest

from tests.virtual import VirtualClock, in_no_time
from tuibench.errors import RunError, TuibenchError
from tuibench.model.event import EventKind
from tuibench.waits import cpu_profile as profiling
from tuibench.waits.cpu_profile import CpuProfiling

BEGINS, ENDS = (EventKind.MARK, "CPU profile begins"), (EventKind.MARK, "CPU profile ends")


class PlayedProfiler:
    """Records process 7 only."""

    def __init__(self, _: Path) -> None:
        self.is_recording = False

    async def start(self, pid: int | None) -> None:
        if pid != 7:
            raise RunError("perf is not installed", "install it")
        assert not self.is_recording
        self.is_recording = True

    async def stop(self) -> None:
        self.is_recording = False

    async def finish(self) -> str:
        await self.stop()
        return ""


class Played:
    """What is told, and when."""

    def __init__(self, clock: VirtualClock, pid: int | None = 7) -> None:
        self.clock = clock
        self.told: list[tuple[float, EventKind, str]] = []
        with mock.patch.object(profiling, "Profiler", PlayedProfiler):
            self.profiling = CpuProfiling(
                Path(),
                lambda: pid,
                lambda kind, text: self.told.append((clock.time(), kind, text)),
                lambda work, name: asyncio.create_task(work, name=name),
                clock,
            )


def test_a_window_ends_by_itself_and_another_request_moves_its_end() -> None:
    async def scenario(clock: VirtualClock) -> None:
        it = Played(clock)
        assert "of the next 1m" in await it.profiling.record(60)
        await clock.sleep(50)
        assert "of the next 30s" in await it.profiling.record(30)
        await clock.sleep(100)
        await it.profiling.record(60)
        await clock.sleep(5)
        assert await it.profiling.record(0) == "the CPU profile ends"
        assert await it.profiling.record(0) == "no CPU profile is being recorded"
        await clock.sleep(100)
        assert it.told == [(0.0, *BEGINS), (80.0, *ENDS), (150.0, *BEGINS), (155.0, *ENDS)]

    in_no_time(scenario)


def test_without_perf_a_request_is_refused_with_the_remedy_and_a_run_goes_on() -> None:
    async def scenario(clock: VirtualClock) -> None:
        it = Played(clock, pid=None)
        with pytest.raises(RunError, match="perf is not installed"):
            await it.profiling.record(60)
        assert it.told == []
        await it.profiling.record_all()
        assert it.told == [(0.0, EventKind.WARNING, "no CPU profile: perf is not installed: install it")]

    in_no_time(scenario)


def test_the_profile_of_the_whole_run_is_not_made_shorter_by_the_key_but_can_be_ended() -> None:
    async def scenario(clock: VirtualClock) -> None:
        it = Played(clock)
        await it.profiling.record_all()
        with pytest.raises(TuibenchError, match="whole run"):
            await it.profiling.record(60)
        await it.profiling.record(0)
        await it.profiling.record(60)
        assert it.told == [(0.0, *ENDS), (0.0, *BEGINS)]
        await it.profiling.close()

    in_no_time(scenario)
