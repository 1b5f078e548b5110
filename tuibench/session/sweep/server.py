"""Tables of a sweep: created before the cells that need them, dropped when they are replaced.

It also reads the environment, which affects results: host, network, settings, sizes of the tables.
"""

from collections.abc import Callable, Sequence

from tuibench.clock import SystemClock
from tuibench.errors import SQLError, TuibenchError
from tuibench.load.tables.cleanup import drop_tables
from tuibench.load.tables.loader import LoadProgress
from tuibench.load.tables.prepare import prepare_tables
from tuibench.model.results.sweep import (
    Cell,
    DataDropped,
    DataReady,
    Sweep,
    SweepCase,
    SweepEnvironment,
    SweepLine,
    SweepPlan,
)
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import server_info
from tuibench.mysql.session_defaults import connect_with_defaults
from tuibench.observe.environment import read_environment
from tuibench.session.sweep.matrix import max_threads
from tuibench.workload import library
from tuibench.workload.datasets import build_data_set
from tuibench.workload.program.program import Program

TABLESPACES = {Flavour.MARIADB: "innodb_sys_tablespaces", Flavour.MYSQL: "innodb_tablespaces"}
"""The tables with the size of the files; they need the PROCESS privilege."""


async def read_surroundings(target: Target) -> SweepEnvironment:
    """The present server and its environment. Raises ServerUnavailableError when it cannot be reached."""
    connection = await connect_with_defaults(target, use_database=False)
    try:
        info = await server_info(connection)
    finally:
        await connection.close()
    return SweepEnvironment(server=info, environment=await read_environment(target, info, SystemClock.now_ns))


async def table_files_bytes(target: Target, program: Program) -> int | None:
    """Size of the files of a program's tables; None if the server does not report it."""
    names = build_data_set(program).table_names()
    connection = await connect_with_defaults(target)
    try:
        flavour = (await server_info(connection)).flavour
        return await _files_bytes(connection, flavour, names)
    except SQLError:
        return None
    finally:
        await connection.close()


async def _files_bytes(connection: Connection, flavour: Flavour, names: Sequence[str]) -> int | None:
    """Of the tables' own files, be they of one partition or several."""
    database = connection.target.database
    rows = await connection.query(
        f"SELECT name, file_size FROM information_schema.{TABLESPACES[flavour]} "  # noqa: S608
        f"WHERE name LIKE {connection.quote(database + '/%')}"
    )
    wanted = {f"{database}/{name}" for name in names}
    return sum(int(size) for name, size in rows if str(name).partition("#")[0] in wanted) or None


OnProgress = Callable[[LoadProgress], None]


class CaseTables:
    """Creates, measures and drops the tables of a case.

    `show` is called with the progress of a load, `report` with reasons against it.
    """

    def __init__(
        self,
        target: Target,
        plan: SweepPlan,
        show: OnProgress | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._target = target
        self._threads = max_threads(plan)
        self._text = plan.base.profile_text
        self._show = show
        self._report = report

    async def make(self, case: SweepCase) -> None:
        """Raises RunError if tables with these names already exist."""
        await prepare_tables(self._target, self._program(case), progress=self._show, warn=self._report)

    async def drop(self, case: SweepCase) -> None:
        await drop_tables(self._target, self._program(case))

    async def files_bytes(self, case: SweepCase) -> int | None:
        try:
            return await table_files_bytes(self._target, self._program(case))
        except TuibenchError:
            return None

    def _program(self, case: SweepCase) -> Program:
        return library.load_program(case.profile, {**case.options, "threads": self._threads}, self._text)


class TableManager:
    """Creates the tables of a case before they are needed, and drops those it has created."""

    def __init__(self, plan: SweepPlan, tables: CaseTables, report: Callable[[str], None]) -> None:
        self._plan = plan
        self._tables = tables
        self._report = report

    async def ready(self, cell: Cell, sweep: Sweep, write: Callable[[SweepLine], None]) -> None:
        """Creates the tables of a cell unless they exist; first drops others that the sweep created."""
        case = cell.case
        known = next((one for one in sweep.data if one.data == case.data), None)
        if known is not None and (known.prepared or not self._plan.prepare):
            return
        if self._plan.prepare:
            await self.drop(sweep, write)
            self._report(f"creating the tables: {case.size}")
            await self._tables.make(case)
            write(DataReady(data=case.data, prepared=True))
        size = await self._tables.files_bytes(case)
        write(DataReady(data=case.data, files_bytes=size, prepared=self._plan.prepare))

    async def drop(self, sweep: Sweep, write: Callable[[SweepLine], None]) -> None:
        """Drops the tables that the sweep has created."""
        for made in [one for one in sweep.data if one.prepared]:
            case = next(case for case in self._plan.cases if case.data == made.data)
            self._report(f"dropping the tables: {case.size}")
            await self._tables.drop(case)
            write(DataDropped(data=made.data))
