"""The client's statements against those that the server counted."""

import pytest

from tuibench.model.summary import Reconciliation
from tuibench.model.tick import Tick
from tuibench.observe.status import ServerObservation
from tuibench.session.reconciliation import Reading, counter_deltas, reconcile


def reading(questions: int, own: int = 0, uptime: int = 100, **counters: int) -> ServerObservation:
    return ServerObservation(
        tick=Tick(),
        counters={"Questions": questions, **counters},
        own_statements=own,
        uptime_seconds=uptime,
    )


CLIENT = Reconciliation(
    questions_client=1000, questions_server=None, own=0, foreign=None, commits_client=50, commits_server=None
)


@pytest.mark.parametrize(
    ("before", "after", "foreign"),
    [
        (reading(500, own=10), reading(1520, own=30), 0),
        (reading(500, own=10), reading(1620, own=30), 100),
        (reading(500, own=10), reading(1510, own=30), -10),
        (None, reading(1520), None),
        (reading(500), None, None),
        (reading(500, uptime=100), reading(1520, uptime=3), None),
        (reading(500), reading(400), None),
    ],
)
def test_what_is_left_over_was_sent_by_others(before: Reading, after: Reading, foreign: int | None) -> None:
    result = reconcile(CLIENT, before, after)
    assert (result.foreign, result.questions_client, result.commits_client) == (foreign, 1000, 50)
    assert (result.questions_server is None) == (foreign is None)


def test_incomplete_figures_are_not_taken_for_foreign_traffic() -> None:
    result = reconcile(CLIENT, reading(0), reading(5000), is_complete=False)
    assert (result.foreign, result.questions_server) == (None, 5000)


def test_commits_are_compared_too() -> None:
    result = reconcile(CLIENT, reading(0, Com_commit=7), reading(1000, Com_commit=57))
    assert (result.commits_client, result.commits_server) == (50, 50)
    assert reconcile(CLIENT, reading(0), reading(1000)).commits_server is None


def test_a_counter_that_was_not_there_before_has_no_delta() -> None:
    assert counter_deltas(reading(1, Com_commit=3), reading(5, Com_commit=9, Slow_queries=2)) == {
        "Questions": 4,
        "Com_commit": 6,
    }
