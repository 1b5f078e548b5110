"""Commands that need no load: settings, marks, the server's sessions, and the stop.

Commands to the settings are executed one after the other. A stop waits for none of them, and neither does
the end of a query: a change may wait for that very query.
"""

import asyncio
from collections.abc import Callable

from tuibench.errors import UsageError
from tuibench.model.command import (
    Command,
    KillQuery,
    Mark,
    SettingCommand,
    Stop,
    WatchActivity,
    WatchStatements,
)
from tuibench.model.event import EventKind
from tuibench.model.message import NO_LOAD_REFUSAL
from tuibench.session.control.settings import Settings
from tuibench.session.lifecycle.lifecycle import Lifecycle
from tuibench.session.sampling.activity_monitor import ActivityMonitor
from tuibench.session.sampling.statement_monitor import StatementMonitor


class SessionCommands:
    """Executes commands and returns replies. A refusal is raised as a TuibenchError and changes nothing."""

    def __init__(
        self,
        settings: Settings,
        activity_monitor: ActivityMonitor,
        statement_monitor: StatementMonitor,
        lifecycle: Lifecycle,
        emit: Callable[[EventKind, str], object],
    ) -> None:
        self._settings = settings
        self._activity_monitor = activity_monitor
        self._statement_monitor = statement_monitor
        self._lifecycle = lifecycle
        self._emit = emit
        self._settings_lock = asyncio.Lock()

    async def execute(self, command: Command) -> str:
        """Executes a command; returns the reply as text."""
        match command:
            case Stop():
                self._lifecycle.request_stop()
                return "stopping"
            case WatchActivity():
                self._activity_monitor.renew()
                return "watching"
            case WatchStatements():
                self._statement_monitor.renew()
                return "reading statements"
            case KillQuery(id=id):
                return await self._kill(id)
            case Mark(text=text):
                self._lifecycle.check_running()
                self._emit(EventKind.MARK, text or "mark")
                return "marked"
        if isinstance(command, SettingCommand):
            async with self._settings_lock:
                self._lifecycle.check_running()
                return await self._settings.execute(command)
        raise UsageError(NO_LOAD_REFUSAL)

    async def _kill(self, id: int) -> str:
        self._lifecycle.check_running()
        text = await self._activity_monitor.kill(id)
        self._emit(EventKind.KILL, text)
        return text
