"""Users who share connections, planned logins, idle connections: whole runs in virtual time."""

from msgspec.structs import replace

from tests.fakes import FakeServer
from tests.unit.load.driving import balanced
from tests.unit.load.programs import AWAY, SINGLE, TOO_MANY, begin
from tests.unit.load.virtual_runs import Run, for_ten_seconds, p_ms, ran
from tests.virtual import VirtualClock, in_no_time
from tuibench.load.connections import MAX_LOGINS_UNDER_WAY
from tuibench.load.messages import StartLoad, WorkerReport
from tuibench.model.plan import Arrival
from tuibench.model.server import Target
from tuibench.model.tick import Histogram
from tuibench.mysql.connection import Connection


def reconnecting(transactions: int) -> StartLoad:
    how = begin(SINGLE)
    return replace(how, execution=replace(how.execution, reconnect=transactions))


class Reports:
    """All reports of a run, added up."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.waits, self.logins = Histogram(), Histogram()
        self.last = self.read()

    def read(self) -> WorkerReport:
        self.last = report = self._run.report()
        self.waits.add(report.hist("wait"))
        self.logins.add(report.hist("login"))
        return report


# Users


def test_twenty_users_of_two_connections_wait_for_nine_others() -> None:
    waits: list[Histogram] = []

    async def script(run: Run) -> None:
        run.engine.set_users(20)
        await run.wait_until(10)
        waits.append(Reports(run).waits)

    run = ran(script, connections=2, rate=0)
    assert 9_900 <= run.last.completed <= 10_000
    assert p_ms(waits[0], 50) == p_ms(waits[0], 95) == 18.0
    assert p_ms(run.transactions, 50) == 20.0
    assert p_ms(run.service, 50) == 2.0


def test_users_with_a_connection_each_do_not_wait() -> None:
    async def script(run: Run) -> None:
        run.engine.set_users(4)
        await run.wait_until(10)
        assert Reports(run).waits.max_us == 0

    run = ran(script, connections=8, rate=0)
    assert 19_900 <= run.last.completed <= 20_000


def test_users_who_think_ask_in_their_own_time() -> None:
    thinking = replace(SINGLE, keying_seconds=0.098)

    async def script(run: Run) -> None:
        run.engine.set_users(30)
        await run.wait_until(10)

    run = ran(script, replace(begin(thinking)), connections=3, rate=0)
    assert 2_900 <= run.last.completed <= 3_000


def test_there_are_never_more_on_their_way_than_users() -> None:
    async def script(run: Run) -> None:
        for second, users in enumerate((20, 5, 30, 1, 12), start=1):
            run.engine.set_users(users)
            await run.wait_until(second)
            counters = run.counters
            assert balanced(counters)
            assert counters.backlog + counters.in_flight <= users

    assert ran(script, connections=4, rate=0).last.failed == 0


def test_the_users_of_a_pause_ask_again_when_it_is_over() -> None:
    async def script(run: Run) -> None:
        run.engine.set_users(6)
        await run.wait_until(1)
        run.engine.pause()
        await run.wait_until(2)
        paused = run.counters.completed
        await run.wait_until(3)
        assert run.counters.completed == paused
        run.engine.resume()
        await run.wait_until(4)
        assert run.counters.completed >= paused + 900

    ran(script, connections=2, rate=0)


def test_a_limit_ends_a_load_with_users() -> None:
    async def script(run: Run) -> None:
        run.engine.set_users(10)
        await run.engine.finished.wait()

    run = ran(script, begin(SINGLE, limit=57), connections=2, rate=0)
    assert (run.last.completed, run.last.scheduled) == (57, 57)


def test_users_whose_connection_is_lost_ask_again() -> None:
    async def script(run: Run) -> None:
        run.engine.set_users(10)
        await run.wait_until(8)

    run = ran(script, connections=2, rate=0, outage=(2, 3))
    assert run.last.failed == 2
    assert run.last.completed > 5_000


# A new login every N transactions


def test_a_connection_logs_in_again_after_so_many_transactions() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(1)
        reports = Reports(run)
        assert reports.logins.count == reports.last.counters.logins == len(run.server.connections) - 2
        by_connection = [len(run.server.heard_by(number)) for number in range(len(run.server.connections))]
        assert set(by_connection[:-2]) == {10}

    run = ran(script, reconnecting(10), connections=2, rate=0)
    assert run.last.reconnects == 0
    assert run.last.failed == 0
    assert run.server.open_connections == 0


def test_a_lost_connection_is_no_planned_login() -> None:
    run = ran(for_ten_seconds, reconnecting(1000), connections=2, rate=0, outage=(2, 3))
    assert run.last.reconnects == 2


# Idle connections


def test_idle_connections_stay_and_are_replaced() -> None:
    async def script(run: Run) -> None:
        run.engine.set_extra_connections(20, 0)
        await run.wait_until(1)
        assert (run.report().idle_connections, run.server.open_connections) == (20, 22)
        idle = set(run.engine.connection_ids())
        assert len(idle) == 22
        for connection in run.server.connections[5:10]:
            connection.break_off()
        assert run.report().idle_connections == 15
        await run.wait_until(4)
        assert run.report().idle_connections == 20
        run.engine.set_extra_connections(3, 0)
        await run.wait_until(6)
        assert (run.report().idle_connections, run.server.open_connections) == (3, 5)

    assert ran(script, connections=2).server.open_connections == 0


def test_a_server_that_takes_no_more_says_so_and_is_asked_again() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(1)
        run.server.logins.extend([None, TOO_MANY, AWAY])
        run.engine.set_extra_connections(3, 0)
        await run.wait_until(1.5)
        report = run.report()
        assert (report.idle_connections, report.counters.refused) == (1, {})
        assert report.idle_refusal
        await run.wait_until(4)
        report = run.report()
        assert (report.idle_connections, report.idle_refusal) == (3, "")

    ran(script, connections=2)


# Login storms


def test_logins_come_at_their_rate_and_leave() -> None:
    async def script(run: Run) -> None:
        run.engine.set_extra_connections(0, 50)
        await run.wait_until(10)
        assert Reports(run).logins.count == run.counters.logins
        assert run.server.open_connections == 2

    run = ran(script, begin(SINGLE, arrival=Arrival.CONSTANT), connections=2)
    assert 499 <= run.last.logins <= 501


def test_a_refused_login_is_an_error_of_the_load() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(1)
        run.server.logins.extend([TOO_MANY] * 5)
        run.engine.set_extra_connections(0, 10)
        await run.wait_until(3)

    run = ran(script, connections=2)
    assert run.last.errors == {1040: 5}
    assert run.last.refused == {}


class SlowDoor(FakeServer):
    """Logins take half a minute."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    async def connect(self, target: Target) -> Connection:
        await self._clock.sleep(30)
        return await super().connect(target)


def test_logins_that_cannot_be_started_are_missed() -> None:
    async def scenario(clock: VirtualClock) -> None:
        run = Run(SlowDoor(clock), begin(SINGLE, arrival=Arrival.CONSTANT), clock)
        run.engine.set_extra_connections(0, 100)
        await run.wait_until(20)
        due = 2000
        assert abs(run.counters.missed_logins - (due - MAX_LOGINS_UNDER_WAY)) <= 2
        await run.engine.stop(10)
        assert run.counters.logins == 0

    in_no_time(scenario)


def test_the_questions_of_extra_connections_are_ours() -> None:
    async def script(run: Run) -> None:
        run.engine.set_extra_connections(5, 20)
        await run.wait_until(5)

    run = ran(script, connections=1, rate=0)
    assert run.last.questions >= run.last.queries + run.last.logins + 5
