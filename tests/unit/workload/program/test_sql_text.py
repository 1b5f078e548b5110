"""SQL as text: what class a statement is, where it ends, and where a server stopped understanding it."""

from tests.tables import for_each
from tuibench.workload.program import sql_text
from tuibench.workload.program.program import StatementClass


@for_each(
    ("text", "wanted"),
    [
        ("SELECT 1", "read"),
        ("select 1", "read"),
        ("(SELECT 1) UNION (SELECT 2)", "read"),
        ("/* first */ SELECT 1", "read"),
        ("-- first\nSELECT 1", "read"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "read"),
        ("WITH a AS (SELECT f(1, (2))), b AS (SELECT 3) DELETE FROM t", "write"),
        ("WITH a AS (SELECT 1)", "other"),
        ("TABLE t", "read"),
        ("INSERT INTO t SELECT 1", "write"),
        ("UPDATE t SET a=1", "write"),
        ("DELETE FROM t", "write"),
        ("REPLACE t VALUES (1)", "write"),
        ("CALL p()", "other"),
        ("SET @a=1", "other"),
        ("", "other"),
    ],
)
def test_a_statement_is_counted_by_its_verb(text: str, wanted: str) -> None:
    assert sql_text.statement_class(text) is StatementClass(wanted)


def test_statements_end_at_delimiters_that_are_not_quoted() -> None:
    text = "SELECT ';'; -- a; b\n SELECT `;` ;; /* ; */"
    assert list(sql_text.split_statements(text)) == [(0, "SELECT ';'"), (12, "-- a; b\n SELECT `;`")]


def test_statements_of_nothing_are_none() -> None:
    assert list(sql_text.split_statements(" ; \n;")) == []


def test_places_are_counted_as_people_do() -> None:
    assert [sql_text.line_and_column("ab\ncd", offset) for offset in (0, 1, 3, 4)] == [
        "line 1, column 1",
        "line 1, column 2",
        "line 2, column 1",
        "line 2, column 2",
    ]


def test_the_place_where_a_server_stopped() -> None:
    text = "SELECT t\nFROM t\nWHER t = 't'"
    message = "You have an error … to use near 't = 't'' at line 3"
    assert sql_text.syntax_error_position(text, message) == "line 3, column 6"
    assert sql_text.syntax_error_position(text, "to use near '' at line 3") == "line 3, column 13"
    assert sql_text.syntax_error_position(text, "Table 'x' doesn't exist") == ""
    assert sql_text.syntax_error_position(text, "near 'nowhere' at line 1") == ""
