"""SQL as text: where a statement is counted, where it ends, and where in it something stands."""

import re
from collections.abc import Iterator

from tuibench.workload.placeholders import plain
from tuibench.workload.program import StatementClass

CLASSES = {
    **dict.fromkeys(("SELECT", "TABLE", "VALUES"), StatementClass.READ),
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD"), StatementClass.WRITE),
}
"""Where a statement is counted, by its first word; all others count as other."""

_WORD = re.compile(r"[A-Za-z]+")
_MAIN_VERB = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
_NESTED = re.compile(r"\([^()]*\)")
_NEAR = re.compile(r"near '(?P<near>.*)' at line (?P<line>\d+)", re.DOTALL)


def class_of(sql: str) -> StatementClass:
    """Where a statement is counted: by its verb, behind comments, brackets and WITH clauses."""
    text = _without_comments(sql)
    found = _WORD.search(text)
    verb = found[0].upper() if found else ""
    if verb == "WITH":
        verb = _behind_with(text)
    return CLASSES.get(verb, StatementClass.OTHER)


def _behind_with(sql: str) -> str:
    """The verb that common table expressions are for: the first one that stands in no brackets."""
    text, before = plain(sql), ""
    while text != before:
        text, before = _NESTED.sub(" ", text), text
    found = _MAIN_VERB.search(text)
    return found[1].upper() if found else ""


_QUOTED = re.compile(
    r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `[^`]*`
      | (?P<comment>/\*(?!M?!).*?\*/ | \#[^\n]* | --(?=\s|$)[^\n]*)""",
    re.DOTALL | re.VERBOSE,
)


def _without_comments(sql: str) -> str:
    """The SQL without its comments; what stands in quotes is left as it is."""
    return _QUOTED.sub(lambda found: " " if found["comment"] else found[0], sql).strip()


def spans(sql: str) -> Iterator[tuple[int, int]]:
    """Where quoted texts and comments stand: in them, every character is but a letter."""
    return (found.span() for found in _QUOTED.finditer(sql))


def statements(sql: str, delimiter: str = ";") -> Iterator[tuple[int, str]]:
    """Each statement with the place it begins at; a delimiter in quotes or a comment parts nothing."""
    begin = 0
    for end in (*_delimiters(sql, delimiter), len(sql)):
        part = sql[begin:end]
        if _without_comments(part):
            leading = len(part) - len(part.lstrip())
            yield begin + leading, part.strip()
        begin = end + len(delimiter)


def _delimiters(sql: str, delimiter: str) -> Iterator[int]:
    shut = list(spans(sql))
    place = sql.find(delimiter)
    while place >= 0:
        inside = next((end for begin, end in shut if begin <= place < end), None)
        if inside is None:
            yield place
        place = sql.find(delimiter, inside if inside is not None else place + len(delimiter))


def stopped_at(sql: str, message: str) -> str:
    """Where in the SQL a server stopped understanding, as people count; empty where it does not say."""
    found = _NEAR.search(message)
    if found is None:
        return ""
    first = sum(len(line) + 1 for line in sql.split("\n")[: int(found["line"]) - 1])
    offset = sql.find(found["near"], first) if found["near"] else len(sql)
    return place_in(sql, offset) if offset >= 0 else ""


def place_in(sql: str, offset: int) -> str:
    """A place as people count: line 2, column 7."""
    line = sql.count("\n", 0, offset) + 1
    column = offset - (sql.rfind("\n", 0, offset) + 1) + 1
    return f"line {line}, column {column}"
