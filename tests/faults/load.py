"""A load that has a fault injected, and how long it takes to recover once the fault is healed.

A load is recovered with the first tick in which all its connections are open and its rate is at least half
of what it was before the fault. Ticks come four times a second, so a recovery is known to a quarter second.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from tests.integration.support.commands import ours
from tests.integration.support.session_process import Watcher, session_spec, watched
from tests.integration.support.ways import OVER_TLS, engine_of, through
from tests.ticks import known
from tuibench.model.message import SessionSpec, Stop
from tuibench.model.plan import EngineChoice, OnError, OptionValue
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample, Tick

THREADS = 16
DELAY_MS = 10.0
"""A simulated network: the rate before the fault is bounded by it, not by the processors of the machine."""
INTERVAL_SECONDS = 0.25
RECOVERY_DEADLINE_SECONDS = 60.0
WORKER = "tuibench.load.worker"
GUARDIAN = "tuibench.tuning.guardian"
FURTHER_WAYS = tuple(pytest.param(way, marks=pytest.mark.whole) for way in ("asyncio", "asyncio over TLS"))
WAYS = (
    pytest.param("auto", marks=pytest.mark.one_flavour),
    pytest.param(OVER_TLS, marks=pytest.mark.whole),
    *FURTHER_WAYS,
)
"""What a fault does to a connection is the same over TLS: `make test` looks at one that ends it."""


def fault_spec(
    target: Target,
    way: str = "auto",
    *,
    profile: str = "oltp_read_write",
    threads: int = THREADS,
    **options: OptionValue,
) -> SessionSpec:
    """A session that goes on after errors; `way` is "auto", or one of `tests.integration.support.ways`."""
    spec = session_spec(
        through(target, way),
        profile,
        threads=threads,
        interval_seconds=INTERVAL_SECONDS,
        delay_ms=DELAY_MS,
        **options,
    )
    plan = msgspec.structs.replace(spec.plan, on_error=OnError.CONTINUE, engine=EngineChoice(engine_of(way)))
    return msgspec.structs.replace(spec, plan=plan)


def pid_of(home: Path, module: str) -> int:
    """A process of the run: that of a module of ours."""
    return next(pid for pid, runs in ours(home).items() if runs == module)


class FaultLoad:
    """A watched load: its rate before the fault, what it suffers, when it has recovered."""

    def __init__(self, watcher: Watcher, threads: int) -> None:
        self.watcher = watcher
        self.threads = threads
        self.rate_before = 0.0
        self._from = 0

    async def settles(self) -> None:
        """Waits for two ticks at full strength and takes their rate for the one before the fault."""
        await self.watcher.until(lambda: len(self._at_work(self._loads())) >= 3)
        rates = [known("tps", load) for load in self._at_work(self._loads())]
        self.rate_before = sum(rates[1:]) / len(rates[1:])

    def begins(self) -> None:
        """The fault begins: what is heard from now on is its effect."""
        self._from = len(self.watcher.samples)

    async def stalls(self, ticks: int = 1) -> None:
        """Waits for so many ticks without a transaction."""
        await self.watcher.until(lambda: sum(not known("tps", load) for load in self._loads()) >= ticks)

    async def fails_with(self, *codes: int) -> None:
        """Waits until transactions have failed with one of these errors."""
        await self.watcher.until(
            lambda: any(str(code) in load.counts("error.") for load in self._loads() for code in codes)
        )

    async def fails(self) -> None:
        """Waits until a transaction has failed with any error."""
        await self.watcher.until(lambda: any(load.counts("error.") for load in self._loads()))

    async def loses_connections(self) -> None:
        await self.watcher.until(
            lambda: any(known("open_connections", load) < self.threads for load in self._loads())
        )

    async def loses_all_connections(self) -> None:
        await self.watcher.until(lambda: any(not known("open_connections", load) for load in self._loads()))

    async def slows_down(self) -> None:
        """Waits for three ticks at less than half of the rate before."""
        await self.watcher.until(
            lambda: sum(known("tps", load) < self.rate_before / 2 for load in self._loads()) >= 3
        )

    async def reconnects(self, number: int = 1) -> None:
        """Waits until so many connections were replaced since the fault began."""
        await self.watcher.until(
            lambda: (
                sum(known("reconnects_per_second", load) * load.seconds for load in self._loads())
                >= number - 0.5
            )
        )

    async def recovery_seconds(self) -> float:
        """Waits until the load has recovered from a fault that was healed just now; the time it took."""
        return await self.recovery_seconds_since(time.time())

    async def recovery_seconds_since(self, healed_at: float) -> float:
        """The same for a fault that was healed at that time of the wall clock."""

        def recovered() -> Sample | None:
            later = [each for each in self.watcher.samples[self._from :] if each.at > healed_at]
            return next((each for each in later if each.load and self._is_recovered(each.load)), None)

        await self.watcher.until(lambda: recovered() is not None, RECOVERY_DEADLINE_SECONDS)
        sample = recovered()
        assert sample is not None
        return sample.at - healed_at

    async def stop(self) -> Summary:
        assert (await self.watcher.submit(Stop())).ok
        return (await self.watcher.end()).summary

    def _loads(self) -> list[Tick]:
        return [sample.load for sample in self.watcher.samples[self._from :] if sample.load is not None]

    def _at_work(self, loads: list[Tick]) -> list[Tick]:
        return [
            load for load in loads if known("open_connections", load) == self.threads and known("tps", load)
        ]

    def _is_recovered(self, load: Tick) -> bool:
        return known("open_connections", load) == self.threads and known("tps", load) >= self.rate_before / 2


@contextlib.asynccontextmanager
async def loaded(spec: SessionSpec) -> AsyncIterator[FaultLoad]:
    """A session under load that has settled; stop it with `stop`."""
    async with watched(spec) as watcher:
        load = FaultLoad(watcher, spec.plan.threads)
        await load.settles()
        load.begins()
        yield load


Report = Callable[[str, float], None]
"""Takes a fault's name and the seconds that the load took to recover from it."""
