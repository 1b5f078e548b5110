"""Runner of a sweep: runs the remaining cells one after another, and handles failures.

A cell that fails is run once more, after the server is back if it was away; then it is recorded as failed and
the sweep continues. An error that every cell would meet ends it: a refused setting, missing tables, a server
that stays away, several failed cells in succession. A sweep that ended early can be resumed.

A sweep on a real server: its folder, its tables, its cells, put together for the command line.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tuibench.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.errors import DeniedError, RunError, ServerUnavailableError, TuibenchError, UsageError
from tuibench.model.message import SessionMessage
from tuibench.model.server import Target
from tuibench.model.summary import struct_differences
from tuibench.model.sweep import (
    Cell,
    CellResult,
    Sweep,
    SweepEnvironment,
    SweepLine,
    SweepPlan,
    SweepRecord,
    SweepVariant,
)
from tuibench.mysql.connection import connect
from tuibench.session.spec import SessionSpec
from tuibench.sweep.cell import CaseTables, CellRun, OnProgress, TableManager, read_surroundings
from tuibench.sweep.folder import SweepFolder
from tuibench.sweep.matrix import cell_plan, cells_in_order
from tuibench.tuning.catalogue import lookup

MAX_ATTEMPTS = 2
MAX_FAILED_IN_SUCCESSION = 3
SERVER_TIMEOUT_SECONDS = 60.0
"""How long a server that went away is waited for."""

RETRY_SECONDS = 1.0
T = TypeVar("T")


class InterruptedSweep(Exception):  # noqa: N818 (it is no error)
    """The operator has ended the sweep."""


class SweepListener(Protocol):
    """Gets the events of a sweep; the command line implements it."""

    def on_cell_start(self, cell: Cell, place: int) -> None: ...

    def ended(self, result: CellResult, place: int, sweep: Sweep) -> None: ...

    def report(self, text: str) -> None: ...


class CellPreparation(Protocol):
    """Sees to it that the server and the tables of a cell are there."""

    async def ready(self, cell: Cell, sweep: Sweep, write: Callable[[SweepLine], None]) -> None: ...

    async def drop(self, sweep: Sweep, write: Callable[[SweepLine], None]) -> None: ...


class SweepRunner:
    """One sweep from its first open cell to its last; `cells` are all of them in their order.

    `reach` raises ServerUnavailableError while the server does not answer.
    """

    def __init__(
        self,
        folder: SweepFolder,
        tables: CellPreparation,
        attempt: Callable[[Cell], CellRun],
        reach: Callable[[], Awaitable[None]],
        listener: SweepListener,
        clock: Clock,
        cells: Sequence[Cell] = (),
    ) -> None:
        self._cells = cells or cells_in_order(folder.sweep.record.plan)
        self._folder = folder
        self._tables = tables
        self._attempt = attempt
        self._reach = reach
        self._listener = listener
        self._clock = clock
        self._run: CellRun | None = None
        self._step: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._has_run = False
        self._failed_in_succession = 0

    async def run(self) -> None:
        """Raises InterruptedSweep, or what keeps the sweep from going on."""
        plan = self._folder.sweep.record.plan
        done = {result.cell.number for result in self._folder.sweep.done}
        for place, cell in enumerate(self._cells, 1):
            if cell.number in done:
                continue
            await self._do(self._tables.ready(cell, self._folder.sweep, self._folder.add))
            self._listener.on_cell_start(cell, place)
            result = await self._cell(cell)
            self._folder.add(result)
            self._listener.ended(result, place, self._folder.sweep)
            self._count(result)
        if plan.cleanup:
            await self._do(self._tables.drop(self._folder.sweep, self._folder.add))

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
            result, error = await self._once(cell)
            if result.outcome == "done" or attempt == MAX_ATTEMPTS:
                return result
            self._listener.report(f"{cell.words} failed: {result.failure}; retrying once")
            await self._do(self._server_back(error))
            attempt += 1

    async def _once(self, cell: Cell) -> tuple[CellResult, TuibenchError | None]:
        """One attempt, and the error that ended it. Raises what every other cell would meet as well."""
        run = self._run = self._attempt(cell)
        try:
            result, error = await self._do(run.run()), run.error
        except TuibenchError as unopened:
            if not self._has_run:
                raise
            result, error = CellResult(cell=cell, outcome="failed", failure=str(unopened)), unopened
        finally:
            self._run = None
        if run.is_interrupted:
            raise InterruptedSweep
        if isinstance(error, UsageError | DeniedError):
            raise error
        self._has_run = True
        return result, error

    async def _server_back(self, error: TuibenchError | None) -> None:
        """Waits until the server answers. Raises ServerUnavailableError when it stays away too long."""
        deadline_ns = self._clock.now_ns() + int(SERVER_TIMEOUT_SECONDS * NS_PER_SECOND)
        is_reported = False
        while True:
            try:
                return await self._reach()
            except ServerUnavailableError as away:
                if self._clock.now_ns() > deadline_ns:
                    raise away from error
                if not is_reported:
                    self._listener.report(
                        f"waiting up to {SERVER_TIMEOUT_SECONDS:.0f} s for the server: {away.message}"
                    )
                is_reported = True
            await self._clock.sleep(RETRY_SECONDS)

    def _count(self, result: CellResult) -> None:
        if result.outcome == "done":
            self._failed_in_succession = 0
            return
        self._failed_in_succession += 1
        if self._failed_in_succession >= MAX_FAILED_IN_SUCCESSION:
            raise RunError(
                f"{self._failed_in_succession} cells in succession failed, the last one: {result.failure}"
            )


CELLS = "cells"


async def create_sweep(plan: SweepPlan, target: Target, directory: Path) -> SweepFolder:
    """A new sweep in a new folder. Raises what its server would refuse, before anything is written."""
    around = await read_surroundings(target)
    for variant in plan.variants:
        check_variant_possible(variant, around)
    return SweepFolder.create(directory, new_record(plan, directory, target, around))


def new_record(plan: SweepPlan, directory: Path, target: Target, around: SweepEnvironment) -> SweepRecord:
    """The record of a sweep that starts now."""
    return SweepRecord(
        name=directory.name,
        started_at=SystemClock.wall_seconds(),
        plan=plan,
        target=target.without_password(),
        surroundings=around,
    )


async def check_same_server(folder: SweepFolder, target: Target) -> None:
    """Raises UsageError if the sweep began on another server: its cells could not be compared."""
    there = folder.sweep.record.surroundings.server
    here = (await read_surroundings(target)).server
    if (there.identity, there.version_text) != (here.identity, here.version_text):
        raise UsageError(
            f"the sweep began on {there.flavour} {there.version_text} ({there.identity}), "
            f"this is {here.flavour} {here.version_text} ({here.identity})",
            "start a new one; tuibench sweep --compare DIR DIR compares both",
        )


def check_same_plan(there: SweepPlan, here: SweepPlan, *, any_seed: bool) -> None:
    """Raises UsageError with each difference between a sweep's plan and the one that was asked for now.

    With `any_seed` no seed was given: the sweep keeps its own.
    """
    found = struct_differences(there, here, ("base.seed",) if any_seed else ())
    if found:
        raise UsageError(
            f"the sweep's plan differs: {'; '.join(found)}", "resume it without any options of the plan"
        )


def check_variant_possible(variant: SweepVariant, around: SweepEnvironment) -> None:
    """Raises UsageError for a setting or value that this server does not have."""
    wanted = dict(variant.settings)
    if variant.preset:
        lookup.find_preset(lookup.all_presets(), variant.preset)
    for name, value in wanted.items():
        lookup.canonical_value(lookup.find_setting(name), around.server, value)


def build_runner(
    folder: SweepFolder,
    target: Target,
    listener: SweepListener,
    *,
    on_message: Callable[[SessionMessage], None],
    show: OnProgress | None = None,
    yes_this_server: bool = False,
) -> SweepRunner:
    """What runs the sweep.

    `on_message` gets the messages of each cell's session, `show` the progress of loads.
    """
    clock = SystemClock()
    plan = folder.sweep.record.plan

    async def reach() -> None:
        await (await connect(target)).close()

    tables = TableManager(plan, CaseTables(target, plan, show, listener.report), listener.report)
    attempt = cell_attempts(
        folder, lambda: target, clock, on_message=on_message, yes_this_server=yes_this_server
    )
    return SweepRunner(folder, tables, attempt, reach, listener, clock)


def cell_attempts(
    folder: SweepFolder,
    target: Callable[[], Target],
    clock: Clock,
    *,
    on_message: Callable[[SessionMessage], None],
    yes_this_server: bool = False,
    private_server: Callable[[], str] = lambda: "",
) -> Callable[[Cell], CellRun]:
    """What makes an attempt at a cell, on the target of the moment, recorded in the sweep's folder.

    `private_server` is the directory of the private server of the moment, with whose end the cell ends.
    """
    plan = folder.sweep.record.plan

    def attempt(cell: Cell) -> CellRun:
        run, number = free_name(folder.directory, cell)
        spec = SessionSpec(
            session=f"{folder.directory.name}-{run}",
            plan=cell_plan(plan, cell),
            target=target(),
            run_directory=str(folder.directory / CELLS / run),
            yes_this_server=yes_this_server,
            private_server=private_server(),
        )
        return CellRun(cell, spec, clock, attempt=number, run=f"{CELLS}/{run}", on_message=on_message)

    return attempt


def free_name(directory: Path, cell: Cell) -> tuple[str, int]:
    """The folder of a cell's next attempt, and the number of that attempt."""
    words = f"{cell.case.name} {cell.variant.name} {cell.threads} threads {cell.repeat}"
    stem = f"{cell.number:03d}-" + re.sub(r"[^A-Za-z0-9_.=]+", "-", words).strip("-")[:100]
    attempt = 1
    name = stem
    while (directory / CELLS / name).exists():
        attempt += 1
        name = f"{stem}-again-{attempt}"
    return name, attempt
