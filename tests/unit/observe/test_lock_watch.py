"""When lock waits are read beside the account of the time, and who is to blame for a span."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.fakes import FakeClock
from tuibench.base.clock import NS_PER_SECOND
from tuibench.model.server import Blocker, Flavour, LockKind, LockWait
from tuibench.observe.lock_waits import KeyWait, LockReading
from tuibench.observe.lock_watch import MOST_KEYS, LockWatch
from tuibench.observe.status import MonitoringConnection


def reading(root: int, count: int, *, kind: LockKind = LockKind.ROW, ours: bool = False) -> LockReading:
    """So many connections that wait for one."""
    waits = tuple(
        LockWait(
            waiting=100 + number,
            blocking=root,
            waiting_is_ours=True,
            blocking_is_ours=ours,
            table="shop.t",
            seconds=1,
            waiting_statement="",
            blocking_statement="",
            kind=kind,
        )
        for number in range(count)
    )
    blocker = Blocker(id=root, user="app", host="web3:1", command="Sleep", open_seconds=9, is_ours=ours)
    return LockReading(waits, (blocker,), count)


class Watched:
    """A watch whose readings are played, and take some seconds each."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.watch = LockWatch(Flavour.MARIADB, self.clock)
        self.takes_seconds = 0.001
        self.answer: LockReading | None = reading(41, 8)
        self.readings = 0

    async def run(self, job: Callable[[Any], Awaitable[Any]]) -> LockReading | None:
        self.readings += 1
        self.clock.advance(self.takes_seconds)
        return self.answer

    async def look(self, waiting: int = 8, active: int = 10) -> None:
        connection = cast(MonitoringConnection, self)
        await self.watch.look(connection, waiting, active, ours=set(), monitors=set())

    async def play(self, seconds: float, waiting: int, active: int = 10) -> int:
        """Samples of the account, ten a second; the number of readings."""
        before = self.readings
        for _ in range(round(10 * seconds)):
            self.clock.advance(0.1)
            await self.look(waiting, active)
        return self.readings - before

    def blamed(self, start: float, end: float) -> int | None:
        found = self.watch.culprit(int(start * NS_PER_SECOND), int(end * NS_PER_SECOND))
        return found.connection if found is not None else None


@pytest.fixture
def it() -> Watched:
    return Watched()


async def test_nothing_is_read_while_nobody_waits(it: Watched) -> None:
    assert await it.play(20, waiting=0) == 0


async def test_a_few_that_wait_are_read_once_a_second_and_many_more_often(it: Watched) -> None:
    assert await it.play(20, waiting=1) in range(18, 22)
    assert await it.play(20, waiting=8) in range(45, 70)


@pytest.mark.parametrize(("waiting", "most"), [(1, 0.03), (8, 0.25)])
async def test_a_slow_reading_is_seldom(it: Watched, waiting: int, most: float) -> None:
    it.takes_seconds = 0.5
    begun = it.clock.now_ns()
    number = await it.play(100, waiting=waiting)
    assert 0 < number * 0.5 <= most * (it.clock.now_ns() - begun) / NS_PER_SECOND


async def test_who_blocked_the_most_in_the_span_is_to_blame(it: Watched) -> None:
    start = it.clock.now_ns() / NS_PER_SECOND
    await it.play(3, waiting=8)
    it.answer = reading(42, 6)
    await it.play(10, waiting=8)
    it.answer = reading(43, 8, ours=True)
    await it.play(10, waiting=8)
    assert it.blamed(start, start + 2.5) == 41
    assert it.blamed(start, start + 30) == 42
    assert it.blamed(start + 17, start + 20) is None
    assert it.blamed(start - 20, start - 1) is None


async def test_who_blocks_few_is_not_to_blame(it: Watched) -> None:
    it.answer = reading(41, 4)
    start = it.clock.now_ns() / NS_PER_SECOND
    await it.play(5, waiting=4)
    assert it.blamed(start, start + 9) is None


async def test_the_culprit_has_its_lock_and_the_most_that_it_blocked(it: Watched) -> None:
    for count in (6, 9, 7):
        it.answer = reading(41, count, kind=LockKind.METADATA)
        await it.play(1, waiting=9)
    found = it.watch.culprit(0, it.clock.now_ns())
    assert found is not None
    assert found.text == "session 41 (idle in transaction, metadata lock t) blocked 9"
    assert found.who == "app@web3"
    assert it.watch.locked[100] == "shop.t, held by 41"


@pytest.mark.parametrize("end", [{"command": "Killed"}, {"command": "", "user": ""}, {"command": "Query"}])
async def test_the_culprit_did_what_it_did_longest(it: Watched, end: dict[str, str]) -> None:
    """First it executes the statement that blocks; the last reading finds it as it ends, or no longer."""
    idle = reading(41, 8)
    (blocker,) = idle.blockers
    for seconds, known in (
        (0.5, replace(blocker, command="Query", open_seconds=None)),
        (2, blocker),
        (0.5, replace(blocker, **end)),
    ):
        it.answer = idle._replace(blockers=(known,))
        await it.play(seconds, waiting=8)
    found = it.watch.culprit(0, it.clock.now_ns())
    assert found is not None
    assert found.text == "session 41 (idle in transaction) blocked 8"
    assert found.who == "app@web3"


async def test_a_culprit_that_is_never_listed_is_named_without_what_it_did(it: Watched) -> None:
    it.answer = reading(41, 8)._replace(blockers=())
    await it.play(1, waiting=8)
    found = it.watch.culprit(0, it.clock.now_ns())
    assert found is not None
    assert found.text == "session 41 blocked 8"


def row(key: str, holder: str = "") -> KeyWait:
    return KeyWait("shop.t", "PRIMARY", key, holder)


async def test_rows_are_ranked_by_how_long_they_were_awaited(it: Watched) -> None:
    """A reading stands for the time since the one before."""
    it.answer = LockReading(keys=(row("7", "UPDATE t"), row("7"), row("8")), blocked=3)
    await it.play(10, waiting=1)
    first, second = it.watch.hot_rows
    assert (first.name, second.name) == ("shop.t PRIMARY = 7", "shop.t PRIMARY = 8")
    assert first.share == pytest.approx(2 / 3)
    assert first.holder == "UPDATE t"
    it.answer = LockReading(keys=(row("9"),), blocked=1)
    await it.play(100, waiting=1)
    assert it.watch.hot_rows[0].key == "9"
    assert sum(each.share for each in it.watch.hot_rows) == pytest.approx(1)
    it.watch.reset()
    assert it.watch.hot_rows == ()


async def test_private_keys_are_not_kept(it: Watched) -> None:
    it.watch.keeps_keys = False
    it.answer = LockReading(keys=(row("'Ann'"), row("'Bob'")), blocked=2)
    await it.play(3, waiting=1)
    assert [(each.table, each.key, each.share) for each in it.watch.hot_rows] == [("shop.t", "", 1.0)]


async def test_a_hostile_key_has_no_control_character(it: Watched) -> None:
    it.answer = LockReading(keys=(KeyWait("t\x1b[2J", "i\x07", "'\x1b]0;x\x07\u202e'", ""),), blocked=1)
    await it.play(2, waiting=1)
    (found,) = it.watch.hot_rows
    assert found.name.isprintable()


async def test_memory_is_bounded_and_the_hot_ones_stay(it: Watched) -> None:
    it.answer = LockReading(keys=(row("hot"), row("hot")), blocked=2)
    await it.play(20, waiting=1)
    for number in range(30):
        it.answer = LockReading(keys=tuple(row(f"{number} {key}") for key in range(100)), blocked=100)
        await it.play(1, waiting=1)
    assert it.watch.hot_rows[0].key == "hot"
    assert len(it.watch._waited) <= MOST_KEYS
    assert len(it.watch.hot_rows) <= 20


async def test_without_an_answer_nobody_is_to_blame(it: Watched) -> None:
    it.answer = None
    await it.play(3, waiting=8)
    assert it.watch.culprit(0, it.clock.now_ns()) is None


async def test_what_could_not_be_read_is_said(it: Watched) -> None:
    it.answer = LockReading(gaps=("lock waits: you need PROCESS",))
    await it.play(1, waiting=8)
    assert it.watch.gap == "lock waits: you need PROCESS"


async def test_who_blocks_the_others_is_told_while_it_lasts() -> None:
    """After some seconds, not at each short wait of a busy load; no longer when nobody waits."""
    watched = Watched()

    def present() -> list[tuple[int | None, int]]:
        found = watched.watch.present
        return [] if found is None else [(found.connection, found.blocked)]

    await watched.play(1.5, 8)
    assert present() == []
    await watched.play(2.0, 8)
    assert present() == [(41, 8)]
    watched.answer = reading(41, 2)
    await watched.play(2.0, 2)
    assert present() == []
    watched.answer = reading(41, 8)
    await watched.play(4.0, 8)
    assert present() == [(41, 8)]
    await watched.look(waiting=0)
    assert present() == []
