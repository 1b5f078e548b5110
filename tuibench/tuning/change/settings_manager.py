"""Settings of a session: the available ones, single changes, presets, restore.

Session settings of the load's connections: their values, and the statements for each connection. They never
affect other clients, and need no journal, because they end with the connections.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping

import msgspec

from tuibench.clock import Clock, SystemClock
from tuibench.errors import ConnectionLostError, SQLError, TuibenchError, UsageError
from tuibench.model.server import ServerInfo
from tuibench.model.settings import PresetState, SettingState
from tuibench.model.target import Target
from tuibench.mysql.errors import UNSUPPORTED_CODES
from tuibench.tuning.admin_connection import AdminConnection, Connect
from tuibench.tuning.catalogue import access, setting_lookup
from tuibench.tuning.catalogue.preset_lookup import BUILTIN_PRESETS, find_preset, presets_for_server
from tuibench.tuning.catalogue.setting_lookup import SETTINGS, Setting, SettingScope
from tuibench.tuning.change import refusals
from tuibench.tuning.change.setting_changer import SettingChanger
from tuibench.tuning.statements import session_sql
from tuibench.tuning.undo import ownership
from tuibench.tuning.undo.journal import Journal, journal_path
from tuibench.tuning.undo.journal_entries import JournalHeader, Settlement, original_and_ours
from tuibench.tuning.undo.ownership import RestoreAction, RestoreDecision
from tuibench.tuning.undo.restore import (
    RestoreOutcome,
    RestoreResult,
    expect_same_server,
    restore_decisions,
    restore_settings,
    settle_decision,
)
from tuibench.tuning.undo.server_lock import server_lock

RunOnConnections = Callable[[tuple[str, ...]], None]
"""Has every connection of the workload, present and future, run these statements."""


class WorkloadSettings:
    """The session settings of the load's connections. `at_login` are values that its logins set
    themselves.
    """

    def __init__(self, at_login: Mapping[str, str] | None = None) -> None:
        self.run: RunOnConnections = lambda _: None
        self._original = dict(at_login or {})
        self._fixed = frozenset(self._original)
        self._now: dict[str, str] = {}

    def learn(self, values: Mapping[str, str]) -> None:
        """Read the values with which a new connection starts."""
        self._original |= {name: value for name, value in values.items() if name not in self._fixed}

    @property
    def values(self) -> dict[str, str]:
        """The current values of the load's session settings."""
        return self._original | {name: value for name, value in self._now.items() if name in self._original}

    @property
    def changed(self) -> dict[str, str]:
        """The settings of its own that differ from the beginning, with the value they had then."""
        return {name: was for name, was in self._original.items() if self.values[name] != was}

    def set(self, name: str, value: str) -> None:
        """Set this value on all connections of the load from now on."""
        self._now[name] = value
        self.run(tuple(session_sql(*each) for each in self._now.items()))


Guard = Callable[[], Awaitable[object]]


def session_journal(session: str, target: Target, server: ServerInfo, clock: Clock) -> Journal:
    """The journal of a session that starts now; its file appears with the first change."""
    header = JournalHeader(
        session=session,
        pid=os.getpid(),
        started=clock.wall_seconds(),
        target=target.without_password(),
        identity=server.identity,
        flavour=server.flavour,
    )
    return Journal(journal_path(session), header)


class SettingsManager:
    """A session's access to the settings. One change at a time; `guard` is awaited before each change of the
    server.

    `presets` are those that can be applied, `workload` are the session settings of the load's connections,
    `control` is the connection for all statements, `refusal` the error of a server that does not report its
    settings.
    """

    def __init__(
        self,
        connect: Connect,
        journal: Journal,
        server: ServerInfo,
        *,
        clock: Clock | None = None,
        guard: Guard | None = None,
        presets: tuple[PresetState, ...] = BUILTIN_PRESETS,
        workload: WorkloadSettings | None = None,
    ) -> None:
        self.journal = journal
        self.presets = presets_for_server(presets, server)
        self.control = AdminConnection(connect)
        self.server = server
        self._clock = clock or SystemClock()
        self._guard = guard
        self._workload = workload or WorkloadSettings()
        self._lock = asyncio.Lock()
        self._setter = SettingChanger(self.control, journal, server, self._clock)
        self._began: dict[str, str] = {}
        self._unavailable: dict[str, str] = {}
        self.refusal: SQLError | None = None
        self._known: tuple[SettingState, ...] | None = None

    @property
    def own_statements(self) -> int:
        """Statements sent by this tuner, for the reconciliation."""
        return self.control.statements

    @property
    def connection_ids(self) -> set[int]:
        """The server's id of the control connection, if there is one."""
        return self.control.connection_ids

    @property
    def is_busy(self) -> bool:
        """True while the settings are read or changed."""
        return self._lock.locked()

    @property
    def known(self) -> tuple[SettingState, ...]:
        """All settings as last read, without asking the server; every tick reads them."""
        if self._known is not None:
            return self._known
        found = tuple(self._state(setting) for setting in SETTINGS)
        if not self._lock.locked():
            self._known = found
        return found

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Our turn at the settings, in which the states change."""
        async with self._lock:
            self._known = None
            yield

    async def open(self) -> tuple[SettingState, ...]:
        """Logs in, reads the settings and finds out which can be changed.

        On a server of another make, which does not know the statements for it, no setting can be changed.
        """
        async with self._turn():
            try:
                await self._read_first()
            except SQLError as error:
                if error.code not in UNSUPPORTED_CODES:
                    raise
                self.refusal = error
                reason = f"the server does not report its settings: {error.message}"
                self._unavailable = {setting.name: reason for setting in SETTINGS}
            return self.known

    async def _read_first(self) -> None:
        self.journal.identify(await self.control.identity())
        self._unavailable = await access.unavailable_settings(self.control, self.server)
        self._workload.learn(await self.control.session_values())
        await self._setter.read_all()
        self._began = dict(self._setter.values)

    async def states(self) -> tuple[SettingState, ...]:
        """All settings as the server has them now."""
        async with self._turn():
            if self.refusal is None:
                await self._setter.read_all()
            return self.known

    async def change(self, name: str, value: str) -> SettingState:
        """Set one setting and return its state as read back, which may be rounded.

        Raises UsageError for an invalid name or value, SQLError if the server refuses, JournalError if the
        change cannot be journalled, ServerUnavailableError if the server cannot be reached.
        """
        setting = setting_lookup.find_setting(name)
        wanted = self._checked(setting, value)
        async with self._turn(), self._exclusive_change([setting]):
            return await self._change(setting, wanted)

    async def apply(self, preset: str) -> tuple[SettingState, ...]:
        """Set all settings of a preset. An error says which of them were set before it."""
        wanted = {
            name: self._checked(setting_lookup.find_setting(name), value)
            for name, value in find_preset(self.presets, preset).values.items()
        }
        done: dict[str, SettingState] = {}
        async with (
            self._turn(),
            self._exclusive_change([setting_lookup.find_setting(name) for name in wanted]),
        ):
            for name in setting_lookup.order_by_limits(wanted, self._setter.values):
                try:
                    done[name] = await self._change(setting_lookup.find_setting(name), wanted[name])
                except TuibenchError as error:
                    error.message += "".join(f"; {state.name} is {state.value}" for state in done.values())
                    raise
        return tuple(done[name] for name in wanted)

    def rounding(self, name: str, value: str, now: str) -> str:
        """Why a setting has another value than requested; empty if it has that value."""
        setting = setting_lookup.find_setting(name)
        asked = self._checked(setting, value)
        return "" if asked == now else f"requested {setting.spoken(asked)}: {setting.rounding}"

    async def restore(self, only: Collection[str] = ()) -> list[RestoreResult]:
        """Restore what this session changed, or only the settings in `only`.

        May be repeated; open changes stay in the journal.
        """
        async with self._turn():
            restored = await restore_settings(self.control, self.journal, self._clock, only)
            self._setter.values.update({one.setting: one.value for one in restored if one.value})
            self._take_copies(one.setting for one in restored)
            return [*restored, *self._restore_workload(only)]

    async def after_restart(self) -> list[str]:
        """Settles what a restart of the server has reset; returns a message for each setting."""
        async with self._turn():
            if self.refusal:
                return []
            await self._setter.read_all()
            if not self.journal.ledger.open_settings:
                return []
            async with server_lock(self.journal.path.parent, self.journal.header.identity, self._clock):
                found = await restore_decisions(self.control, self.journal)
                return [await self._after_restart(decision) for decision in found]

    async def drop_changes(self, why: str) -> None:
        """Settle all open changes as left, for the reason `why`; nothing remains for the guardian."""
        async with self._turn():
            ledger = self.journal.ledger
            seqs = tuple(one.change.seq for name in ledger.open_settings for one in ledger.changes_of(name))
            await asyncio.to_thread(
                self.journal.settle, seqs, Settlement.LEFT, self._clock.wall_seconds(), why
            )

    async def close(self) -> None:
        """Log out and release the journal; unrestored changes stay in it for the guardian."""
        await self.control.close()
        await asyncio.to_thread(self.journal.close)

    def _state(self, setting: Setting) -> SettingState:
        name = setting.name
        own = self._workload.values if setting.scope is SettingScope.WORKLOAD else {}
        if name in own:
            value = own[name]
            began = original = self._workload.changed.get(name, value)
        else:
            value = "" if self._is_without_effect(name) else self._setter.values.get(name, "")
            original = self.journal.ledger.original(name) or value
            began = self._began.get(name, value) if value else ""
        return setting_lookup.setting_state(
            setting,
            self.server,
            value,
            original,
            self._unavailable.get(name, ""),
            began=began,
            changed_by=self._changed_by(name, value, original, began),
        )

    def _is_without_effect(self, name: str) -> bool:
        """True if the value that the server reports says nothing about it."""
        return self._unavailable.get(name) == access.WITHOUT_EFFECT

    def _changed_by(self, name: str, value: str, original: str, began: str) -> str:
        changes = self.journal.ledger.changes_of(name)
        if name in self._workload.changed or (changes and original_and_ours(changes)[1].has(value)):
            return "us" if value != original else ""
        return "others" if value != (original if changes else began) else ""

    def _checked(self, setting: Setting, value: str) -> str:
        """The value as the server will say it. Raises UsageError if it cannot be set here."""
        reason = self._unavailable.get(setting.name)
        if reason:
            raise UsageError(f"{setting.name} cannot be changed here: {reason}")
        return setting_lookup.canonical_value(setting, self.server, value)

    @contextlib.asynccontextmanager
    async def _exclusive_change(self, settings: Iterable[Setting]) -> AsyncIterator[None]:
        """Our turn to change the server, with a guardian up; the workload's own settings need neither."""
        if all(setting.scope is SettingScope.WORKLOAD for setting in settings):
            yield
            return
        if self._guard:
            await self._guard()
        async with server_lock(self.journal.path.parent, self.journal.header.identity, self._clock):
            await expect_same_server(self.control, self.journal)
            yield

    async def _change(self, setting: Setting, value: str) -> SettingState:
        if setting.scope is SettingScope.WORKLOAD:
            await self._change_workload(setting, value)
            return self._state(setting)
        if await self._setter.set(setting, value):
            self._take_copies([setting.name])
        return self._state(setting)

    async def _change_workload(self, setting: Setting, value: str) -> None:
        """Tried on our own connection first, so that no connection of the load meets a refusal."""
        try:
            await self.control.try_session(setting.name, value, self._workload.values[setting.name])
        except ConnectionLostError:
            raise
        except SQLError as error:
            raise refusals.explain_refusal(error, setting, value, self.server) from error
        self._workload.set(setting.name, value)

    def _take_copies(self, names: Iterable[str]) -> None:
        """The workload's connections follow where each has a copy of the server's value."""
        for name in names:
            if setting_lookup.find_setting(name).scope is SettingScope.DEFAULT and self._setter.values.get(
                name
            ):
                self._workload.set(name, self._setter.values[name])

    async def _after_restart(self, decision: RestoreDecision) -> str:
        if decision.action in (RestoreAction.RESTORE, RestoreAction.HAND_OVER):
            is_back = decision.current == decision.original
            return (
                ownership.reset_by_restart(decision) if is_back else ownership.unchanged_by_restart(decision)
            )
        settled = msgspec.structs.replace(decision, handed=())
        await settle_decision(self.journal, self._clock, settled, "the server was restarted")
        self._take_copies([decision.setting])
        return ownership.reset_by_restart(decision)

    def _restore_workload(self, only: Collection[str]) -> list[RestoreResult]:
        restored = []
        for name, was in self._workload.changed.items():
            if only and name not in only:
                continue
            now = self._workload.values[name]
            self._workload.set(name, was)
            text = f"{name} {now} → {was} for the workload, as before"
            restored.append(
                RestoreResult(
                    setting=name, outcome=RestoreOutcome.RESTORED, value=was, original=was, text=text
                )
            )
        return restored
