"""Runs the cells of a sweep that are still to be run, one after another, and decides what a failure means.

A cell that fails is run once more, after the server is back if it was away; then it is written down as failed
and the others go on. What every cell would meet ends the sweep: a refused setting, missing tables, a server
that stays away, several failed cells in succession. A sweep that ended early goes on where it was.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import DeniedError, RunError, ServerUnavailableError, TuibenchError, UsageError
from tuibench.model.sweep import Cell, CellResult, Sweep
from tuibench.record.sweep import SweepFolder
from tuibench.session.sweeping.cell import Conducted
from tuibench.session.sweeping.data import DataKeeper
from tuibench.session.sweeping.matrix import ordered

MOST_ATTEMPTS = 2
MOST_FAILED_IN_SUCCESSION = 3
PATIENCE_SECONDS = 60.0
"""How long a server that went away is waited for."""

RETRY_SECONDS = 1.0
T = TypeVar("T")


class InterruptedSweep(Exception):  # noqa: N818 (it is no error)
    """The operator has ended the sweep."""


class Runnable(Protocol):
    """One attempt at a cell; only an open one can be interrupted, any other is cancelled."""

    is_open: bool

    async def conduct(self) -> Conducted: ...

    def interrupt(self) -> None: ...


class Witness(Protocol):
    """Hears how the sweep goes."""

    def begins(self, cell: Cell, place: int) -> None: ...

    def ended(self, result: CellResult, place: int, sweep: Sweep) -> None: ...

    def tell(self, text: str) -> None: ...


class SweepConductor:
    """One sweep from its first open cell to its last.

    `reach` raises ServerUnavailableError while the server does not answer.
    """

    def __init__(
        self,
        folder: SweepFolder,
        keeper: DataKeeper,
        attempt: Callable[[Cell], Runnable],
        reach: Callable[[], Awaitable[None]],
        witness: Witness,
        clock: Clock,
    ) -> None:
        self._folder = folder
        self._keeper = keeper
        self._attempt = attempt
        self._reach = reach
        self._witness = witness
        self._clock = clock
        self._run: Runnable | None = None
        self._step: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._has_run = False
        self._failed_in_succession = 0

    async def run(self) -> None:
        """Raises InterruptedSweep, or what keeps the sweep from going on."""
        plan = self._folder.sweep.record.plan
        done = {result.cell.number for result in self._folder.sweep.done}
        for place, cell in enumerate(ordered(plan), 1):
            if cell.number in done:
                continue
            await self._do(self._keeper.ready(cell.case, self._folder.sweep, self._folder.add))
            self._witness.begins(cell, place)
            result = await self._cell(cell)
            self._folder.add(result)
            self._witness.ended(result, place, self._folder.sweep)
            self._count(result)
        if plan.cleanup:
            await self._do(self._keeper.drop(self._folder.sweep, self._folder.add))

    def interrupt(self) -> None:
        """Ends the sweep: an open session in good order, everything else at once."""
        self._interrupted = True
        if self._run is not None and self._run.is_open:
            self._run.interrupt()
        elif self._step is not None:
            self._step.cancel()

    async def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """One step that `interrupt` can cancel."""
        if self._interrupted:
            work.close()
            raise InterruptedSweep
        step = asyncio.ensure_future(work)
        self._step = step
        try:
            return await step
        except asyncio.CancelledError:
            if self._interrupted:
                raise InterruptedSweep from None
            raise
        finally:
            self._step = None

    async def _cell(self, cell: Cell) -> CellResult:
        """The result of the last attempt."""
        attempt = 1
        while True:
            conducted = await self._once(cell)
            result = conducted.result
            if result.outcome == "done" or attempt == MOST_ATTEMPTS:
                return result
            self._witness.tell(f"{cell.words} failed: {result.failure}; once more")
            await self._do(self._server_back(conducted.error))
            attempt += 1

    async def _once(self, cell: Cell) -> Conducted:
        """One attempt. Raises what every other cell would meet as well."""
        self._run = self._attempt(cell)
        try:
            conducted = await self._do(self._run.conduct())
        except TuibenchError as error:
            if not self._has_run:
                raise
            conducted = Conducted(CellResult(cell=cell, outcome="failed", failure=str(error)), error)
        finally:
            self._run = None
        if conducted.interrupted:
            raise InterruptedSweep
        if isinstance(conducted.error, UsageError | DeniedError):
            raise conducted.error
        self._has_run = True
        return conducted

    async def _server_back(self, error: TuibenchError | None) -> None:
        """Waits until the server answers. Raises ServerUnavailableError when it stays away too long."""
        deadline_ns = self._clock.now_ns() + int(PATIENCE_SECONDS * NS_PER_SECOND)
        told = False
        while True:
            try:
                return await self._reach()
            except ServerUnavailableError as away:
                if self._clock.now_ns() > deadline_ns:
                    raise away from error
                if not told:
                    self._witness.tell(
                        f"waiting up to {PATIENCE_SECONDS:.0f} s for the server: {away.message}"
                    )
                told = True
            await self._clock.sleep(RETRY_SECONDS)

    def _count(self, result: CellResult) -> None:
        if result.outcome == "done":
            self._failed_in_succession = 0
            return
        self._failed_in_succession += 1
        if self._failed_in_succession >= MOST_FAILED_IN_SUCCESSION:
            raise RunError(
                f"{self._failed_in_succession} cells in succession failed, the last one: {result.failure}"
            )
