"""Templates of statements, from slow query logs and digests: SQL with slots, and models of their values.

Statements that differ in values only are one template. The literals of an IN list are one slot, and so are
the rows of a multi-row INSERT. Literals that cannot be parameters (after `->`, AS, COLLATE, a character set)
stay in the SQL. A slot's values are a constant, a range, a list, or an earlier value plus a number.

With `long_query_time=0` the slow query log has all statements, including BEGIN and COMMIT, and the values of
prepared ones. A transaction is what a connection sent from BEGIN to COMMIT; every other statement is a
transaction of its own.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from math import ceil, floor
from typing import NamedTuple

from tuibench.workload.expressions import Expression, literal
from tuibench.workload.values import DecimalRange, Draw, Operand, Sum, Uniform

Value = int | Decimal | str

_TOKEN = re.compile(
    r"""(?P<comment>/\*(?!M?!).*?\*/|\#[^\n]*|--(?=\s|$)[^\n]*)
      | (?P<space>\s+)
      | (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
      | (?P<name>`[^`]*`|[A-Za-z_$@][\w$@.]*(?:\.`[^`]*`)*)
      | (?P<hex>0x[0-9A-Fa-f]+)
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
      | (?P<mark>\?)
      | (?P<sign>->>|->|<=>|<=|>=|<>|!=|:=|\|\||&&|.)""",
    re.VERBOSE | re.DOTALL,
)
_KEPT_AFTER = frozenset({"->", "->>", "AS", "COLLATE", "CHARSET", "INTERVAL", "DATE", "TIME", "TIMESTAMP"})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "Z": "\x1a", "b": "\b"}
MAX_TEXT = 2000
"""Longer texts are truncated, so that value lists stay readable."""


class Token(NamedTuple):
    """One token; `kind` is the name of its group."""

    kind: str
    text: str


class Slot(NamedTuple):
    """A placeholder for a value; with `row`, for a list of rows of this SQL with one value for each `?`."""

    row: str = ""
    width: int = 1


class Template(NamedTuple):
    """SQL between slots: one fragment more than slots."""

    fragments: tuple[str, ...]
    slots: tuple[Slot, ...]

    @property
    def text(self) -> str:
        """The template in one line, for display."""
        return "?".join(self.fragments)


class Observed(NamedTuple):
    """A template with the values of one statement: one row for a plain slot, several for a list."""

    template: Template
    values: tuple[tuple[tuple[Value, ...], ...], ...]


def tokens_of(sql: str) -> list[Token]:
    """The tokens without comments; single spaces between them."""
    found: list[Token] = []
    for match in _TOKEN.finditer(sql.strip().rstrip(";").strip()):
        kind = str(match.lastgroup)
        if kind == "comment":
            kind = "space"
        if kind == "space":
            if found and found[-1].kind != "space":
                found.append(Token("space", " "))
            continue
        found.append(Token(kind, match.group()))
    return found


def observe(sql: str) -> Observed:
    """The template of a statement, and its values."""
    builder = _Builder()
    tokens = tokens_of(sql)
    place = 0
    while place < len(tokens):
        place = builder.take(tokens, place)
    return builder.result()


class _Builder:
    """Assembles fragments and slots, token by token."""

    def __init__(self) -> None:
        self._fragments = [""]
        self._slots: list[Slot] = []
        self._values: list[tuple[tuple[Value, ...], ...]] = []
        self._before = ""

    def result(self) -> Observed:
        return Observed(Template(tuple(self._fragments), tuple(self._slots)), tuple(self._values))

    def take(self, tokens: Sequence[Token], place: int) -> int:
        """Take the token at an index, or the list that begins there; returns the index after it."""
        token = tokens[place]
        word = token.text.upper()
        if self._before in ("IN", "VALUES", "VALUE") and token.text == "(":
            end = self._take_list(tokens, place)
            if end > place:
                return end
        if token.kind in ("number", "text") and not self._is_kept():
            self._add(Slot(), ((token_value(token),),))
        else:
            self._fragments[-1] += token.text
        if token.kind != "space":
            self._before = word
        return place + 1

    def _is_kept(self) -> bool:
        return self._before in _KEPT_AFTER or self._before.startswith("_")

    def _add(self, slot: Slot, values: tuple[tuple[Value, ...], ...]) -> None:
        self._slots.append(slot)
        self._values.append(values)
        self._fragments.append("")
        self._before = "?"

    def _take_list(self, tokens: Sequence[Token], place: int) -> int:
        """Take a list of literals, or of rows of literals; returns the index after it, or `place` if there
        is no list.
        """
        if self._before == "IN":
            end = _closing(tokens, place)
            inner = [each for each in tokens[place + 1 : end] if each.kind != "space" and each.text != ","]
            if len(inner) < 2 or any(each.kind not in ("number", "text") for each in inner):
                return place
            self._fragments[-1] += "("
            self._add(Slot("?"), tuple((token_value(each),) for each in inner))
            self._fragments[-1] += ")"
            return end + 1
        return self._take_rows(tokens, place)

    def _take_rows(self, tokens: Sequence[Token], place: int) -> int:
        rows: list[Observed] = []
        end = place
        while end < len(tokens) and tokens[end].text == "(":
            closing = _closing(tokens, end)
            rows.append(observe(_row_text(tokens[end : closing + 1])))
            end = closing + 1
            following = [
                each for each in range(end, min(end + 3, len(tokens))) if tokens[each].kind != "space"
            ]
            if len(following) < 2 or tokens[following[0]].text != "," or tokens[following[1]].text != "(":
                break
            end = following[1]
        if len(rows) < 2 or len({row.template for row in rows}) > 1:
            return place
        template = rows[0].template
        if not template.slots or any(slot.row for slot in template.slots):
            return place
        values = tuple(tuple(value for ((value,),) in row.values) for row in rows)
        self._add(Slot(template.text, len(template.slots)), values)
        return end


def _row_text(tokens: Sequence[Token]) -> str:
    """The SQL of a row, with one space after each comma."""
    kept = (
        token
        for place, token in enumerate(tokens)
        if token.kind != "space" or tokens[place - 1].text not in (",", "(")
    )
    return "".join(", " if token.text == "," else token.text for token in kept)


def _closing(tokens: Sequence[Token], place: int) -> int:
    """The index of the parenthesis that closes the one at `place`; the last token if there is none."""
    depth = 0
    for at in range(place, len(tokens)):
        depth += (tokens[at].text == "(") - (tokens[at].text == ")")
        if not depth:
            return at
    return len(tokens) - 1


def token_value(token: Token) -> Value:
    """The value of a number or a quoted text."""
    if token.kind == "number":
        return int(token.text) if token.text.isdigit() else Decimal(token.text)
    quote, inner = token.text[0], token.text[1:-1]
    inner = inner.replace(quote * 2, quote)
    text = re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), inner, flags=re.DOTALL)
    return text[:MAX_TEXT]


_CONNECTION = re.compile(r"\bId:\s*(\d+)|^# Thread_id:\s*(\d+)")
_TIMESTAMP = re.compile(r"SET timestamp=(\d+)(?:\.\d+)?;?\s*$", re.IGNORECASE)
_USE = re.compile(r"use\s+`?([^`;]+)`?;?\s*$", re.IGNORECASE)
_BEGIN = re.compile(r"(begin(\s+work)?|start\s+transaction\b.*)$", re.IGNORECASE | re.DOTALL)
_COMMIT = re.compile(r"commit(\s+work)?$", re.IGNORECASE)
_ROLLBACK = re.compile(r"rollback(\s+work)?$", re.IGNORECASE)
_SERVER_START = re.compile(r".*, Version: .* started with:|Tcp port: |Time\s+Id\s+Command")


class LoggedStatement(NamedTuple):
    """One statement of the log. `connection` is 0 and `at` is None if the log does not contain it."""

    connection: int
    at: int | None
    database: str
    sql: str


def statements(lines: Iterable[str]) -> Iterator[LoggedStatement]:
    """The statements of a log, in its order; none if it is not a slow query log."""
    connection, at, database = 0, None, ""
    sql: list[str] = []
    has_begun = False
    for line in lines:
        line = line.rstrip("\n")
        if line.startswith(("# Time:", "# User@Host:")) or _SERVER_START.match(line):
            if sql:
                yield LoggedStatement(connection, at, database, _joined(sql))
                sql = []
            has_begun = line.startswith("#")
        if line.startswith("#") and not sql:
            found = _CONNECTION.search(line)
            connection = int(found[1] or found[2]) if found else connection
        elif has_begun and (found := _TIMESTAMP.match(line)) and not sql:
            at = int(found[1])
        elif has_begun and (found := _USE.match(line)) and not sql:
            database = found[1]
        elif has_begun:
            sql.append(line)
    if sql:
        yield LoggedStatement(connection, at, database, _joined(sql))


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).strip().rstrip(";").strip()


class TransactionGrouper:
    """Groups statements to transactions. Those that end in ROLLBACK are omitted; `rolled_back` counts
    them.
    """

    def __init__(self) -> None:
        self.rolled_back = 0
        self._open: dict[int, list[str]] = {}

    def add(self, statement: LoggedStatement) -> tuple[tuple[str, ...], bool] | None:
        """The statements of the transaction that this one completes, if any, and whether BEGIN and COMMIT
        enclosed them.
        """
        connection, sql = statement.connection, statement.sql
        if _BEGIN.match(sql):
            self._open[connection] = []
            return None
        if _COMMIT.match(sql) or _ROLLBACK.match(sql):
            done = self._open.pop(connection, None)
            if _ROLLBACK.match(sql):
                self.rolled_back += done is not None
                return None
            return (tuple(done), True) if done else None
        if connection in self._open:
            self._open[connection].append(sql)
            return None
        return (sql,), False


MAX_LISTED = 100
"""Maximum values of a list, to limit the size of the file."""

FEW_SHARE = 0.3
"""With fewer distinct values than this share of all, their frequency matters: the profile has a list."""

MIN_RELATED = 3
"""The least observations for a relation between two values."""

MAX_INTEGER = 2**63 - 1


class Listed(NamedTuple):
    """One of these values, with the frequency that it has in the list."""

    values: tuple[int | str, ...]


ValueModel = Expression | Sum | Listed | Draw[Operand]
"""A constant, the value of an earlier slot plus a number, a list, or a generator."""


def model_of(values: Sequence[Value]) -> ValueModel:
    """The model of a slot's values; at least one is required."""
    if any(isinstance(value, str) for value in values):
        return Listed(tuple(str(value) for value in _spread(values)))
    numbers = [value for value in values if not isinstance(value, str)]
    if len(set(numbers)) == 1:
        return literal(numbers[0])
    integers = [value for value in numbers if isinstance(value, int)]
    if len(integers) < len(numbers):
        exponents = [value.as_tuple().exponent for value in numbers if isinstance(value, Decimal)]
        places = max(max(0, -exponent) if isinstance(exponent, int) else 0 for exponent in exponents)
        return DecimalRange(low=floor(min(numbers)), high=ceil(max(numbers)), places=min(places, 10))
    if len(set(integers)) <= FEW_SHARE * len(integers) or max(integers) > MAX_INTEGER:
        return Listed(tuple(int(value) for value in _spread(integers)))
    return Uniform(low=min(integers), high=max(integers))


def _spread(values: Sequence[Value]) -> Sequence[Value]:
    """At most `MAX_LISTED` of the values, evenly chosen."""
    if len(values) <= MAX_LISTED:
        return values
    return [values[number * len(values) // MAX_LISTED] for number in range(MAX_LISTED)]


def relation(earlier: Sequence[Value], values: Sequence[Value]) -> int | None:
    """The constant difference between a value and that of an earlier slot; None if it varies."""
    pairs = list(zip(earlier, values, strict=True))
    if len(pairs) < MIN_RELATED:
        return None
    differences = {b - a if isinstance(a, int) and isinstance(b, int) else None for a, b in pairs}
    (first, *others) = differences
    return None if others else first
