"""Where the placeholders of a statement are: a `?` in quotes or in a comment is but a letter.

Comments that the server carries out (`/*! … */`, MariaDB's `/*M! … */`) are SQL like the rest.
"""

import re

_LETTERS = re.compile(
    r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `[^`]*`
      | /\*(?!M?!).*?\*/ | \#[^\n]* | --(?=\s|$)[^\n]*""",
    re.VERBOSE | re.DOTALL,
)
_PLACEHOLDER_OR_LETTERS = re.compile(rf"(\?)|{_LETTERS.pattern}", re.VERBOSE | re.DOTALL)


def plain(sql: str) -> str:
    """The SQL without what stands in quotes and comments: there, `?` and `{}` are but letters."""
    return _LETTERS.sub("''", sql)


def pieces(sql: str) -> tuple[str, ...]:
    """The SQL between its placeholders, one piece more than there are of them."""
    if "?" not in sql:
        return (sql,)
    found, begin = [], 0
    for match in _PLACEHOLDER_OR_LETTERS.finditer(sql):
        if match[1]:
            found.append(sql[begin : match.start()])
            begin = match.end()
    return (*found, sql[begin:])
