"""Which `?` of a statement waits for a value."""

from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.workload.program.sql_text import split_at_placeholders, strip_literals

SQL = [
    ("SELECT 1", ("SELECT 1",)),
    ("SELECT ?", ("SELECT ", "")),
    ("? ?", ("", " ", "")),
    ("SELECT '?', ?", ("SELECT '?', ", "")),
    ("SELECT 'it''s ?', ?", ("SELECT 'it''s ?', ", "")),
    (r"SELECT 'a\'?', ?", (r"SELECT 'a\'?', ", "")),
    (r"SELECT '\\', ?", (r"SELECT '\\', ", "")),
    ('SELECT "?""?", ?', ('SELECT "?""?", ', "")),
    ("SELECT `?` FROM t WHERE id=?", ("SELECT `?` FROM t WHERE id=", "")),
    ("SELECT /* why? */ ?", ("SELECT /* why? */ ", "")),
    ("SELECT /*+ NO_ICP(?) */ ?", ("SELECT /*+ NO_ICP(?) */ ", "")),
    ("SELECT /*!50000 ? */, /*M! ? */", ("SELECT /*!50000 ", " */, /*M! ", " */")),
    ("SELECT ? -- really?\n, ?", ("SELECT ", " -- really?\n, ", "")),
    ("SELECT ? --?", ("SELECT ", " --", "")),
    ("SELECT ? # sure?", ("SELECT ", " # sure?")),
    ("SELECT '# ?', ?", ("SELECT '# ?', ", "")),
    ("SELECT '/*', ?, '*/'", ("SELECT '/*', ", ", '*/'")),
    ("/* it's */ SELECT ?, '?'", ("/* it's */ SELECT ", ", '?'")),
    ("SELECT '\n?', ?", ("SELECT '\n?', ", "")),
]


@for_each(("sql", "parts"), SQL)
def test_a_question_mark_in_quotes_and_comments_is_a_letter(sql: str, parts: tuple[str, ...]) -> None:
    assert split_at_placeholders(sql) == parts
    assert strip_literals(sql).count("?") == len(parts) - 1


@given(st.text("?'\"`\\-#/*! M\na"))
def test_the_pieces_make_the_statement_and_agree_with_the_count(sql: str) -> None:
    found = split_at_placeholders(sql)
    assert "?".join(found) == sql
    assert strip_literals(sql).count("?") == len(found) - 1
