"""The judgement of a crash: commits that are lost, unknown or unexplained, and the recovery."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.crash.ledger import (
    Key,
    Ledger,
    first_after,
    judge_commits,
    rate_between,
    recovered_at,
)
from tuibench.model.findings import BinlogAgreement, CommitFates

SECOND = 1_000_000_000
CRASH, BACK = 10 * SECOND, 12 * SECOND
FIRST: Key = (0, 0, 1)


def ledger(*, sent: dict[Key, int], acknowledged: dict[Key, int], refused: set[Key] | None = None) -> Ledger:
    found = Ledger()
    for key, at_ns in sent.items():
        found.commit_sent(key, at_ns)
    for key, at_ns in acknowledged.items():
        found.commit_acknowledged(key, at_ns)
    for key in refused or ():
        found.commit_refused(key)
    return found


def fates(**changes: float) -> CommitFates:
    none = {"acknowledged": 0, "lost": 0, "lost_seconds": 0.0, "unknown": 0, "unknown_committed": 0}
    return CommitFates(**{**none, "unexplained": 0, **changes})  # type: ignore[arg-type]


@for_each(
    ("sent", "acknowledged", "refused", "present", "expected"),
    [
        ({}, {}, set(), [], fates()),
        ({FIRST: 1}, {FIRST: 2}, set(), [FIRST], fates(acknowledged=1)),
        (
            {FIRST: 7 * SECOND, (1, 0, 1): 9 * SECOND},
            {FIRST: 7 * SECOND, (1, 0, 1): 9 * SECOND + SECOND // 2},
            set(),
            [FIRST],
            fates(acknowledged=2, lost=1, lost_seconds=0.5),
        ),
        ({FIRST: 9 * SECOND}, {}, set(), [], fates(unknown=1)),
        ({FIRST: 9 * SECOND}, {}, set(), [FIRST], fates(unknown=1, unknown_committed=1)),
        ({FIRST: CRASH + 1}, {}, set(), [], fates(unknown=1)),
        ({FIRST: 9 * SECOND}, {}, {FIRST}, [], fates()),
        ({FIRST: 9 * SECOND}, {}, {FIRST}, [FIRST], fates(unexplained=1)),
        ({}, {}, set(), [FIRST], fates(unexplained=1)),
    ],
)
def test_the_fates_of_commits(
    sent: dict[Key, int],
    acknowledged: dict[Key, int],
    refused: set[Key],
    present: list[Key],
    expected: CommitFates,
) -> None:
    known = ledger(sent=sent, acknowledged=acknowledged, refused=refused)
    assert judge_commits(known, present, CRASH, BACK) == expected


def test_what_the_end_of_the_load_leaves_without_an_answer_is_not_of_the_crash() -> None:
    known = ledger(sent={FIRST: BACK + 1}, acknowledged={})
    assert judge_commits(known, [FIRST], CRASH, BACK) == fates()


def test_an_acknowledged_commit_of_after_the_restart_counts_as_lost_without_seconds() -> None:
    known = ledger(sent={FIRST: BACK + 1}, acknowledged={FIRST: BACK + 2})
    assert judge_commits(known, [], CRASH, BACK) == fates(acknowledged=1, lost=1)


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 40)),
        st.tuples(st.booleans(), st.booleans(), st.integers(0, CRASH)),
    )
)
def test_every_transaction_has_one_fate(known: dict[Key, tuple[bool, bool, int]]) -> None:
    """Present ones are kept, of unknown fate, or unexplained; absent ones lost or of unknown fate."""
    book = Ledger()
    for key, (is_answered, _, at_ns) in known.items():
        book.commit_sent(key, at_ns)
        if is_answered:
            book.commit_acknowledged(key, at_ns)
    present = {key for key, (_, is_there, _) in known.items() if is_there}
    found = judge_commits(book, present, CRASH, BACK)
    kept = found.acknowledged - found.lost
    assert kept + found.unknown_committed + found.unexplained == len(present)
    assert found.acknowledged + found.unknown == len(known)


def test_the_notes_of_workers_make_one_ledger() -> None:
    """Sent in one report and answered in a later one, out of order between workers."""
    whole, workers = Ledger(), (Ledger(), Ledger())
    for step in range(6):
        for number, worker in enumerate(workers):
            for book in (worker, whole):
                book.commit_sent((number, 0, step), 10 * step + number)
                if step % 3 == 1:
                    book.commit_refused((number, 0, step - 1))
                elif step:
                    book.commit_acknowledged((number, 0, step - 1), 10 * step + number)
    joined = Ledger()
    for worker in workers:
        joined.add(worker.take())
        worker.commit_acknowledged((9, 9, 9), 99)
        joined.add(worker.take())
    whole.commit_acknowledged((9, 9, 9), 99)
    assert (joined.sent, joined.acknowledged, joined.refused) == (
        whole.sent,
        whole.acknowledged,
        whole.refused,
    )


def test_binary_log_and_tables_are_compared_by_transaction() -> None:
    """Equal numbers of different transactions do not agree."""
    assert BinlogAgreement.of({FIRST, (1, 0, 1)}, {FIRST, (2, 0, 1)}) == BinlogAgreement(
        only_in_binlog=1, only_in_tables=1
    )


def test_a_rate_is_that_of_its_interval_only() -> None:
    times = [0, SECOND, SECOND + 1, 3 * SECOND, 4 * SECOND]
    assert rate_between(times, SECOND, 4 * SECOND) == pytest.approx(1.0)


def test_the_first_commit_is_the_first_one_after_the_restart() -> None:
    assert first_after([1, 5, 9], 5) == 5
    assert first_after([1, 5, 9], 10) is None


def test_a_server_is_back_at_the_first_second_with_nine_tenths_of_its_rate() -> None:
    """10 per second before: 8 in a second are too few, 9 are enough."""
    slow = [BACK + place * SECOND // 8 for place in range(16)]
    fast = [slow[-1] + place * SECOND // 10 for place in range(1, 20)]
    assert recovered_at(slow, BACK, 10) is None
    assert recovered_at([*slow, *fast], BACK, 10) == slow[-8]
    assert recovered_at([BACK - 1, *slow], BACK, 1) == BACK
