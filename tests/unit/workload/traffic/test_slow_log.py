"""The slow query logs of both flavours: statements, connections, times, transactions."""

from tuibench.workload.traffic.slow_log import LoggedStatement, TransactionGrouper, statements

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
    found = list(statements(MARIADB.splitlines(keepends=True)))
    assert [(each.connection, each.sql) for each in found] == [
        (8, "BEGIN"),
        (9, "SELECT name\n  FROM customer\n WHERE id = 3"),
        (8, "UPDATE customer SET n = n + 1 WHERE id = 7"),
        (8, "COMMIT"),
    ]
    assert {each.database for each in found} == {"shop"}
    assert [each.at for each in found] == [1735732800, 1735732800, 1735732801, 1735732801]


def test_mysqls_log() -> None:
    assert list(statements(MYSQL.splitlines(keepends=True))) == [
        LoggedStatement(12, 1735732800, "shop", "SELECT name FROM customer WHERE id = 3")
    ]


def test_what_is_no_slow_log_has_no_statements() -> None:
    assert list(statements(["SELECT 1;\n", "hello\n", "\n"])) == []


def test_transactions_of_connections_that_take_turns() -> None:
    grouper = TransactionGrouper()
    done = [
        made
        for connection, sql in [
            (1, "BEGIN"),
            (2, "start transaction read only"),
            (1, "UPDATE a SET x = 1"),
            (3, "SELECT 3"),
            (2, "SELECT 2"),
            (1, "UPDATE b SET x = 1"),
            (2, "ROLLBACK"),
            (1, "commit"),
            (1, "COMMIT"),
        ]
        if (made := grouper.add(LoggedStatement(connection, None, "", sql))) is not None
    ]
    assert [(each.statements, each.explicit) for each in done] == [
        (("SELECT 3",), False),
        (("UPDATE a SET x = 1", "UPDATE b SET x = 1"), True),
    ]
    assert grouper.rolled_back == 1
