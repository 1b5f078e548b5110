"""The session's eyes on a scripted server: what is noticed, and what stays for the reconciliation."""

from collections.abc import Iterator, Sequence

import pytest

from tests.unit.observe.fakes import TARGET, FakeClock, FakeServer
from tuibench.errors import SQLError
from tuibench.metrics.figures import read
from tuibench.model.event import EventKind
from tuibench.mysql.connection import Row
from tuibench.observe.server.status_sampler import StatusSampler
from tuibench.session.sampling.hosts import Hosts
from tuibench.session.sampling.replicas import Replicas
from tuibench.session.sampling.sampler import LAST_LOOK_ATTEMPTS, VARIABLES_EVERY_TICKS, Sampler
from tuibench.session.spec import ReplicaChoice


class CountingServer(FakeServer):
    """Counts what it is asked, and `goodbyes` of others that it hears late: so many before each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.variables["version"] = "10.11.19-MariaDB"
        self.goodbyes: Iterator[int] = iter(())

    async def answer(self, sql: str) -> Sequence[Row]:
        self.status["Questions"] += 1 + next(self.goodbyes, 0)
        return await super().answer(sql)


class Watched:
    """An observer of a scripted server, a second a tick."""

    def __init__(self, interval_seconds: float = 1.0) -> None:
        self.server = CountingServer()
        self.clock = FakeClock()
        status = StatusSampler(TARGET, self.clock, log_in=self.server.log_in)
        replicas = Replicas(ReplicaChoice(), TARGET, self.clock)
        self.sampler = Sampler(
            status, Hosts(None, None, is_local=True), replicas, interval_seconds=interval_seconds
        )
        self.tick = 0

    async def look(self, ours: dict[str, str] | None = None, **counters: int) -> list[tuple[EventKind, str]]:
        """One tick later."""
        self.tick += 1
        self.clock.advance(1)
        self.server.grow(1, **counters)
        look = await self.sampler.observe(self.tick, 0, ours or {})
        assert look.hosts.host is None
        return list(look.events)


@pytest.fixture
def watched() -> Watched:
    return Watched()


async def test_it_has_its_connection_before_the_load_takes_them_all(watched: Watched) -> None:
    await watched.sampler.log_in()
    assert len(watched.server.connections) == 1
    watched.server.refusal = SQLError(1040, "Too many connections")
    await watched.sampler.begin(0)
    assert await watched.look() == []


async def test_a_quiet_tick_has_figures_and_no_events(watched: Watched) -> None:
    await watched.sampler.begin(0)
    watched.clock.advance(1)
    watched.server.grow(1, Questions=200)
    look = await watched.sampler.observe(1, 0, {})
    assert (look.events, look.settings_changed) == ((), False)
    assert look.server is not None
    assert read("questions", look.server) == pytest.approx(200, rel=0.01)


async def test_the_first_and_the_last_reading_enclose_the_run(watched: Watched) -> None:
    await watched.sampler.begin(3)
    await watched.look(Questions=100)
    first, last = await watched.sampler.end(5, 0)
    assert first is not None
    assert last is not None
    assert (first.own, last.own) == (2 + 3, len(watched.server.received) + 5)
    ours_alone = len(watched.server.received) - 2
    assert last.counters["Questions"] - first.counters["Questions"] == 100 + ours_alone


async def test_variables_are_read_every_ten_ticks_and_foreign_changes_are_reported(watched: Watched) -> None:
    await watched.sampler.begin(0)
    watched.server.variables |= {"max_connections": "500"}
    told = [await watched.look() for _ in range(VARIABLES_EVERY_TICKS)]
    assert told[:-1] == [[]] * (VARIABLES_EVERY_TICKS - 1)
    assert told[-1] == [(EventKind.FOREIGN, "another session set max_connections 151 → 500")]


async def test_own_changes_are_not_reported(watched: Watched) -> None:
    await watched.sampler.begin(0)
    watched.server.variables |= {"max_connections": "500"}
    told = [await watched.look({"max_connections": "500"}) for _ in range(VARIABLES_EVERY_TICKS)]
    assert told == [[]] * VARIABLES_EVERY_TICKS


async def test_a_server_that_does_not_answer_is_reported_once_and_leaves_a_gap(watched: Watched) -> None:
    await watched.sampler.begin(0)
    watched.server.failure = SQLError(1290, "not now")
    assert [kind for kind, _ in await watched.look()] == [EventKind.WARNING]
    assert await watched.look() == []
    watched.server.failure = None
    assert await watched.look() == []
    watched.server.failure = SQLError(1290, "not now")
    assert [kind for kind, _ in await watched.look()] == [EventKind.WARNING]


async def test_with_short_intervals_a_warning_follows_only_after_half_a_second_without_readings() -> None:
    watched = Watched(interval_seconds=0.1)
    await watched.sampler.begin(0)
    watched.server.failure = SQLError(1290, "not now")
    events = [await watched.look() for _ in range(7)]
    assert [len(told) for told in events] == [0, 0, 0, 0, 1, 0, 0]


async def test_a_restart_is_reported_and_leaves_nothing_to_reconcile(watched: Watched) -> None:
    await watched.sampler.begin(0)
    watched.server.restart()
    told = [*await watched.look(), *await watched.look()]
    assert EventKind.RESTART in [kind for kind, _ in told]
    first, _ = await watched.sampler.end(0, 0)
    assert first is None


async def test_a_flush_is_reported_and_leaves_nothing_to_reconcile(watched: Watched) -> None:
    await watched.sampler.begin(0)
    watched.server.status |= {"Uptime_since_flush_status": 0, "Questions": 0}
    (event,) = await watched.look()
    assert event == (EventKind.WARNING, "the server's counters were reset (FLUSH STATUS)")
    first, _ = await watched.sampler.end(0, 0)
    assert first is None


async def test_another_first_reading_forgets_what_was_before(watched: Watched) -> None:
    await watched.sampler.begin(3)
    await watched.look(Questions=100)
    await watched.sampler.reset_stats(5, 1_000)
    asked = len(watched.server.received)
    watched.server.grow(1, Questions=7)
    first, last = await watched.sampler.end(9, 0)
    assert first is not None
    assert last is not None
    assert (first.own, last.own) == (asked + 5, len(watched.server.received) + 9)
    grown = last.counters["Questions"] - first.counters["Questions"]
    assert grown == 7 + len(watched.server.received) - asked


async def test_events_of_another_first_reading_are_reported_with_the_next_one(watched: Watched) -> None:
    await watched.sampler.begin(0)
    watched.server.restart()
    await watched.look()
    await watched.sampler.reset_stats(0, 0)
    told = [await watched.look(), await watched.look()]
    assert [[kind for kind, _ in look] for look in told] == [[EventKind.RESTART], []]
    first, _ = await watched.sampler.end(0, 0)
    assert first is not None


async def test_the_last_reading_waits_for_goodbyes_that_are_still_on_their_way(watched: Watched) -> None:
    await watched.sampler.begin(0)
    before = len(watched.server.received)
    watched.server.goodbyes = iter([40, 25, 3])
    _, last = await watched.sampler.end(0, 0)
    assert last is not None
    assert last.counters["Questions"] == watched.server.status["Questions"]
    assert len(watched.server.received) - before == 4


async def test_the_last_reading_has_all_that_the_load_has_asked(watched: Watched) -> None:
    await watched.sampler.begin(0)
    watched.server.goodbyes = iter([20, 0, 0, 0, 1])
    first, last = await watched.sampler.end(0, 21)
    assert first is not None
    assert last is not None
    asked = last.own - first.own
    assert last.counters["Questions"] - first.counters["Questions"] == 21 + asked


async def test_missing_questions_are_not_waited_for(watched: Watched) -> None:
    await watched.sampler.begin(0)
    before = len(watched.server.received)
    await watched.sampler.end(0, 1)
    assert len(watched.server.received) - before == LAST_LOOK_ATTEMPTS


async def test_a_server_with_other_clients_is_not_waited_for_in_vain(watched: Watched) -> None:
    await watched.sampler.begin(0)
    before = len(watched.server.received)
    watched.server.goodbyes = iter([1] * 1000)
    _, last = await watched.sampler.end(0, 0)
    assert last is not None
    assert len(watched.server.received) - before == LAST_LOOK_ATTEMPTS


async def test_what_the_status_lacks_is_reported_once(watched: Watched) -> None:
    for name in ("Uptime", "Uptime_since_flush_status", "Slow_queries"):
        del watched.server.status[name]
    watched.server.grow = lambda seconds, **counters: None  # type: ignore[method-assign]
    await watched.sampler.begin(0)
    assert await watched.look() == [
        (EventKind.WARNING, "the server's status lacks Uptime, Slow_queries: these figures are –")
    ]
    assert await watched.look() == []


async def test_without_a_count_of_statements_the_last_reading_is_taken(watched: Watched) -> None:
    async def answer(sql: str) -> Sequence[Row]:
        rows = await FakeServer.answer(watched.server, sql)
        return [row for row in rows if row[0] != "Questions"]

    watched.server.answer = answer  # type: ignore[method-assign]
    await watched.sampler.begin(0)
    first, last = await watched.sampler.end(0, 100)
    assert first is not None
    assert last is not None
    assert "Questions" not in last.counters
