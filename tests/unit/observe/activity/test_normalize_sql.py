"""Values leave a statement, its shape stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.observe.activity.normalize_sql import LONGEST, normalize_sql


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT c FROM sbtest1 WHERE id=4711", "SELECT c FROM sbtest1 WHERE id=?"),
        ("UPDATE t SET v='it''s\nlong', w=\"a\\\"b\" WHERE id = 1", "UPDATE t SET v=?, w=? WHERE id = ?"),
        ("SELECT `a``1`, t2.c3 FROM db.t2", "SELECT `a``1`, t2.c3 FROM db.t2"),
        ("SELECT 1.5e-3, .5, 0xFF, x'41', N'ä', _utf8mb4'ö'", "SELECT ?, …"),
        ("SELECT * FROM t WHERE id IN (1,2 , 3)", "SELECT * FROM t WHERE id IN (?, …)"),
        ("INSERT INTO t VALUES (1,'a'),(2,'b'),(-3,'c')", "INSERT INTO t VALUES (?, …), …"),
        ("UPDATE t SET k=k+1, m=m-2 WHERE a>-5", "UPDATE t SET k=k+?, m=m-? WHERE a>-?"),
        ("/* app:shop */ SELECT 1 -- why\n FROM dual # so", "SELECT ? FROM dual"),
        ("SELECT 'never ends", "SELECT ?"),
        ("SELECT @a1, $b2 FROM t_3 LIMIT 10", "SELECT @a1, $b2 FROM t_3 LIMIT ?"),
        ("COMMIT", "COMMIT"),
        ("", ""),
    ],
)
def test_examples(statement: str, expected: str) -> None:
    assert normalize_sql(statement) == expected


def test_long_ones_are_cut() -> None:
    assert (
        normalize_sql("SELECT " + "a_column, " * 100) == ("SELECT " + "a_column, " * 100)[: LONGEST - 1] + "…"
    )


@given(st.text(max_size=60))
def test_no_text_value_is_ever_shown(secret: str) -> None:
    quoted = secret.replace("\\", "\\\\").replace("'", "''")
    assert (
        normalize_sql(f"SELECT a FROM t WHERE b = '{quoted}' AND c = 5")
        == "SELECT a FROM t WHERE b = ? AND c = ?"
    )


@given(st.text(max_size=80))
def test_any_text_makes_one_line(text: str) -> None:
    assert len(normalize_sql(text).splitlines()) <= 1
