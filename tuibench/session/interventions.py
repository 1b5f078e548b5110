"""Interventions: an SQL statement, or a command of this host, once and under load (`--at`, `ctl run-sql`).

The beginning and the end of an intervention are events with markers. The effect of the beginning is what
changes during the intervention, that of the end what remains after it. If it ends before an effect can be
measured, the two are one change. A third event has the levels during it and before it.

An intervention has a connection of its own, without a time limit. One that still runs at the end of the
session is ended by KILL QUERY or SIGTERM. Its output is recorded in `interventions.txt`.
"""

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

from tuibench.base import sanitize
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import TuibenchError, UsageError
from tuibench.base.units import pluralize
from tuibench.metrics.figures import FIGURES
from tuibench.model.event import DURING, ENDED, EventKind
from tuibench.model.message import SessionMessage, SessionSpec
from tuibench.model.tick import Sample, Tick, total_tick
from tuibench.mysql.connection import Connection, OwnConnections, connect
from tuibench.mysql.info import Manner, connect_with_defaults, shortened
from tuibench.session.events import EventLog
from tuibench.session.lifecycle import Lifecycle, StartTask, cancel_all
from tuibench.session.settings import ProductionGuard

EXEC = "exec:"
"""Prefix of a command; the shell executes the rest."""

BURST = "burst:"
"""Prefix of a burst of the rate; factor and time follow."""

OUTPUT = "interventions.txt"
MOST_ROWS = 100
"""Rows of a result that are recorded."""

END_SECONDS = 5.0
"""How long the end of a session waits for interventions to end after it has killed them."""

BEFORE_SECONDS = 10.0
"""The time before an intervention whose level is compared with that during it."""

COMPARED = ("tps", "p95", "lag")
COMPARED_TRAFFIC = ("qps", "lag")


_CarryOut = Callable[[str], Awaitable[tuple[str, str]]]
"""Executes a statement or a command; returns its result in words, and its output."""


class _InterventionCourse:
    """The ticks before and during an intervention, which may still run. Times are seconds of the run."""

    def __init__(self, name: str, begun: float, before: Tick) -> None:
        self.name = name
        self.begun = begun
        self.ended: float | None = None
        self.before = before
        self.during = Tick()

    def add(self, tick: Tick) -> None:
        """Add a tick. It counts as during the intervention if most of it is."""
        middle = tick.end - tick.seconds / 2
        if self.begun <= middle and (self.ended is None or middle <= self.ended):
            self.during = total_tick((self.during, tick))

    @property
    def text(self) -> str:
        """The levels during the intervention and before it; empty without a tick."""
        if not self.during.seconds or not self.before.seconds:
            return ""
        names = COMPARED_TRAFFIC if self.during.is_traffic else COMPARED
        levels = [
            f"{figure.brief} {figure.text(now)} instead of {figure.text(then)}"
            for figure in map(FIGURES.__getitem__, names)
            if (now := figure.source.value(self.during)) is not None
            and (then := figure.source.value(self.before)) is not None
        ]
        return f"{DURING}{self.name}: {', '.join(levels)}" if levels else ""


class Intervene(NamedTuple):
    """The command of a plan to its session: begin an intervention."""

    what: str
    """The statement, the command of this host after `EXEC`, or a burst after `BURST`."""


class Interventions:
    """The interventions of one session. `submit` executes the command that begins one of the plan."""

    def __init__(
        self,
        spec: SessionSpec,
        submit: Callable[[Intervene], Awaitable[str]],
        guard: ProductionGuard,
        lifecycle: Lifecycle,
        log: EventLog,
        start_task: StartTask,
        clock: Clock,
        own: OwnConnections,
    ) -> None:
        self._spec = spec
        self._submit = submit
        self._own = own
        self._guard = guard
        self._lifecycle = lifecycle
        self._log = log
        self._start_task = start_task
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: set[Connection] = set()
        self._recent: deque[Tick] = deque()
        self._courses: list[_InterventionCourse] = []

    def check_allowed(self) -> None:
        """Raises ProductionError if the plan has an intervention, and the server needs a confirmation."""
        if self._spec.plan.interventions:
            self._guard.require_confirmation()

    def schedule(self) -> None:
        """Start the clocks of the plan's interventions, at the beginning of the run."""
        begun_ns = self._clock.now_ns()
        for seconds, what in self._spec.plan.interventions:
            self._start(self._at(begun_ns + int(seconds * NS_PER_SECOND), what))

    def run_sql(self, sql: str) -> str:
        """Starts a statement; returns the reply as text. Raises a TuibenchError for a refusal.

        The text is always SQL, never a command of this host: scenes and browsers send statements, too.
        """
        if not sql.strip():
            raise UsageError("type the statement to execute")
        if sql.lstrip().startswith(EXEC):
            raise UsageError("only --at executes commands", f"--at TIME {EXEC}COMMAND is an option of a load")
        self._guard.require_confirmation()
        self._start(self._run(sql, self._statement))
        return f"executing {shortened(sql)}"

    def begin(self, what: str) -> None:
        """Starts an intervention of the plan."""
        self._start(self._run(what, self._command if what.startswith(EXEC) else self._statement))

    def on_message(self, message: SessionMessage) -> None:
        if not isinstance(message, Sample):
            return
        tick = message.tick
        self._recent.append(tick)
        while tick.end - self._recent[0].end >= BEFORE_SECONDS:
            self._recent.popleft()
        for course in self._courses:
            course.add(tick)
        over = [each for each in self._courses if each.ended is not None and each.ended <= tick.end]
        self._courses = [each for each in self._courses if each not in over]
        for text in filter(None, (each.text for each in over)):
            self._log.emit(EventKind.WARNING, text)

    async def close(self) -> None:
        """Ends the interventions that still run."""
        for connection in self._connections:
            with contextlib.suppress(TuibenchError):
                killer = await connect(self._spec.target, use_database=False, timeout_seconds=END_SECONDS)
                self._own.add(killer)
                with contextlib.suppress(TuibenchError):
                    await killer.execute(f"KILL QUERY {connection.thread_id}")
                await killer.close()
                self._own.discard(killer)
        if self._connections:
            await asyncio.wait(self._tasks, timeout=END_SECONDS)
        await cancel_all(tuple(self._tasks))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._start_task(work, "intervention")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _at(self, due_ns: int, what: str) -> None:
        await self._clock.sleep(max(0, due_ns - self._clock.now_ns()) / NS_PER_SECOND)
        if not self._lifecycle.is_ending:
            try:
                await self._submit(Intervene(what))
            except UsageError as error:
                self._log.emit(EventKind.WARNING, f"{what} is refused: {error}")

    async def _run(self, what: str, carry_out: _CarryOut) -> None:
        """Execute an intervention; an error is an event, and does not end the run."""
        name = sanitize.text(shortened(what))
        begun = self._log.elapsed_seconds()
        course = _InterventionCourse(name, begun, total_tick(self._recent))
        self._courses.append(course)
        self._log.emit(EventKind.INTERVENTION, f"{name} begins")
        output = ""
        try:
            outcome, output = await carry_out(what)
        except TuibenchError as error:
            outcome = f"failed: {error.message}"
        except asyncio.CancelledError:
            self._log.emit(EventKind.INTERVENTION, f"{name} was ended with the run")
            raise
        course.ended = self._log.elapsed_seconds()
        text = f"{name}{ENDED}{course.ended - begun:,.1f} s: {sanitize.text(outcome)}"
        self._log.emit(EventKind.INTERVENTION, text)
        await asyncio.to_thread(self._record, f"{what}\n-- {text}\n{output}\n")

    async def _statement(self, sql: str) -> tuple[str, str]:
        """The result of a statement in words, and its rows."""
        connection = await connect_with_defaults(self._spec.target, manner=Manner.IS_TIMED)
        self._connections.add(connection)
        self._own.add(connection)
        try:
            count, rows = await connection.run(sql)
        finally:
            self._connections.discard(connection)
            await connection.close()
            self._own.discard(connection)
        lines = ["\t".join(map(str, row.values())) for row in rows[:MOST_ROWS]]
        if not rows:
            return f"{pluralize(count, 'row')} affected", ""
        return pluralize(count, "row"), "\n".join(["\t".join(rows[0]), *lines])

    async def _command(self, what: str) -> tuple[str, str]:
        """The result of a command in words, and its output. The command gets no input."""
        process = await asyncio.create_subprocess_shell(
            what.removeprefix(EXEC),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            await _end_group(process)
            raise
        code = process.returncode
        return "done" if code == 0 else f"failed with status {code}", output.decode(errors="replace")

    def _record(self, text: str) -> None:
        if self._spec.run_directory:
            with (Path(self._spec.run_directory) / OUTPUT).open("a") as file:
                file.write(text)


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """End a command with all processes that it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), END_SECONDS)
            return
