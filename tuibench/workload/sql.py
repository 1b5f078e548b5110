"""SQL text: the class of a statement, its placeholders and literals, and the statements of a text.

A `?` or a delimiter inside quotes or comments has no meaning. Comments that the server executes (`/*! … */`,
MariaDB's `/*M! … */`) are SQL.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import NamedTuple


class StatementClass(StrEnum):
    """The class that counts a statement: SELECT reads; INSERT, UPDATE, DELETE and REPLACE write."""

    READ = "read"
    WRITE = "write"
    OTHER = "other"


_BACKSLASH_TEXT = r"""'(?:[^'\\]++|\\.|'')*+' | "(?:[^"\\]++|\\.|"")*+\""""
_PLAIN_TEXT = r"""'(?:[^']++|'')*+' | "(?:[^"]++|"")*+\""""
"""Quoted text with backslash escapes, and without them as under sql_mode=NO_BACKSLASH_ESCAPES."""

_COMMENT = r"/\*(?!M?!).*?\*/ | \#[^\n]* | --(?=\s|$)[^\n]*"
_LITERALS = re.compile(
    rf"(?P<mark>\?) | {_BACKSLASH_TEXT} | `[^`]*` | (?P<comment>{_COMMENT})", re.DOTALL | re.VERBOSE
)
"""Placeholders, quoted texts and comments."""


@cache
def _lexer(*, escapes: bool) -> re.Pattern[str]:
    """The lexer of a server on which a backslash escapes, or not; compiled when it is used."""
    text = _BACKSLASH_TEXT if escapes else _PLAIN_TEXT
    word = r"[^\W\d][\w$@]*+|[$@][\w$@]*+|\d++[^\W\d][\w$]*+"
    quoted = "`(?:[^`]++|``)*+`"
    return re.compile(
        rf"""(?P<hint>/\*(?:M?!|\+).*?\*/)
          | (?P<comment>{_COMMENT})
          | (?P<space>\s+)
          | (?P<hex>[xX]'(?:[0-9A-Fa-f]{{2}})*+'|0x[0-9A-Fa-f]++(?![\w$]))
          | (?P<bits>[bB]'[01]*+'|0b[01]++(?![\w$]))
          | [nN](?P<national>{text})
          | (?P<text>{text})
          | (?P<number>(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+(?![\w$]))
          | (?P<name>@@?(?:{text}|{quoted}) | (?:{quoted}|{word})(?:\.(?:{quoted}|[\w$@]++))*+)
          | (?P<mark>\?)
          | (?P<open>['"`].*|/\*.*)
          | (?P<sign>->>|->|<=>|<=|>=|<>|!=|:=|\|\||&&|.)""",
        re.DOTALL | re.VERBOSE,
    )


class Token(NamedTuple):
    """One token."""

    kind: str
    """The name of its group in the lexer. A `hint` may also be a comment that the server executes; `open` is
    a quote or comment that does not end.
    """
    text: str
    escapes: bool = True
    """True if a backslash in its text escapes."""


def tokens_of(sql: str) -> list[Token]:
    """The tokens without comments, separated by single spaces.

    The statement itself tells the sql_mode that a log does not have. If a quote does not end under the usual
    rules but ends under NO_BACKSLASH_ESCAPES, that mode is assumed. If a table or a qualified column is in
    double quotes, ANSI_QUOTES is assumed, and such names get backquotes.
    """
    text = sql.strip().rstrip(";").strip()
    found = list(_scan(text, escapes=True))
    if found and found[-1].kind == "open" and "\\" in text:
        plain = list(_scan(text, escapes=False))
        found = found if plain[-1].kind == "open" else plain
    return _with_ansi_names(found) if '"' in text else found


def _scan(text: str, *, escapes: bool) -> Iterator[Token]:
    is_after_space, comment, has_begun = True, False, False
    for match in _lexer(escapes=escapes).finditer(text):
        kind = str(match.lastgroup)
        if kind == "comment" or (kind == "hint" and not has_begun and match.group().startswith("/*+")):
            comment = True
            continue
        if kind == "space" or (comment and match.group() != "("):
            if not is_after_space:
                yield Token("space", " ")
            is_after_space, comment = True, False
            if kind == "space":
                continue
        comment, is_after_space, has_begun = False, False, True
        yield Token(kind, match["national"] if kind == "national" else match.group(), escapes)


_BEFORE_TABLE = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "."})


def _with_ansi_names(tokens: list[Token]) -> list[Token]:
    """The tokens with names in backquotes instead of double quotes, if the statement has such names."""
    if not any(_is_ansi_name(tokens)):
        return tokens
    return [
        Token("name", "`" + token.text[1:-1].replace('""', '"').replace("`", "``") + "`")
        if token.kind == "text" and token.text.startswith('"')
        else token
        for token in tokens
    ]


def _is_ansi_name(tokens: list[Token]) -> Iterator[bool]:
    """For each token, whether it is a text in double quotes where only a name is possible.

    TRIM(… FROM "x") is not such a place; the FROM of a query is.
    """
    plain = [token for token in tokens if token.kind != "space"]
    before, queries = "", [True]
    for token, after in zip(plain, [*(each.text.upper() for each in plain[1:]), ""], strict=False):
        if token.kind == "text" and token.text.startswith('"'):
            yield after == "." or (before in _BEFORE_TABLE and (before != "FROM" or queries[-1]))
        before = token.text.upper()
        if before == "(":
            queries.append(after == "SELECT")
        elif before == ")" and len(queries) > 1:
            queries.pop()


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "Z": "\x1a", "b": "\b", "%": "\\%", "_": "\\_"}
_BACKSLASH = re.compile(r"\\(.)", re.DOTALL)


def text_value(text: str, *, escapes: bool = True) -> str:
    """The value of a quoted text. A backslash before `%` and `_` is kept for LIKE."""
    quote, inner = text[0], text[1:-1]
    if not escapes or "\\" not in inner:
        return inner.replace(quote * 2, quote)
    return re.sub(
        rf"\\(.)|{quote * 2}",
        lambda found: quote if found[1] is None else _ESCAPES.get(found[1], found[1]),
        inner,
        flags=re.DOTALL,
    )


@cache
def _balanced(text: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:[^'\"`/#-]++|{text}|`[^`]*+`|/\*.*?\*/|\#[^\n]*+|--(?=\s|$)[^\n]*+|-|/(?!\*))*+",
        re.DOTALL | re.VERBOSE,
    )


_NO_QUOTES = re.compile(r"[^'\"`/#-]*+$")


def is_closed(sql: str) -> bool:
    """True if the text ends outside quotes and comments, with or without backslash escapes."""
    if _NO_QUOTES.match(sql):
        return True
    return any(_balanced(text).fullmatch(sql) for text in (_BACKSLASH_TEXT, _PLAIN_TEXT))


def strip_literals(sql: str) -> str:
    """The SQL without quoted text and comments, which may contain a `?` or `{}` without meaning."""
    return _LITERALS.sub(lambda found: found["mark"] or "''", sql)


def fill_field(sql: str, field: str, text: str) -> str:
    """The SQL with `{field}` replaced by a text, except in quotes."""
    if (name := f"{{{field}}}") not in sql:
        return sql
    found, begin = [], 0
    for match in _LITERALS.finditer(sql):
        if not match["mark"]:
            found += [sql[begin : match.start()].replace(name, text), match[0]]
            begin = match.end()
    return "".join((*found, sql[begin:].replace(name, text)))


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
"""The class of a statement by its verb; all other verbs have the class "other"."""

_WORD = re.compile(r"[A-Za-z]+")
_MAIN_VERB = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
_SET_STATEMENT = re.compile(r"SET\s+STATEMENT\b", re.IGNORECASE)
_NESTED = re.compile(r"\([^()]*\)")
_NEAR = re.compile(r"near '(?P<near>.*)' at line (?P<line>\d+)", re.DOTALL)


def statement_class(sql: str) -> StatementClass:
    """The class of a statement, by its verb after comments, parentheses and WITH clauses."""
    return CLASS_BY_VERB.get(verb_of(sql), StatementClass.OTHER)


def verb_of(sql: str) -> str:
    """The verb in capitals, after comments, parentheses, WITH clauses and SET STATEMENT … FOR; empty if there
    is none.
    """
    text = _without_comments(sql)
    found = _WORD.search(text)
    verb = found[0].upper() if found else ""
    is_prefix = verb == "WITH" or (verb == "SET" and _SET_STATEMENT.match(text) is not None)
    return _verb_after_prefix(text) if is_prefix else verb


_BEYOND = re.compile(
    r"/\*M?! | ;\s*\S | \b(?:OUTFILE|DUMPFILE|LOAD|LOAD_FILE|DIRECTORY|SET\s+STATEMENT|mysql`?\s*\.)",
    re.IGNORECASE | re.VERBOSE,
)
"""Syntax that a statement which only reads or writes rows of its tables does not need: executable comments, a
second statement, SET STATEMENT, files, tables of the server. Quotes and comments are searched, too, because
the server's mode decides where they end.
"""
_OF_TABLES = re.compile(
    r"\s*(?:ALTER|ANALYZE|CHECK|CREATE|DROP|OPTIMIZE|RENAME|TRUNCATE)\s+(?:UNIQUE\s+)?(?:INDEX|TABLE)\b",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"\s*(?:BEGIN|START\s+TRANSACTION|COMMIT|ROLLBACK)\s*", re.IGNORECASE)


def only_reads_and_writes(sql: str) -> bool:
    """True for a SELECT, INSERT, UPDATE, DELETE or REPLACE of rows, and for a statement that begins or ends a
    transaction; False in doubt.
    """
    is_of_rows = statement_class(sql) is not StatementClass.OTHER and _BEYOND.search(sql) is None
    return is_of_rows or _BRACKET.fullmatch(sql) is not None


def only_acts_on_tables(sql: str) -> bool:
    """True also for a statement that creates, changes or drops tables or indexes; False in doubt."""
    return only_reads_and_writes(sql) or (_OF_TABLES.match(sql) is not None and _BEYOND.search(sql) is None)


def _verb_after_prefix(sql: str) -> str:
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
    """The statements with their offsets; a semicolon inside quotes or comments does not separate them."""
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
    """A position in words: `line 2, column 7`."""
    line = sql.count("\n", 0, offset) + 1
    column = offset - (sql.rfind("\n", 0, offset) + 1) + 1
    return f"line {line}, column {column}"
