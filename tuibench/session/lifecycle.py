"""Lifecycle of a session: its states, its tasks, its ticks, and the steps of its end.

    starting ──> warming up ──> running <──> paused
                                   │
                                   └──> stopping ──> ended

A command, a signal, a limit or an error ends the session by setting `over`; the state follows. Every step of
the end runs, even if another one fails. An error of tuibench itself is one line for the user, and a traceback
in the crash log.
"""

import asyncio
import contextlib
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager
from enum import Enum, auto
from pathlib import Path
from typing import Any

from tuibench.base import files, paths
from tuibench.base.clock import NS_PER_SECOND, Clock, ScheduledTick
from tuibench.base.errors import ExitCode, RunError, ServerUnavailableError, TuibenchError, UsageError
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.summary import RunOutcome, UnrestoredSetting
from tuibench.servers.process import DirectoryLayout, find_end
from tuibench.session.events import EventLog

ClosingStep = Callable[[], Awaitable[object]]


class EndStep(Enum):
    """The steps of a session's end, in their order. The settings are restored while the tasks and connections
    of the session still work.
    """

    STOP = auto()
    PROFILING = auto()
    INTERVENTIONS = auto()
    RESTORE = auto()
    HARDWARE = auto()
    INSTRUMENTS = auto()
    TASKS = auto()
    ACTIVITY = auto()
    STATEMENTS = auto()
    SAMPLER = auto()
    SETTINGS = auto()


async def run_steps(steps: Iterable[ClosingStep], on_failure: Callable[[Exception], None]) -> None:
    """Run all steps in order.

    An error of a step is reported to `on_failure`. A cancellation interrupts only the current step, and is
    raised after the last one.
    """
    interruption: BaseException | None = None
    for step in steps:
        try:
            await step()
        except Exception as error:
            on_failure(error)
        except BaseException as error:
            interruption = interruption or error
    if interruption is not None:
        raise interruption


def internal_error_text(error: Exception) -> str:
    """Writes the traceback to the crash log; returns the line for the user.

    The line names the crash log, or the place in the code where the log cannot be written.
    """
    message = f"this is a bug in tuibench: {type(error).__name__}: {error}"
    try:
        file = paths.ensure_private(paths.state_dir()) / "crash.log"
        with files.private(file, "wb") as stream:
            stream.write("".join(traceback.format_exception(error)).encode(errors="replace"))
    except (OSError, UsageError):
        frames = traceback.extract_tb(error.__traceback__)
        return (
            f"{message} (in {frames[-1].name}, {frames[-1].filename}:{frames[-1].lineno})"
            if frames
            else message
        )
    return f"{message} (details in {file})"


ENDING = frozenset({RunState.STOPPING, RunState.ENDED})
"""States in which nothing may be changed any more."""


class Lifecycle:
    """State, outcome and error of a session."""

    def __init__(self, log: EventLog, on_change: Callable[[], None]) -> None:
        """`on_change` is called after each change of the state."""
        self.state = RunState.STARTING
        self.outcome: RunOutcome = "done"
        self.error: TuibenchError | None = None
        """The first error that ended the session."""
        self.not_restored: tuple[UnrestoredSetting, ...] = ()
        """The settings that the end of the session could not restore."""
        self.is_timed = True
        """True if the time of the plan ends the run; otherwise its experiment does."""
        self.over = asyncio.Event()
        self._log = log
        self._on_change = on_change

    @property
    def is_ending(self) -> bool:
        return self.state in ENDING

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of a command that runs this session: that of its error, or else that of a setting
        which was not restored, even if the session was interrupted.
        """
        if self.error is not None:
            return ExitCode(self.error.exit_code)
        if self.not_restored:
            return ExitCode.NOT_RESTORED
        return ExitCode.INTERRUPTED if self.outcome == "interrupted" else ExitCode.DONE

    def end_ns(self, start_ns: int, seconds: float | None) -> int | None:
        """When the time of the plan is up; None without a time, or if the run's experiment ends the run."""
        return start_ns + int(seconds * NS_PER_SECOND) if seconds and self.is_timed else None

    def set_state(self, state: RunState) -> None:
        self.state = state
        self._on_change()

    def publish_status(self) -> None:
        """Notifies listeners that the status has changed."""
        self._on_change()

    def request_stop(self, outcome: RunOutcome = "stopped") -> None:
        """Ends the session in good order. The first request decides the outcome."""
        if not self.over.is_set():
            self.outcome = outcome
            self.over.set()

    def fail(self, error: Exception) -> None:
        """Ends the session with an error. An error of tuibench itself is written to the crash log."""
        known = error if isinstance(error, TuibenchError) else _internal_error(error)
        self.error = self.error or known
        self.outcome = "failed"
        self.over.set()
        with contextlib.suppress(Exception):
            # A listener may have caused the failure that is reported here.
            self._log.emit(EventKind.WARNING, str(known))

    def check_running(self) -> None:
        """Raises UsageError once the session is ending: restored settings must not be changed again."""
        if self.is_ending:
            raise UsageError("the run is ending; nothing can be changed any more")


def _internal_error(error: Exception) -> RunError:
    known = RunError(internal_error_text(error))
    known.__cause__ = error
    return known


POLL_SECONDS = 0.5


class PrivateServerWatch:
    """Polls for the end of the private server whose directory is given; empty for another server."""

    def __init__(self, directory: str, clock: Clock) -> None:
        self.is_needed = bool(directory)
        self._layout = DirectoryLayout(Path(directory))
        self._clock = clock

    async def end(self) -> ServerUnavailableError | None:
        """The error that says why the server has ended; None while it runs, or if it is not private."""
        return await asyncio.to_thread(find_end, self._layout) if self.is_needed else None

    async def until_end(self) -> None:
        """Wait for the server's end. Raises ServerUnavailableError then."""
        while (ended := await self.end()) is None:
            await self._clock.sleep(POLL_SECONDS)
        raise ended


StartTask = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
"""Starts a task with a name."""


class BackgroundTasks(AbstractAsyncContextManager["BackgroundTasks"]):
    """The tasks of a session. `on_failure` is called with the error of each task that fails."""

    def __init__(self, on_failure: Callable[[Exception], None]) -> None:
        self._on_failure = on_failure
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "BackgroundTasks":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
        # An error of the body is raised unchanged; the group would wrap it.
        await self._group.__aexit__(None, None, None)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = self._group.create_task(self._supervised(work), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Cancel the running tasks, and wait for their end."""
        await cancel_all(tuple(self._tasks))

    async def _supervised(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self._on_failure(error)


async def cancel_all(tasks: tuple[asyncio.Task[None], ...]) -> None:
    """Cancels the tasks and waits for their end."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def ticks_until(
    over: asyncio.Event, schedule: AsyncIterator[ScheduledTick]
) -> AsyncIterator[ScheduledTick]:
    """The times of the schedule until `over` is set; ends at once when it is set."""
    ending = asyncio.create_task(over.wait())
    try:
        while not over.is_set():
            tick = asyncio.ensure_future(anext(schedule, None))
            await asyncio.wait({tick, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not tick.done():
                tick.cancel()
                return
            if (due := tick.result()) is None:
                return
            yield due
    finally:
        ending.cancel()
