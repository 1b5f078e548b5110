"""Sampling of statements, activity, hosts and status."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, cast

import pytest

from tests.fakes import FakeClock
from tests.tui.support.script import host_part
from tests.tui.support.sessions import ACTIVITY as SESSIONS
from tests.unit.observe.fakes import TARGET, FakeConnection, FakeServer
from tests.unit.observe.test_remote_host import SERVER
from tuibench.base.errors import DeniedError, RunError, SQLError, UsageError
from tuibench.metrics.figures import read
from tuibench.model.event import Event, EventKind
from tuibench.model.server import Activity, StatementReport
from tuibench.model.tick import CLIENT as THIS
from tuibench.model.tick import HOST, Histogram, Tick
from tuibench.mysql.connection import OwnConnections
from tuibench.mysql.rows import Row
from tuibench.observe.host import HostSampler
from tuibench.observe.remote_host import NamedSample, RemoteHost
from tuibench.observe.sessions import ActivitySampler
from tuibench.observe.statements import DIGEST, StatementReading, StatementSampler, StatementSums
from tuibench.observe.status import StatusSampler
from tuibench.session.sampling import (
    LAST_LOOK_ATTEMPTS,
    LEASE_SECONDS,
    LEAST_SECONDS,
    VARIABLES_EVERY_TICKS,
    ActivityMonitor,
    Hosts,
    Sampler,
    StatementMonitor,
    kill_error,
)

# The session's eyes on a scripted server: what is noticed, and what stays for the reconciliation.


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
    """An observer of a scripted server, a second a tick; `steering` is another connection of its session."""

    def __init__(self, interval_seconds: float = 1.0) -> None:
        self.server = CountingServer()
        self.clock = FakeClock()
        self.steering = FakeConnection(self.server, TARGET)
        own = OwnConnections()
        own.add(self.steering)
        status = StatusSampler(TARGET, self.clock, log_in=self.server.log_in, own=own)
        self.sampler = Sampler(status, Hosts(None, None, is_local=True), interval_seconds=interval_seconds)
        self.tick = 0

    async def look(self, ours: dict[str, str] | None = None, **counters: int) -> list[tuple[EventKind, str]]:
        """One tick later."""
        self.tick += 1
        self.clock.advance(1)
        self.server.grow(1, **counters)
        self.sampler.own_values = lambda: ours or {}
        look = await self.sampler.observe(self.tick, 0)
        assert look.hosts == Tick()
        return list(look.events)


@pytest.fixture
def watched() -> Watched:
    return Watched()


async def test_it_has_its_connection_before_the_load_takes_them_all(watched: Watched) -> None:
    await watched.sampler.log_in()
    assert len(watched.server.connections) == 1
    watched.server.refusal = SQLError(1040, "Too many connections")
    await watched.sampler.begin()
    assert await watched.look() == []


async def test_a_quiet_tick_has_figures_and_no_events(watched: Watched) -> None:
    await watched.sampler.begin()
    watched.clock.advance(1)
    watched.server.grow(1, Questions=200)
    look = await watched.sampler.observe(1, 0)
    assert (look.events, look.settings_changed) == ((), False)
    assert look.server is not None
    assert read("questions", look.server) == pytest.approx(200, rel=0.01)


async def test_the_first_and_the_last_reading_enclose_the_run(watched: Watched) -> None:
    watched.steering.statements = 3
    await watched.sampler.begin()
    await watched.look(Questions=100)
    watched.steering.statements = 5
    first, last = await watched.sampler.end(0)
    assert first is not None
    assert last is not None
    assert (first.own_statements, last.own_statements) == (2 + 3, len(watched.server.received) + 5)
    ours_alone = len(watched.server.received) - 2
    assert last.counters["Questions"] - first.counters["Questions"] == 100 + ours_alone


async def test_variables_are_read_every_ten_ticks_and_foreign_changes_are_reported(watched: Watched) -> None:
    await watched.sampler.begin()
    watched.server.variables |= {"max_connections": "500"}
    told = [await watched.look() for _ in range(VARIABLES_EVERY_TICKS)]
    assert told[:-1] == [[]] * (VARIABLES_EVERY_TICKS - 1)
    assert told[-1] == [(EventKind.FOREIGN, "another session set max_connections 151 → 500")]


async def test_own_changes_are_not_reported(watched: Watched) -> None:
    await watched.sampler.begin()
    watched.server.variables |= {"max_connections": "500"}
    told = [await watched.look({"max_connections": "500"}) for _ in range(VARIABLES_EVERY_TICKS)]
    assert told == [[]] * VARIABLES_EVERY_TICKS


async def test_a_server_that_does_not_answer_is_reported_once_and_leaves_a_gap(watched: Watched) -> None:
    await watched.sampler.begin()
    watched.server.failure = SQLError(1290, "not now")
    assert [kind for kind, _ in await watched.look()] == [EventKind.WARNING]
    assert await watched.look() == []
    watched.server.failure = None
    assert await watched.look() == []
    watched.server.failure = SQLError(1290, "not now")
    assert [kind for kind, _ in await watched.look()] == [EventKind.WARNING]


async def test_with_short_intervals_a_warning_follows_only_after_half_a_second_without_readings() -> None:
    watched = Watched(interval_seconds=0.1)
    await watched.sampler.begin()
    watched.server.failure = SQLError(1290, "not now")
    events = [await watched.look() for _ in range(7)]
    assert [len(told) for told in events] == [0, 0, 0, 0, 1, 0, 0]


async def test_a_restart_is_reported_and_leaves_nothing_to_reconcile(watched: Watched) -> None:
    await watched.sampler.begin()
    watched.server.restart()
    told = [*await watched.look(), *await watched.look()]
    assert EventKind.RESTART in [kind for kind, _ in told]
    first, _ = await watched.sampler.end(0)
    assert first is None


async def test_servers_that_take_turns_at_one_address_are_reported_and_leave_gaps(watched: Watched) -> None:
    watched.server.variables |= {"hostname": "db1", "server_id": "1"}
    await watched.sampler.begin()
    told = []
    for host in ("db2", "db1", "db2", "db1"):
        watched.server.variables["hostname"] = host
        told += await watched.look(Questions=10**9)
    assert told == [
        (
            EventKind.RESTART,
            "another server answers at this address: hostname db2, port 3306, server_id 1",
        ),
        (
            EventKind.RESTART,
            "another server answers at this address: hostname db1, port 3306, server_id 1",
        ),
        (
            EventKind.WARNING,
            "several servers answer at this address in turn, so that figures of the server are missing: "
            "connect to one of them",
        ),
    ]
    first, _ = await watched.sampler.end(0)
    assert first is None


async def test_a_flush_is_reported_and_leaves_nothing_to_reconcile(watched: Watched) -> None:
    await watched.sampler.begin()
    watched.server.status |= {"Uptime_since_flush_status": 0, "Questions": 0}
    (event,) = await watched.look()
    assert event == (EventKind.WARNING, "the server's counters were reset (FLUSH STATUS)")
    first, _ = await watched.sampler.end(0)
    assert first is None


async def test_another_first_reading_forgets_what_was_before(watched: Watched) -> None:
    watched.steering.statements = 3
    await watched.sampler.begin()
    await watched.look(Questions=100)
    watched.steering.statements = 5
    await watched.sampler.reset_stats(1_000)
    asked = len(watched.server.received)
    watched.server.grow(1, Questions=7)
    watched.steering.statements = 9
    first, last = await watched.sampler.end(0)
    assert first is not None
    assert last is not None
    assert (first.own_statements, last.own_statements) == (asked + 5, len(watched.server.received) + 9)
    grown = last.counters["Questions"] - first.counters["Questions"]
    assert grown == 7 + len(watched.server.received) - asked


async def test_events_of_another_first_reading_are_reported_with_the_next_one(watched: Watched) -> None:
    await watched.sampler.begin()
    watched.server.restart()
    await watched.look()
    await watched.sampler.reset_stats(0)
    told = [await watched.look(), await watched.look()]
    assert [[kind for kind, _ in look] for look in told] == [[EventKind.RESTART], []]
    first, _ = await watched.sampler.end(0)
    assert first is not None


async def test_the_last_reading_waits_for_goodbyes_that_are_still_on_their_way(watched: Watched) -> None:
    await watched.sampler.begin()
    before = len(watched.server.received)
    watched.server.goodbyes = iter([40, 25, 3])
    _, last = await watched.sampler.end(0)
    assert last is not None
    assert last.counters["Questions"] == watched.server.status["Questions"]
    assert len(watched.server.received) - before == 4


async def test_the_last_reading_has_all_that_the_load_has_asked(watched: Watched) -> None:
    await watched.sampler.begin()
    watched.server.goodbyes = iter([20, 0, 0, 0, 1])
    first, last = await watched.sampler.end(21)
    assert first is not None
    assert last is not None
    asked = last.own_statements - first.own_statements
    assert last.counters["Questions"] - first.counters["Questions"] == 21 + asked


async def test_missing_questions_are_not_waited_for(watched: Watched) -> None:
    await watched.sampler.begin()
    before = len(watched.server.received)
    await watched.sampler.end(1)
    assert len(watched.server.received) - before == LAST_LOOK_ATTEMPTS


async def test_a_server_with_other_clients_is_not_waited_for_in_vain(watched: Watched) -> None:
    await watched.sampler.begin()
    before = len(watched.server.received)
    watched.server.goodbyes = iter([1] * 1000)
    _, last = await watched.sampler.end(0)
    assert last is not None
    assert len(watched.server.received) - before == LAST_LOOK_ATTEMPTS


async def test_what_the_status_lacks_is_reported_once(watched: Watched) -> None:
    for name in ("Uptime", "Uptime_since_flush_status", "Slow_queries"):
        del watched.server.status[name]
    watched.server.grow = lambda seconds, **counters: None  # type: ignore[method-assign]
    await watched.sampler.begin()
    assert await watched.look() == [
        (EventKind.WARNING, "the server's status lacks Uptime, Slow_queries: these figures are –")
    ]
    assert await watched.look() == []


async def test_without_a_count_of_statements_the_last_reading_is_taken(watched: Watched) -> None:
    async def answer(sql: str) -> Sequence[Row]:
        rows = await FakeServer.answer(watched.server, sql)
        return [row for row in rows if row[0] != "Questions"]

    watched.server.answer = answer  # type: ignore[method-assign]
    await watched.sampler.begin()
    first, last = await watched.sampler.end(100)
    assert first is not None
    assert last is not None
    assert "Questions" not in last.counters


# Statements are read on demand, at changes, and no more often than that.


class PlayedSampler:
    """A server with one statement, which was called so often and takes so long."""

    def __init__(self) -> None:
        self.calls, self.us_each, self.time_us, self.reads = 0, 100, 0, 0
        self.is_closed = False

    def work(self, calls: int) -> None:
        self.calls += calls
        self.time_us += calls * self.us_each

    async def read(self, wanted: Sequence[str]) -> StatementReading:
        self.reads += 1
        totals = StatementSums("SELECT ?", DIGEST, self.calls, self.time_us)
        return StatementReading(totals={"db a": totals}, gaps=("a gap",))

    async def close(self) -> None:
        self.is_closed = True


class Tried:
    def __init__(self) -> None:
        self.server, self.clock = PlayedSampler(), FakeClock()
        self.reports: list[StatementReport] = []
        self.monitor = StatementMonitor(
            cast(StatementSampler, self.server), self.reports.append, self.clock, self._start
        )
        self._tasks: list[asyncio.Task[None]] = []

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        self._tasks.append(asyncio.create_task(work, name=name))
        return self._tasks[-1]

    async def ask(self, seconds: float = LEAST_SECONDS) -> None:
        self.clock.advance(seconds)
        self.monitor.renew()
        await asyncio.gather(*self._tasks)

    async def change(
        self,
        text: str,
        marker: int | None = 1,
        seconds: float = 1.0,
        kind: EventKind = EventKind.SETTING,
        experiment: str = "",
    ) -> None:
        self.clock.advance(seconds)
        event = Event(at=0.0, elapsed_seconds=0.0, kind=kind, text=text, marker=marker, experiment=experiment)
        self.monitor.on_event(event)
        await asyncio.gather(*self._tasks)


async def test_nothing_is_read_before_the_first_request() -> None:
    tried = Tried()
    await tried.change("sync_binlog 1 → 0")
    assert tried.server.reads == 0
    await tried.ask()
    assert tried.server.reads == 1


async def test_polls_are_bounded() -> None:
    tried = Tried()
    await tried.ask()
    for _ in range(5):
        await tried.ask(LEAST_SECONDS / 10)
    assert tried.server.reads == 1
    await tried.ask()
    assert tried.server.reads == 2


async def test_the_span_begins_with_the_first_reading() -> None:
    tried = Tried()
    tried.server.work(1000)
    await tried.ask()
    tried.server.work(10)
    await tried.ask(5.0)
    report = tried.reports[-1]
    assert (report.seconds, report.before_seconds, report.gaps) == (5.0, 0.0, ("a gap",))
    assert [(row.now.calls, row.now.avg_ms, row.before) for row in report.rows] == [(10, 0.1, None)]


async def test_a_change_starts_another_span_and_the_previous_one_is_shown_beside_it() -> None:
    tried = Tried()
    await tried.ask()
    tried.server.work(10)
    await tried.change("sync_binlog 1 → 0", seconds=4.0)
    tried.server.us_each = 50
    tried.server.work(30)
    await tried.ask(6.0)
    report = tried.reports[-1]
    assert (report.change, report.before_seconds, report.seconds) == ("sync_binlog 1 → 0", 4.0, 6.0)
    (row,) = report.rows
    assert row.before is not None
    assert (row.before.calls, row.before.avg_ms, row.now.calls, row.now.avg_ms) == (10, 0.1, 30, 0.05)
    await tried.change("a note", marker=None)
    await tried.change("TPS +55 % (49..61 %)", kind=EventKind.EFFECT)
    await tried.change("sync_binlog 0 → 1", experiment="alternation")
    assert tried.reports[-1] is report


async def test_the_loads_own_statements_are_among_them() -> None:
    tried = Tried()
    own = Histogram.of([100])
    tried.monitor.own = lambda: {"point_select": own}
    await tried.ask()
    own.add(Histogram.of([200] * 9))
    await tried.ask()
    (row,) = tried.reports[-1].rows
    assert (row.text, row.source, row.now.calls, row.now.p95_ms) == ("point_select", "client", 9, 0.2)


async def test_after_its_end_nothing_is_read() -> None:
    tried = Tried()
    await tried.ask()
    await tried.monitor.close()
    await tried.ask()
    assert (tried.server.reads, tried.server.is_closed) == (1, True)


# The server's sessions are looked at as long as somebody wants to see them, and no longer.


ACTIVITY = Activity(sessions=(), others=0, own=())


class FakeSampler:
    """Notes what it is asked; while `gate` is closed a look does not end."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.refusal: SQLError | None = None
        self.activity = ACTIVITY

    async def look(self, own_ids: set[int], details: set[int] = frozenset()) -> Activity | None:  # type: ignore[assignment]
        self.done.append(f"look {sorted(own_ids)}" + (f" and {sorted(details)}" if details else ""))
        await self.gate.wait()
        return self.activity

    async def kill(self, id: int, *, whole: bool = False) -> None:
        self.done.append(f"{'close' if whole else 'kill'} {id}")
        if self.refusal:
            raise self.refusal

    async def close(self) -> None:
        self.done.append("close")


class ActivityMonitorWatched:
    """What a test needs of a watching, a second a tick."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.sampler = FakeSampler()
        self.published: list[Activity] = []
        self.watching = ActivityMonitor(
            cast(ActivitySampler, self.sampler),
            self._ids,
            self.published.append,
            self.clock,
            1.0,
            self._spare,
            lambda work, name: asyncio.create_task(work, name=name),
        )

    async def _ids(self) -> set[int]:
        return {1, 2}

    async def _spare(self, id: int) -> None:
        self.sampler.done.append(f"spare {id}")

    async def tick(self, seconds: float = 1.0) -> None:
        self.clock.advance(seconds)
        self.watching.tick()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
def activity_monitor_watched() -> ActivityMonitorWatched:
    return ActivityMonitorWatched()


async def test_without_viewers_nothing_is_queried(activity_monitor_watched: ActivityMonitorWatched) -> None:
    for _ in range(20):
        await activity_monitor_watched.tick()
    assert activity_monitor_watched.sampler.done == []


async def test_the_first_look_comes_at_once_and_then_one_a_tick(
    activity_monitor_watched: ActivityMonitorWatched,
) -> None:
    activity_monitor_watched.watching.renew()
    await activity_monitor_watched.settle()
    assert activity_monitor_watched.sampler.done == ["look [1, 2]"]
    await activity_monitor_watched.tick()
    activity_monitor_watched.watching.renew()
    await activity_monitor_watched.settle()
    assert len(activity_monitor_watched.published) == 2


async def test_the_sampler_disconnects_when_its_lease_expires(
    activity_monitor_watched: ActivityMonitorWatched,
) -> None:
    activity_monitor_watched.watching.renew()
    await activity_monitor_watched.tick(LEASE_SECONDS - 0.5)
    assert "close" not in activity_monitor_watched.sampler.done
    await activity_monitor_watched.tick()
    await activity_monitor_watched.tick()
    await activity_monitor_watched.tick()
    assert activity_monitor_watched.sampler.done.count("close") == 1
    assert activity_monitor_watched.sampler.done[-1] == "close"


async def test_a_slow_look_is_not_doubled(activity_monitor_watched: ActivityMonitorWatched) -> None:
    activity_monitor_watched.sampler.gate.clear()
    activity_monitor_watched.watching.renew()
    for _ in range(3):
        await activity_monitor_watched.tick()
    assert len(activity_monitor_watched.sampler.done) == 1
    activity_monitor_watched.sampler.gate.set()
    await activity_monitor_watched.settle()
    assert len(activity_monitor_watched.published) == 1


async def test_after_a_kill_without_a_viewer_it_leaves(
    activity_monitor_watched: ActivityMonitorWatched,
) -> None:
    assert await activity_monitor_watched.watching.kill(9) == "connection 9 was asked to end its query"
    await activity_monitor_watched.tick()
    assert activity_monitor_watched.sampler.done == ["spare 9", "kill 9", "close"]


async def test_a_closed_connection_says_what_that_ended(
    activity_monitor_watched: ActivityMonitorWatched,
) -> None:
    it = activity_monitor_watched
    it.sampler.activity = SESSIONS
    assert await it.watching.close_connection(90) == (
        "connection 90 (ann@pc7, idle in transaction) is closed: 10,001 changed rows are rolled back, "
        "2 sessions no longer wait for it"
    )
    assert it.sampler.done == ["look [1, 2]", "close 90"]


@pytest.mark.parametrize(("id", "words"), [(1, "belongs to this session of tuibench"), (0, "XA")])
async def test_no_connection_of_its_own_is_closed(
    activity_monitor_watched: ActivityMonitorWatched, id: int, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        await activity_monitor_watched.watching.close_connection(id)
    assert activity_monitor_watched.sampler.done == []


async def test_a_refused_close_names_the_privilege(activity_monitor_watched: ActivityMonitorWatched) -> None:
    activity_monitor_watched.sampler.refusal = SQLError(1095, "not yours")
    with pytest.raises(SQLError, match="belongs to another user") as refused:
        await activity_monitor_watched.watching.close_connection(9)
    assert "CONNECTION ADMIN" in refused.value.hint


async def test_a_statement_in_full_is_read_once_for_each_request(
    activity_monitor_watched: ActivityMonitorWatched,
) -> None:
    activity_monitor_watched.watching.renew(9)
    await activity_monitor_watched.settle()
    await activity_monitor_watched.tick()
    assert activity_monitor_watched.sampler.done == ["look [1, 2] and [9]", "look [1, 2]"]


async def test_closing_ends_a_look_that_is_out(activity_monitor_watched: ActivityMonitorWatched) -> None:
    activity_monitor_watched.sampler.gate.clear()
    activity_monitor_watched.watching.renew()
    await activity_monitor_watched.settle()
    await activity_monitor_watched.watching.close()
    assert (activity_monitor_watched.sampler.done[-1], activity_monitor_watched.published) == ("close", [])


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SQLError(1094, "x"), r"connection 9 no longer exists \(error 1094\)"),
        (SQLError(1095, "x"), r"connection 9 belongs to another user \(error 1095\) \(KILL needs"),
        (DeniedError(1227, "x"), r"this login has no privilege to end queries \(error 1227\) \(KILL needs"),
        (SQLError(1317, "odd"), "odd"),
    ],
)
async def test_refusals_in_words(
    activity_monitor_watched: ActivityMonitorWatched, error: SQLError, words: str
) -> None:
    activity_monitor_watched.sampler.refusal = error
    with pytest.raises(SQLError, match=words):
        await activity_monitor_watched.watching.kill(9)
    assert kill_error(error, 9).code == error.code


# The hosts of a session: the server's and the client's, and what is reported of one that is lost.


CLIENT, FAR = host_part(), host_part(origin="ssh:db1")
LOST = NamedSample(None, "ssh db1: gone", failed=True)


class PlayedRemote:
    def __init__(self, *answers: NamedSample) -> None:
        self.answers = list(answers)
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1

    async def finish(self, _: float | None = None) -> NamedSample:
        return self.answers.pop(0)


class PlayedLocal:
    note = None

    def sample(self) -> Tick | None:
        return CLIENT


def hosts(*answers: NamedSample, is_local: bool = False) -> Hosts:
    remote = cast(RemoteHost, PlayedRemote(*answers)) if answers else None
    return Hosts(cast(HostSampler, PlayedLocal()), remote, is_local=is_local)


async def test_a_server_on_this_host() -> None:
    assert await hosts(is_local=True).finish() == CLIENT.moved("", HOST)


async def test_a_server_elsewhere_leaves_the_clients_host() -> None:
    assert await hosts().finish() == CLIENT.moved("", THIS)


async def test_a_remote_host_is_shown_beside_the_clients_host() -> None:
    far, here, both = FAR.moved("", HOST), CLIENT.moved("", THIS), await hosts(NamedSample(FAR)).finish()
    assert (both.sums, both.levels) == (far.sums | here.sums, far.levels | here.levels)
    assert both.missing == far.missing | here.missing


async def test_a_loss_and_the_return_are_reported_once() -> None:
    watched = hosts(LOST, LOST, NamedSample(None, "the next sample has it"), NamedSample(FAR))
    seen = [(await watched.finish(), watched.news) for _ in range(4)]
    assert [news for _, news in seen] == [
        "the server's host cannot be read: ssh db1: gone",
        "",
        "the server's host is read again",
        "",
    ]
    notes = [each.missing.get("host", "") for each, _ in seen]
    assert notes == ["ssh db1: gone", "ssh db1: gone", "the next sample has it", ""]
    assert seen[-1][0].counts(HOST) == FAR.sums


async def test_a_host_that_cannot_be_read_at_the_start_ends_the_session() -> None:
    with pytest.raises(RunError, match="--host-metrics: ssh db1: gone"):
        await hosts(LOST).connect()
    await hosts(NamedSample(None, "the next sample has it")).connect()


def test_a_source_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError):
        Hosts.of(SERVER, "db1", lambda: (), FakeClock(), 1.0)
