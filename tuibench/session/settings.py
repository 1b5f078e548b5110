"""The server's settings, as a session changes and restores them.

The settings manager executes the changes. The guardian is a process that restores them if this process dies.
A server that looks like production is changed only after a confirmation; restoring needs none.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from tuibench.base.clock import Clock
from tuibench.base.errors import ConnectionLostError, NotRestoredError, ServerUnavailableError, TuibenchError
from tuibench.model.event import EventKind
from tuibench.model.message import SessionSpec
from tuibench.model.server import ServerInfo
from tuibench.model.settings import (
    KEPT,
    RESTORE_COMMAND,
    PresetState,
    ServerVariable,
    SettingState,
    option_line,
    preset_change,
)
from tuibench.model.summary import UnrestoredSetting
from tuibench.mysql.connection import OwnConnections
from tuibench.tuning import catalogue
from tuibench.tuning.changer import (
    ConsentRecord,
    ProductionConsent,
    ProductionError,
    RunOnConnections,
    SettingsManager,
    WorkloadSettings,
    session_journal,
)
from tuibench.tuning.connection import admin_connector
from tuibench.tuning.guardian import GUARDIAN_RETRY_SECONDS, Guardian, GuardianRequest
from tuibench.tuning.journal import JournalError
from tuibench.tuning.restore import ChangeAttribution, OtherServerError, RestoreOutcome, restore_with_retries
from tuibench.tuning.setting import SettingScope


class ProductionGuard:
    """Refuses changes of a server that looks like production until they are confirmed."""

    def __init__(
        self,
        server: ServerInfo,
        signs: tuple[str, ...],
        clock: Clock,
        consent: ProductionConsent | None = None,
    ) -> None:
        self._server = server
        self._clock = clock
        self._consent = consent or ProductionConsent()
        self.signs = () if not signs or self._consent.is_given(server.identity) else signs

    def require_confirmation(self) -> None:
        """Raises ProductionError with the signs, unless changes are allowed."""
        if self.signs:
            raise ProductionError(self._server.where, self.signs)

    def confirm(self) -> str:
        """Allows changes of this server, now and in later sessions; returns the reply as text."""
        if not self.signs:
            return "changes of this server are already allowed"
        yes = ConsentRecord(identity=self._server.identity, at=self._clock.wall_seconds(), signs=self.signs)
        self._consent.give(yes)
        self.signs = ()
        return f"you allowed changes on {self._server.where}"


RESTORE_SECONDS = 10.0
"""How long the end of a run waits for an unresponsive server in order to restore the settings."""

RESTORED_OUTCOMES = frozenset({RestoreOutcome.RESTORED, RestoreOutcome.UNCHANGED})

Emit = Callable[[EventKind, str], object]


class Settings:
    """The settings of the server. A guardian is started before the first change, and again before a change if
    it has died.
    """

    def __init__(
        self,
        manager: SettingsManager,
        guardian: Guardian,
        workload: WorkloadSettings,
        guard: ProductionGuard,
        clock: Clock,
        emit: Emit,
    ) -> None:
        self.guard = guard
        """Refuses changes of a server that looks like production."""
        self._manager = manager
        self._emit = emit
        self._guardian = guardian
        self._workload = workload
        self._touched: set[str] = set()
        self._clock = clock
        self._restarted = False
        self._said = ""
        self._changes = 0
        self.kept: tuple[str, ...] = ()
        """After the last restore, the settings that do not have their original value, for whatever reason."""
        self.not_restored: tuple[UnrestoredSetting, ...] = ()
        """Those of `kept` that still have to be restored."""

    @classmethod
    async def open(
        cls,
        spec: SessionSpec,
        server: ServerInfo,
        guard: ProductionGuard,
        clock: Clock,
        emit: Emit,
        own: OwnConnections,
    ) -> "Settings":
        """Read the settings of the server, and which of them this login can change."""
        journal = session_journal(spec.session, spec.target, server, clock)
        guardian = Guardian(GuardianRequest(target=spec.target, journal=str(journal.path)), spec.inherit_fds)
        journal.on_file = guardian.hold
        workload = WorkloadSettings(
            {ServerVariable.ISOLATION: spec.plan.isolation.upper().replace(" ", "-")}
            if spec.plan.isolation
            else {}
        )
        manager = SettingsManager(
            admin_connector(spec.target),
            journal,
            server,
            clock=clock,
            guard=guardian.ensure_alive,
            presets=catalogue.all_presets(),
            workload=workload,
            own=own,
        )
        try:
            await manager.open()
        except BaseException:
            await manager.close()
            raise
        return cls(manager, guardian, workload, guard, clock, emit)

    @property
    def states(self) -> tuple[SettingState, ...]:
        return self._manager.known

    @property
    def presets(self) -> tuple[PresetState, ...]:
        return self._manager.presets

    @property
    def guardian_pid(self) -> int:
        """The guardian's process id; 0 without a guardian."""
        return self._guardian.pid

    @property
    def ours(self) -> Mapping[str, str]:
        """The values that this session has set, by setting, including restored originals."""
        mine = (
            state
            for state in self.states
            if (state.changed or state.name in self._touched) and state.scope != SettingScope.WORKLOAD
        )
        return {state.name: state.value for state in mine}

    @cached_property
    def _authors(self) -> ChangeAttribution:
        return ChangeAttribution(self._manager.journal)

    def author_of(self, setting: str, value: str) -> str:
        """The author of a value that this session did not set, as the beginning of a sentence."""
        return self._authors.author_of(setting, value)

    def control_load(self, run: RunOnConnections) -> None:
        """From now on, send changes of the load's own settings to its connections with `run`."""
        self._workload.run = run

    async def start_guardian(self) -> None:
        """Starts the guardian in advance, so that the first change does not wait for it.

        If it does not start, that is a warning here, and later a refusal of every change.
        """
        try:
            await self._guardian.ensure_alive()
        except TuibenchError as error:
            self._emit(EventKind.WARNING, str(error))

    async def change(self, name: str, value: str) -> str:
        """Set one setting; returns the change as text."""
        before = self._values()
        state = await self._manager.change(name, value)
        self._changes += 1
        self._touched.add(state.name)
        rounding = self._manager.rounding(name, value, state.value)
        change = f"{state.name} {before.get(state.name, '')} → {state.value}"
        return f"{change} ({rounding})" if rounding else change

    async def apply(self, preset: str) -> str:
        """Set a preset; returns the change as text."""
        before = self._values()
        states = await self._manager.apply(preset)
        self._changes += 1
        self._touched.update(state.name for state in states)
        return preset_change(preset, ((each.label, before.get(each.name, ""), each.value) for each in states))

    async def restore_named(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Restore the named settings, or all changes of this session; returns the result for each as text.

        Raises UsageError for an unknown name, NotRestoredError if a setting still has to be restored.
        """
        wanted = {catalogue.find_setting(name).name for name in names}
        restored = await self._manager.restore(wanted)
        self._changes += 1
        self._touched.update(one.setting for one in restored)
        texts = tuple(one.text for one in restored)
        if any(one.pending for one in restored):
            raise NotRestoredError("; ".join(texts))
        return texts

    async def keep_named(self, names: tuple[str, ...]) -> str:
        """Keep the named settings, or all changes of this session, as they are; returns the result as text.

        Raises UsageError for an unknown name, and if there is nothing to keep.
        """
        wanted = {catalogue.find_setting(name).name for name in names}
        states = await self._manager.keep_values(wanted)
        self._changes += 1
        kept = ", ".join(f"{now.name} {now.value} (was {was.original})" for was, now in states)
        lines = "; ".join(filter(None, (option_line(now.name, now.value) for _, now in states)))
        for_good = f"; to keep it for good, in my.cnf below [mysqld]: {lines}" if lines else ""
        return f"{KEPT}{kept}: until the server restarts, which sets what its option files say{for_good}"

    @property
    def changes(self) -> tuple[int, bool]:
        """The number of changes that this session has made, and whether one is in progress."""
        return self._changes, self._manager.is_busy

    async def variables(self, names: Iterable[str]) -> dict[str, str]:
        """The values of server variables, including variables outside the catalogue, if the server has
        them.
        """
        return await self._manager.control.values(names)

    async def catch_up(self, *, restarted: bool) -> list[str]:
        """Read the settings again after other clients changed some, and settle changes that a restart has
        reset.

        Returns the result for each setting that this session had changed, as text. If the server does not
        answer, the next call does this.
        """
        self._restarted |= restarted
        try:
            if not self._restarted:
                await self._manager.states()
                return []
            texts = await self._manager.after_restart()
        except (ServerUnavailableError, ConnectionLostError, JournalError):
            return []
        except OtherServerError as error:
            texts = [f"{error}: no setting is changed or restored here"]
        self._restarted = False
        return texts

    async def keep(self) -> str:
        """While there are changes, keep what a restore needs: the journal's file and the server's lock.

        Returns what was repaired as text; empty if nothing was, or if it was reported before.
        """
        try:
            text = await self._manager.keep()
        except (ServerUnavailableError, ConnectionLostError):
            return ""
        except JournalError as error:
            text = str(error)
        said, self._said = self._said, text
        return "" if text == said else text

    @property
    def is_behind(self) -> bool:
        """True while a restart of the server has not been settled."""
        return self._restarted

    async def restore(self, report: Callable[[str], None] = lambda _: None) -> list[str]:
        """Restore all settings; returns the result for each as text. `report` is called with the reason for a
        delay.
        """
        restored = await restore_with_retries(self._manager.restore, self._clock, RESTORE_SECONDS, report)
        self.kept = tuple(one.setting for one in restored if one.outcome not in RESTORED_OUTCOMES)
        self.not_restored = tuple(
            UnrestoredSetting(setting=one.setting, value=one.value, original=one.original, reason=one.text)
            for one in restored
            if one.pending
        )
        texts = [one.text for one in restored]
        if any(one.outcome is RestoreOutcome.UNREACHABLE for one in restored):
            texts.append(f"the guardian retries for {GUARDIAN_RETRY_SECONDS:.0f} s; then: {RESTORE_COMMAND}")
        return texts

    async def drop_changes(self, why: str) -> None:
        """Settle all changes without a restore, because the server does not exist any more."""
        await self._manager.drop_changes(why)

    async def close(self) -> None:
        """Log out and release the guardian, which restores the remaining changes and ends."""
        try:
            await self._manager.close()
        finally:
            await self._guardian.release()

    def _values(self) -> dict[str, str]:
        return {state.name: state.value for state in self._manager.known}
