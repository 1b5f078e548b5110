"""SQL text: what a statement does, its placeholders and literals, statements of a text.

A `?` or a delimiter in quotes or comments has no meaning. Comments that the server executes (`/*! … */`,
MariaDB's `/*M! … */`) are SQL.
"""

import re
from collections.abc import Iterator
from enum import StrEnum


class StatementClass(StrEnum):
    """The counter of a statement: SELECT reads; INSERT, UPDATE, DELETE and REPLACE write."""

    READ = "read"
    WRITE = "write"
    OTHER = "other"


_LITERALS = re.compile(
    r"""(?P<mark>\?) | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `[^`]*`
      | (?P<comment>/\*(?!M?!).*?\*/ | \#[^\n]* | --(?=\s|$)[^\n]*)""",
    re.DOTALL | re.VERBOSE,
)
"""Placeholders, quoted texts and comments."""


def strip_literals(sql: str) -> str:
    """The SQL without quoted text and comments, in which `?` and `{}` have no meaning."""
    return _LITERALS.sub(lambda found: found["mark"] or "''", sql)


def split_at_placeholders(sql: str) -> tuple[str, ...]:
    """The SQL between its placeholders: one piece more than placeholders."""
    if "?" not in sql:
        return (sql,)
    found, begin = [], 0
    for match in _LITERALS.finditer(sql):
        if match["mark"]:
            found.append(sql[begin : match.start()])
            begin = match.end()
    return (*found, sql[begin:])


CLASS_BY_VERB = {
    **dict.fromkeys(("SELECT", "TABLE", "VALUES"), StatementClass.READ),
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD"), StatementClass.WRITE),
}
"""The counter of a statement by its verb; all others count as other."""

_WORD = re.compile(r"[A-Za-z]+")
_MAIN_VERB = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
_NESTED = re.compile(r"\([^()]*\)")
_NEAR = re.compile(r"near '(?P<near>.*)' at line (?P<line>\d+)", re.DOTALL)


def statement_class(sql: str) -> StatementClass:
    """The counter of a statement: by its verb, after comments, parentheses and WITH clauses."""
    text = _without_comments(sql)
    found = _WORD.search(text)
    verb = found[0].upper() if found else ""
    if verb == "WITH":
        verb = _verb_after_with(text)
    return CLASS_BY_VERB.get(verb, StatementClass.OTHER)


def _verb_after_with(sql: str) -> str:
    """The verb after common table expressions: the first one outside parentheses."""
    text, before = strip_literals(sql), ""
    while text != before:
        text, before = _NESTED.sub(" ", text), text
    found = _MAIN_VERB.search(text)
    return found[1].upper() if found else ""


def _without_comments(sql: str) -> str:
    """The SQL without comments; quoted text is kept."""
    return _LITERALS.sub(lambda found: " " if found["comment"] else found[0], sql).strip()


def literal_spans(sql: str) -> Iterator[tuple[int, int]]:
    """The ranges of quoted texts and comments."""
    return (found.span() for found in _LITERALS.finditer(sql) if not found["mark"])


def split_statements(sql: str) -> Iterator[tuple[int, str]]:
    """The statements with their offsets; a semicolon in quotes or comments does not separate."""
    masked = _LITERALS.sub(lambda found: "_" * len(found[0]), sql)
    begin = 0
    for length in map(len, masked.split(";")):
        part = sql[begin : begin + length]
        if _without_comments(part):
            yield begin + len(part) - len(part.lstrip()), part.strip()
        begin += length + 1


def syntax_error_position(sql: str, message: str) -> str:
    """The position of a syntax error reported by the server; empty if unknown."""
    found = _NEAR.search(message)
    if found is None:
        return ""
    first = sum(len(line) + 1 for line in sql.split("\n")[: int(found["line"]) - 1])
    offset = sql.find(found["near"], first) if found["near"] else len(sql)
    return line_and_column(sql, offset) if offset >= 0 else ""


def line_and_column(sql: str, offset: int) -> str:
    """A position: line 2, column 7."""
    line = sql.count("\n", 0, offset) + 1
    column = offset - (sql.rfind("\n", 0, offset) + 1) + 1
    return f"line {line}, column {column}"
