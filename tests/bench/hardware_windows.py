"""Windows of one load on a private server, each with other simulated hardware."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tests.integration.support.session_process import FULL_SPEED_MS, session_spec
from tuibench.load.tables import prepare_tables
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.hardware import NONE
from tuibench.model.message import SessionMessage, SetHardware
from tuibench.model.plan import OptionValue
from tuibench.model.tick import Sample, Tick, total_tick
from tuibench.servers.disk import IoCount, IoCounts
from tuibench.servers.server import PrivateServer
from tuibench.session.load_run import LoadRun
from tuibench.workload import library

TICK_SECONDS = 0.25
SETTLING_TICKS = 2
"""Ticks that are left out after a change."""


class Load(NamedTuple):
    """What runs on the server."""

    profile: str
    threads: int
    options: Mapping[str, OptionValue]

    def __str__(self) -> str:
        return f"{self.profile}, {self.threads} thread{'s' * (self.threads > 1)}"


class Window(NamedTuple):
    """A time with the same hardware."""

    threads: int
    tick: Tick
    io: IoCounts
    """What the server did to its files."""

    @property
    def completed(self) -> float:
        return self.tick.sums.get("completed", 0.0)

    @property
    def tps(self) -> float:
        return self.completed / self.tick.seconds

    @property
    def transaction_ms(self) -> float:
        """The time of a transaction in a closed loop: N / TPS."""
        return 1e3 * self.threads / self.tps if self.tps else float("nan")

    def account_ms(self, *waits: WaitClass) -> float:
        """The time of a transaction that the account of time gives these classes."""
        sums = self.tick.sums
        whole = sums.get(f"{TIME}connections_us", 0.0)
        part = sum(sums.get(wait.key, 0.0) for wait in waits)
        return self.transaction_ms * part / whole if whole else float("nan")

    def io_of(self, *parts: tuple[str, str]) -> IoCount:
        counts = [self.io[part] for part in parts if part in self.io]
        return IoCount(*(sum(column) for column in zip(*counts, strict=True)))


async def windows(server: PrivateServer, load: Load, hardware: Sequence[str], seconds: float) -> list[Window]:
    """Run the load, with one hardware after the other."""
    await prepare_tables(server.target, library.load_program(load.profile, dict(load.options)))
    spec = session_spec(
        server.target,
        load.profile,
        threads=load.threads,
        interval_seconds=TICK_SECONDS,
        delay_ms=FULL_SPEED_MS,
    )
    plan = replace(spec.plan, options=dict(load.options))
    spec = replace(spec, private_server=str(server.directory), plan=plan)
    ticks: list[Tick] = []
    counts: list[IoCounts] = []
    found: list[Window] = []
    news = asyncio.Event()
    async with LoadRun(spec) as run:

        def take(message: SessionMessage) -> None:
            if isinstance(message, Sample) and message.load is not None:
                ticks.append(message.tick)
                counts.append(run.watcher.hardware.counts)
                news.set()

        async def seen(number: int) -> None:
            while len(ticks) < number:
                news.clear()
                await news.wait()

        async def steer() -> None:
            await seen(int(1 / TICK_SECONDS))
            for text in hardware:
                await run.submit(SetHardware(f"{NONE},{text}"))
                first = len(ticks) + SETTLING_TICKS
                last = first + round(seconds / TICK_SECONDS)
                await seen(last)
                before, after = counts[first - 1], counts[last - 1]
                io = {part: count.since(before[part]) for part, count in after.items()}
                found.append(Window(load.threads, total_tick(ticks[first:last]), io))
            run.request_stop()

        run.watcher.bus.listeners.append(take)
        run.watcher.tasks.start(steer(), "windows")
        await run.run()
    return found
