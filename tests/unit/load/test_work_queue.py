"""The queue of work, and the users who take from it."""

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock
from tuibench.load.messages import Reassign
from tuibench.load.pacing import UNSCHEDULED, ArrivalSchedule, UserPool, WorkQueue
from tuibench.model.plan import Arrival

# The queue between the schedule and the connections: nothing lost, nobody forgotten, nothing twice.


RATE = 10.0
GAP_SECONDS = 1 / RATE


@dataclass(eq=False)
class Waiting:
    """A connection that notes in a common book when it is woken."""

    name: str
    book: list[str] = field(default_factory=list)

    def wake(self) -> None:
        self.book.append(self.name)


class Queue:
    """Arrivals every tenth of a second on a fake clock, and connections to wait for them."""

    def __init__(
        self, *, rate: float = RATE, limit: int | None = None, arrival: Arrival = Arrival.CONSTANT
    ) -> None:
        self.clock = FakeClock()
        self.woken: list[str] = []
        self.arrivals = WorkQueue(
            ArrivalSchedule(Random(1), arrival, phase=0.5), self.clock, self.clock.timer, limit
        )
        self.arrivals.set_rate(rate)

    def waiting(self, *names: str) -> list[Waiting]:
        users = [Waiting(name, self.woken) for name in names]
        for user in users:
            self.arrivals.wait(user)
        return users

    def pass_gaps(self, gaps: int) -> None:
        self.clock.advance(gaps * GAP_SECONDS)

    def taken(self) -> list[int]:
        taken = []
        while (intended_ns := self.arrivals.start()) is not None:
            taken.append(intended_ns)
        return taken


def test_what_is_due_and_not_taken_is_the_backlog() -> None:
    queue = Queue()
    queue.pass_gaps(7)
    assert (queue.arrivals.backlog, queue.arrivals.scheduled, queue.arrivals.rate) == (7, 7, RATE)
    queue.arrivals.start()
    assert (queue.arrivals.backlog, queue.arrivals.scheduled) == (6, 7)


def test_the_oldest_is_taken_first_with_its_intended_start() -> None:
    queue = Queue()
    queue.pass_gaps(3)
    assert queue.taken() == [50_000_000, 150_000_000, 250_000_000]
    assert queue.arrivals.start() is None


def test_each_arrival_wakes_the_one_that_waits_longest() -> None:
    queue = Queue()
    ann, *_ = queue.waiting("ann", "bob", "cid")
    queue.pass_gaps(2)
    assert queue.woken == ["ann", "bob"]
    queue.arrivals.wait(ann)
    queue.pass_gaps(5)
    assert queue.woken == ["ann", "bob", "cid", "ann"]


def test_several_arrivals_at_once_wake_as_many() -> None:
    """An alarm that rings late finds several due."""
    queue = Queue()
    queue.clock.overshoot_seconds = 3 * GAP_SECONDS
    queue.waiting("ann", "bob", "cid", "dee", "eve")
    queue.pass_gaps(4)
    assert queue.woken == ["ann", "bob", "cid", "dee"]


def test_who_is_woken_and_goes_away_passes_the_work_on() -> None:
    queue = Queue()
    ann, bob, _ = queue.waiting("ann", "bob", "cid")
    queue.pass_gaps(1)
    queue.arrivals.withdraw(ann)
    assert queue.woken == ["ann", "bob"]
    queue.arrivals.start()
    queue.arrivals.withdraw(bob)
    assert queue.woken == ["ann", "bob"]


def test_who_goes_away_while_waiting_is_not_woken_any_more() -> None:
    queue = Queue()
    ann, _ = queue.waiting("ann", "bob")
    queue.arrivals.withdraw(ann)
    queue.pass_gaps(3)
    assert queue.woken == ["bob"]


# A limit


def test_no_more_than_the_limit_comes_due() -> None:
    queue = Queue(limit=5)
    queue.pass_gaps(100)
    assert (queue.arrivals.scheduled, queue.arrivals.backlog) == (5, 5)
    assert not queue.arrivals.is_finished
    assert len(queue.taken()) == 5
    assert queue.arrivals.is_finished


def test_the_last_one_taken_wakes_all_who_wait_in_vain() -> None:
    queue = Queue(limit=2)
    queue.pass_gaps(5)
    queue.waiting("ann", "bob", "cid")
    queue.arrivals.start()
    assert queue.woken == []
    queue.arrivals.start()
    assert queue.woken == ["ann", "bob", "cid"]


def test_a_closed_loop_is_finished_when_it_has_started_as_much_as_it_may() -> None:
    queue = Queue(rate=0, limit=3)
    assert not queue.arrivals.is_open
    for _ in range(3):
        assert not queue.arrivals.is_finished
        assert queue.arrivals.start() == UNSCHEDULED
    assert queue.arrivals.start() is None
    assert (queue.arrivals.is_finished, queue.arrivals.scheduled) == (True, 3)


def test_a_new_limit_counts_from_now() -> None:
    queue = Queue()
    queue.pass_gaps(50)
    queue.arrivals.forget()
    queue.arrivals.grant_quota(4)
    queue.pass_gaps(50)
    assert (queue.arrivals.scheduled, queue.arrivals.backlog) == (54, 4)
    queue.arrivals.grant_quota(None)
    queue.taken()
    assert not queue.arrivals.is_finished


def test_without_a_limit_nothing_is_ever_finished() -> None:
    assert not Queue(rate=0).arrivals.is_finished
    assert not Queue().arrivals.is_finished


# Work handed over


def test_work_handed_over_keeps_its_times_and_leaves_nothing_behind() -> None:
    queue, other = Queue(limit=50), Queue(limit=10)
    queue.pass_gaps(7)
    other.clock.advance(4.2 * GAP_SECONDS)
    due = list(queue.arrivals.reassign().due_ns)
    assert (queue.arrivals.scheduled, queue.arrivals.backlog, queue.arrivals.is_finished) == (0, 0, True)
    other.arrivals.take_over(Reassign(tuple(due), 43))
    assert other.arrivals.scheduled == 4 + 7
    taken = other.taken()
    assert taken == sorted(taken)
    assert set(due) <= set(taken)
    other.pass_gaps(1000)
    assert other.arrivals.scheduled == 50 + 10
    queue.pass_gaps(1000)
    assert queue.arrivals.scheduled == 0


def test_work_taken_over_wakes_as_many_as_it_needs() -> None:
    queue = Queue(limit=0)
    queue.waiting("ann", "bob", "cid")
    queue.arrivals.take_over(Reassign((1, 2), 0))
    assert queue.woken == ["ann", "bob"]


def test_an_allowance_taken_over_late_does_not_bring_the_past_with_it() -> None:
    queue = Queue(limit=0)
    queue.pass_gaps(100)
    queue.arrivals.take_over(Reassign((), 5))
    assert queue.arrivals.backlog == 0
    queue.pass_gaps(100)
    assert queue.arrivals.backlog == 5


def test_a_closed_loop_takes_over_what_was_due_as_work_to_start() -> None:
    queue = Queue(rate=0, limit=1)
    queue.arrivals.take_over(Reassign((1, 2), 3))
    for _ in range(6):
        assert not queue.arrivals.is_finished
        queue.arrivals.start()
    assert queue.arrivals.is_finished


# Changes of the rate


def test_a_rate_of_zero_forgets_the_backlog_and_wakes_all_for_a_closed_loop() -> None:
    queue = Queue()
    queue.pass_gaps(4)
    queue.waiting("ann", "bob")
    assert queue.arrivals.set_rate(0) == 4
    assert (queue.arrivals.backlog, queue.arrivals.is_open, queue.arrivals.scheduled) == (0, False, 4)
    assert queue.woken == ["ann", "bob"]
    queue.pass_gaps(50)
    assert queue.arrivals.scheduled == 4


def test_a_new_rate_keeps_the_backlog_and_what_a_late_alarm_has_not_brought_yet() -> None:
    queue = Queue()
    queue.clock.overshoot_seconds = 10.0
    queue.pass_gaps(5)
    assert queue.arrivals.backlog == 0
    assert queue.arrivals.set_rate(2 * RATE) == 0
    assert (queue.arrivals.backlog, queue.arrivals.is_open) == (5, True)


def test_forgetting_says_how_much_it_was() -> None:
    queue = Queue()
    queue.pass_gaps(6)
    assert (queue.arrivals.forget(), queue.arrivals.forget(), queue.arrivals.backlog) == (6, 0, 0)


# Holding


def test_while_held_nothing_comes_due_and_afterwards_there_is_no_burst() -> None:
    queue = Queue()
    queue.pass_gaps(2)
    queue.arrivals.hold()
    queue.pass_gaps(1000)
    assert queue.arrivals.backlog == 2
    queue.arrivals.release()
    assert queue.arrivals.backlog == 2
    queue.pass_gaps(3)
    assert queue.arrivals.backlog == 5


def test_a_hold_keeps_what_a_late_alarm_has_not_brought_yet() -> None:
    queue = Queue()
    queue.clock.overshoot_seconds = 10.0
    queue.pass_gaps(5)
    queue.arrivals.hold()
    assert queue.arrivals.backlog == 5


def test_a_closed_queue_rings_no_more() -> None:
    queue = Queue()
    queue.arrivals.close()
    queue.pass_gaps(10)
    assert queue.arrivals.scheduled == 0


# Whatever is done to it

steps = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.floats(0, 1)),
        st.tuples(st.just("rate"), st.sampled_from([0.0, 5.0, 30.0])),
        st.tuples(st.just("allow"), st.sampled_from([0, 3, 20])),
        st.tuples(
            st.sampled_from(
                ["start", "start", "start", "forget", "hold", "release", "late", "wait", "withdraw"]
            ),
            st.just(0),
        ),
    ),
    max_size=40,
)


@pytest.mark.parametrize("arrival", Arrival)
@given(steps)
def test_scheduled_is_what_was_taken_forgotten_started_or_waits(
    arrival: Arrival, did: list[tuple[str, float]]
) -> None:
    queue = Queue(arrival=arrival)
    arrivals, gone, started, last_ns = queue.arrivals, 0, 0, -1
    user = Waiting("ann")
    for what, how_much in did:
        match what:
            case "pass":
                queue.clock.advance(how_much)
            case "rate":
                gone += arrivals.set_rate(how_much)
            case "allow":
                arrivals.grant_quota(int(how_much))
            case "start" if (intended_ns := arrivals.start()) == UNSCHEDULED:
                started += 1
                assert not arrivals.is_open
            case "start" if intended_ns is not None:
                gone += 1
                assert arrivals.is_open
                assert last_ns < intended_ns <= queue.clock.ns
                last_ns = intended_ns
            case "forget":
                gone += arrivals.forget()
            case "hold":
                arrivals.hold()
            case "release":
                arrivals.release()
            case "late":
                queue.clock.overshoot_seconds = 0.5
            case "wait":
                arrivals.wait(user)
            case "withdraw":
                arrivals.withdraw(user)
        assert arrivals.scheduled == gone + started + arrivals.backlog


# Users who share connections: each asks again when it has been served and has thought.


SECOND = 1_000_000_000


def test_new_users_ask_at_once() -> None:
    pool = UserPool()
    pool.set_users(3, 5)
    assert (pool.next_ns, pool.due(5, None), pool.due(9, None), pool.next_ns) == (5, [5, 5, 5], [], None)


def test_a_user_asks_again_after_it_has_thought() -> None:
    pool = UserPool()
    pool.set_users(1, 0)
    pool.due(0, None)
    pool.came_back(SECOND)
    assert (pool.due(SECOND - 1, None), pool.due(SECOND, None)) == ([], [SECOND])


def test_at_most_so_many_as_may_be_started_are_due() -> None:
    pool = UserPool()
    pool.set_users(5, 0)
    assert [len(pool.due(0, 2)), len(pool.due(0, 2)), len(pool.due(0, 0)), len(pool.due(0, None))] == [
        2,
        2,
        0,
        1,
    ]


def test_fewer_users_leave_first_those_who_think_then_those_who_are_served() -> None:
    pool = UserPool()
    pool.set_users(3, 0)
    assert len(pool.due(0, 2)) == 2
    pool.set_users(1, 0)
    assert (pool.next_ns, pool.leaving) == (None, 1)
    pool.came_back(7)
    assert (pool.next_ns, pool.leaving) == (None, 0)
    pool.came_back(8)
    assert pool.due(8, None) == [8]


def test_users_who_are_about_to_leave_may_stay() -> None:
    pool = UserPool()
    pool.set_users(2, 0)
    pool.due(0, None)
    pool.set_users(0, 0)
    assert pool.is_used
    pool.set_users(2, 1)
    assert (pool.leaving, pool.next_ns) == (0, None)


def test_held_users_are_not_due_before_the_release() -> None:
    pool = UserPool()
    pool.set_users(2, 0)
    pool.hold()
    assert (pool.next_ns, pool.due(SECOND, None)) == (None, [])
    pool.release(2 * SECOND)
    assert pool.due(2 * SECOND, None) == [2 * SECOND, 2 * SECOND]


@given(st.lists(st.tuples(st.sampled_from(["users", "due", "back"]), st.integers(0, 9)), max_size=60))
def test_every_user_is_somewhere(steps: list[tuple[str, int]]) -> None:
    """Those who think, those who were given out, and those who are to leave add up to the users."""
    pool, out = UserPool(), 0
    for now_ns, (what, number) in enumerate(steps):
        if what == "users":
            pool.set_users(number, now_ns)
        elif what == "due":
            out += len(pool.due(now_ns, number))
        elif out:
            out -= 1
            pool.came_back(now_ns)
        thinking = len(pool.due(10**9, None))
        for _ in range(thinking):
            pool.came_back(now_ns)
        if not pool.leaving:
            assert thinking + out == pool.users
        else:
            assert (out, thinking) == (pool.users + pool.leaving, 0)
