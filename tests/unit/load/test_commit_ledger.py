"""The ledger of commits and the judgement of a crash: what is lost, unknown, unexplained; the recovery."""

import struct
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.base.errors import ConnectionLostError, RunError, SQLError, UsageError
from tuibench.load.commit_ledger import (
    LEDGER_STATEMENT,
    LEDGER_TABLE,
    MAGIC,
    CommitLedger,
    Key,
    first_after,
    judge_commits,
    logged_transactions,
    observed,
    rate_between,
    recovered_at,
    with_ledger,
)
from tuibench.model.findings import BinlogAgreement, CommitFates
from tuibench.mysql.connection import ENCODING
from tuibench.mysql.packets import text_packet
from tuibench.workload import library
from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.program import Program, flat_statements

SECOND = 1_000_000_000
CRASH, BACK = 10 * SECOND, 12 * SECOND
FIRST: Key = (0, 0, 1)


def ledger(
    *, sent: dict[Key, int], acknowledged: dict[Key, int], refused: set[Key] | None = None
) -> CommitLedger:
    found = CommitLedger()
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
    book = CommitLedger()
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
    whole, workers = CommitLedger(), (CommitLedger(), CommitLedger())
    for step in range(6):
        for number, worker in enumerate(workers):
            for book in (worker, whole):
                book.commit_sent((number, 0, step), 10 * step + number)
                if step % 3 == 1:
                    book.commit_refused((number, 0, step - 1))
                elif step:
                    book.commit_acknowledged((number, 0, step - 1), 10 * step + number)
    joined = CommitLedger()
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


GTID, MARIADB_GTID, QUERY, XID, TABLE_MAP, V1, V2 = 33, 162, 2, 16, 19, 23, 30
LEDGER, OTHER = b"\x07\x01\0\0\0\0", b"\x08\x01\0\0\0\0"
CHECKSUM = b"\xaa\xbb\xcc\xdd"


def event(kind: int, body: bytes = b"") -> bytes:
    length = 19 + len(body) + len(CHECKSUM)
    return struct.pack("<IBIIIH", 1, kind, 1, length, 0, 0) + body + CHECKSUM


def table_map(number: bytes = LEDGER, name: str = LEDGER_TABLE) -> bytes:
    names = b"".join(bytes([len(each)]) + each + b"\0" for each in (b"sbtest", name.encode()))
    return event(TABLE_MAP, number + b"\x01\0" + names + b"\x03\x03\x03\x08\0\0")


def row(kind: int, *key: int, number: bytes = LEDGER) -> bytes:
    extra = b"\x02\0" if kind == V2 else b""
    return event(kind, number + b"\x01\0" + extra + b"\x03\xff\xf8" + struct.pack("<IIQ", *key))


def statement(*key: int) -> bytes:
    text = f"INSERT INTO {LEDGER_TABLE} VALUES ({', '.join(map(str, key))})"
    return event(QUERY, b"\0" * 13 + b"sbtest\0" + text.encode())


BIG = 2**40 + 5


@for_each(
    ("events", "expected"),
    [
        ([], set()),
        ([event(GTID), table_map(), row(V2, 3, 1, BIG), event(XID)], {(3, 1, BIG)}),
        ([event(MARIADB_GTID), table_map(), row(V1, 3, 1, 7), event(XID)], {(3, 1, 7)}),
        ([event(MARIADB_GTID), statement(0, 0, 7), event(XID)], {(0, 0, 7)}),
        ([event(GTID), table_map(), row(V2, 3, 1, 7)], set()),
        ([event(GTID), table_map(), row(V2, 3, 1, 7), event(GTID), event(XID)], set()),
        ([event(GTID), table_map(OTHER, "sbtest1"), row(V2, 3, 1, 7, number=OTHER), event(XID)], set()),
        (
            [
                *(event(GTID), table_map(), row(V2, 1, 0, 1), event(XID)),
                *(event(GTID), table_map(), row(V2, 2, 0, 1), event(XID)),
            ],
            {(1, 0, 1), (2, 0, 1)},
        ),
    ],
)
def test_what_is_logged(events: list[bytes], expected: set[tuple[int, int, int]]) -> None:
    assert logged_transactions([MAGIC + b"".join(events)]) == expected


def test_every_file_counts_and_a_transaction_ends_with_its_file() -> None:
    first = MAGIC + event(GTID) + table_map() + row(V2, 1, 0, 1) + event(XID) + event(GTID)
    begun = table_map() + row(V2, 1, 0, 2)
    assert logged_transactions([first + begun, MAGIC + event(XID)]) == {(1, 0, 1)}


def test_a_file_may_end_anywhere() -> None:
    """The transactions before the end count: one more with its last byte."""
    whole = MAGIC + b"".join(
        event(GTID) + table_map() + row(V2, 1, 0, number) + event(XID) for number in range(3)
    )
    found = [len(logged_transactions([whole[:end]])) for end in range(len(MAGIC), len(whole) + 1)]
    assert found == sorted(found)
    assert (found[0], found[-2], found[-1]) == (0, 2, 3)


def test_a_length_that_is_none_ends_the_file() -> None:
    data = MAGIC + struct.pack("<IBIIIH", 1, XID, 1, 0, 0, 0) + bytes(100)
    assert logged_transactions([data]) == set()


@for_each(
    ("data", "words"),
    [
        (b"\xfdbin" + bytes(50), "encrypted"),
        (MAGIC + event(164), "encrypted"),
        (MAGIC + event(40), "compressed"),
        (MAGIC + event(166), "compressed"),
    ],
)
def test_what_cannot_be_read_is_said(data: bytes, words: str) -> None:
    with pytest.raises(RunError, match=words):
        logged_transactions([data])


COMMIT = text_packet("COMMIT", ENCODING)
UPDATE = text_packet("UPDATE sbtest1 SET k=k+1 WHERE id=5", ENCODING)
KEY: Key = (3, 1, 17)
ROW = text_packet("INSERT INTO tuibench_ledger VALUES (3, 1, 17)", ENCODING)


def calls(program: Program, connection: int, transactions: int) -> list[list[tuple[str, tuple[Any, ...]]]]:
    """The SQL and the values of the first transactions of a connection."""
    flat = flat_statements(program)
    generator = TransactionGenerator(program, 5, connection)
    return [
        [(flat[index].sql, tuple(values)) for index, values in generator.calls[generator.draw()]()]
        for _ in range(transactions)
    ]


@for_each("profile", ["oltp_write_only", "oltp_update_index", "oltp_insert", "oltp_delete"])
def test_the_row_is_written_directly_before_the_commit(profile: str) -> None:
    """A single statement becomes a transaction of its own."""
    program = with_ledger(library.load_program(profile))
    for number, each in enumerate(calls(program, 3, 5), start=1):
        sql = [text for text, _ in each]
        assert sql[0] == "START TRANSACTION"
        assert sql[-2:] == ["INSERT INTO tuibench_ledger VALUES (?, 0, ?)", "COMMIT"]
        assert each[-2][1] == (3, number)
    assert all(transaction.explicit for transaction in program.transactions)


def test_the_statements_of_the_profile_stay_the_same() -> None:
    plain, recorded = library.load_program("tpcc"), with_ledger(library.load_program("tpcc"))
    names = [each.name for each in flat_statements(plain)]
    added = [each.name for each in flat_statements(recorded) if each.name not in names]
    assert set(added) == {LEDGER_STATEMENT}
    assert [each.weight for each in plain.transactions] == [each.weight for each in recorded.transactions]


def test_transactions_that_only_read_write_no_row() -> None:
    """TPC-C's order status and stock level. Kinds have rows of their own: each counts by itself."""
    plain, recorded = library.load_program("tpcc"), with_ledger(library.load_program("tpcc"))
    reading = {each.name for each in plain.transactions if not each.writes}
    same = {
        each.name
        for each, other in zip(plain.transactions, recorded.transactions, strict=True)
        if each == other
    }
    assert reading == same == {"order_status", "stock_level"}
    sql = {each.sql for each in flat_statements(recorded) if each.name == LEDGER_STATEMENT}
    assert len(sql) == len(plain.transactions) - len(reading)


def test_a_profile_that_only_reads_is_refused() -> None:
    with pytest.raises(UsageError, match="writes nothing"):
        with_ledger(library.load_program("oltp_read_only"))


def played(requests: list[bytes], answers: list[Any]) -> tuple[CommitLedger, list[Any], list[Any]]:
    """What is noted of requests with these answers, an error among them; what was sent and came back."""
    ledger, back = CommitLedger(), list[Any]()

    def script() -> Generator[Any, Any, None]:
        for request in requests:
            try:
                back.append((yield request))
            except SQLError as error:
                back.append(error)

    clock = iter(range(100, 200))
    loop = observed(script(), ledger, lambda: next(clock))
    sent = [next(loop)]
    for answer in answers:
        try:
            sent.append(loop.throw(answer) if isinstance(answer, Exception) else loop.send(answer))
        except StopIteration:
            break
    return ledger, sent, back


REFUSED, LOST = SQLError(1180, "error during commit"), ConnectionLostError(2013, "connection lost")


@for_each(
    ("requests", "answers", "sent", "acknowledged", "refused"),
    [
        ([UPDATE, ROW, COMMIT], [1, 1, 0], {KEY: 100}, {KEY: 101}, set()),
        ([UPDATE, ROW, COMMIT], [1, 1], {KEY: 100}, {}, set()),
        ([UPDATE, ROW, COMMIT], [1, 1, LOST], {KEY: 100}, {}, set()),
        ([UPDATE, ROW, COMMIT], [1, 1, REFUSED], {KEY: 100}, {}, {KEY}),
        ([UPDATE, ROW], [1, LOST], {}, {}, set()),
        ([UPDATE, COMMIT], [1, 0], {}, {}, set()),
        ([ROW, UPDATE, COMMIT], [REFUSED, 0, 0], {}, {}, set()),
        ([ROW, COMMIT, UPDATE, COMMIT], [1, 0, 1, 0], {KEY: 100}, {KEY: 101}, set()),
    ],
)
def test_what_is_noted_of_a_commit(
    requests: list[bytes],
    answers: list[Any],
    sent: dict[Key, int],
    acknowledged: dict[Key, int],
    refused: set[Key],
) -> None:
    ledger, passed, back = played(requests, answers)
    assert (ledger.sent, ledger.acknowledged, ledger.refused) == (sent, acknowledged, refused)
    assert passed == requests
    assert back == answers
