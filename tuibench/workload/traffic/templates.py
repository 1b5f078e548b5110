"""Statement templates: SQL with slots for literals, so that statements that differ in values only are one.

The literals of an IN list are one slot, and so are the rows of a multi-row INSERT. Literals that cannot be
parameters (after `->`, AS, COLLATE, a character set) stay in the SQL.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

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
            self._add(Slot(), ((literal(token),),))
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
            self._add(Slot("?"), tuple((literal(each),) for each in inner))
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


def literal(token: Token) -> Value:
    """The value of a number or a quoted text."""
    if token.kind == "number":
        return int(token.text) if token.text.isdigit() else Decimal(token.text)
    quote, inner = token.text[0], token.text[1:-1]
    inner = inner.replace(quote * 2, quote)
    text = re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), inner, flags=re.DOTALL)
    return text[:MAX_TEXT]
