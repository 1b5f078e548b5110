"""The session's hand on the server's settings: the tuner, and the guardian that outlives us."""

from collections.abc import Callable, Mapping
from functools import cached_property

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, ServerUnavailableError
from tuibench.model.plan import Plan
from tuibench.model.server import ServerInfo
from tuibench.model.setting import PresetState, SettingState
from tuibench.session.spec import SessionSpec
from tuibench.tuning import catalogue, own_presets
from tuibench.tuning.authors import Authors
from tuibench.tuning.control import control_connect
from tuibench.tuning.guardian import Guardian
from tuibench.tuning.patience import patiently
from tuibench.tuning.records import JournalError
from tuibench.tuning.setting import Scope
from tuibench.tuning.statements import ISOLATION
from tuibench.tuning.tuner import Tuner, session_journal
from tuibench.tuning.undo import Outcome
from tuibench.tuning.watch import PATIENCE_SECONDS, Order
from tuibench.tuning.workload import Tell, Workload

RESTORE_SECONDS = 10.0
"""How long the end of a run waits for a server that is away, to put the settings back."""


class Settings:
    """Changes go through the tuner; before the first one, and before any after it died, a guardian is up."""

    def __init__(self, tuner: Tuner, guardian: Guardian, workload: Workload, clock: Clock) -> None:
        self._tuner = tuner
        self._guardian = guardian
        self._workload = workload
        self._touched: set[str] = set()
        self._clock = clock
        self._restarted = False

    @classmethod
    async def open(cls, spec: SessionSpec, server: ServerInfo, clock: Clock) -> "Settings":
        """Reads the settings of the server and what this login may change."""
        journal = session_journal(spec.session, spec.target, server, clock)
        guardian = Guardian(Order(target=spec.target, journal=str(journal.path)), spec.inherit_fds)
        workload = Workload(_set_at_login(spec.plan))
        tuner = Tuner(
            control_connect(spec.target),
            journal,
            server,
            clock=clock,
            guard=guardian.ensure_alive,
            presets=own_presets.presets(),
            workload=workload,
        )
        await tuner.open()
        return cls(tuner, guardian, workload, clock)

    @property
    def states(self) -> tuple[SettingState, ...]:
        return self._tuner.known

    @property
    def presets(self) -> tuple[PresetState, ...]:
        return self._tuner.presets

    @property
    def statements(self) -> int:
        """What the tuner has sent, for the reconciliation."""
        return self._tuner.own_statements

    @property
    def connection_ids(self) -> set[int]:
        """The server's id of the tuner's connection, if there is one."""
        return self._tuner.connection_ids

    @property
    def guardian_pid(self) -> int:
        """The guardian's process; 0 as long as there is none."""
        return self._guardian.pid

    @property
    def ours(self) -> Mapping[str, str]:
        """The values that we put on the server, by setting; an original that we went back to, too."""
        mine = (
            state
            for state in self.states
            if (state.changed or state.name in self._touched) and state.scope != Scope.WORKLOAD
        )
        return {state.name: state.value for state in mine}

    @cached_property
    def _authors(self) -> Authors:
        return Authors(self._tuner.journal)

    def who(self, setting: str, value: str) -> str:
        """Who gave a setting a value that is not ours, as the beginning of a sentence."""
        return self._authors.who(setting, value)

    def lead(self, tell: Tell) -> None:
        """From now on `tell` reaches the workload's connections."""
        self._workload.tell = tell

    async def guard(self) -> None:
        """Has the guardian up before it is needed, so that the first change does not wait for it."""
        await self._guardian.ensure_alive()

    async def change(self, name: str, value: str) -> str:
        """Sets one setting; says from what to what."""
        before = self._values()
        state = await self._tuner.change(name, value)
        self._touched.add(state.name)
        rounding = self._tuner.rounding(name, value, state.value)
        change = f"{state.name} {before.get(state.name, '')} → {state.value}"
        return f"{change} ({rounding})" if rounding else change

    async def apply(self, preset: str) -> str:
        """Sets a preset; says from what to what."""
        before = self._values()
        states = await self._tuner.apply(preset)
        self._touched.update(state.name for state in states)
        old = "·".join(before.get(state.name, "") for state in states)
        return f"preset {preset}: {old} → {'·'.join(state.value for state in states)}"

    async def put_back(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Puts back what we changed, or of that the settings named; what became of each, in words.

        Raises UsageError for a name that is no setting.
        """
        wanted = {catalogue.find(name).name for name in names}
        restored = await self._tuner.restore(wanted)
        self._touched.update(one.setting for one in restored)
        return tuple(one.text for one in restored)

    async def catch_up(self, *, restarted: bool) -> list[str]:
        """Reads the settings again, for somebody else changed some; settles what a restart has reset.

        What became of each setting that we had changed, in words. While the server is away again, it is for
        the next call.
        """
        self._restarted |= restarted
        try:
            if not self._restarted:
                await self._tuner.states()
                return []
            texts = await self._tuner.after_restart()
        except (ServerUnavailableError, ConnectionLostError, JournalError):
            return []
        self._restarted = False
        return texts

    @property
    def is_behind(self) -> bool:
        """True while a restart of the server has not been settled."""
        return self._restarted

    async def restore(self, tell: Callable[[str], None] = lambda _: None) -> list[str]:
        """Puts everything back; what happened to each setting, in words. `tell` hears what takes its time."""
        restored = await patiently(self._tuner.restore, self._clock, RESTORE_SECONDS, tell)
        texts = [one.text for one in restored]
        if any(one.outcome is Outcome.UNREACHABLE for one in restored):
            texts.append(f"the guardian tries for another {PATIENCE_SECONDS:.0f} s; then: tuibench restore")
        return texts

    async def close(self) -> None:
        """Lets go. The guardian looks whether anything is left, and ends."""
        await self._tuner.close()
        await self._guardian.release()

    def _values(self) -> dict[str, str]:
        return {state.name: state.value for state in self._tuner.known}


def _set_at_login(plan: Plan) -> dict[str, str]:
    """What the plan gives to each connection of the workload."""
    return {ISOLATION: plan.isolation.upper().replace(" ", "-")} if plan.isolation else {}
