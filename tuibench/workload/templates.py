"""Templates of statements, from query logs and scripts: SQL with slots, and models of their values.

Statements that differ only in values have one template. The literals of an IN list are one slot, and so are
the rows of a multi-row INSERT. A literal is a slot if the grammar of both flavours allows a parameter there:
the token before it must be an operator, a comma, a parenthesis or a word of `_BEFORE_VALUE`. A literal is not
a slot where a server accepts only a literal, or would return something else for a parameter:

- arguments of the functions in `_KEPT_CALLS` and `_VALUE_ARGUMENTS`, types, and window specifications;
- ordinals in ORDER BY and GROUP BY;
- columns of a subquery without an alias, whose name is the literal;
- rows of a VALUES statement, and variables of SET STATEMENT … FOR;
- in a query with GROUP BY or DISTINCT, its columns, GROUP BY, HAVING and ORDER BY, whose expressions must be
  equal (ONLY_FULL_GROUP_BY); but arguments of aggregates, and values that HAVING compares, are slots.

Literals of a type are slots of a function: DATE '…' becomes CAST(? AS DATE), a binary text UNHEX(?). The
model of a slot's values is a constant, a range, a list, or an earlier value plus a number.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import ceil, floor
from typing import Literal, NamedTuple, TypeVar

import msgspec

from tuibench.workload.expressions import Expression, literal
from tuibench.workload.sql import Token, text_value, tokens_of
from tuibench.workload.values import DecimalRange, Draw, Operand, Sum, Uniform

Value = int | Decimal | str

MAX_TEXT = 2000
"""Longer texts are truncated, so that value lists stay readable."""

MAX_ROWS_KEPT = 100
"""Rows of a list whose values are kept; a longer list is sampled evenly."""

SIZE_OF_LITERALS = 200
"""Size, as of `Observed.keep`, up to which a statement is kept as its literals."""

MAX_UNSIGNED = 2**64 - 1
MAX_NUMBER = 18
MAX_DIGITS = 15
MAX_PLACES = 10
"""Limits for a decimal that is a slot: its characters, its digits before the point, and those after it."""

NUMERIC_HEX_DIGITS = 16
"""A hexadecimal literal of at most this length may be a number; a longer one is a binary text."""


class Slot(NamedTuple):
    """A placeholder for a value, or for a list of rows."""

    row: str = ""
    """SQL of one row of a list, with a `?` for each value; empty for a single value."""
    width: int = 1
    """Number of values of a row."""


class Template(msgspec.Struct, frozen=True, cache_hash=True):
    """SQL between slots."""

    fragments: tuple[str, ...]
    """One fragment more than slots."""
    slots: tuple[Slot, ...]

    @property
    def text(self) -> str:
        """The template in one line, for display."""
        return "?".join(self.fragments)


SourceKind = Literal["number", "negative", "text", "bytes", "hex"]


class _Source(NamedTuple):
    """Where a value comes from."""

    kind: SourceKind
    literals: tuple[int, ...]
    """Numbers of the statement's literals that make up the value."""


class _Reading(NamedTuple):
    """What is common to statements that differ only in values."""

    template: Template
    lengths: tuple[int, ...]
    """Number of rows of each slot; only `MAX_ROWS_KEPT` of them have sources."""
    sources: tuple[tuple[tuple[_Source, ...], ...], ...]
    """For each slot its rows, as in `Observed.values`."""
    placeholders: int
    """Number of placeholders of the prepared statement."""


class Observed:
    """A template with the values of one statement, which are converted when they are read."""

    __slots__ = ("_escapes", "_literals", "_reading", "_values")

    def __init__(self, reading: _Reading, literals: Sequence[str], *, escapes: bool) -> None:
        self._reading = reading
        self._literals = literals
        self._escapes = escapes
        self._values: tuple[tuple[tuple[Value, ...], ...], ...] | None = None

    @property
    def template(self) -> Template:
        return self._reading.template

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of rows of each slot."""
        return self._reading.lengths

    @property
    def values(self) -> tuple[tuple[tuple[Value, ...], ...], ...]:
        """The values of each slot: one row for a single value, up to `MAX_ROWS_KEPT` rows for a list."""
        if self._values is not None:
            return self._values
        return tuple(
            [tuple([tuple(map(self._value, row)) for row in rows]) for rows in self._reading.sources]
        )

    def keep(self) -> int:
        """Prepare to be kept: many or long literals are exchanged for the values, of which there are fewer.
        Returns the size: each counts 1, plus 1 for every 32 characters.
        """
        if self._values is None and _size(self._literals) > SIZE_OF_LITERALS:
            self._values, self._literals = self.values, ()
        if self._values is None:
            return _size(self._literals)
        values = [value for rows in self._values for row in rows for value in row]
        return len(values) + sum([len(value) // 32 for value in values if isinstance(value, str)])

    def _value(self, source: _Source) -> Value:
        kind, (first, *_) = source
        if kind == "number":
            return _number(self._literals[first])
        if kind == "negative":
            return -_number(self._literals[first])
        if kind == "hex":
            return self._literals[first][2:].rstrip("'")[:MAX_TEXT]
        texts = [self._literals[number] for number in source.literals]
        text = "".join(text_value(each.lstrip("nN"), escapes=self._escapes) for each in texts)
        if kind == "bytes":
            return _bytes_of(text).hex().upper()[:MAX_TEXT]
        return _valid_text(text[:MAX_TEXT])

    @property
    def placeholders(self) -> int:
        """Number of placeholders of the prepared statement."""
        return self._reading.placeholders


def _size(texts: Iterable[str]) -> int:
    return sum([1 + len(text) // 32 for text in texts])


_SIGNS = frozenset("= < > <= >= <> != <=> := + - * / % || && | & ^ ~ ! ( ,".split())  # noqa: SIM905
_BEFORE_VALUE = _SIGNS | frozenset(
    """
    SELECT DISTINCT DISTINCTROW ALL HIGH_PRIORITY STRAIGHT_JOIN SQL_CACHE SQL_NO_CACHE SQL_CALC_FOUND_ROWS
    SQL_SMALL_RESULT SQL_BIG_RESULT SQL_BUFFER_RESULT WHERE HAVING ON AND OR XOR NOT BETWEEN LIKE RLIKE REGEXP
    CASE WHEN THEN ELSE DIV MOD BINARY INTERVAL LIMIT OFFSET EXAMINED
    """.split()  # noqa: SIM905
)
"""Tokens after which an expression may begin. After SELECT, `*` is not an operator, but no literal follows it
there.
"""

_BEFORE_ARGUMENT = frozenset({"FROM", "FOR", "IN", "LEADING", "TRAILING", "BOTH"})
"""Words before an argument in calls: EXTRACT(DAY FROM '…'), SUBSTRING('…' FROM 2 FOR 1), POSITION('…' IN
'…'), TRIM(LEADING '…' FROM '…').
"""

_NO_CALLS = frozenset(
    """
    SELECT FROM WHERE AND OR XOR NOT IN ON AS ANY ALL SOME EXISTS VALUES VALUE SET BY HAVING WHEN THEN ELSE
    CASE LIKE RLIKE REGEXP BETWEEN JOIN UNION EXCEPT INTERSECT LIMIT DISTINCT USING IS DIV OF INTO INTERVAL
    LATERAL
    """.split()  # noqa: SIM905
)
"""A parenthesis after one of these words does not begin a call."""

_KEPT_CALLS = frozenset(
    """
    NOW CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURTIME CURRENT_TIME SYSDATE UTC_TIME UTC_TIMESTAMP OVER
    COLUMNS INDEX KEY PARTITION ANALYSE NTILE PERCENTILE_CONT PERCENTILE_DISC HOUR MINUTE SECOND MICROSECOND
    TIME EXTRACT
    """.split()  # noqa: SIM905
)
"""Calls whose arguments are not slots: precisions, names, window specifications; and times of more than a
day, which MySQL takes for dates if they are parameters.
"""

_VALUE_ARGUMENTS = {
    **dict.fromkeys(("JSON_TABLE", "JSON_VALUE", "JSON_QUERY", "CONVERT", "STR_TO_DATE"), (0,)),
    **dict.fromkeys(("NTH_VALUE", "EXTRACTVALUE"), (0,)),
    **dict.fromkeys(("LAG", "LEAD", "UPDATEXML"), (0, 2)),
    "TIME_FORMAT": (1,),
    "REGEXP_LIKE": (0, 1),
    "REGEXP_SUBSTR": (0, 1, 2, 3),
    "REGEXP_INSTR": (0, 1, 2, 3, 4),
    "REGEXP_REPLACE": (0, 1, 2, 3, 4),
}
"""Functions of which some arguments are not slots: paths, types, modes, times, and formats that decide the
type of the result. The numbers are those of the arguments that may be slots.
"""

_AGGREGATES = frozenset(
    """
    COUNT SUM AVG MIN MAX GROUP_CONCAT BIT_AND BIT_OR BIT_XOR STD STDDEV STDDEV_POP STDDEV_SAMP VAR_POP
    VAR_SAMP VARIANCE JSON_ARRAYAGG JSON_OBJECTAGG
    """.split()  # noqa: SIM905
)
_COMPARISONS = frozenset({"=", "<", ">", "<=", ">=", "<>", "!=", "<=>"})
_CLAUSES = frozenset(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "WINDOW",
        "SET",
        "VALUES",
        "UNION",
        "EXCEPT",
        "INTERSECT",
    ]
)
_KEPT_CLAUSES = frozenset({"CONSTRUCTOR", "STATEMENT"})
_BEFORE_CONSTRUCTOR = frozenset({"", "(", "UNION", "ALL", "EXCEPT", "INTERSECT"})
_AFTER_COLUMN = frozenset({",", ")", "FROM", "UNION", "EXCEPT", "INTERSECT"})
_BEGIN_OF_QUERY = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_TYPED = {"DATE": "DATE", "TIMESTAMP": "DATETIME(6)"}
"""The types to which literals with a type are cast. TIME '…' is not a slot, because MySQL casts a parameter
to a date first.
"""

_ODBC_TYPED = {"D": "DATE", "T": "TIME", "TS": "TIMESTAMP"}
_CONNECTIONS_CHARSET = frozenset({"_UTF8MB4", "_UTF8MB3", "_UTF8"})


_LITERAL_KINDS = frozenset({"number", "text", "national", "hex", "bits"})


def observe(sql: str) -> Observed:
    """The template of a statement, and its values."""
    reading, literals, _ = _read(sql)
    escapes = all(token.escapes for token in literals)
    return Observed(reading, [token.text for token in literals], escapes=escapes)


def _read(sql: str) -> tuple[_Reading, list[Token], set[int]]:
    """The reading of a statement, its literals in order, and the numbers of the literals that are values."""
    tokens = tokens_of(sql)
    literals = [token for token in tokens if token.kind in _LITERAL_KINDS]
    builder = _Builder(_plain_tokens(tokens), {id(token): number for number, token in enumerate(literals)})
    return builder.read(), literals, builder.used


_OUTLINE = re.compile(
    r"""( ['"`/\#\-.\d] (?:
          (?<=') (?:[^'\\]++|\\.|'')*+'
        | (?<=\d)(?<![\w$@`].) \d*+(?:\.\d*+)?+ (?:[eE][+-]?\d++)?+(?![\w$])
        | (?<=`) [^`]*+`
        | (?<=") (?:[^"\\]++|\\.|"")*+"
        | (?<=/)\*.*?\*/ | (?<=\#)[^\n]*+ | (?<=-)-(?=\s|$)[^\n]*+
        | (?<=0)(?<![\w$@.`].)[xb] [0-9A-Fa-f]++(?![\w$])
        | (?<=\.)(?<![\w$@`].) \d++ (?:[eE][+-]?\d++)?+(?![\w$]) ) )""",
    re.DOTALL | re.VERBOSE,
)
"""The parts in which statements of one template differ. Each begins with a character of one set, which is
searched for quickly; what the character begins, and what is before it, is matched afterwards. The letter of
x'…', b'…' and n'…' comes before the part.
"""

_PREFIXES = frozenset("xXbBnN")
_PREFIXED = re.compile(r"(?<![\w$@])[xXbBnN]\Z")
_PLAIN_NUMBER = re.compile(r"\d{1,18}|\d{0,9}\.\d{1,10}|\d{1,9}\.")
_LONG_HEX = re.compile(rf"(?:0x|[xX]')(?:[0-9A-Fa-f]{{2}}){{{NUMERIC_HEX_DIGITS // 2 + 1},}}'?")
MAX_REMEMBERED = 1 << 26
"""Most bytes of readings that are remembered, by `_bytes_kept`."""


def _bytes_kept(outline: str, reading: _Reading) -> int:
    """About the memory of a reading: its outline, its fragments, and the objects of its slots and rows."""
    rows = sum(map(len, reading.sources))
    return 1200 + 3 * len(outline) + 300 * len(reading.sources) + 300 * rows


class StatementReader:
    """Observes many statements; those with the same outline are read only once.

    The outline is the text without literals and comments. It includes everything that decides whether a
    literal is a slot: the kind of the literal, the text of numbers and hexadecimal literals of unusual size,
    and the text of literals that are not slots.
    """

    def __init__(self) -> None:
        self._fixed: dict[str, tuple[int, ...] | None] = {}
        """The literals of an outline that are not slots; None if outline and tokens disagree."""
        self._readings: dict[str | tuple[str, ...], _Reading] = {}
        """By the outline, with the text of its literals that are not slots."""
        self._size = 0

    def observe(self, sql: str) -> Observed:
        """The template of a statement, and its values."""
        parts = _OUTLINE.split(sql)
        literals: list[str] = []
        for place in range(1, len(parts), 2):
            text = parts[place]
            first = text[0]
            if first == "'":
                before = parts[place - 1]
                if before[-1:] in _PREFIXES and _PREFIXED.search(before):
                    parts[place - 1], text = before[:-1], before[-1] + text
                    parts[place] = "\1N" if before[-1] in "nN" else _outline_of_bytes(text)
                else:
                    parts[place] = "\1t"
            elif first in "0123456789.":
                is_plain = (text.isdecimal() and len(text) <= MAX_NUMBER) or _PLAIN_NUMBER.fullmatch(text)
                parts[place] = "\1n" if is_plain else _outline_of_bytes(text)
            elif first in "/#-`":
                parts[place] = text if first == "`" or text.startswith(("/*!", "/*M!", "/*+")) else "\2"
                continue
            else:
                parts[place] = "\1d" if first == '"' else _outline_of_bytes(text)
            literals.append(text)
        outline = "".join(parts)
        fixed = self._fixed.get(outline)
        if fixed is not None:
            key = (outline, *[literals[number] for number in fixed]) if fixed else outline
            if (reading := self._readings.get(key)) is not None:
                return Observed(reading, literals, escapes=True)
        reading, tokens, used = _read(sql)
        if fixed is not None or outline not in self._fixed:
            self._remember(outline, reading, tokens, literals, used)
        return Observed(reading, [each.text for each in tokens], escapes=all(each.escapes for each in tokens))

    def _remember(
        self,
        outline: str,
        reading: _Reading,
        tokens: Sequence[Token],
        literals: Sequence[str],
        used: Iterable[int],
    ) -> None:
        """Keep a reading for statements with the same outline, unless outline and tokens disagree about the
        literals.
        """
        size = _bytes_kept(outline, reading)
        self._size += size
        if self._size > MAX_REMEMBERED:
            self._fixed.clear()
            self._readings.clear()
            self._size = size
        seen = [text[1:] if text[0] in "nN" else text for text in literals]
        if seen != [token.text for token in tokens] or not all(token.escapes for token in tokens):
            self._fixed[outline] = None
            return
        fixed = tuple(sorted({*range(len(seen))} - {*used}))
        self._fixed[outline] = fixed
        key = (outline, *[literals[number] for number in fixed]) if fixed else outline
        self._readings[key] = reading


def _outline_of_bytes(text: str) -> str:
    """What stands in the outline for a hexadecimal, binary or odd number: itself, unless it is a long binary
    text.
    """
    return "\1h" if _LONG_HEX.fullmatch(text) else "\1r" + text.replace("'", "\1")


def _plain_tokens(tokens: list[Token]) -> list[Token]:
    """The tokens with two notations removed: NAME_CONST('…', value), with which servers log the variables of
    stored programs, becomes the value; ODBC's braces are dropped, so that {d '…'} is DATE '…' and {fn f(x)}
    is f(x).
    """
    words = {token.text.upper() for token in tokens if token.kind == "name" or token.text == "{"}
    if words.isdisjoint(("NAME_CONST", "{")):
        return tokens
    found: list[Token] = []
    closing: set[int] = set()
    place = 0
    while place < len(tokens):
        token = tokens[place]
        following = _significant(tokens, place + 1)
        after = tokens[following] if following < len(tokens) else Token("sign", "")
        if token.text == "{" and after.kind == "name" and _closing(tokens, place, "{", "}") > following + 1:
            if typed := _ODBC_TYPED.get(after.text.upper()):
                found.append(Token("name", typed))
            closing.add(_closing(tokens, place, "{", "}"))
            place = _significant(tokens, following + 1)
            continue
        if token.kind == "name" and token.text.upper() == "NAME_CONST" and after.text == "(":
            name = _significant(tokens, following + 1)
            comma = _significant(tokens, name + 1)
            if comma < len(tokens) and tokens[name].kind == "text" and tokens[comma].text == ",":
                closing.add(_closing(tokens, following))
                place = _significant(tokens, comma + 1)
                continue
        if place not in closing:
            found.append(token)
        place += 1
    return found


def _significant(tokens: Sequence[Token], place: int) -> int:
    """The index of the first token at or after `place` that is not a space."""
    while place < len(tokens) and tokens[place].kind == "space":
        place += 1
    return place


def _closing(tokens: Sequence[Token], place: int, opening: str = "(", closing: str = ")") -> int:
    """The index of the token that closes the parenthesis at `place`; the last token if none does."""
    depth = 0
    for at in range(place, len(tokens)):
        depth += (tokens[at].text == opening) - (tokens[at].text == closing)
        if not depth:
            return at
    return len(tokens) - 1


class _Literal(NamedTuple):
    """A literal that can be a slot."""

    source: _Source
    before: str
    """SQL before and after its placeholder."""
    after: str
    end: int
    """Index of the token after it."""


class _Frame:
    """One pair of parentheses (a call, a query, or a list) or the statement as a whole."""

    __slots__ = ("argument", "call", "clause", "has_type", "is_compared", "is_grouped", "kept")

    def __init__(self, call: str = "", *, kept: bool = False, is_compared: bool = False) -> None:
        self.call = call
        self.kept = kept
        """True if no literal in it is a slot."""
        self.is_compared = is_compared
        self.is_grouped = False
        self.clause = ""
        self.argument = 0
        self.has_type = False

    @property
    def is_kept_here(self) -> bool:
        """True if the present argument or clause has no slots."""
        arguments = _VALUE_ARGUMENTS.get(self.call)
        return (
            self.kept
            or self.has_type
            or self.clause in _KEPT_CLAUSES
            or (arguments is not None and self.argument not in arguments)
        )

    @property
    def is_compared_here(self) -> bool:
        return self.is_compared or (self.is_grouped and self.clause in ("SELECT", "GROUP", "HAVING", "ORDER"))

    def inner(self, call: str, *, is_query: bool) -> "_Frame":
        """The frame of a pair of parentheses inside this one."""
        return _Frame(
            call,
            kept=self.is_kept_here or call in _KEPT_CALLS or (self.clause == "WINDOW" and not is_query),
            is_compared=self.is_compared_here and not is_query and call not in _AGGREGATES,
        )


class _Builder:
    """Assembles fragments and slots, token by token."""

    def __init__(self, tokens: Sequence[Token], numbers: Mapping[int, int]) -> None:
        self.used: set[int] = set()
        self._tokens = tokens
        self._numbers = numbers
        self._grouped = _grouped_queries(tokens)
        self._fragments = [""]
        self._slots: list[Slot] = []
        self._sources: list[tuple[tuple[_Source, ...], ...]] = []
        self._lengths: list[int] = []
        self._frames = [_Frame()]
        self._before = ""

    def read(self) -> _Reading:
        place = 0
        while place < len(self._tokens):
            place = self._take(place)
        fragments = tuple(map(_valid_text, self._fragments))
        template = Template(fragments, tuple(self._slots))
        placeholders = sum(
            slot.width * length for slot, length in zip(self._slots, self._lengths, strict=True)
        )
        return _Reading(template, tuple(self._lengths), tuple(self._sources), placeholders)

    def _take(self, place: int) -> int:
        """Take the token at an index, or the literal or list that begins there. Returns the next index."""
        token = self._tokens[place]
        if token.kind == "space":
            self._fragments[-1] += token.text
            return place + 1
        frame = self._frames[-1]
        if token.text == "(" and self._before in ("IN", "VALUES", "VALUE") and not self._is_kept(frame):
            end = self._take_list(place)
            if end > place:
                self._before = "?"
                return end
        found = self._literal(place) if self._is_slot(frame) else None
        if found is not None and not self._is_column_name(frame, found.end):
            self._fragments[-1] += found.before
            self._add(Slot(), ((found.source,),), 1)
            self._fragments[-1] += found.after
            self._before = "?"
            return found.end
        self._fragments[-1] += token.text
        self._note(place, token, frame)
        return place + 1

    def _note(self, place: int, token: Token, frame: _Frame) -> None:
        """Update the frames with a token: parentheses, arguments, clauses."""
        if token.kind == "hint":
            return
        word = token.text.upper() if token.kind in ("name", "sign") else token.kind
        if word == "(":
            following = _significant(self._tokens, place + 1)
            is_query = (
                following < len(self._tokens) and self._tokens[following].text.upper() in _BEGIN_OF_QUERY
            )
            is_call = not is_query and self._before[:1].isidentifier() and self._before not in _NO_CALLS
            self._frames.append(frame.inner(self._before if is_call else "", is_query=is_query))
        elif word == ")":
            if len(self._frames) > 1:
                self._frames.pop()
        elif word == ",":
            frame.argument += 1
            frame.has_type = False
        elif word == "AS" and frame.call:
            frame.has_type = True
        elif word == "VALUES" and self._before in _BEFORE_CONSTRUCTOR:
            frame.clause = "CONSTRUCTOR"
        elif word == "STATEMENT" and self._before == "SET":
            frame.clause = "STATEMENT"
        elif word == "FOR" and frame.clause == "STATEMENT":
            frame.clause = ""
        elif token.kind == "name" and word in _CLAUSES and not (word == "FROM" and frame.call):
            frame.clause = word
            if word == "SELECT":
                frame.is_grouped = place in self._grouped
        self._before = word

    def _is_kept(self, frame: _Frame) -> bool:
        is_operand = frame.clause == "HAVING" and self._before in _COMPARISONS and not frame.kept
        return frame.is_kept_here or (frame.is_compared_here and not is_operand)

    def _is_slot(self, frame: _Frame) -> bool:
        """True if a literal here may be a parameter."""
        is_value = self._before in _BEFORE_VALUE or (bool(frame.call) and self._before in _BEFORE_ARGUMENT)
        is_ordinal = frame.clause in ("ORDER", "GROUP") and self._before in ("BY", ",")
        return is_value and not is_ordinal and not self._is_kept(frame)

    def _is_column_name(self, frame: _Frame, end: int) -> bool:
        """True for a literal that ends here and is a column of a subquery."""
        following = _significant(self._tokens, end)
        after = self._tokens[following].text.upper() if following < len(self._tokens) else ")"
        is_whole = self._before in ("SELECT", ",") and after in _AFTER_COLUMN
        return is_whole and frame.clause == "SELECT" and len(self._frames) > 1

    def _literal(self, place: int) -> _Literal | None:
        """The literal that begins at an index; None if there is none, or if it cannot be a parameter."""
        token = self._tokens[place]
        following = _significant(self._tokens, place + 1)
        after = self._tokens[following] if following < len(self._tokens) else Token("sign", "")
        if token.kind == "number":
            return self._one("number", token, place + 1) if _is_exact(token.text) else None
        if token.text == "-" and after.kind == "number":
            return self._one("negative", after, following + 1) if _is_exact(after.text) else None
        if token.kind in ("text", "national"):
            return self._joined_text(place)
        if token.kind == "hex":
            is_binary = len(token.text[2:].rstrip("'")) > NUMERIC_HEX_DIGITS
            return self._one("hex", token, place + 1, "UNHEX(", ")") if is_binary else None
        if token.kind != "name" or after.kind != "text":
            return None
        word = token.text.upper()
        if word in _CONNECTIONS_CHARSET:
            return self._joined_text(following)
        if word == "_BINARY":
            return self._one("bytes", after, following + 1, "UNHEX(", ")")
        if word in _TYPED:
            return self._one("text", after, following + 1, "CAST(", f" AS {_TYPED[word]})")
        return None

    def _one(self, kind: SourceKind, token: Token, end: int, before: str = "", after: str = "") -> _Literal:
        return _Literal(_Source(kind, (self._numbers[id(token)],)), before, after, end)

    def _joined_text(self, place: int) -> _Literal:
        """A text and those that follow it, which form one value."""
        numbers, end = [self._numbers[id(self._tokens[place])]], place + 1
        while (following := _significant(self._tokens, end)) < len(self._tokens) and self._tokens[
            following
        ].kind == "text":
            numbers.append(self._numbers[id(self._tokens[following])])
            end = following + 1
        return _Literal(_Source("text", tuple(numbers)), "", "", end)

    def _add(self, slot: Slot, sources: tuple[tuple[_Source, ...], ...], length: int) -> None:
        self._slots.append(slot)
        self._sources.append(sources)
        self._lengths.append(length)
        self._fragments.append("")
        self.used.update(number for row in sources for source in row for number in source.literals)

    def _take_list(self, place: int) -> int:
        """Take a list of literals, or of rows of literals. Returns the index after it, or `place` if no list
        begins there.
        """
        if any(slot.row for slot in self._slots):
            # A statement of a profile has one repeated part.
            return place
        is_in = self._before == "IN"
        if is_in:
            closing = _closing(self._tokens, place)
            items = list(_items(self._tokens[place + 1 : closing]))
            end = closing + 1
        else:
            items, end = _rows(self._tokens, place)
        if len(items) < 2:
            return place
        builders = [_Builder(item, self._numbers) for item in items]
        rows = [builder.row() for builder in builders]
        template = rows[0].template
        if (
            len({row.template for row in rows}) > 1
            or not template.slots
            or any(row for row, _ in template.slots)
        ):
            return place
        self.used.update(*(builder.used for builder in builders))
        kept = _spread(rows, MAX_ROWS_KEPT)
        sources = tuple(tuple(source for ((source,),) in row.sources) for row in kept)
        self._fragments[-1] += "(" * is_in
        self._add(Slot(template.text, len(template.slots)), sources, len(rows))
        self._fragments[-1] += ")" * is_in
        return end

    def row(self) -> _Reading:
        """The tokens as an item of a list."""
        self._before = ","
        return self.read()


def _grouped_queries(tokens: Sequence[Token]) -> frozenset[int]:
    """The indexes of SELECT in queries with GROUP BY or DISTINCT."""
    words = [
        (place, token.text.upper()) for place, token in enumerate(tokens) if token.kind in ("name", "sign")
    ]
    if not {"GROUP", "DISTINCT", "DISTINCTROW"} & {word for _, word in words}:
        return frozenset()
    found = set()
    queries: list[int | None] = [None]
    before = ""
    for place, word in words:
        if word == "(":
            queries.append(None)
        elif word == ")" and len(queries) > 1:
            queries.pop()
        elif word == "SELECT":
            queries[-1] = place
        elif queries[-1] is not None and (
            (word == "BY" and before == "GROUP")
            or (word in ("DISTINCT", "DISTINCTROW") and (before == "SELECT" or before.startswith("SQL_")))
        ):
            found.add(queries[-1])
        before = word
    return frozenset(found)


def _items(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The parts between commas outside parentheses; within a part, one space follows each comma."""
    depth = begin = 0
    for place, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and not depth:
            yield _compact(tokens[begin:place])
            begin = place + 1
    yield _compact(tokens[begin:])


def _rows(tokens: Sequence[Token], place: int) -> tuple[list[Sequence[Token]], int]:
    """The rows in parentheses that begin at `place`, and the index after them."""
    rows: list[Sequence[Token]] = []
    end = place
    while end < len(tokens) and tokens[end].text == "(":
        closing = _closing(tokens, end)
        rows.append(_compact(tokens[end : closing + 1]))
        end = closing + 1
        comma = _significant(tokens, end)
        following = _significant(tokens, comma + 1)
        if following >= len(tokens) or tokens[comma].text != "," or tokens[following].text != "(":
            break
        end = following
    return rows, end


def _compact(tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a row, with one space after each comma and none at its ends."""
    found: list[Token] = []
    for token in tokens:
        if token.kind != "space" or (found and found[-1].text not in (",", "(")):
            if found and found[-1].text == ",":
                found.append(Token("space", " "))
            found.append(token)
    while found and found[-1].kind == "space":
        found.pop()
    return found


def _is_exact(text: str) -> bool:
    """True if the server takes the number as a parameter with the same value and type."""
    if text.isdigit():
        return len(text) < 20 or (len(text) == 20 and int(text) <= MAX_UNSIGNED)
    if len(text) > MAX_NUMBER:
        return False
    value = Decimal(text)
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -MAX_PLACES and value.adjusted() < MAX_DIGITS


def _number(text: str) -> int | Decimal:
    return int(text) if text.isdigit() else Decimal(text)


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _valid_text(text: str) -> str:
    """The text, with invalid UTF-8 replaced."""
    return text if text.isascii() else _bytes_of(text).decode("utf-8", "replace")


MAX_LISTED = 100
"""Most values of a list, to limit the size of the file."""

FEW_SHARE = 0.3
"""If the share of distinct values is smaller than this, their frequencies matter, and the profile has
a list.
"""

MIN_RELATED = 3
"""Observations needed for a relation between two values."""

MAX_INTEGER = 2**63 - 1


class Listed(NamedTuple):
    """A value drawn from this list, in which frequent values are repeated."""

    values: tuple[int | str, ...]


ValueModel = Expression | Sum | Listed | Draw[Operand]
"""A constant or expression, the value of an earlier slot plus a number, a list, or a generator."""


def model_of(values: Sequence[Value]) -> ValueModel:
    """The model of a slot's values, of which there must be at least one."""
    if any(isinstance(value, str) for value in values):
        if len(set(values)) == 1:
            return Listed((str(values[0]),))
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


T = TypeVar("T")


def _spread(values: Sequence[T], most: int = MAX_LISTED) -> Sequence[T]:
    """At most `most` of the values, evenly chosen."""
    if len(values) <= most:
        return values
    return [values[number * len(values) // most] for number in range(most)]


def relation(earlier: Sequence[Value], values: Sequence[Value]) -> int | None:
    """The constant difference between a value and that of an earlier slot; None if the difference varies."""
    pairs = list(zip(earlier, values, strict=True))
    if len(pairs) < MIN_RELATED:
        return None
    differences = {b - a if isinstance(a, int) and isinstance(b, int) else None for a, b in pairs}
    (first, *others) = differences
    return None if others else first
