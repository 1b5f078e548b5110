"""Users who share connections: each asks again when it has been served and has thought."""

from hypothesis import given
from hypothesis import strategies as st

from tuibench.load.pacing.user_pool import UserPool

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
