"""Controller of the start form: checks the server, creates tables, starts the run.

Long operations run in a thread with an event loop of its own, so that the screen keeps drawing; they are
undone when cancelled.
"""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tuibench.cli.commands.start import choices
from tuibench.cli.commands.start.form_values import (
    form_errors,
    form_option_names,
    form_plan,
    form_program,
    form_target,
    is_private_server,
)
from tuibench.cli.runner.new_session import new_session_spec, spec_on_private_server, start_session
from tuibench.clock import SystemClock
from tuibench.demo.server import PrivateServer
from tuibench.errors import RunError, ServerUnavailableError, TuibenchError
from tuibench.load.tables.inspect_tables import check_tables_absent
from tuibench.load.tables.loader import LoadOptions, LoadProgress
from tuibench.load.tables.prepare import prepare_tables
from tuibench.model.measurements.finding import Finding, Severity
from tuibench.model.plan import GRACE_SECONDS
from tuibench.model.target import Target
from tuibench.mysql.session_defaults import connect_with_defaults
from tuibench.session.preflight import diagnose
from tuibench.tui.start.controller import (
    FormValues,
    ProfileChoice,
    ProgressCallback,
    ServerCheck,
    ServerChoice,
    WorkProgress,
)
from tuibench.tuning.undo.leftovers import leftovers
from tuibench.units import count
from tuibench.workload.datasets import build_data_set
from tuibench.workload.program.program import Program

T = TypeVar("T")


async def run_in_thread_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread with its own loop; returns its result. If cancelled, awaits its cleanup."""
    here = asyncio.get_running_loop()
    done: asyncio.Future[T] = here.create_future()
    worker = _LoopThread(work, here, done)
    worker.start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        worker.cancel()
        await asyncio.wait({done})
        done.exception()
        raise


class _LoopThread(threading.Thread):
    """Thread with an event loop for one coroutine."""

    def __init__(
        self, work: Coroutine[Any, Any, Any], home: asyncio.AbstractEventLoop, done: "asyncio.Future[Any]"
    ) -> None:
        super().__init__(name="work beside the screen", daemon=True)
        self._work = work
        self._home = home
        self._done = done
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(work)

    def run(self) -> None:
        try:
            result = self._loop.run_until_complete(self._task)
        except BaseException as error:
            self._home.call_soon_threadsafe(self._fail, error)
        else:
            self._home.call_soon_threadsafe(self._succeed, result)
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)

    def _succeed(self, result: Any) -> None:
        if not self._done.done():
            self._done.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._done.cancel()
        elif not self._done.done():
            self._done.set_exception(error)


LOADING_CONNECTIONS = 4
DEFAULT_VALUES = FormValues(database="sbtest", threads="8")


class CliStartController:
    """Implements the StartController. `private` is the server created for the run, if any."""

    def __init__(self) -> None:
        recents = choices.load_recents()
        self._binary = choices.find_server_binary()
        self.servers: Sequence[ServerChoice] = choices.server_choices(recents, self._binary)
        self.profiles: Sequence[ProfileChoice] = choices.profile_choices()
        self.option_names: Sequence[str] = form_option_names()
        self.first = self._first(recents)
        self.private: PrivateServer | None = None

    def faults(self, answers: FormValues) -> dict[str, str]:
        """Errors by field; empty if the form describes a valid run."""
        if is_private_server(answers) and isinstance(self._binary, TuibenchError):
            return {"place": str(self._binary), **form_errors(answers)}
        return form_errors(answers)

    async def examine(self, answers: FormValues) -> ServerCheck:
        """Check server, host and data, without changes."""
        return await run_in_thread_loop(self._examined(answers))

    async def make(self, answers: FormValues, on_progress: ProgressCallback) -> str:
        """Create the tables, and their database if necessary."""
        return await run_in_thread_loop(
            _create_tables(form_target(answers), form_program(answers), on_progress)
        )

    async def launch(self, answers: FormValues, on_progress: ProgressCallback) -> Path:
        """Start the run; returns the socket of its session."""
        socket = await run_in_thread_loop(self._launched(answers, on_progress))
        choices.save_recent(_to_recent(answers))
        return socket

    async def _examined(self, answers: FormValues) -> ServerCheck:
        target, plan, program = form_target(answers), form_plan(answers), form_program(answers)
        findings = await diagnose(target, plan, program, SystemClock())
        creatable = build_data_set(program).describe() if await _can_create_tables(target, program) else ""
        return ServerCheck((*_leftover_findings(), *findings), creatable)

    async def _launched(self, answers: FormValues, on_progress: ProgressCallback) -> Path:
        plan = form_plan(answers)
        if not is_private_server(answers):
            on_progress(WorkProgress("starting the run"))
            return await start_session(new_session_spec(plan, form_target(answers)), GRACE_SECONDS)
        on_progress(WorkProgress("starting a private server"))
        server = await PrivateServer.start()
        try:
            await _create_tables(server.target, form_program(answers), on_progress)
            on_progress(WorkProgress("starting the run"))
            spec = spec_on_private_server(plan, server)
            socket = await start_session(spec, GRACE_SECONDS, (server.watch_fd,))
        except BaseException:
            await server.stop()
            raise
        self.private = server
        return socket

    def _first(self, recents: tuple[choices.RecentStart, ...]) -> FormValues:
        """Initial values: those of the last start, or of a demonstration."""
        last = recents[0] if recents else choices.RecentStart()
        server = next(
            (offer for offer in self.servers if (offer.user, offer.place) == last.target), self.servers[0]
        )
        names = {offer.name for offer in self.profiles}
        profile = last.profile if last.profile in names else self.profiles[0].name
        return FormValues(
            server=server.id,
            profile=profile,
            place=server.place,
            user=server.user,
            database=server.database or DEFAULT_VALUES.database,
            threads=last.threads or DEFAULT_VALUES.threads,
            seconds=last.seconds,
            options=last.options
            if last.profile == profile
            else next(offer.options for offer in self.profiles if offer.name == profile),
        )


def _leftover_findings() -> tuple[Finding, ...]:
    """Findings about settings that a crashed session left changed, on any server."""
    return tuple(
        Finding(
            id="leftover",
            severity=Severity.WARNING,
            found=leftover.warning,
            remedy="tuibench restore restores it",
        )
        for leftover in leftovers()
    )


async def _create_tables(target: Target, program: Program, on_progress: ProgressCallback) -> str:
    words = f"loading {build_data_set(program).describe()}"
    on_progress(WorkProgress(words))

    def progress(now: LoadProgress) -> None:
        rate = f"{words}, {count(now.rows_per_second)} rows/s"
        on_progress(WorkProgress(rate, now.rows / now.total_rows if now.total_rows else None))

    method = LoadOptions(parallel=LOADING_CONNECTIONS)
    made = await prepare_tables(target, program, method=method, progress=progress, create_database=True)
    return f"{made.tables} tables with {made.rows:,} rows in {made.seconds:.1f} s"


async def _can_create_tables(target: Target, program: Program) -> bool:
    """True if no table exists, or not even the database."""
    try:
        connection = await connect_with_defaults(target)
    except ServerUnavailableError:
        return True
    try:
        await check_tables_absent(connection, program)
    except RunError:
        return False
    finally:
        await connection.close()
    return True


def _to_recent(answers: FormValues) -> choices.RecentStart:
    return choices.RecentStart(
        place="" if is_private_server(answers) else answers.place,
        user="" if is_private_server(answers) else answers.user,
        database=answers.database,
        profile=answers.profile,
        options=answers.options,
        threads=answers.threads,
        seconds=answers.seconds,
    )
