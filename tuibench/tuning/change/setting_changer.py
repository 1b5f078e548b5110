"""One change on the server: read the old value, journal it on disk, SET GLOBAL, read back.

A change is confirmed, or withdrawn as without effect, only by a value that was read back. Until then it stays
open in the journal: after a lost connection, and for a setting that changes in the background, also after a
refusal, which may be that of a repeated statement while the first one is still being executed.
"""

import asyncio

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, DeniedError, RunError, SQLError, TuibenchError, UsageError
from tuibench.model.server import ServerInfo
from tuibench.tuning.admin_connection import AdminConnection
from tuibench.tuning.catalogue import setting_lookup
from tuibench.tuning.catalogue.setting import ValueKind
from tuibench.tuning.catalogue.setting_lookup import SETTINGS, Setting
from tuibench.tuning.change import refusals
from tuibench.tuning.undo import other_sessions
from tuibench.tuning.undo.journal import Journal
from tuibench.tuning.undo.journal_entries import SettingChange, Settlement
from tuibench.tuning.undo.restore import SLOW_ATTEMPTS, SLOW_PAUSE_SECONDS, ChangingError


class SettingChanger:
    """Changes one setting at a time, under the server's lock. `values` are those last read from the
    server.
    """

    def __init__(self, control: AdminConnection, journal: Journal, server: ServerInfo, clock: Clock) -> None:
        self.values: dict[str, str] = {}
        self._control = control
        self._journal = journal
        self._server = server
        self._clock = clock

    async def read_all(self) -> None:
        """Has all values read."""
        self.values = await self._control.values(setting.name for setting in SETTINGS)

    async def read(self, setting: Setting) -> str:
        """The value that the server has now."""
        values = await self._control.values([setting.name])
        self.values[setting.name] = values.get(setting.name, "")
        return self.values[setting.name]

    async def set(self, setting: Setting, value: str) -> bool:
        """True if the server's value has changed; it may be rounded.

        A value that is already set is recorded as this session's if another session would restore it. Raises
        SQLError if the server refuses, JournalError if the change cannot be journalled, RunError if the
        outcome of the change before is unknown.
        """
        await self._keep_limits(setting, value)
        await self._expect_known_origin(setting)
        old = await self.read(setting)
        if old == value:
            if await asyncio.to_thread(
                other_sessions.is_restored_by_other_session, self._journal, setting.name
            ):
                change = await self._note(setting, old, value)
                await asyncio.to_thread(self._journal.applied, change)
            return False
        await self._check_way_back(setting, old)
        change = await self._note(setting, old, value)
        await self._ask(setting, change)
        await self._confirm(setting, change)
        return True

    async def _expect_known_origin(self, setting: Setting) -> None:
        """Raises RunError while a change before, of which nothing is known, has the say about the value."""
        unconfirmed = await asyncio.to_thread(other_sessions.unconfirmed_values, self._journal, setting.name)
        if unconfirmed is None:
            return
        if await self._control.being_changed([setting.name]):
            raise ChangingError(setting.name)
        value, (original, ours) = await self.read(setting), unconfirmed
        if value != original and not ours.has(value):
            raise RunError(
                f"{setting.name} is {value}: tuibench set it to {ours.asked} and got no answer, so the "
                "server or another session may have set it",
                f"set it to {original} manually, its value before tuibench, and then change it",
            )

    async def _keep_limits(self, setting: Setting, value: str) -> None:
        other = setting_lookup.paired_setting(setting.name)
        if other is not None:
            setting_lookup.check_pair_limit(
                setting.name, value, await self.read(setting_lookup.find_setting(other))
            )

    async def _check_way_back(self, setting: Setting, old: str) -> None:
        """Raises UsageError for a size that the server has and would not take: it could not be restored.

        Limits of sizes may depend on other variables: a server starts with a log file that is smaller than
        its log buffer, and refuses to be set to it.
        """
        if setting.kind is not ValueKind.SIZE or setting.name in self._journal.ledger.open_settings:
            return
        try:
            await self._control.set_global(setting.name, old)
        except (ConnectionLostError, DeniedError):
            raise
        except SQLError as error:
            raise UsageError(
                f"{setting.name} is {old}, and the server would not accept that value again: {error.message}",
                "change it in the server's option file, with a restart",
            ) from error

    async def _note(self, setting: Setting, old: str, new: str) -> SettingChange:
        seq = await asyncio.to_thread(other_sessions.next_seq, self._journal)
        return await asyncio.to_thread(
            self._journal.change, setting.name, old, new, self._clock.wall_seconds(), seq
        )

    async def _ask(self, setting: Setting, change: SettingChange) -> None:
        """SET GLOBAL."""
        try:
            await self._control.set_global(setting.name, change.new)
        except ConnectionLostError:
            raise
        except SQLError as error:
            if await self.read(setting) == change.old and not setting.slow:
                await self._withdraw(change, error.message)
            raise refusals.explain_refusal(error, setting, change.new, self._server) from error

    async def _confirm(self, setting: Setting, change: SettingChange) -> None:
        """Reads the value. A third value counts as the server's rounding, so that it is restored as well."""
        actual = await self._settled_value(setting, change)
        if actual == change.new:
            await asyncio.to_thread(self._journal.applied, change)
            return
        if actual != change.old:
            rounded = await self._note(setting, change.old, actual)
            await asyncio.to_thread(self._journal.applied, rounded)
            if setting.rounding:
                return
            result = f"it is {actual} now"
        else:
            if not setting.slow:
                await self._withdraw(change, "no effect")
            result = f"it is {actual} as before"
        raise TuibenchError(
            f"{setting.name} was set to {change.new} without an error, and {result}",
            setting.rounding or "the server limits this setting, or another session also changes it",
        )

    async def _settled_value(self, setting: Setting, change: SettingChange) -> str:
        """The value read back; a server that is still busy with the change before is asked again."""
        actual = await self.read(setting)
        for _ in range(SLOW_ATTEMPTS if setting.slow else 0):
            if actual != change.old:
                break
            await self._clock.sleep(SLOW_PAUSE_SECONDS)
            try:
                await self._control.set_global(setting.name, change.new)
            except ConnectionLostError:
                raise
            except SQLError:
                pass
            actual = await self.read(setting)
        return actual

    async def _withdraw(self, change: SettingChange, why: str) -> None:
        await asyncio.to_thread(
            self._journal.settle, (change.seq,), Settlement.REFUSED, self._clock.wall_seconds(), why
        )
