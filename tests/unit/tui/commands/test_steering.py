"""Held keys do not flood: one thread change on its way, and one command of a kind."""

from hypothesis import given
from hypothesis import strategies as st

from tuibench.model.command import Mark, Pause, SetRate, SetThreads
from tuibench.model.schedule import MAX_THREADS
from tuibench.tui.commands.steering import PendingCommands, ThreadControl


def one_more(threads: int) -> int:
    return threads + 1


def press(steering: ThreadControl, wanted: int, current: int) -> SetThreads | None:
    return steering.press(lambda _: wanted, current)


def test_the_first_press_is_sent_at_once() -> None:
    assert ThreadControl().press(one_more, 8) == SetThreads(9)


def test_presses_on_the_way_add_up_to_one_following_change() -> None:
    steering = ThreadControl()
    steering.press(one_more, 8)
    assert [steering.press(one_more, 8) for _ in range(5)] == [None] * 5
    assert steering.answered(ok=True) == SetThreads(14)
    assert steering.answered(ok=True) is None


def test_a_refusal_forgets_what_was_pressed_on_top() -> None:
    steering = ThreadControl()
    steering.press(one_more, 8)
    steering.press(one_more, 8)
    assert steering.answered(ok=False) is None
    assert steering.press(one_more, 8) == SetThreads(9)


def test_a_press_between_answer_and_status_counts_from_what_was_answered() -> None:
    steering = ThreadControl()
    steering.press(one_more, 8)
    steering.answered(ok=True)
    assert steering.press(one_more, 8) == SetThreads(10)


def test_after_a_status_the_session_is_right() -> None:
    steering = ThreadControl()
    steering.press(one_more, 8)
    steering.answered(ok=True)
    steering.on_status()
    assert steering.press(one_more, 5) == SetThreads(6)


def test_nothing_is_sent_that_changes_nothing() -> None:
    assert ThreadControl().press(lambda threads: threads // 2, 1) is None


@given(st.lists(st.integers(-10, MAX_THREADS * 2), min_size=1, max_size=8), st.integers(1, 500))
def test_what_is_sent_is_always_a_possible_number(wanted: list[int], current: int) -> None:
    steering = ThreadControl()
    sent = [press(steering, number, current) for number in wanted]
    sent.append(steering.answered(ok=True))
    assert all(1 <= command.threads <= MAX_THREADS for command in sent if command)


def test_one_command_of_a_kind_waits() -> None:
    outstanding = PendingCommands()
    assert outstanding.add(Mark())
    assert not outstanding.add(Mark())
    assert outstanding.add(Pause())
    assert outstanding.done(Mark()) is None
    assert outstanding.add(Mark())


def test_a_command_with_other_values_follows_the_one_of_its_kind() -> None:
    outstanding = PendingCommands()
    assert outstanding.add(SetRate(1))
    assert not outstanding.add(SetRate(2))
    assert not outstanding.add(SetRate(2))
    assert not outstanding.add(SetRate(1))
    assert outstanding.done(SetRate(1)) == SetRate(2)
    assert outstanding.done(SetRate(2)) == SetRate(1)
    assert outstanding.done(SetRate(1)) is None


def test_a_load_in_reserve_may_be_taken_away_to_the_last_thread() -> None:
    assert ThreadControl(0).press(lambda n: n - 1, 1) == SetThreads(0)
    assert ThreadControl().press(lambda n: n - 1, 1) is None
