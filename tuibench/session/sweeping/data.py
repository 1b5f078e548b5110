"""The tables of a sweep: made before the cells that need them, dropped when others take their place."""

from collections.abc import Callable
from typing import Protocol

from tuibench.errors import TuibenchError
from tuibench.load.cleanup import cleanup
from tuibench.load.prepare import prepare
from tuibench.load.prepare_load import Progress
from tuibench.model.sweep import Case, DataDropped, DataReady, Sweep, SweepLine, SweepPlan
from tuibench.model.target import Target
from tuibench.session.sweeping.matrix import most_threads
from tuibench.session.sweeping.surroundings import files_bytes
from tuibench.workload import library
from tuibench.workload.program import Program

Showing = Callable[[Progress], None]


class Tables(Protocol):
    """Makes, measures and drops the tables of a case."""

    async def make(self, case: Case) -> None: ...

    async def drop(self, case: Case) -> None: ...

    async def files_bytes(self, case: Case) -> int | None: ...


class ServerTables:
    """The real ones. `show` hears how far a load is, `tell` what speaks against it."""

    def __init__(
        self,
        target: Target,
        plan: SweepPlan,
        show: Showing | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._target = target
        self._threads = most_threads(plan)
        self._text = plan.base.profile_text
        self._show = show
        self._tell = tell

    async def make(self, case: Case) -> None:
        """Raises RunError if tables of these names are there already."""
        await prepare(self._target, self._program(case), progress=self._show, warn=self._tell)

    async def drop(self, case: Case) -> None:
        await cleanup(self._target, self._program(case))

    async def files_bytes(self, case: Case) -> int | None:
        try:
            return await files_bytes(self._target, self._program(case))
        except TuibenchError:
            return None

    def _program(self, case: Case) -> Program:
        return library.program(case.profile, {**case.options, "threads": self._threads}, self._text)


class DataKeeper:
    """Sees to it that the tables of a case are there, and that those made for it go when it is over."""

    def __init__(self, plan: SweepPlan, tables: Tables, tell: Callable[[str], None]) -> None:
        self._plan = plan
        self._tables = tables
        self._tell = tell

    async def ready(self, case: Case, sweep: Sweep, write: Callable[[SweepLine], None]) -> None:
        """Has the tables of a case there. Other tables that the sweep made are dropped first."""
        known = next((one for one in sweep.data if one.data == case.data), None)
        if known is not None and (known.prepared or not self._plan.prepare):
            return
        if self._plan.prepare:
            await self.drop(sweep, write)
            self._tell(f"making the tables: {case.size}")
            await self._tables.make(case)
            write(DataReady(data=case.data, prepared=True))
        size = await self._tables.files_bytes(case)
        write(DataReady(data=case.data, files_bytes=size, prepared=self._plan.prepare))

    async def drop(self, sweep: Sweep, write: Callable[[SweepLine], None]) -> None:
        """Drops the tables that the sweep has made."""
        for made in [one for one in sweep.data if one.prepared]:
            case = next(case for case in self._plan.cases if case.data == made.data)
            self._tell(f"dropping the tables: {case.size}")
            await self._tables.drop(case)
            write(DataDropped(data=made.data))
