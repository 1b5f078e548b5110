"""Private servers of a comparison of versions: a new one, with new tables, for each start of a build."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import RunError, ServerUnavailableError, TuibenchError
from tuibench.model.results.sweep import Cell, DataReady, Sweep, SweepLine
from tuibench.model.results.versions import ServerBuild, ServerStart
from tuibench.model.target import Target
from tuibench.mysql.connection import connect
from tuibench.session.sweep.matrix import build_of
from tuibench.session.sweep.server import CaseTables


class StartedServer(Protocol):
    """A private server as it is needed here."""

    target: Target

    @property
    def directory(self) -> Path: ...

    async def check_running(self) -> None: ...

    async def stop(self) -> None: ...


class PrivateServers:
    """Has the server and the tables of each cell there; one server runs at a time.

    `start` starts a build, `tables` makes its tables.
    """

    def __init__(
        self,
        builds: tuple[ServerBuild, ...],
        start: Callable[[ServerBuild], Awaitable[StartedServer]],
        tables: Callable[[Target], CaseTables],
        report: Callable[[str], None],
        clock: Clock,
    ) -> None:
        self._builds = {build.name: build for build in builds}
        self._start = start
        self._tables = tables
        self._report = report
        self._clock = clock
        self._server: StartedServer | None = None
        self._cell: Cell | None = None
        self._data = ""

    @property
    def target(self) -> Target:
        """Raises RunError as long as no server runs."""
        if self._server is None:
            raise RunError("no private server is running")
        return self._server.target

    @property
    def directory(self) -> Path:
        """Raises RunError as long as no server runs."""
        if self._server is None:
            raise RunError("no private server is running")
        return self._server.directory

    async def ready(self, cell: Cell, sweep: Sweep, write: Callable[[SweepLine], None]) -> None:
        """The server of the cell's start, with the tables of its case and no others.

        A new one takes the place of a server that has ended.
        """
        begun_ns, started_at = self._clock.now_ns(), self._clock.wall_seconds()
        is_new = self._start_of(self._cell) != self._start_of(cell) or not await self._is_running()
        if is_new:
            await self._start_server(cell)
        if self._data != cell.case.data:
            await self._make_tables(cell, sweep, write)
        self._cell = cell
        if is_new:
            seconds = (self._clock.now_ns() - begun_ns) / NS_PER_SECOND
            build = build_of(cell)
            write(ServerStart(build=build, start=cell.repeat, started_at=started_at, seconds=seconds))

    async def drop(self, sweep: Sweep, write: Callable[[SweepLine], None]) -> None:
        """Tables go with their server."""

    async def reach(self) -> None:
        """Restarts a server that crashed. Raises ServerUnavailableError if it does not answer."""
        if self._server is not None:
            try:
                await (await connect(self.target)).close()
            except ServerUnavailableError:
                if self._cell is None:
                    raise
                await self._is_running()
            else:
                return
        if self._cell is None:
            raise RunError("no private server is running")
        self._report(f"the server has ended; starting a new one for {self._start_words(self._cell)}")
        await self._start_server(self._cell)
        await self._fill(self._cell)
        self._data = self._cell.case.data

    async def stop(self) -> None:
        """Stops the server that runs, if any."""
        server, self._server, self._data = self._server, None, ""
        if server is not None:
            await server.stop()

    async def _start_server(self, cell: Cell) -> None:
        await self.stop()
        self._report(self._start_words(cell))
        self._server = await self._start(self._builds[build_of(cell)])

    async def _make_tables(self, cell: Cell, sweep: Sweep, write: Callable[[SweepLine], None]) -> None:
        tables, plan = self._tables(self.target), sweep.record.plan
        if self._data:
            await tables.drop(next(case for case in plan.cases if case.data == self._data))
        self._data = ""
        begun_ns = self._clock.now_ns()
        await self._fill(cell)
        seconds = (self._clock.now_ns() - begun_ns) / NS_PER_SECOND
        self._data = cell.case.data
        if all(one.data != cell.case.data for one in sweep.data):
            size = await tables.files_bytes(cell.case)
            write(DataReady(data=cell.case.data, files_bytes=size, seconds=seconds))

    async def _fill(self, cell: Cell) -> None:
        """Make the cell's tables. Raises ServerUnavailableError with the reason if the server ended."""
        try:
            await self._tables(self.target).make(cell.case)
        except TuibenchError:
            if self._server is not None:
                await self._server.check_running()
            raise

    async def _is_running(self) -> bool:
        """True if there is a server and it runs; the reason for the end of one is reported."""
        if self._server is None:
            return False
        try:
            await self._server.check_running()
        except ServerUnavailableError as error:
            self._report(str(error))
            return False
        return True

    @staticmethod
    def _start_of(cell: Cell | None) -> tuple[str, int] | None:
        return None if cell is None else (build_of(cell), cell.repeat)

    @staticmethod
    def _start_words(cell: Cell) -> str:
        return f"{build_of(cell)}: start {cell.repeat}, tables: {cell.case.size}"
