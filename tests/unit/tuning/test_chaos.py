"""Several sessions on one server, and anything that can happen to them: in the end, all is as it was.

Real tuners, real journals on disk, the real ways back; only the server is played: it moves a setting out of
the way of its partner as MariaDB does, and rounds a size. Sessions die anywhere, their guardians too.
"""

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.unit.tuning.fakes import INFO, FakeClock, FakeConnection, FakeServer, journal_in
from tuibench.base.errors import ConnectionLostError, RunError, TuibenchError, UsageError
from tuibench.mysql.connection import Connection
from tuibench.mysql.rows import Row
from tuibench.tuning.catalogue import LIMIT_PAIRS
from tuibench.tuning.changer import SettingsManager
from tuibench.tuning.connection import AdminConnection
from tuibench.tuning.journal import SUFFIX, Journal
from tuibench.tuning.restore import RestoreOutcome, RestoreResult, leftovers, restore_settings

CONFIGURED = {
    "innodb_flush_log_at_trx_commit": "1",
    "sync_binlog": "1",
    "innodb_io_capacity": "200",
    "innodb_io_capacity_max": "2000",
    "binlog_cache_size": "32768",
}
OURS = {
    "innodb_flush_log_at_trx_commit": ("0", "2"),
    "sync_binlog": ("0", "2", "100"),
    "innodb_io_capacity": ("100", "1000", "9000"),
    "innodb_io_capacity_max": ("1500", "10000", "150"),
    "binlog_cache_size": ("50001", "9000", "33000", "65536"),
}
FOREIGN = {
    "innodb_flush_log_at_trx_commit": ("3",),
    "sync_binlog": ("7", "8"),
    "binlog_cache_size": ("131072", "262144"),
}
MOST_SESSIONS = 3

T = TypeVar("T")
CHANGES = st.sampled_from([(name, value) for name, values in OURS.items() for value in values])
BACK = st.sampled_from(sorted(CONFIGURED.items()))
WHICH = st.integers(0, MOST_SESSIONS - 1)


def kept(name: str, value: str) -> str:
    """What the server makes of a value."""
    return str(int(value) // 4096 * 4096) if name == "binlog_cache_size" else value


class KilledError(Exception):
    """Where a session dies."""


class Gone(NamedTuple):
    """A session that died, and whether its guardian lives."""

    path: Path
    guarded: bool

    @property
    def session(self) -> str:
        return self.path.stem


class Layer(NamedTuple):
    """A value that a session has put on top of the others."""

    session: str
    value: str


class MovingServer(FakeServer):
    """Moves a setting's partner, if need be, without a word. `silent` loses the answers to the next SETs."""

    def __init__(self) -> None:
        super().__init__(**CONFIGURED)
        self.silent: list[str] = []
        self.life = 1

    def answer(self, sql: str) -> Any:
        if sql.startswith("SET GLOBAL") and self.silent:
            if self.silent.pop(0) == "after":
                self._execute(sql)
            raise ConnectionLostError(2013, "connection lost")
        return self._execute(sql)

    def _execute(self, sql: str) -> Sequence[Row]:
        answer = super().answer(sql)
        if sql.startswith("SET GLOBAL"):
            self.settings |= {name: kept(name, self.settings[name]) for name in CONFIGURED}
            for lower, upper in LIMIT_PAIRS:
                if lower in self.settings and int(self.settings[lower]) > int(self.settings[upper]):
                    moved = lower if f" {upper} " in sql else upper
                    self.settings[moved] = "66666"
        return answer

    async def connect(self) -> Connection:
        return cast("Connection", MortalConnection(self))

    def restart(self) -> None:
        """Its connections are lost, which they notice when they are used."""
        super().restart()
        self.life += 1


class MortalConnection(FakeConnection):
    """Ends with its server's life."""

    def __init__(self, server: MovingServer) -> None:
        super().__init__(server)
        self._moving = server
        self._life = server.life

    async def query(self, sql: str) -> Sequence[Row]:
        if self._life != self._moving.life:
            raise ConnectionLostError(2013, "connection lost")
        return await super().query(sql)


class Chaos(RuleBasedStateMachine):
    """What must hold at any time: a setting has the value put on last, of those that nobody took off.

    `baseline` is what is below all layers: what must be there once nobody is left.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/tmp"))
        self.runner = asyncio.Runner()
        self.server = MovingServer()
        self.clock = FakeClock()
        self.baseline = dict(CONFIGURED)
        self.layers: dict[str, list[Layer]] = {name: [] for name in CONFIGURED}
        self.sessions: list[SettingsManager] = []
        self.unaware: set[str] = set()
        self.gone: list[Gone] = []
        self.started = 0
        self.sync = mock.patch("os.fsync")
        self.sync.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @precondition(lambda self: len(self.sessions) < MOST_SESSIONS)
    @rule()
    def start(self) -> None:
        self.started += 1
        journal = journal_in(self.folder, f"s{self.started:03}")
        tuner = SettingsManager(self.server.connect, journal, INFO, clock=self.clock)
        self.run(tuner.open())
        self.sessions.append(tuner)

    @rule(which=WHICH, change=CHANGES)
    def change(self, which: int, change: tuple[str, str]) -> None:
        self.attempt(which, *change)

    @rule(
        which=WHICH,
        change=CHANGES,
        how=st.lists(st.sampled_from(["before", "after"]), min_size=1, max_size=2),
    )
    def change_without_an_answer(self, which: int, change: tuple[str, str], how: list[str]) -> None:
        """The connection breaks before or after the server has done it; it is sent once more then."""
        self.server.silent = list(how)
        self.attempt(which, *change)
        self.server.silent = []

    @precondition(lambda self: self.sessions)
    @rule(which=WHICH)
    def end(self, which: int) -> None:
        tuner = self.sessions.pop(which % len(self.sessions))
        restored = self.run(tuner.restore())
        self.run(tuner.close())
        self.took_off(tuner.journal.path.stem, restored)
        if any(one.pending for one in restored):
            self.gone.append(Gone(tuner.journal.path, guarded=True))

    @precondition(lambda self: self.sessions)
    @rule(which=WHICH, guarded=st.booleans(), torn=st.booleans())
    def kill(self, which: int, guarded: bool, torn: bool) -> None:
        tuner = self.sessions.pop(which % len(self.sessions))
        self.die(tuner, guarded=guarded, torn=torn)

    @precondition(lambda self: self.sessions)
    @rule(which=WHICH, change=CHANGES, executed=st.booleans())
    def kill_in_a_change(self, which: int, change: tuple[str, str], executed: bool) -> None:
        """It dies with the statement on its way: in the journal, and done or not."""
        tuner = self.sessions.pop(which % len(self.sessions))
        name, value = change
        old = self.server.settings[name]

        def die(_: str, asked: str) -> None:
            if asked == old != value:
                return
            self.server.settings[name] = kept(name, value) if executed else old
            if executed:
                self.layers[name].append(Layer(tuner.journal.path.stem, kept(name, value)))
            raise KilledError

        self.server.on_set = die
        with contextlib.suppress(UsageError, RunError, KilledError):
            self.run(tuner.change(name, value))
        self.server.on_set = None
        self.die(tuner, guarded=False, torn=False)

    @precondition(lambda self: any(each.guarded for each in self.gone))
    @rule(which=WHICH)
    def guardian(self, which: int) -> None:
        """The guardian of a session that died comes to its turn."""
        found = [each for each in self.gone if each.guarded]
        self.put_back(found[which % len(found)].path)

    @precondition(lambda self: self.gone)
    @rule()
    def restore(self) -> None:
        for leftover in leftovers(self.folder / "journal"):
            self.put_back(leftover.path)

    @rule()
    def restart_the_server(self) -> None:
        self.server.restart()
        self.unaware = {tuner.journal.path.stem for tuner in self.sessions}
        for name, value in CONFIGURED.items():
            self.set_anew(name, value)

    @precondition(lambda self: self.unaware)
    @rule(which=WHICH)
    def notice_the_restart(self, which: int) -> None:
        tuner = self.sessions[which % len(self.sessions)]
        if tuner.journal.path.stem in self.unaware:
            self.unaware.remove(tuner.journal.path.stem)
            self.run(tuner.after_restart())

    @invariant()
    def each_setting_is_what_was_put_on_last(self) -> None:
        wanted = {
            name: layers[-1].value if layers else self.baseline[name] for name, layers in self.layers.items()
        }
        assert {name: self.server.settings[name] for name in CONFIGURED} == wanted

    def attempt(self, which: int, name: str, value: str) -> None:
        """Refused are changes that break the limit between two settings, or of a value that another client
        may have set; of a lost one, only the server knows. Every other one succeeds.
        """
        if not self.sessions:
            return
        tuner = self.sessions[which % len(self.sessions)]
        before = self.server.settings[name]
        try:
            self.run(tuner.change(name, value))
        except UsageError as error:
            if not re.search("may not be|would not accept", error.message):
                raise
        except ConnectionLostError:
            if self.server.settings[name] != before:
                self.layers[name].append(Layer(tuner.journal.path.stem, kept(name, value)))
        except TuibenchError as error:
            if not re.search("got no answer|without an error, and it is .* as before", error.message):
                raise
        else:
            self.layers[name].append(Layer(tuner.journal.path.stem, kept(name, value)))

    def set_anew(self, name: str, value: str) -> None:
        """By somebody else: whatever we had there is history."""
        self.baseline[name] = value
        self.layers[name] = []

    def die(self, tuner: SettingsManager, *, guarded: bool, torn: bool) -> None:
        """The kernel closes what it had open."""
        journal = tuner.journal
        self.unaware.discard(journal.path.stem)
        if journal._fd >= 0:
            if torn:
                os.write(journal._fd, b'{"type":"settled","seqs":[1')
            os.close(journal._fd)
            journal._fd = -1
        self.gone.append(Gone(journal.path, guarded))

    def put_all_back(self) -> list[RestoreResult]:
        """What stays as another client may have set it."""
        paths = sorted((self.folder / "journal").glob(f"*{SUFFIX}"))
        restored = [one for path in paths for one in self.put_back(path)]
        return [one for one in restored if one.outcome is RestoreOutcome.UNCLEAR]

    def put_back(self, path: Path) -> list[RestoreResult]:
        """What a guardian does, or `tuibench restore`."""
        restored: list[RestoreResult] = []
        journal = Journal.claim(path)
        if journal is not None:
            with journal:
                restored = self.run(
                    restore_settings(AdminConnection(self.server.connect), journal, self.clock)
                )
        self.took_off(path.stem, restored)
        if not any(one.pending for one in restored):
            self.gone = [each for each in self.gone if each.path != path]
        return restored

    def took_off(self, session: str, restored: list[RestoreResult]) -> None:
        """Its layers are gone, and those of the dead with them that are above everybody who lives."""
        self.unaware.discard(session)
        alive = {tuner.journal.path.stem for tuner in self.sessions}
        for one in restored:
            if one.pending:
                continue
            layers = self.layers[one.setting]
            lives = [place for place, layer in enumerate(layers) if layer.session in alive]
            floor = lives[-1] + 1 if lives else 0
            top = [] if one.outcome is not RestoreOutcome.HANDED else layers[floor:]
            below = [layer for layer in layers[:floor] if layer.session != session]
            self.layers[one.setting] = below + top

    def teardown(self) -> None:
        try:
            while self.sessions:
                self.end(0)
                self.each_setting_is_what_was_put_on_last()
            unclear = self.put_all_back() + self.put_all_back()
            assert {name: self.server.settings[name] for name in CONFIGURED} == self.baseline
            self.server.settings |= {one.setting: one.original for one in unclear}
            self.put_all_back()
            assert list((self.folder / "journal").glob("*")) == []
        finally:
            self.sync.stop()
            self.runner.close()
            shutil.rmtree(self.folder)


class Crowd(Chaos):
    """With strangers on the server. What they set stays, or comes back."""

    @rule(name=st.sampled_from(sorted(FOREIGN)), pick=st.integers(0, 1))
    def a_stranger_sets(self, name: str, pick: int) -> None:
        self.set_anew(name, FOREIGN[name][pick % len(FOREIGN[name])])
        self.server.settings[name] = self.baseline[name]


class Alone(Chaos):
    """Without strangers: sessions may also set what was there before, and no value is of unknown origin."""

    def put_all_back(self) -> list[RestoreResult]:
        assert super().put_all_back() == []
        return []

    @rule(which=WHICH, change=BACK)
    def change_back(self, which: int, change: tuple[str, str]) -> None:
        self.attempt(which, *change)


EXAMPLES = int(os.environ.get("TUIBENCH_CHAOS_EXAMPLES", 2 * settings().max_examples))
STEPS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

TestCrowd = pytest.mark.timeout(3600)(Crowd.TestCase)
TestAlone = pytest.mark.timeout(3600)(Alone.TestCase)
TestCrowd.settings = TestAlone.settings = STEPS
