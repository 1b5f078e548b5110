"""A session that dies anywhere in a change, or hears nothing of it: every rounded setting comes back.

The server rounds as MariaDB 10.11 and MySQL 9.7 do. A session dies before or after each statement and each
line of its journal; replies are lost; statements are executed after their session's death.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.tuning.fakes import INFO, FakeClock, FakeServer, journal_in
from tuibench.base.errors import ConnectionLostError, RunError, SQLError, TuibenchError
from tuibench.model.server import Flavour, ServerInfo
from tuibench.mysql.rows import Row
from tuibench.tuning import journal as durable_file
from tuibench.tuning.catalogue import SETTINGS
from tuibench.tuning.changer import SettingsManager
from tuibench.tuning.connection import AdminConnection
from tuibench.tuning.guardian import restore_until_done
from tuibench.tuning.journal import Journal
from tuibench.tuning.restore import (
    OWN_AUTHOR,
    UNKNOWN_AUTHOR,
    ChangeAttribution,
    RestoreOutcome,
    RestoreResult,
    restore_settings,
)
from tuibench.tuning.setting import Setting

KIB, MIB = 2**10, 2**20
MYSQL = msgspec.structs.replace(INFO, flavour=Flavour.MYSQL, version="9.7.4", version_text="9.7.4")
DOWN: dict[str, int] = {
    "binlog_cache_size": 4 * KIB,
    "max_binlog_size": 4 * KIB,
    "innodb_log_file_size": 4 * KIB,
    "innodb_log_buffer_size": KIB,
    "innodb_redo_log_capacity": MIB,
    "tmp_table_size": 16 * KIB,
    "max_heap_table_size": KIB,
    "join_buffer_size": 128,
    "read_buffer_size": 4 * KIB,
    "query_cache_size": KIB,
}
BEFORE, ASKED, FOREIGN = 64 * MIB, 91_939_145, 48 * MIB
OTHERWISE = {
    "innodb_buffer_pool_size": (64 * MIB, 91_939_145, 300 * 2**30),
    "innodb_log_write_ahead_size": (8 * KIB, 513, 16 * KIB),
    "innodb_old_blocks_pct": (37, 55, 20),
    "read_buffer_size": (128 * KIB, 183_333, 64 * KIB),
    "join_buffer_size": (256 * KIB, 359_139, 64 * KIB),
    "query_cache_size": (256 * KIB, 30_000, 128 * KIB),
}
"""Before, asked, and set by a stranger; for other settings the values above."""


def rounded(name: str, value: int) -> int:
    """What the servers make of a value."""
    if name == "innodb_buffer_pool_size":
        return -(-value // (32 * MIB)) * 32 * MIB
    if name == "innodb_log_write_ahead_size":
        return int(2 ** (value - 1).bit_length())
    if name == "innodb_old_blocks_pct":
        return value - (value == 55)
    if name == "query_cache_size" and value < 40 * KIB:
        return 0
    step = DOWN.get(name, 1)
    return value // step * step


ROUNDING = [setting for setting in SETTINGS if setting.rounding]
CASES = [
    (setting, server)
    for setting in ROUNDING
    for server in (INFO, MYSQL)
    if (support := setting.support(server)) and support.dynamic_since <= server.version_tuple
]
WAYS = {
    "innodb_buffer_pool_size": "up to a multiple",
    "innodb_log_write_ahead_size": "up to a power of two",
    "innodb_old_blocks_pct": "by one",
    "query_cache_size": "to nothing",
    "max_binlog_size": "down to a multiple",
}
"""A setting for each way of rounding. `make test-all` tries all settings in all scenes."""


def cases(settings: Iterable[str]) -> pytest.MarkDecorator:
    """All cases, whole unless they are of these settings."""
    return pytest.mark.parametrize(
        ("setting", "info"),
        [
            pytest.param(
                setting,
                info,
                id=f"{setting.name}-{info.flavour}",
                marks=[] if setting.name in settings else [pytest.mark.whole],
            )
            for setting, info in CASES
        ],
    )


EACH = cases([setting.name for setting in ROUNDING])
EACH_WAY = cases(WAYS)


class KilledError(BaseException):
    """Where a session dies: nothing of it handles that."""


class Scene:
    """A server that rounds, and a session that changes one setting. `at_step` is called with each number.

    A step is a moment before or after a statement is executed, or a line is written to the journal.
    `delayed` are statements that the server executes only when somebody has slept for so many times.
    """

    def __init__(
        self, setting: Setting, info: ServerInfo, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.name, self.info, self.folder = setting.name, info, folder
        before, asked, foreign = OTHERWISE.get(setting.name, (BEFORE, ASKED, FOREIGN))
        self.before, self.asked, self.foreign = str(before), str(asked), str(foreign)
        self.kept = str(rounded(setting.name, asked))
        assert len({self.before, self.asked, self.kept, self.foreign}) == 4
        self.server = RoundingServer(self.name, self.before)
        self.clock = FakeClock()
        self.steps = 0
        self.at_step: Callable[[int], None] = lambda _: None
        self.server.step = self.step
        write = durable_file.append

        def append(*args: Any, **options: Any) -> None:
            self.step()
            write(*args, **options)
            self.step()

        monkeypatch.setattr(durable_file, "append", append)
        monkeypatch.setattr("os.fsync", lambda _: None)

    @property
    def value(self) -> str:
        return self.server.settings[self.name]

    def step(self) -> None:
        self.steps += 1
        self.at_step(self.steps)

    async def opened(self) -> SettingsManager:
        tuner = SettingsManager(self.server.connect, journal_in(self.folder), self.info, clock=self.clock)
        await tuner.open()
        self.steps = 0
        return tuner

    async def killed_at(self, number: int) -> bool:
        """True if the session died at this step of a change, false if the change has fewer."""
        tuner = await self.opened()

        def die(step: int) -> None:
            if step == number:
                raise KilledError

        self.at_step = die
        try:
            await tuner.change(self.name, self.asked)
        except KilledError:
            return True
        finally:
            self.at_step = lambda _: None
            if tuner.journal._fd >= 0:
                tuner.journal._release()
            self.server.locks.clear()
        return False

    async def guarded(self) -> None:
        assert await restore_until_done(self.journal, self.server.connect, self.clock)

    async def restored(self) -> list[RestoreResult]:
        """By `tuibench restore`."""
        journal = Journal.claim(self.journal)
        if journal is None:
            return []
        with journal:
            return await restore_settings(AdminConnection(self.server.connect), journal, self.clock)

    @property
    def journal(self) -> Path:
        return self.folder / "journal" / "s1.jsonl"

    def assert_nothing_is_left(self) -> None:
        assert (self.value, self.journal.exists()) == (self.before, False)


class RoundingServer(FakeServer):
    """`lose` has the replies to SET GLOBAL that are lost, one after the other: before or after execution."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(**{name: value})
        self.lose: list[str] = []
        self.step: Callable[[], None] = lambda: None
        self.at_read: Callable[[], None] = lambda: None

    def answer(self, sql: str) -> Sequence[Row]:
        is_set = sql.startswith("SET GLOBAL")
        how = self.lose.pop(0) if is_set and self.lose else ""
        self.step()
        if not is_set:
            self.at_read()
        if how == "before":
            raise ConnectionLostError(2013, "connection lost")
        rows = super().answer(sql)
        if is_set:
            name, _, value = sql.removeprefix("SET GLOBAL ").partition(" = ")
            self.settings[name] = str(rounded(name, int(value)))
        self.step()
        if how == "after":
            raise ConnectionLostError(2013, "connection lost")
        return rows


def test_the_cases_are_all_that_the_catalogue_rounds() -> None:
    assert {setting.name for setting, _ in CASES} == {setting.name for setting in ROUNDING}
    assert len(ROUNDING) == 13
    assert all(setting.rounding_step for setting in ROUNDING)


@EACH_WAY
async def test_a_kill_at_any_point_leaves_nothing_changed(
    setting: Setting, info: ServerInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guardian puts it back."""
    seen = set()
    for number in itertools.count(1):
        scene = Scene(setting, info, tmp_path / str(number), monkeypatch)
        if not await scene.killed_at(number):
            break
        seen.add(scene.value)
        await scene.guarded()
        scene.assert_nothing_is_left()
    assert number > 12
    assert seen == {scene.before, scene.kept}


@EACH_WAY
async def test_a_kill_at_any_point_is_put_back_by_a_restore(
    setting: Setting, info: ServerInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in itertools.count(1):
        scene = Scene(setting, info, tmp_path / str(number), monkeypatch)
        if not await scene.killed_at(number):
            break
        await scene.restored()
        scene.assert_nothing_is_left()
    assert number > 12


@EACH_WAY
async def test_a_strangers_value_is_never_touched_and_never_unsaid(
    setting: Setting, info: ServerInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set after the death: kept, and kept in the journal unless the change had been confirmed."""
    outcomes = set()
    for number in itertools.count(1):
        scene = Scene(setting, info, tmp_path / str(number), monkeypatch)
        if not await scene.killed_at(number):
            break
        scene.server.settings[scene.name] = scene.foreign
        if not (results := await scene.restored()):
            continue
        (result,) = results
        assert scene.value == scene.foreign
        assert scene.foreign in result.text
        assert scene.before in result.text
        assert scene.journal.exists() == (result.outcome is RestoreOutcome.UNCLEAR)
        outcomes.add(result.outcome)
        scene.server.settings[scene.name] = scene.before
        await scene.guarded()
        scene.assert_nothing_is_left()
    assert outcomes == {RestoreOutcome.UNCLEAR, RestoreOutcome.LEFT}


@EACH_WAY
@pytest.mark.parametrize(
    "lose", [["after"], ["before"], ["after", "after"], ["before", "before"], ["before", "after"]]
)
async def test_lost_replies_leave_nothing_changed(
    setting: Setting, info: ServerInfo, lose: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the session that heard nothing, and by who comes after it."""
    for by in ("session", "repeated", "guarded", "restored"):
        scene = Scene(setting, info, tmp_path / by, monkeypatch)
        tuner = await scene.opened()
        monkeypatch.setattr(tuner._setter, "_check_way_back", accepted)
        scene.server.lose = list(lose)
        is_unheard = len(lose) == 2
        if is_unheard:
            with pytest.raises(ConnectionLostError):
                await tuner.change(scene.name, scene.asked)
        else:
            await tuner.change(scene.name, scene.asked)
        assert scene.value == (scene.before if set(lose) == {"before"} and is_unheard else scene.kept)
        states = {state.name: state for state in await tuner.states()}
        assert states[scene.name].changed_by == ("us" if scene.value != scene.before else "")
        if by == "repeated":
            await tuner.change(scene.name, scene.foreign)
            scene.server.lose = []
        if by in ("session", "repeated"):
            await tuner.restore()
        await tuner.close()
        if by in ("guarded", "restored"):
            await getattr(scene, by)()
        scene.assert_nothing_is_left()


async def accepted(*_: object) -> None:
    """Its own SET GLOBAL would take the lost replies."""


@EACH
async def test_a_statement_that_outlives_its_session_is_waited_for(
    setting: Setting, info: ServerInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(setting, info, tmp_path, monkeypatch)
    with journal_in(tmp_path) as journal:
        journal.change(scene.name, scene.before, scene.asked, 5.0)
    sql = f"SET GLOBAL {scene.name} = {scene.asked}"
    scene.server.running = [sql]
    (waiting,) = await scene.restored()
    assert waiting.outcome is RestoreOutcome.UNREACHABLE
    assert "still executing an earlier change" in waiting.text
    tuner = SettingsManager(scene.server.connect, journal_in(tmp_path, "s2"), info, clock=scene.clock)
    await tuner.open()
    with pytest.raises(RunError, match="still executing an earlier change"):
        await tuner.change(scene.name, scene.foreign)
    await tuner.close()

    def execute() -> None:
        if scene.clock.seconds > 3 and scene.server.running:
            scene.server.running = []
            scene.server.settings[scene.name] = scene.kept

    scene.clock.at_sleep = execute
    await scene.guarded()
    assert scene.clock.seconds > 3
    scene.assert_nothing_is_left()


@pytest.mark.parametrize(
    "setting", [setting for setting in ROUNDING if setting.slow], ids=lambda setting: setting.name
)
@pytest.mark.parametrize("wait_seconds", [0, 20, 70])
async def test_a_change_in_the_background_is_open_until_its_value_is_there(
    setting: Setting, wait_seconds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a minute the server reports the old value, and refuses every other change."""
    scene = Scene(setting, INFO, tmp_path, monkeypatch)
    tuner = await scene.opened()
    done_at = 0.0

    def work(name: str, value: str) -> None:
        nonlocal done_at
        if done_at and scene.clock.seconds < done_at:
            scene.server.settings[name] = scene.before
            raise SQLError(1210, "another resize is in progress")
        if value == scene.asked:
            done_at = scene.clock.seconds + 60

    def pass_time() -> None:
        if done_at and scene.server.on_set:
            is_done = scene.clock.seconds >= done_at
            scene.server.settings[scene.name] = scene.kept if is_done else scene.before
            scene.server.on_set = None if is_done else work

    scene.server.on_set = work
    scene.server.at_read = scene.clock.at_sleep = pass_time
    with pytest.raises(TuibenchError, match="as before"):
        await tuner.change(scene.name, scene.asked)
    assert tuner.journal.ledger.open_settings == (scene.name,)
    await scene.clock.sleep(wait_seconds)
    (result,) = await tuner.restore()
    is_done = scene.clock.seconds >= done_at
    assert result.outcome is (RestoreOutcome.RESTORED if is_done else RestoreOutcome.UNREACHABLE)
    await tuner.close()
    await scene.guarded()
    scene.assert_nothing_is_left()


async def test_a_change_is_settled_only_when_its_refusal_is_certain(tmp_path: Path) -> None:
    """The first statement was executed, its reply was lost, and the second one is refused."""
    server = FakeServer()
    tuner = SettingsManager(server.connect, journal_in(tmp_path), INFO, clock=FakeClock())
    await tuner.open()
    replies: list[SQLError] = [ConnectionLostError(2013, "connection lost"), SQLError(1227, "Access denied")]

    def fail(_: str, __: str) -> None:
        if replies:
            raise replies.pop(0)

    server.on_set = fail
    with pytest.raises(SQLError, match="this login cannot change sync_binlog"):
        await tuner.change("sync_binlog", "0")
    assert server.settings["sync_binlog"] == "0"
    assert [one.text for one in await tuner.restore()] == ["sync_binlog 0 → 1, as before"]
    assert not tuner.journal.path.exists()


async def test_nothing_is_changed_over_a_value_of_unknown_origin(tmp_path: Path) -> None:
    server = FakeServer(sync_binlog="7")
    with journal_in(tmp_path) as journal:
        journal.change("sync_binlog", "1", "0", 5.0)
    clock = FakeClock()
    assert not await restore_until_done(journal.path, server.connect, clock)
    assert (clock.seconds, journal.path.exists()) == (0.0, True)
    tuner = SettingsManager(server.connect, journal_in(tmp_path, "s2"), INFO, clock=FakeClock())
    await tuner.open()
    with pytest.raises(RunError, match="sync_binlog is 7: tuibench set it to 0 and got no answer") as caught:
        await tuner.change("sync_binlog", "2")
    assert "set it to 1 manually" in caught.value.hint
    assert server.settings["sync_binlog"] == "7"
    server.settings["sync_binlog"] = "1"
    await tuner.change("sync_binlog", "2")
    await tuner.restore()
    assert server.settings["sync_binlog"] == "1"
    assert list(journal.path.parent.iterdir()) == []
    await tuner.close()


async def test_an_own_change_whose_reply_was_lost_is_not_called_another_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, info = CASES[0]
    scene = Scene(setting, info, tmp_path, monkeypatch)
    ours = await scene.opened()
    scene.server.lose = ["before", "after"]
    monkeypatch.setattr(ours._setter, "_check_way_back", accepted)
    with pytest.raises(ConnectionLostError):
        await ours.change(scene.name, scene.asked)
    others = ChangeAttribution(journal_in(tmp_path, "s2"))
    assert ChangeAttribution(ours.journal).author_of(scene.name, scene.kept) == OWN_AUTHOR
    assert ChangeAttribution(ours.journal).author_of(scene.name, scene.foreign) == UNKNOWN_AUTHOR
    assert others.author_of(scene.name, scene.kept) == "session s1 set"
    assert others.author_of(scene.name, scene.foreign) == UNKNOWN_AUTHOR
    await ours.close()
