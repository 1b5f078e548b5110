"""Changes of settings: consent, single changes, presets, the load's session settings.

A change on the server has four steps: read the old value, journal it on disk, SET GLOBAL, read back. Only a
value that was read back confirms the change, or withdraws it as without effect. Until then it stays open in
the journal. That includes a lost connection, and, for a setting that changes in the background, a refusal: it
may be that of a repeated statement while the first one is still being executed.

Session settings of the load's connections never affect other clients, and need no journal, because they end
with the connections.

The operator's consents to changes of servers that look like production are one line per server in a file of
the state directory; an unreadable line is ignored.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tuibench.base import files, paths
from tuibench.base.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.base.errors import (
    ConnectionLostError,
    DeniedError,
    RunError,
    SQLError,
    TuibenchError,
    UsageError,
)
from tuibench.base.files import DECODE_ERRORS
from tuibench.model.server import ServerInfo, Target
from tuibench.model.settings import PresetState, SettingState
from tuibench.mysql.connection import OwnConnections
from tuibench.mysql.errors import is_unsupported
from tuibench.tuning import catalogue, ownership, restore
from tuibench.tuning.catalogue import BUILTIN_PRESETS, SETTINGS, find_preset, presets_for_server
from tuibench.tuning.connection import AdminConnection, Connect, session_sql
from tuibench.tuning.journal import (
    Journal,
    JournalHeader,
    SettingChange,
    Settlement,
    journal_path,
    original_and_ours,
    this_host,
)
from tuibench.tuning.ownership import RestoreAction, RestoreDecision
from tuibench.tuning.restore import (
    SLOW_ATTEMPTS,
    SLOW_PAUSE_SECONDS,
    ChangingError,
    RestoreOutcome,
    RestoreResult,
    expect_same_server,
    restore_decisions,
    restore_settings,
    settle_decision,
)
from tuibench.tuning.server_lock import server_turn
from tuibench.tuning.setting import Setting, SettingScope, ValueKind

CONSENT_OPTION = "--yes-this-server"


class ConsentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A consent to changes of a server."""

    identity: str
    """The server's identity."""
    at: float
    """Unix seconds."""
    signs: tuple[str, ...]
    """The signs of a production server."""


class ProductionError(UsageError):
    """The server looks like production, and the operator has not consented."""

    def __init__(self, where: str, signs: tuple[str, ...]) -> None:
        super().__init__(
            f"{where} looks like a production server: {'; '.join(signs)}; its settings are not changed",
            f"to allow changes, use once: {CONSENT_OPTION}",
        )


class ProductionConsent:
    """All consents given so far."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or paths.state_dir() / "servers.jsonl"

    def is_given(self, identity: str) -> bool:
        return any(yes.identity == identity for yes in self._read())

    def give(self, yes: ConsentRecord) -> None:
        """Store the consent. Raises TuibenchError if the state directory cannot be written."""
        try:
            paths.ensure_private(self._path.parent)
            with open(self._path, "ab", opener=_open_without_waiting) as file:
                file.write(msgspec.json.encode(yes) + b"\n")
            self._path.chmod(0o600)
        except OSError as error:
            raise TuibenchError(f"cannot store the consent in {self._path}: {error.strerror}") from error

    def _read(self) -> Iterator[ConsentRecord]:
        try:
            lines = files.read_bytes(self._path).splitlines()
        except OSError:
            return
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=ConsentRecord)
            except DECODE_ERRORS:
                continue


def _open_without_waiting(name: str, flags: int) -> int:
    """Opens a file. Raises OSError for a link, and for a pipe without a reader."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, files.OWNER_ONLY)


PARAMETER_GROUP = "a managed service has a parameter group for it"
_MANAGED = "{privilege}; " + PARAMETER_GROUP
_WORDS = {
    1045: ("this login cannot change {name}", _MANAGED),
    1193: ("{server} has no variable {name}", "choose another setting"),
    1210: ("{server} does not accept {value} for {name}: {text}", ""),
    1227: ("this login cannot change {name}", _MANAGED),
    1228: ("{name} is not a global variable", "it belongs to each connection"),
    1229: ("{name} is a global variable and was not set as one", ""),
    1231: ("{server} does not accept {value} for {name}", "{takes}"),
    1232: ("{server} does not accept {value} for {name}: wrong type", "{takes}"),
    1238: ("{name} is read-only on this server", "changing it requires a restart of the server"),
    1290: ("the server's options do not allow changing {name}", ""),
}


def explain_refusal(error: SQLError, setting: Setting, value: str, server: ServerInfo) -> SQLError:
    """The refusal of `SET GLOBAL_VARIABLE setting = value`, as a message with a hint."""
    message, hint = _WORDS.get(error.code, ("{server} refused to set {name} to {value}: {text}", ""))
    support = setting.support(server)
    needed = setting.privileges(server.flavour, server.version_tuple) or ("SUPER",)
    words = {
        "name": setting.name,
        "value": value,
        "server": f"{server.flavour} {server.version}",
        "text": error.message,
        "privilege": "it needs the privilege " + " or ".join(needed),
        "takes": f"it takes {setting.takes(support)}" if support else "",
    }
    return SQLError(error.code, f"{message.format(**words)} (error {error.code})", hint.format(**words))


class SettingChanger:
    """Changes one setting at a time, under the server's lock."""

    def __init__(self, control: AdminConnection, journal: Journal, server: ServerInfo, clock: Clock) -> None:
        self.values: dict[str, str] = {}
        """The values last read from the server."""
        self._control = control
        self._journal = journal
        self._server = server
        self._clock = clock

    async def read_all(self) -> None:
        """Reads all values."""
        self.values = await self._control.values(setting.name for setting in SETTINGS)

    async def read(self, setting: Setting) -> str:
        """The value that the server has now."""
        values = await self._control.values([setting.name])
        self.values[setting.name] = values.get(setting.name, "")
        return self.values[setting.name]

    async def set(self, setting: Setting, value: str) -> bool:
        """Sets a value; True if the server's value has changed. It may be rounded.

        A value that is already set is recorded as this session's if another session would restore it. Raises
        SQLError if the server refuses, JournalError if the change cannot be journalled, RunError if the
        outcome of the previous change is unknown.
        """
        other = catalogue.paired_setting(setting.name)
        if other is not None:
            catalogue.check_pair_limit(setting.name, value, await self.read(catalogue.find_setting(other)))
        await self._expect_known_origin(setting)
        old = await self.read(setting)
        if old == value:
            if await asyncio.to_thread(restore.is_restored_by_other_session, self._journal, setting.name):
                change = await self._note(setting, old, value)
                await asyncio.to_thread(self._journal.applied, change)
            return False
        await self._check_way_back(setting, old)
        change = await self._note(setting, old, value)
        await self._ask(setting, change)
        await self._confirm(setting, change)
        return True

    async def _expect_known_origin(self, setting: Setting) -> None:
        """Raises RunError if the value may come from an earlier change whose outcome is unknown."""
        start = await self._control.server_start(self._server.flavour)
        unconfirmed = await asyncio.to_thread(restore.unconfirmed_values, self._journal, setting.name, start)
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

    async def _check_way_back(self, setting: Setting, old: str) -> None:
        """Raises UsageError if the server would refuse its current size, which could not be restored.

        Limits of sizes may depend on other variables: a server starts with a log file that is smaller than
        its log buffer, and refuses to set this size.
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
        start = await self._control.server_start(self._server.flavour)
        seq = await asyncio.to_thread(restore.next_seq, self._journal)
        return await asyncio.to_thread(
            self._journal.change, setting.name, old, new, self._clock.wall_seconds(), seq, start
        )

    async def _ask(self, setting: Setting, change: SettingChange) -> None:
        """Sends the change to the server."""
        try:
            await self._control.set_global(setting.name, change.new)
        except ConnectionLostError:
            raise
        except SQLError as error:
            if await self.read(setting) == change.old and not setting.slow:
                await self._withdraw(change, error.message)
            raise explain_refusal(error, setting, change.new, self._server) from error

    async def _confirm(self, setting: Setting, change: SettingChange) -> None:
        """Reads the value back. A value other than the old and the requested one counts as the server's
        rounding, so that it is restored, too.
        """
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
        """The value read back. A server that is still busy with the previous change is asked again."""
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


RunOnConnections = Callable[[tuple[str, ...]], None]
"""Executes these statements on every connection of the workload, present and future."""


class WorkloadSettings:
    """The session settings of the load's connections. `at_login` are the values that its logins set."""

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
        """The settings of the load that differ from the beginning, with their values at that time."""
        return {name: was for name, was in self._original.items() if self.values[name] != was}

    def set(self, name: str, value: str) -> None:
        """Set this value on all connections of the load from now on."""
        self._now[name] = value
        self.run(tuple(session_sql(*each) for each in self._now.items()))


Guard = Callable[[], Awaitable[object]]

KEEP_SECONDS = 30.0
"""Interval of the check that the server's lock is held, while there are changes to restore."""


def session_journal(session: str, target: Target, server: ServerInfo, clock: Clock) -> Journal:
    """The journal of a session that starts now; its file is created with the first change."""
    host, boot = this_host()
    header = JournalHeader(
        session=session,
        pid=os.getpid(),
        started=clock.wall_seconds(),
        target=target.without_password(),
        identity=server.identity,
        flavour=server.flavour,
        host=host,
        boot=boot,
    )
    return Journal(journal_path(session), header)


class SettingsManager:
    """A session's access to the settings. One change at a time; `guard` is awaited before each change of the
    server.
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
        own: OwnConnections | None = None,
    ) -> None:
        self.journal = journal
        self.presets = presets_for_server(presets, server)
        """Those that can be applied."""
        self.control = AdminConnection(connect, own)
        """The connection for all statements."""
        self.server = server
        self._clock = clock or SystemClock()
        self._guard = guard
        self._workload = workload or WorkloadSettings()
        self._lock = asyncio.Lock()
        self._setter = SettingChanger(self.control, journal, server, self._clock)
        self._look_at_lock_ns = 0
        self._began: dict[str, str] = {}
        self._unavailable: dict[str, str] = {}
        self.refusal: SQLError | None = None
        """The error of a server that does not report its settings."""
        self._known: tuple[SettingState, ...] | None = None
        self._made: dict[str, tuple[tuple[str, ...], SettingState]] = {}
        """The last state of each setting, with what it was made from."""

    @property
    def is_busy(self) -> bool:
        """True while the settings are read or changed."""
        return self._lock.locked()

    @property
    def known(self) -> tuple[SettingState, ...]:
        """All settings as last read, without a statement to the server; every tick reads them."""
        if self._known is not None:
            return self._known
        found = tuple(self._state(setting) for setting in SETTINGS)
        if not self._lock.locked():
            self._known = found
        return found

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Exclusive access to the settings, within which the states change."""
        async with self._lock:
            self._known = None
            yield

    async def open(self) -> tuple[SettingState, ...]:
        """Logs in, reads the settings and determines which can be changed.

        On a server of another make, which does not know the statements for it, no setting can be changed.
        """
        async with self._turn():
            try:
                self.journal.identify(await self.control.identity())
                self._unavailable = await catalogue.unavailable_settings(self.control, self.server)
                self._workload.learn(await self.control.session_values())
                await self._setter.read_all()
                self._began = dict(self._setter.values)
            except SQLError as error:
                if not is_unsupported(error):
                    raise
                self.refusal = error
                reason = f"the server does not report its settings: {error.message}"
                self._unavailable = {setting.name: reason for setting in SETTINGS}
            return self.known

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
        setting = catalogue.find_setting(name)
        wanted = self._checked(setting, value)
        async with self._turn(), self._exclusive_change([setting]):
            return await self._change(setting, wanted)

    async def apply(self, preset: str) -> tuple[SettingState, ...]:
        """Set all settings of a preset. An error says which of them were set before it."""
        wanted = {
            name: self._checked(catalogue.find_setting(name), value)
            for name, value in find_preset(self.presets, preset).values.items()
        }
        done: dict[str, SettingState] = {}
        async with (
            self._turn(),
            self._exclusive_change([catalogue.find_setting(name) for name in wanted]),
        ):
            for name in catalogue.order_by_limits(wanted, self._setter.values):
                try:
                    done[name] = await self._change(catalogue.find_setting(name), wanted[name])
                except TuibenchError as error:
                    error.message += "".join(f"; {state.name} is {state.value}" for state in done.values())
                    raise
        return tuple(done[name] for name in wanted)

    def rounding(self, name: str, value: str, now: str) -> str:
        """Why a setting has another value than requested; empty if it has that value."""
        setting = catalogue.find_setting(name)
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

    async def keep_values(self, only: Collection[str] = ()) -> list[tuple[SettingState, SettingState]]:
        """Leave what this session changed, or only the settings in `only`, as it is: nothing of that is
        restored any more, neither by the session nor by its guardian. Returns the state of each before and
        after that.

        Raises UsageError, and keeps none, if a value is not this session's; ChangingError while the server
        still executes a change.
        """
        async with self._turn():
            names = [name for name in self.journal.ledger.open_settings if not only or name in only]
            if missing := sorted(set(only) - set(names)):
                raise UsageError(
                    f"{', '.join(missing)}: not changed by this session, so there is nothing to keep"
                )
            if not names:
                raise UsageError(
                    "this session has changed no setting of the server, so there is nothing to keep"
                )
            async with server_turn(self.control, self.journal, self._clock):
                for name in await self.control.being_changed(names):
                    raise ChangingError(name)
                await self._setter.read_all()
                decisions = await restore_decisions(self.control, self.journal, names)
                others = [one for one in decisions if one.action is not RestoreAction.RESTORE]
                mine = [one for one in decisions if one.action is RestoreAction.RESTORE]
                if others and (only or not mine):
                    raise UsageError("; ".join(map(ownership.not_kept, others)))
                before = [self._state(catalogue.find_setting(one.setting)) for one in mine]
                for one in mine:
                    left = msgspec.structs.replace(one, action=RestoreAction.LEAVE)
                    await settle_decision(self.journal, self._clock, left, "kept by the operator")
                    self._began[one.setting] = one.current
                return [(was, self._state(catalogue.find_setting(was.name))) for was in before]

    async def after_restart(self) -> list[str]:
        """Settles what a restart of the server has reset; returns a message for each setting."""
        async with self._turn():
            if self.refusal:
                return []
            await self._setter.read_all()
            if not self.journal.ledger.open_settings:
                return []
            async with server_turn(self.control, self.journal, self._clock):
                found = await restore_decisions(self.control, self.journal)
                return [await self._after_restart(decision) for decision in found]

    async def keep(self) -> str:
        """While there are changes to restore: writes a journal again whose file is gone, and takes the
        server's lock again if its connection was lost.

        Returns what was done as a sentence, empty if nothing was. Raises JournalError if it is not possible,
        ServerUnavailableError and ConnectionLostError.
        """
        if self.is_busy or not self.journal.ledger.open_settings:
            return ""
        async with self._lock:
            text = await asyncio.to_thread(self.journal.keep)
            if self._clock.now_ns() >= self._look_at_lock_ns:
                self._look_at_lock_ns = self._clock.now_ns() + int(KEEP_SECONDS * NS_PER_SECOND)
                async with server_turn(self.control, self.journal, self._clock):
                    pass
            return text

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
            # The server's report does not apply to a setting without effect.
            value = (
                ""
                if self._unavailable.get(name) == catalogue.WITHOUT_EFFECT
                else self._setter.values.get(name, "")
            )
            original = self.journal.ledger.original(name) or value
            began = self._began.get(name, value) if value else ""
        changed_by = self._changed_by(name, value, original, began)
        known = (value, original, self._unavailable.get(name, ""), began, changed_by)
        if name not in self._made or self._made[name][0] != known:
            state = catalogue.setting_state(
                setting, self.server, *known[:3], began=began, changed_by=changed_by
            )
            self._made[name] = known, state
        return self._made[name][1]

    def _changed_by(self, name: str, value: str, original: str, began: str) -> str:
        changes = self.journal.ledger.changes_of(name)
        if name in self._workload.changed or (changes and original_and_ours(changes)[1].has(value)):
            return "us" if value != original else ""
        return "others" if value != (original if changes else began) else ""

    def _checked(self, setting: Setting, value: str) -> str:
        """The value as the server reports it. Raises UsageError if it cannot be set on this server."""
        reason = self._unavailable.get(setting.name)
        if reason:
            hint = PARAMETER_GROUP if "privilege" in reason else ""
            raise UsageError(f"{setting.name} cannot be changed here: {reason}", hint)
        return catalogue.canonical_value(setting, self.server, value)

    @contextlib.asynccontextmanager
    async def _exclusive_change(self, settings: Iterable[Setting]) -> AsyncIterator[None]:
        """Exclusive access to change the server, with a running guardian. The workload's own settings need
        neither.
        """
        if all(setting.scope is SettingScope.WORKLOAD for setting in settings):
            yield
            return
        if self._guard:
            await self._guard()
        async with server_turn(self.control, self.journal, self._clock):
            await expect_same_server(self.control, self.journal)
            yield

    async def _change(self, setting: Setting, value: str) -> SettingState:
        if setting.scope is SettingScope.WORKLOAD:
            # Tested on the control connection first, so that no connection of the load gets a refusal.
            try:
                await self.control.try_session(setting.name, value, self._workload.values[setting.name])
            except ConnectionLostError:
                raise
            except SQLError as error:
                raise explain_refusal(error, setting, value, self.server) from error
            self._workload.set(setting.name, value)
            return self._state(setting)
        if await self._setter.set(setting, value):
            self._take_copies([setting.name])
        return self._state(setting)

    def _take_copies(self, names: Iterable[str]) -> None:
        """Sets the server's value on the workload's connections, for settings of which each connection has a
        copy.
        """
        for name in names:
            if catalogue.find_setting(name).scope is SettingScope.DEFAULT and self._setter.values.get(name):
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
