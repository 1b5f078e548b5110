"""Runner of a sweep: runs the remaining cells one after another, and handles failures.

A cell is a whole run. The settings of its variant are commands before its load, which the session journals
and restores at its end. The tables of a cell are created before it and dropped when other ones replace them.
For each start of a build, a private server is started with new tables.

A cell that fails is run once more, after the server answers again. If it fails again, it is recorded as
failed and the sweep continues. An error that would affect every cell ends the sweep: a refused setting,
missing tables, an unreachable server, several failed cells in succession. The sweep can then be resumed.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Container, Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol, TypeVar

from tuibench.base.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.base.errors import (
    DeniedError,
    NotRestoredError,
    RunError,
    ServerUnavailableError,
    SQLError,
    TuibenchError,
    UsageError,
)
from tuibench.features.sweep.beginning import Change, begin, rows_before, shortcomings
from tuibench.features.sweep.planning import build_of, cell_plan, cells_in_order, max_threads
from tuibench.load.script_commands import run_command
from tuibench.load.tables import LoadProgress, drop_tables, prepare_tables
from tuibench.metrics.figures import read
from tuibench.metrics.inference import MORE
from tuibench.model.counters import Counter
from tuibench.model.event import EventKind
from tuibench.model.message import ApplyPreset, ChangeSetting, SessionMessage, SessionSpec
from tuibench.model.server import Flavour, Target
from tuibench.model.settings import RESTORE_COMMAND
from tuibench.model.summary import Summary, UnrestoredSetting, struct_differences
from tuibench.model.sweep import (
    TPS,
    Cell,
    CellResult,
    DataDropped,
    DataReady,
    ServerBuild,
    ServerStart,
    Start,
    Sweep,
    SweepCase,
    SweepEnvironment,
    SweepLine,
    SweepPlan,
    SweepRecord,
    SweepVariant,
)
from tuibench.model.tick import HOST, Sample, Tick
from tuibench.mysql.connection import connect
from tuibench.mysql.info import connect_with_defaults, server_info
from tuibench.observe.host_facts import read_environment
from tuibench.record.sweep_folder import SweepFolder
from tuibench.session.load_run import LoadRun
from tuibench.tuning import catalogue
from tuibench.workload import library, script
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program


def cell_figures(summary: Summary, samples: Sequence[Sample]) -> dict[str, float]:
    """The known figures of a run by name; `samples` are those after the warm-up."""
    tps = summary.transactions.per_second
    latency, counted = summary.latency_ms, summary.reconciliation
    questions = None if counted.questions_server is None else counted.questions_server - counted.own
    found = {
        "headline": summary.headline.value if summary.headline else tps,
        "tps": tps,
        "qps": summary.queries.per_second,
        "avg_ms": latency.avg if latency else None,
        "p95_ms": latency.p95 if latency else None,
        "errors": summary.errors.total,
        "retries": summary.retries,
        "slow_queries": summary.server.deltas.get(Counter.SLOW_QUERIES),
        "open_tables": _most(samples, "open_tables"),
        "questions_per_second": None if questions is None else questions / (summary.seconds or 1e-9),
        "cpu_server": _mean(samples, "cpu_server"),
        "cpu_tuibench": _mean(samples, "cpu_tuibench"),
        "cpu_total": _mean(samples, "cpu_total"),
        "memory_server_bytes": _most(samples, "memory_server"),
        "memory_used_bytes": _most(samples, "memory_used"),
        **{name: summary.figures.get(name) for name in MORE},
        **{f"{name}_per_transaction": cost for name, cost in summary.operation_cost.per_transaction.items()},
        **{f"{name}_per_query": cost for name, cost in summary.operation_cost.per_query.items()},
    }
    return {name: value for name, value in found.items() if value is not None}


def _known(samples: Iterable[Sample], figure: str) -> list[float]:
    return [value for sample in samples if (value := read(figure, sample.tick)) is not None]


def _mean(samples: Iterable[Sample], figure: str) -> float | None:
    values = _known(samples, figure)
    return fmean(values) if values else None


def _most(samples: Iterable[Sample], figure: str) -> float | None:
    return max(_known(samples, figure), default=None)


OnMessage = Callable[[SessionMessage], None]
Begin = Callable[[Change], Awaitable[dict[str, float]]]


class CellRun:
    """One attempt at a cell. `begin` puts the server in a known state before the load, see `beginning`;
    `rows` is the number of rows that the tables had before the first cell.
    """

    error: TuibenchError | None = None
    """The error that ended the run, if any."""
    is_interrupted = False
    """True if the operator interrupted the run, which then has no result."""
    not_restored: tuple[UnrestoredSetting, ...] = ()
    """Settings that could not be restored at the end."""

    def __init__(
        self,
        cell: Cell,
        spec: SessionSpec,
        clock: Clock,
        *,
        attempt: int,
        run: str,
        on_message: OnMessage,
        begin: Begin | None = None,
        rows: float | None = None,
    ) -> None:
        self._begin = begin
        self._rows = rows
        self._beginning: dict[str, float] = {}
        self._cell = cell
        self._attempt = attempt
        self._run_name = run
        self._clock = clock
        self._run = LoadRun(spec, clock)
        self._run.watcher.bus.listeners.extend((self._on_message, on_message))
        self._samples: list[Sample] = []
        self.is_open = False

    async def run(self) -> CellResult:
        """Run the cell, from opening its connections to restoring its settings; returns its result.

        Raises TuibenchError if the run cannot be opened.
        """
        started_at, begun_ns = self._clock.wall_seconds(), self._clock.now_ns()
        lifecycle = self._run.watcher.lifecycle
        async with self._run:
            if self._begin is not None:
                self._beginning = await self._begin(self._run.submit)
            self.is_open = True
            try:
                for command in variant_commands(self._cell.variant):
                    await self._run.submit(command)
            except TuibenchError as error:
                lifecycle.fail(error)
            summary = await self._run.run()
        seconds = (self._clock.now_ns() - begun_ns) / NS_PER_SECOND
        self.error, self.is_interrupted = lifecycle.error, summary.outcome == "interrupted"
        self.not_restored = summary.not_restored
        return self._result(summary, started_at, seconds)

    def interrupt(self) -> None:
        """End the run in good order; it must be open."""
        self._run.request_stop("interrupted")

    def _on_message(self, message: SessionMessage) -> None:
        if isinstance(message, Sample) and message.elapsed_seconds > 0:
            self._samples.append(message)

    def _result(self, summary: Summary, started_at: float, seconds: float) -> CellResult:
        failure = cell_failure(summary)
        hosts = [sample.host for sample in self._samples if sample.host is not None]
        return CellResult(
            cell=self._cell,
            outcome="failed" if failure else "done",
            attempt=self._attempt,
            failure=failure,
            headline=headline_name(summary),
            figures={} if failure else cell_figures(summary, self._samples),
            started_at=started_at,
            seconds=seconds,
            run=self._run_name,
            limited=summary.client.limited,
            warnings=summary.warnings
            + (shortcomings(self._beginning, self._rows) if self._begin is not None else ()),
            cores=_level(hosts, "cores"),
            memory_total_bytes=_level(hosts, "memory_total"),
            beginning=self._beginning,
        )


def _level(hosts: Sequence[Tick], name: str) -> int | None:
    return int(hosts[-1].levels.get(HOST + name, 0)) if hosts else None


def variant_commands(variant: SweepVariant) -> tuple[ApplyPreset | ChangeSetting, ...]:
    """The commands that apply the settings of a variant: the preset first, then single settings."""
    preset = (ApplyPreset(variant.preset),) if variant.preset else ()
    return (*preset, *(ChangeSetting(name, value) for name, value in variant.settings.items()))


def headline_name(summary: Summary) -> str:
    """The name of the profile's headline figure, with its note: tpmC (not audited)."""
    headline = summary.headline
    if headline is None:
        return TPS
    return f"{headline.title} ({headline.note})" if headline.note else headline.title


def cell_failure(summary: Summary) -> str:
    """The reason why a run counts as failed; empty if it counts."""
    if summary.failure:
        return summary.failure
    if summary.outcome != "done":
        return f"the run was {summary.outcome}"
    if any(event.kind is EventKind.RESTART for event in summary.events):
        return "the server was restarted in the middle of the run"
    if not summary.server.deltas:
        return "the server's counters were reset during the run, or the server was unreachable at its end"
    return ""


TABLESPACES = {Flavour.MARIADB: "innodb_sys_tablespaces", Flavour.MYSQL: "innodb_tablespaces"}
"""The tables of the information schema with the file sizes; reading them requires the PROCESS privilege."""


async def read_surroundings(target: Target, tables: Sequence[str] = ()) -> SweepEnvironment:
    """The server and its environment, with the state of these tables.

    Raises ServerUnavailableError if the server cannot be reached.
    """
    connection = await connect_with_defaults(target, use_database=False)
    try:
        info = await server_info(connection)
    finally:
        await connection.close()
    environment = await read_environment(target, info, SystemClock.now_ns, tables)
    return SweepEnvironment(server=info, environment=environment)


async def table_files_bytes(target: Target, program: Program) -> int | None:
    """Size of the files of a program's tables; None if the server does not report it."""
    names = build_data_set(program).table_names()
    connection = await connect_with_defaults(target)
    try:
        flavour = (await server_info(connection)).flavour
        database = connection.target.database
        rows = await connection.query(
            f"SELECT name, file_size FROM information_schema.{TABLESPACES[flavour]} "  # noqa: S608
            f"WHERE name LIKE {connection.quote(database + '/%')}"
        )
        wanted = {f"{database}/{name}" for name in names}
        return sum(int(size) for name, size in rows if str(name).partition("#")[0] in wanted) or None
    except SQLError:
        return None
    finally:
        await connection.close()


OnProgress = Callable[[LoadProgress], None]


def _dropped(_: str) -> None:
    """Discard what a script prints about its tables: the sweep reports them itself."""


def case_program(plan: SweepPlan, case: SweepCase) -> Program:
    """The program of a case, with the tables that its highest number of threads requires."""
    options = {**case.options, "threads": max_threads(plan)}
    return library.load_program(case.profile, options, plan.base.profile_text)


class CaseTables:
    """Creates, measures and drops the tables of a case.

    `show` is called with the progress of filling the tables, `report` with warnings.
    """

    def __init__(
        self,
        target: Target,
        plan: SweepPlan,
        show: OnProgress | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._target = target
        self._plan = plan
        self._show = show
        self._report = report

    async def make(self, case: SweepCase) -> None:
        """Create and fill the tables. Raises RunError if tables with these names already exist."""
        program = self._program(case)
        if program.script is not None:
            await run_command(self._target, program, script.PREPARE, write=_dropped)
        else:
            await prepare_tables(self._target, program, progress=self._show, warn=self._report)

    async def drop(self, case: SweepCase) -> None:
        program = self._program(case)
        if program.script is not None:
            await run_command(self._target, program, script.CLEANUP, write=_dropped)
        else:
            await drop_tables(self._target, program)

    async def surroundings(self, case: SweepCase) -> SweepEnvironment | None:
        """The server and its environment, with the tables of the case; None if it cannot be reached."""
        try:
            return await read_surroundings(self._target, build_data_set(self._program(case)).table_names())
        except TuibenchError:
            return None

    async def files_bytes(self, case: SweepCase) -> int | None:
        try:
            return await table_files_bytes(self._target, self._program(case))
        except TuibenchError:
            return None

    def _program(self, case: SweepCase) -> Program:
        return case_program(self._plan, case)


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


class StartedServer(Protocol):
    """The operations of a private server that a sweep uses."""

    target: Target

    @property
    def directory(self) -> Path: ...

    async def check_running(self) -> None: ...

    async def save_data(self) -> None: ...

    async def restore_data(self, *, cold: bool = False) -> None: ...

    async def stop(self) -> None: ...


class PrivateServers:
    """Provides the private server and the tables of each cell; one server runs at a time.

    `start` starts a build, `tables` gives access to the tables of a server. Unless cells start `as-is`, the
    data are restored before each cell to their state after the creation of the tables.
    """

    def __init__(
        self,
        builds: tuple[ServerBuild, ...],
        start: Callable[[ServerBuild], Awaitable[StartedServer]],
        tables: Callable[[Target], CaseTables],
        report: Callable[[str], None],
        clock: Clock,
        beginning: Start = Start.AS_IS,
    ) -> None:
        self._beginning = beginning
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
        """The address of the running server. Raises RunError if no server is running."""
        if self._server is None:
            raise RunError("no private server is running")
        return self._server.target

    @property
    def directory(self) -> Path:
        """The directory of the running server. Raises RunError if no server is running."""
        if self._server is None:
            raise RunError("no private server is running")
        return self._server.directory

    async def ready(self, cell: Cell, sweep: Sweep, write: Callable[[SweepLine], None]) -> None:
        """Have the server of the cell's start running, with the tables of its case and no others.

        A server that has ended is replaced by a new one.
        """
        begun_ns, started_at = self._clock.now_ns(), self._clock.wall_seconds()
        is_new = self._start_of(self._cell) != self._start_of(cell) or not await self._is_running()
        if is_new:
            await self._start_server(cell)
        has_new = self._data != cell.case.data
        if has_new:
            await self._make_tables(cell, sweep, write)
        if self._beginning is not Start.AS_IS and self._server is not None:
            if has_new:
                await self._server.save_data()
            if not has_new or self._beginning is Start.COLD:
                await self._server.restore_data(cold=self._beginning is Start.COLD)
        self._cell = cell
        if is_new:
            seconds = (self._clock.now_ns() - begun_ns) / NS_PER_SECOND
            build = build_of(cell)
            around = await self._tables(self.target).surroundings(cell.case)
            write(
                ServerStart(
                    build=build, start=cell.repeat, started_at=started_at, seconds=seconds, around=around
                )
            )

    async def drop(self, sweep: Sweep, write: Callable[[SweepLine], None]) -> None:
        """Do nothing: the tables are removed with their server."""

    async def reach(self) -> None:
        """Replace a server that does not answer by a new one with the tables of the cell.

        Raises ServerUnavailableError if the new one does not answer, RunError if there was no server yet.
        """
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
        """Create the cell's tables. Raises ServerUnavailableError with the reason if the server ended."""
        try:
            await self._tables(self.target).make(cell.case)
        except TuibenchError:
            if self._server is not None:
                await self._server.check_running()
            raise

    async def _is_running(self) -> bool:
        """True if the server is running; if it has ended by itself, the reason is reported."""
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


MAX_ATTEMPTS = 2
MAX_FAILED_IN_SUCCESSION = 3
SERVER_TIMEOUT_SECONDS = 60.0
"""Maximum wait for a server that does not answer."""

RETRY_SECONDS = 1.0
T = TypeVar("T")


class InterruptedSweep(Exception):  # noqa: N818 (it is no error)
    """The operator has interrupted the sweep."""


class SweepListener(Protocol):
    """Receives the events of a sweep; implemented by the command line."""

    def on_cell_start(self, cell: Cell, place: int) -> None: ...

    def ended(self, result: CellResult, place: int, sweep: Sweep) -> None: ...

    def report(self, text: str) -> None: ...


class CellPreparation(Protocol):
    """Makes the server and the tables of a cell available."""

    async def ready(self, cell: Cell, sweep: Sweep, write: Callable[[SweepLine], None]) -> None: ...

    async def drop(self, sweep: Sweep, write: Callable[[SweepLine], None]) -> None: ...


class SweepRunner:
    """Runs the remaining cells of a sweep; `cells` are all cells in their order.

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

    async def run(self, only: Container[tuple[str, int]] | None = None) -> None:
        """Run the remaining cells of all starts, or of `only` these, given by build and number.

        Raises InterruptedSweep, or the TuibenchError that ends the sweep.
        """
        plan = self._folder.sweep.record.plan
        done = {result.cell.number for result in self._folder.sweep.done}
        for place, cell in enumerate(self._cells, 1):
            if cell.number in done or (only is not None and (build_of(cell), cell.repeat) not in only):
                continue
            await self._do(self._tables.ready(cell, self._folder.sweep, self._folder.add))
            self._listener.on_cell_start(cell, place)
            result = await self._cell(cell)
            self._folder.add(result)
            self._listener.ended(result, place, self._folder.sweep)
            self._failed_in_succession = 0 if result.outcome == "done" else self._failed_in_succession + 1
            if self._failed_in_succession >= MAX_FAILED_IN_SUCCESSION:
                raise RunError(
                    f"{self._failed_in_succession} cells in succession failed, the last one: {result.failure}"
                )
        if plan.cleanup:
            await self._do(self._tables.drop(self._folder.sweep, self._folder.add))

    def interrupt(self) -> None:
        """End the sweep: an open session in good order, everything else at once."""
        self._interrupted = True
        if self._run is not None and self._run.is_open:
            self._run.interrupt()
        elif self._step is not None:
            self._step.cancel()

    async def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run one step, which `interrupt` can cancel. Raises InterruptedSweep if it was cancelled."""
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
        """Run a cell, up to `MAX_ATTEMPTS` times; returns the result of the last attempt."""
        attempt = 1
        while True:
            result, error = await self._once(cell)
            if result.outcome == "done" or attempt == MAX_ATTEMPTS:
                return result
            self._listener.report(f"{cell.words} failed: {result.failure}; retrying once")
            await self._do(self._server_back(error))
            if self._folder.sweep.record.plan.start is not Start.AS_IS:
                await self._do(self._tables.ready(cell, self._folder.sweep, self._folder.add))
            attempt += 1

    async def _once(self, cell: Cell) -> tuple[CellResult, TuibenchError | None]:
        """The result of one attempt, and the error that ended it.

        Raises TuibenchError if every other cell would fail for the same reason.
        """
        run = self._run = self._attempt(cell)
        try:
            result, error = await self._do(run.run()), run.error
        except TuibenchError as unopened:
            if not self._has_run:
                raise
            result, error = CellResult(cell=cell, outcome="failed", failure=str(unopened)), unopened
        finally:
            self._run = None
        if run.not_restored:
            # The setting would affect every further cell.
            raise NotRestoredError(
                f"after {cell.words}: " + "; ".join(one.reason for one in run.not_restored),
                f"{RESTORE_COMMAND}, and then continue with --resume",
            )
        if run.is_interrupted:
            raise InterruptedSweep
        if isinstance(error, UsageError | DeniedError):
            raise error
        self._has_run = True
        return result, error

    async def _server_back(self, error: TuibenchError | None) -> None:
        """Wait until the server answers. Raises ServerUnavailableError after `SERVER_TIMEOUT_SECONDS`."""
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


CELLS = "cells"


async def create_sweep(plan: SweepPlan, target: Target, directory: Path) -> SweepFolder:
    """Create a sweep in a new folder, after checking its variants.

    Raises UsageError for a setting that the server does not have, ServerUnavailableError if it cannot be
    reached; then nothing is written.
    """
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
    """Raises UsageError if the sweep was started on another server: its cells would not be comparable."""
    there = folder.sweep.record.surroundings.server
    here = (await read_surroundings(target)).server
    if (there.identity, there.version_text) != (here.identity, here.version_text):
        raise UsageError(
            f"the sweep began on {there.flavour} {there.version_text} ({there.identity}), "
            f"this is {here.flavour} {here.version_text} ({here.identity})",
            "start a new one; tuibench sweep --compare DIR DIR compares both",
        )


def check_same_plan(there: SweepPlan, here: SweepPlan, *, any_seed: bool) -> None:
    """Raises UsageError with the differences between a sweep's plan (`there`) and the given one (`here`).

    With `any_seed`, no seed was given: the sweep keeps its own.
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
        catalogue.find_preset(catalogue.all_presets(), variant.preset)
    for name, value in wanted.items():
        setting = catalogue.find_setting(name)
        catalogue.canonical_value(setting, around.server, value)
        if reason := catalogue.unsupported_reason(setting, around.server):
            raise UsageError(
                f"{name} cannot be changed here: {reason}",
                "--server=mariadbd (or …/mysqld) starts a private server for each value",
            )


def build_runner(
    folder: SweepFolder,
    target: Target,
    listener: SweepListener,
    *,
    on_message: Callable[[SessionMessage], None],
    show: OnProgress | None = None,
    yes_this_server: bool = False,
) -> SweepRunner:
    """The runner of a sweep on one server.

    `on_message` gets the messages of each cell's session, `show` the progress of filling tables.
    """
    clock = SystemClock()
    plan = folder.sweep.record.plan

    async def reach() -> None:
        await (await connect(target)).close()

    tables = TableManager(plan, CaseTables(target, plan, show, listener.report), listener.report)
    attempt = cell_attempts(
        folder,
        lambda: target,
        clock,
        on_message=on_message,
        report=listener.report,
        yes_this_server=yes_this_server,
    )
    return SweepRunner(folder, tables, attempt, reach, listener, clock)


def cell_attempts(
    folder: SweepFolder,
    target: Callable[[], Target],
    clock: Clock,
    *,
    on_message: Callable[[SessionMessage], None],
    report: Callable[[str], None],
    yes_this_server: bool = False,
    private_server: Callable[[], str] = lambda: "",
) -> Callable[[Cell], CellRun]:
    """A function that makes an attempt at a cell on the current target, recorded in the sweep's folder.

    `private_server` returns the directory of the current private server: a cell ends when its server ends.
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
        here = partial(begin, spec.target, case_program(plan, cell.case), plan.start, clock, report=report)
        return CellRun(
            cell,
            spec,
            clock,
            attempt=number,
            run=f"{CELLS}/{run}",
            on_message=on_message,
            begin=None if plan.start is Start.AS_IS else here,
            rows=rows_before(folder.sweep, cell.case),
        )

    return attempt


def free_name(directory: Path, cell: Cell) -> tuple[str, int]:
    """The name of the folder of a cell's next attempt, and the number of that attempt."""
    words = f"{cell.case.name} {cell.variant.name} {cell.threads} threads {cell.repeat}"
    stem = f"{cell.number:03d}-" + re.sub(r"[^A-Za-z0-9_.=]+", "-", words).strip("-")[:100]
    attempt = 1
    name = stem
    while (directory / CELLS / name).exists():
        attempt += 1
        name = f"{stem}-again-{attempt}"
    return name, attempt
