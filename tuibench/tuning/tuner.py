"""Changing settings safely: read the old value, journal it on disk, SET GLOBAL, read back."""

import asyncio
import os
from collections.abc import Awaitable, Callable

from tuibench.clock import Clock, SystemClock
from tuibench.errors import ConnectionLostError, SQLError, TuibenchError, UsageError
from tuibench.model.server import ServerInfo
from tuibench.model.setting import SettingState
from tuibench.model.target import Target
from tuibench.tuning import access, catalogue, presets, refusals
from tuibench.tuning.catalogue import SETTINGS, Setting
from tuibench.tuning.control import Connect, Control
from tuibench.tuning.journal import Journal, path_of
from tuibench.tuning.records import Change, Header, Settlement
from tuibench.tuning.undo import Restored, undo

Guard = Callable[[], Awaitable[object]]


def session_journal(session: str, target: Target, server: ServerInfo, clock: Clock) -> Journal:
    """The journal of a session that starts now; its file appears with the first change."""
    header = Header(
        session=session,
        pid=os.getpid(),
        started=clock.wall_seconds(),
        target=target.without_password(),
        identity=server.identity,
        flavour=server.flavour,
    )
    return Journal(path_of(session), header)


class Tuner:
    """A session's hand on the server's settings. One change at a time; `guard` is awaited before each one."""

    def __init__(
        self,
        connect: Connect,
        journal: Journal,
        server: ServerInfo,
        *,
        clock: Clock | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.journal = journal
        self._control = Control(connect)
        self._server = server
        self._clock = clock or SystemClock()
        self._guard = guard
        self._turn = asyncio.Lock()
        self._values: dict[str, str] = {}
        self._unavailable: dict[str, str] = {}

    @property
    def own_statements(self) -> int:
        """Statements sent by this tuner, for the reconciliation."""
        return self._control.statements

    @property
    def known(self) -> tuple[SettingState, ...]:
        """All settings as last read, without asking the server."""
        return tuple(self._state(setting) for setting in SETTINGS)

    async def open(self) -> tuple[SettingState, ...]:
        """Logs in, reads the settings and finds out which can be changed."""
        async with self._turn:
            self.journal.identify(await self._control.identity())
            self._unavailable = await access.unavailable(self._control, self._server)
            return await self._read_all()

    async def states(self) -> tuple[SettingState, ...]:
        """All settings as the server has them now."""
        async with self._turn:
            return await self._read_all()

    async def change(self, name: str, value: str) -> SettingState:
        """Sets one setting and returns its state as read back.

        Raises UsageError for a name or value that cannot be, SQLError when the server refuses, JournalError
        when the change cannot be made safe, ServerUnavailableError when the server is away.
        """
        setting = catalogue.find(name)
        wanted = catalogue.validate(setting, self._server.flavour, value)
        self._check_available(setting)
        async with self._turn:
            return await self._change(setting, wanted)

    async def apply(self, preset: str) -> tuple[SettingState, ...]:
        """Sets all settings of a preset. An error says which of them were set before it."""
        wanted = presets.find(preset).values
        settings = [catalogue.find(name) for name in wanted]
        for setting in settings:
            self._check_available(setting)
        done: list[SettingState] = []
        async with self._turn:
            for setting in settings:
                try:
                    done.append(await self._change(setting, wanted[setting.name]))
                except TuibenchError as error:
                    error.message += "".join(f"; {state.name} is {state.value}" for state in done)
                    raise
        return tuple(done)

    async def restore(self) -> list[Restored]:
        """Puts back what this session changed. Harmless to repeat; what is pending stays in the journal."""
        async with self._turn:
            restored = await undo(self._control, self.journal, self._clock)
            self._values.update({one.setting: one.value for one in restored if one.value})
            return restored

    async def close(self) -> None:
        """Logs out and lets go of the journal; whatever was not restored stays in it for the guardian."""
        await self._control.close()
        await asyncio.to_thread(self.journal.close)

    def _state(self, setting: Setting) -> SettingState:
        value = self._values.get(setting.name, "")
        original = self.journal.ledger.original(setting.name) or value
        return catalogue.state(setting, value, original, self._unavailable.get(setting.name, ""))

    def _check_available(self, setting: Setting) -> None:
        reason = self._unavailable.get(setting.name)
        if reason:
            raise UsageError(f"{setting.name} cannot be changed here: {reason}")

    async def _read_all(self) -> tuple[SettingState, ...]:
        self._values = await self._control.values(setting.name for setting in SETTINGS)
        return self.known

    async def _read(self, setting: Setting) -> str:
        values = await self._control.values([setting.name])
        self._values[setting.name] = values.get(setting.name, "")
        return self._values[setting.name]

    async def _change(self, setting: Setting, value: str) -> SettingState:
        old = await self._read(setting)
        if old != value:
            if self._guard:
                await self._guard()
            change = await self._note(setting, old, value)
            await self._ask(setting, change)
            await self._confirm(setting, change)
        return self._state(setting)

    async def _note(self, setting: Setting, old: str, new: str) -> Change:
        return await asyncio.to_thread(
            self.journal.change, setting.name, old, new, self._clock.wall_seconds()
        )

    async def _ask(self, setting: Setting, change: Change) -> None:
        """SET GLOBAL. After a lost connection the change stays open: it may have taken effect."""
        try:
            await self._control.set_global(setting.name, change.new)
        except ConnectionLostError:
            raise
        except SQLError as error:
            await self._withdraw(change, error.message)
            raise refusals.explain(error, setting, change.new, self._server) from error

    async def _confirm(self, setting: Setting, change: Change) -> None:
        """Reads back. A third value is taken for the server's rounding, so that it is put back as well."""
        actual = await self._read(setting)
        if actual == change.new:
            await asyncio.to_thread(self.journal.applied, change)
            return
        if actual == change.old:
            await self._withdraw(change, "no effect")
            said = f"it is {actual} as before"
        else:
            rounded = await self._note(setting, change.old, actual)
            await asyncio.to_thread(self.journal.applied, rounded)
            said = f"it is {actual} now"
        raise TuibenchError(
            f"{setting.name} was set to {change.new}, the server took it, and {said}",
            "the server has its own limits for it, or somebody else changes it too",
        )

    async def _withdraw(self, change: Change, why: str) -> None:
        await asyncio.to_thread(
            self.journal.settle, (change.seq,), Settlement.REFUSED, self._clock.wall_seconds(), why
        )
