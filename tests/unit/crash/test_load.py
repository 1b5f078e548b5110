"""The ledger's statement in a program, and what a connection notes of its commits."""

from collections.abc import Generator
from typing import Any

import pytest

from tests.tables import for_each
from tuibench.crash.ledger import LEDGER_STATEMENT, Key, Ledger, observed, with_ledger
from tuibench.errors import ConnectionLostError, SQLError, UsageError
from tuibench.mysql.connection import ENCODING
from tuibench.mysql.packets import text_packet
from tuibench.workload import library
from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.program import Program, flat_statements

COMMIT = text_packet("COMMIT", ENCODING)
OTHER = text_packet("UPDATE sbtest1 SET k=k+1 WHERE id=5", ENCODING)
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


def played(requests: list[bytes], answers: list[Any]) -> tuple[Ledger, list[Any], list[Any]]:
    """What is noted of requests with these answers, an error among them; what was sent and came back."""
    ledger, back = Ledger(), list[Any]()

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
        ([OTHER, ROW, COMMIT], [1, 1, 0], {KEY: 100}, {KEY: 101}, set()),
        ([OTHER, ROW, COMMIT], [1, 1], {KEY: 100}, {}, set()),
        ([OTHER, ROW, COMMIT], [1, 1, LOST], {KEY: 100}, {}, set()),
        ([OTHER, ROW, COMMIT], [1, 1, REFUSED], {KEY: 100}, {}, {KEY}),
        ([OTHER, ROW], [1, LOST], {}, {}, set()),
        ([OTHER, COMMIT], [1, 0], {}, {}, set()),
        ([ROW, OTHER, COMMIT], [REFUSED, 0, 0], {}, {}, set()),
        ([ROW, COMMIT, OTHER, COMMIT], [1, 0, 1, 0], {KEY: 100}, {KEY: 101}, set()),
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
