"""Query logs: statements, connections, times, transactions."""

import io
import json
import re
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from typing import TextIO, cast
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.workload.player import Player, nothing
from tuibench.workload import library, query_log, templates, traffic
from tuibench.workload.query_log import (
    DAMAGED,
    INTERNAL,
    MAX_STATEMENT,
    MAX_TRANSACTION,
    ROLLED_BACK,
    TOO_LONG,
    UNFINISHED,
    LoggedStatement,
    QueryLog,
    TransactionGrouper,
    unknown_format,
)
from tuibench.workload.traffic import TrafficMix, profile_text


def logged(text: str, log: QueryLog | None = None) -> list[LoggedStatement]:
    """The statements of a log."""
    return list((log or QueryLog()).statements(io.StringIO(text, newline="\n"), text[:60_000]))


MARIADB = """\
/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 250101 12:00:00
# User@Host: shop[shop] @ localhost []
# Thread_id: 8  Schema: shop  QC_hit: No
# Query_time: 0.000162  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
# Rows_affected: 0  Bytes_sent: 52
use shop;
SET timestamp=1735732800;
BEGIN;
# User@Host: shop[shop] @ localhost []
# Thread_id: 9  Schema: shop  QC_hit: No
# Query_time: 0.000162  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1
SET timestamp=1735732800;
SELECT name
  FROM customer
 WHERE id = 3;
# User@Host: shop[shop] @ localhost []
# Thread_id: 8  Schema: shop  QC_hit: No
# Query_time: 0.000162  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
SET timestamp=1735732801;
UPDATE customer SET n = n + 1 WHERE id = 7;
# User@Host: shop[shop] @ localhost []
# Thread_id: 8  Schema: shop  QC_hit: No
# Query_time: 0.000162  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
SET timestamp=1735732801;
COMMIT;
"""

MYSQL = """\
/usr/sbin/mysqld, Version: 8.4.0 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock
Time                 Id Command    Argument
# Time: 2025-01-01T12:00:00.123456Z
# User@Host: shop[shop] @ localhost []  Id:    12
# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1735732800;
SELECT name FROM customer WHERE id = 3;
# Time: 2025-01-01T12:00:01.123456Z
# User@Host: shop[shop] @ localhost []  Id:    12
# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 0
SET timestamp=1735732801;
# administrator command: Quit;
"""


def test_mariadbs_log() -> None:
    found = logged(MARIADB)
    assert [(each.connection, each.sql) for each in found] == [
        (8, "BEGIN"),
        (9, "SELECT name\n  FROM customer\n WHERE id = 3"),
        (8, "UPDATE customer SET n = n + 1 WHERE id = 7"),
        (8, "COMMIT"),
    ]
    assert {each.database for each in found} == {"shop"}
    assert [each.at for each in found] == [1735732800, 1735732800, 1735732801, 1735732801]


def test_mysqls_log() -> None:
    assert logged(MYSQL) == [
        LoggedStatement(12, 1735732800, "shop", "SELECT name FROM customer WHERE id = 3"),
        LoggedStatement(12, 1735732801, "shop", ""),
    ]


def test_what_is_no_slow_log_has_no_statements() -> None:
    assert logged("SELECT 1;\nhello\n\n") == []


def grouped(*pairs: tuple[int, str]) -> tuple[list[tuple[list[str], bool]], Counter[str]]:
    """The transactions of statements of connections, and what is lost at the end."""
    grouper = TransactionGrouper()
    done = [grouper.add(LoggedStatement(connection, None, "", sql)) for connection, sql in pairs]
    grouper.close()
    return [([each.sql for each in made.statements], made.is_explicit) for made in done if made], grouper.lost


def test_transactions_of_connections_that_take_turns() -> None:
    done, lost = grouped(
        (1, "BEGIN"),
        (2, "start transaction read only"),
        (1, "UPDATE a SET x = 1"),
        (3, "SELECT 3"),
        (2, "SELECT 2"),
        (1, "UPDATE b SET x = 1"),
        (2, "ROLLBACK"),
        (1, "commit"),
        (1, "COMMIT"),
    )
    assert done == [(["SELECT 3"], False), (["UPDATE a SET x = 1", "UPDATE b SET x = 1"], True)]
    assert lost == {ROLLED_BACK: 1}


@pytest.mark.parametrize(
    ("texts", "done"),
    [
        (("/* app=x */ BEGIN", "A", "B", "COMMIT /* done */"), [(["A", "B"], True)]),
        (("-- a comment\nSTART TRANSACTION", "A", "/*a*/COMMIT WORK"), [(["A"], True)]),
        (("SET autocommit=0", "A", "B", "COMMIT", "C", "COMMIT"), [(["A", "B"], True), (["C"], True)]),
        (("SET NAMES utf8, @@session.autocommit = OFF", "A", "commit"), [(["A"], True)]),
        (("SET AUTOCOMMIT=0", "A", "SET autocommit = 1", "B"), [(["A"], True), (["B"], False)]),
        (("SET autocommit=1", "A"), [(["A"], False)]),
        (("BEGIN", "A", "BEGIN", "B", "COMMIT"), [(["A"], True), (["B"], True)]),
        (("BEGIN", "A", "COMMIT AND CHAIN", "B", "COMMIT"), [(["A"], True), (["B"], True)]),
        (("BEGIN", "A", "SAVEPOINT s", "ROLLBACK TO SAVEPOINT s", "B", "COMMIT"), [
            (["A", "SAVEPOINT s", "ROLLBACK TO SAVEPOINT s", "B"], True)
        ]),
        (("BEGIN", "A", "CREATE TABLE t (a INT)", "B", "COMMIT"), [(["A"], True), (["B"], False)]),
        (("BEGIN", "A", "CREATE TEMPORARY TABLE t (a INT)", "COMMIT"), [
            (["A", "CREATE TEMPORARY TABLE t (a INT)"], True)
        ]),
        (("XA START 'x'", "A", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'"), [
            (["A", "XA END 'x'", "XA PREPARE 'x'"], True)
        ]),
        (("BEGIN", "A", ""), []),
        (("BEGIN", "A"), []),
        (("BEGIN", *["A"] * (MAX_TRANSACTION + 1), "COMMIT"), []),
        (("SELECT a FROM begin_of",), [(["SELECT a FROM begin_of"], False)]),
    ],
)  # fmt: skip
def test_what_makes_a_transaction(texts: tuple[str, ...], done: list[object]) -> None:
    found, lost = grouped(*((7, text) for text in texts))
    assert found == done
    assert bool(lost) == (not done or "CREATE TABLE t (a INT)" in texts)


def entry(sql: str, header: str = "", number: int = 0) -> str:
    return (
        f"# Time: 2026-10-09T08:53:{number % 60:02}.000000Z\n"
        f"# User@Host: shop[shop] @ app1 [10.0.0.7]  Id:    31\n{header}"
        f"# Query_time: 0.000100  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 10\n"
        f"SET timestamp={1760000000 + number};\n{sql};\n"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO notes VALUES ('see:\n# Time: 1\n# User@Host: x\nend')",
        "SELECT 1 /* a comment\n# Time: 2 */",
        "SELECT 'a\\\\', 'it''s\n# User@Host: y[z]', \"x\"",
        "SELECT a\n\n-- it's a comment\nFROM t\nWHERE b = 1",
        "SELECT 'C:\\'",
        "SELECT 'use shop;\nSET timestamp=1;\n'",
    ],
)
def test_a_statement_is_whole(sql: str) -> None:
    assert [each.sql for each in logged(entry(sql) + entry("SELECT 2"))] == [sql, "SELECT 2"]


def test_a_statement_without_an_end_of_its_quotes_is_one_loss() -> None:
    log = QueryLog()
    rest = "".join(entry(f"SELECT {number}") for number in range(1000))
    found = logged(entry("SELECT 1") + entry("SELECT 'abc") + rest, log)
    assert [each.sql for each in found] == ["SELECT 1", *(f"SELECT {number}" for number in range(1000))]
    assert (log.lost, log.seen) == ({DAMAGED: 1}, 1002)


def test_a_statement_that_is_too_long_is_one_loss() -> None:
    log = QueryLog()
    text = entry(f"SELECT '{'x' * MAX_STATEMENT}'") + entry("SELECT 2")
    found = list(log.statements(io.StringIO(text), text[:500]))
    assert [each.sql for each in found] == ["SELECT 2"]
    assert log.lost == {TOO_LONG: 1}


def test_long_lines_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "PIECE", 120)
    long = f"SELECT '{'x' * 250}# Time: x{'y' * 200}'"
    text = entry(long, number=5) + entry("SELECT 2", number=6)
    stream = io.StringIO(text)
    found = list(QueryLog().statements(stream, text, block=120))
    assert [each.sql for each in found] == [long, "SELECT 2"]


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-10-09T08:53:20.000000000Z stdout F ",
        "mysql_1  | ",
        "db-1 | 2026-10-09T08:53:20.123456789Z ",
        "2026-10-09T08:53:20.123456789Z ",
        "[pod/mysql-0/mysql] ",
        "[pod/mysql-0/mysql] 2026-10-09T08:53:20.123456789Z stderr F ",
        "Oct  9 08:53:20 host mysqld[123]: ",
        "2026-10-09T08:53:20+02:00 host mariadbd[123]: ",
    ],
)
def test_prefixes_of_containers(prefix: str) -> None:
    text = entry("SELECT name\n  FROM t\n WHERE id = 3", number=4)
    prefixed = "".join(f"{prefix}{line}\n" for line in text.splitlines())
    assert logged(prefixed) == logged(text)


def test_dockers_files() -> None:
    text = entry("SELECT name\n  FROM t\n WHERE id = 'é\"'", number=4)
    lines = (json.dumps({"log": line, "stream": "stderr"}) for line in text.splitlines(keepends=True))
    assert logged("".join(f"{line}\n" for line in lines)) == logged(text)


def test_the_sampling_of_percona_server() -> None:
    header = "# Schema: shop  Last_errno: 0\n# Log_slow_rate_type: query  Log_slow_rate_limit: 100\n"
    (first, second) = logged(entry("SELECT 1", header) + entry("SELECT 2"))
    assert (first.times, first.database) == (100, "shop")
    assert second.times == 1


def test_a_schema_that_is_empty() -> None:
    found = logged(
        entry("SELECT 1", "# Thread_id: 8  Schema: shop  QC_hit: No\n")
        + entry("SELECT 2", "# Thread_id: 9  Schema:   QC_hit: No\n")
    )
    assert [(each.connection, each.database) for each in found] == [(8, "shop"), (9, "")]


@pytest.mark.parametrize(
    "words",
    [
        "SET timestamp=17;",
        "SET insert_id=5,timestamp=17;",
        "SET last_insert_id=5, insert_id=9, timestamp=17.000123;",
        "set  timestamp = 17 ;",
    ],
)
def test_what_is_set_before_a_statement(words: str) -> None:
    text = entry("INSERT INTO t VALUES (1)").replace("SET timestamp=1760000000;", words)
    assert [(each.at, each.sql) for each in logged(text)] == [(17, "INSERT INTO t VALUES (1)")]


TIDB = """\
# Time: 2019-08-14T09:26:59.487776265+08:00
# Txn_start_ts: 410450924122144769
# User@Host: root[root] @ localhost [127.0.0.1]
# Conn_ID: 3086
# Query_time: 1.527627037
# DB: test
# Is_internal: {internal}
# Plan: tidb_decode_plan('AA==')
use test;
select * from t where a = ? and b = ? [arguments: (17, "it's")];
"""


def test_tidbs_log() -> None:
    (found,) = logged(TIDB.format(internal="false"))
    assert (found.connection, found.database, found.at) == (3086, "test", 1565774819)
    assert found.sql == 'select * from t where a = 17 and b = "it\'s"'
    log = QueryLog()
    assert logged(TIDB.format(internal="true"), log) == []
    assert log.lost == {INTERNAL: 1}


GENERAL = """\
/usr/sbin/mysqld, Version: 8.0.40 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time                 Id Command    Argument
2026-10-09T08:53:20.000001Z\t   71 Connect\tshop@app on shop using Socket
2026-10-09T08:53:20.000002Z\t   71 Query\tSELECT 'a
2026-10-09T08:53:20.000002Z\t   71 Query\tb'
2026-10-09T08:53:21.000003Z\t   71 Prepare\tSELECT id FROM t WHERE id=?
2026-10-09T08:53:21.000004Z\t   71 Execute\tSELECT id FROM t WHERE id=5
2026-10-09T08:53:21.000005Z\t   72 Init DB\tother
2026-10-09T08:53:22.000006Z\t   72 Query\tSELECT 1
2026-10-09T08:53:22.000007Z\t   71 Query\tuse `od``d`
2026-10-09T08:53:22.000008Z\t   71 Query\tBEGIN
2026-10-09T08:53:23.000009Z\t   71 Quit\t
"""
OLD_GENERAL = """\
Time\t\t    Id Command\tArgument
260412  9:15:01\t     8 Connect\troot@localhost on shop
\t\t     8 Query\tSELECT 1
260412  9:15:02\t     8 Query\tSELECT 2
  FROM t
\t\t     8 Quit\t
"""


def test_general_logs() -> None:
    found = logged(GENERAL)
    assert [(each.connection, each.database, each.sql) for each in found] == [
        (71, "shop", "SELECT 'a\n2026-10-09T08:53:20.000002Z\t   71 Query\tb'"),
        (71, "shop", "SELECT id FROM t WHERE id=5"),
        (72, "other", "SELECT 1"),
        (71, "od`d", "BEGIN"),
        (71, "", ""),
    ]
    assert [each.at - found[0].at for each in found if each.at and found[0].at] == [0, 1, 2, 2, 3]
    assert [(each.database, each.sql) for each in logged(OLD_GENERAL)] == [
        ("shop", "SELECT 1"),
        ("shop", "SELECT 2\n  FROM t"),
        ("", ""),
    ]


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (
            "# 210ms user time, 10ms system time, 30.00M rss\n# Overall: 6 total, 1 unique, 0.50 QPS\n",
            "pt-query-digest",
        ),
        ("Reading mysql slow query log from x\nCount: 1  Time=0.00s (0s)  Lock=0.00s\n", "mysqldumpslow"),
        ("/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\n# at 4\n", "binary log"),
        ("2026-10-09T08:53:20.000000Z 0 [Note] ready\n", "error log"),
        ('{"audit": 1}\n', "JSON"),
        ("hello\n", "no statements"),
        ("", "no statements"),
    ],
)
def test_other_formats_are_named(head: str, what: str) -> None:
    assert logged(head) == []
    assert what in str(unknown_format("x.log", head))


def test_open_transactions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "MAX_OPEN_TEXT", 3000)
    grouper = TransactionGrouper()
    for connection in range(10):
        for sql in ("BEGIN", f"SELECT '{'x' * 900}'"):
            assert grouper.add(LoggedStatement(connection, None, "", sql)) is None
    assert grouper.lost == {UNFINISHED: 7}
    done = [grouper.add(LoggedStatement(connection, None, "", "COMMIT")) for connection in range(10)]
    assert [each is not None for each in done] == [False] * 7 + [True] * 3
    for _ in range(4):
        grouper.add(LoggedStatement(1, None, "", "BEGIN"))
        grouper.add(LoggedStatement(1, None, "", f"SELECT '{'x' * 900}'"))
    grouper.close()
    assert grouper.lost == {UNFINISHED: 8}


class GeneratedLog(io.TextIOBase):
    """A log of this many transactions of several connections, made while it is read. Values differ, and so do
    kinds of transactions and lengths of lists.
    """

    def __init__(self, transactions: int) -> None:
        self._entries = self._made(transactions)
        self._text = ""

    def read(self, size: int | None = -1, /) -> str:
        while size is not None and len(self._text) < size and (more := next(self._entries, "")):
            self._text += more
        found, self._text = self._text[:size], self._text[size:]
        return found

    @staticmethod
    def _made(transactions: int) -> Iterator[str]:
        for number in range(transactions):
            items = ", ".join(f"'sku-{number + each}'" for each in range(number % 20 + 2))
            for sql in (
                "BEGIN",
                f"SELECT c{number % 3} FROM t WHERE id = {number} AND name = 'it\\'s {number:060}'",
                f"/* request {number} */ UPDATE t SET n = n + 1 WHERE sku IN ({items})",
                f"INSERT INTO notes VALUES ({number}, '{'x' * (number % 600)}')",
                "COMMIT",
            ):
                yield entry(sql, number=number)


def mix_of(log: QueryLog, transactions: int) -> TrafficMix:
    grouper, mix = TransactionGrouper(), TrafficMix()
    for statement in log.statements(
        cast(TextIO, GeneratedLog(transactions)), entry("BEGIN"), query_log.BLOCK
    ):
        if (done := grouper.add(statement)) is not None:
            mix.add([each.sql for each in done.statements], explicit=done.is_explicit)
    return mix


def test_memory_does_not_grow_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "MAX_KEPT", 1500)
    monkeypatch.setattr(query_log, "BLOCK", 20_000)
    peaks = []
    tracemalloc.start()
    try:
        for transactions in (150, 150, 900):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            assert mix_of(QueryLog(), transactions).transactions == transactions
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    _, short, long = peaks
    assert long < 1.4 * short


def test_the_work_for_a_statement_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read by neither lines nor tokens, and its values are not converted until a model needs them."""
    done: Counter[str] = Counter()

    def counted(owner: object, name: str) -> None:
        work = getattr(owner, name)

        def count(*arguments: object) -> object:
            done[name] += 1
            return work(*arguments)

        monkeypatch.setattr(owner, name, count)

    counted(query_log._Cutter, "feed")
    counted(templates, "_read")
    counted(templates.Observed, "_value")
    log = QueryLog()
    mix = mix_of(log, 300)
    assert (log.seen, mix.transactions) == (1500, 300)
    most_of_a_block = 10
    assert done["feed"] < 3 * most_of_a_block
    assert done["_read"] == 3 + 20 + 1
    assert not done["_value"]
    (kind, *_) = mix.kinds(1)
    assert len(kind.statements) == 3
    assert done["_value"]


# Any bytes, and logs with damage anywhere, are read without an error, and make a profile that compiles.

SAMPLES = (
    MARIADB,
    MYSQL,
    GENERAL,
    OLD_GENERAL,
    TIDB,
    entry("SELECT 'a\nb', x'00', {d '2026-01-01'} -- c\n FROM `t`"),
)
FRAGMENTS = st.sampled_from(
    (
        "'", '"', "`", "\\", "/*", "*/", "--", "#", "\n", "\r\n", ";", "(", ")", ",", "?", "{", "}", "\0",
        "# Time: 1\n", "# User@Host: a\n", "SELECT ", " GROUP BY ", "IN (1,2)", "VALUES (1),(2)",
        "NAME_CONST('a',", "{d ",
        "_binary'x'", "x'", "-", "1e9999", "\u2028", "é", "BEGIN", "COMMIT", "SET autocommit=0", "use x;",
        " [arguments: (1)]",
        "WITH a AS (", "DATE '", "CAST(", "OVER (", "{table}", "{list1}", "SET STATEMENT a=1 FOR ",
        "\x85", "\x1c", "9" * 40,
    )
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = "".join(draw(st.lists(st.sampled_from(SAMPLES), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 8))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 30)))
        text = text[:begin] + draw(FRAGMENTS | st.text(max_size=5)) + text[end:]
    return text


@given(damaged() | st.text())
@example('# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\n/* only a "comment" */;\n')
@settings(deadline=None)
def test_damaged_logs(text: str) -> None:
    check_log(text)


@given(damaged(), st.integers(1, 2000))
@example(MARIADB + MYSQL + entry("SELECT 'a' -- b"), 100_000)
@settings(deadline=None)
def test_plain_entries_are_those_that_are_read_line_by_line(text: str, block: int) -> None:
    """Whatever the size of the blocks, and what is counted as lost."""
    whole, lines = QueryLog(), QueryLog()
    found = list(whole.statements(io.StringIO(text, newline="\n"), text, block))
    with mock.patch.object(query_log, "_PLAIN_ENTRY", re.compile("(?!)")):
        assert found == list(lines.statements(io.StringIO(text, newline="\n"), text))
    assert (whole.seen, whole.lost) == (lines.seen, lines.lost)


@pytest.mark.whole
@given(damaged() | st.text())
@settings(deadline=None, max_examples=1500)
def test_many_damaged_logs(text: str) -> None:
    check_log(text)


def check_log(text: str) -> None:
    log, grouper, mix = QueryLog(), TransactionGrouper(), TrafficMix()
    stream = io.StringIO(text, newline="\n")
    for statement in log.statements(stream, text[:300], block=50):
        if (done := grouper.add(statement)) is not None:
            mix.add(
                [each.sql for each in done.statements],
                databases=[each.database for each in done.statements],
                explicit=done.is_explicit,
            )
    grouper.close()
    if kinds := mix.kinds(20):
        for with_database in (False, True):
            program = library.load_program(
                "seen.toml", {}, profile_text("seen", "", [], kinds, with_database=with_database)
            )
            Player(program, nothing).play()
