"""Models of statements from digests: a digest has no values, so they come from the columns it compares or
sets.

The meaning of a `?` follows from its context: the column before a comparison, the columns of an INSERT,
a LIMIT. Without a known meaning, the statement is omitted, with the reason.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from tuibench.workload.traffic.mix import SlotModel, StatementModel
from tuibench.workload.traffic.templates import Slot, Template, Token, tokens_of
from tuibench.workload.traffic.value_models import (
    MAX_LISTED,
    Constant,
    DecimalSpan,
    IntegerRange,
    Listed,
    RandomDigits,
    Related,
    UniqueNumber,
    ValueModel,
)

ASSUMED_RANGE = 99
"""BETWEEN ? AND ?: assumed difference of the two numbers."""

ASSUMED_LIST = 10
"""IN (...): assumed number of values."""

ASSUMED_LIMIT = 10
_INTEGERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
_DECIMALS = frozenset({"decimal", "float", "double"})
_COMPARISONS = frozenset({"=", "<", ">", "<=", ">=", "<>", "!=", "<=>", "LIKE"})
_DIGIT_GROUP = 12
_KEYWORDS = frozenset(
    """
    SELECT FROM WHERE AND OR NOT IN BETWEEN LIKE IS NULL ORDER BY GROUP HAVING LIMIT OFFSET ASC DESC DISTINCT
    INTO VALUES VALUE SET INSERT IGNORE UPDATE DELETE REPLACE JOIN LEFT RIGHT INNER OUTER ON USING AS FOR
    SHARE LOCK UNION ALL WITH CASE WHEN THEN ELSE END EXISTS DUPLICATE KEY LOW_PRIORITY FORCE INDEX
    """.split()  # noqa: SIM905
)


class ColumnFacts(NamedTuple):
    """Known facts of a column: type, and some values. `is_key` if an INSERT must not repeat a value."""

    data_type: str
    length: int = 0
    is_key: bool = False
    low: int | None = None
    high: int | None = None
    samples: tuple[str, ...] = ()


Tables = Mapping[str, Mapping[str, ColumnFacts]]


class UnknownValueError(Exception):
    """A placeholder whose values are unknown."""


def tables_named(digest: str) -> list[str]:
    """The tables that follow FROM, INTO, UPDATE and JOIN."""
    tokens = [token for token in tokens_of(digest) if token.kind != "space"]
    found = []
    for place, token in enumerate(tokens[1:], start=1):
        if token.kind == "name" and tokens[place - 1].text.upper() in ("FROM", "INTO", "UPDATE", "JOIN"):
            has_schema = [each.text for each in tokens[place + 1 : place + 2]] == ["."]
            found.append(plain_name(tokens[min(place + 2 * has_schema, len(tokens) - 1)].text))
    return found


def plain_name(name: str) -> str:
    """The name without its schema or table, and without quotes."""
    return name.rsplit(".", 1)[-1].strip("`").lower()


def model_of_digest(digest: str, tables: Tables) -> StatementModel:
    """The model of a digest's statements. Raises UnknownValueError with the reason if a value is unknown."""
    tokens = [token for token in tokens_of(digest) if token.kind != "space"]
    if [token.text for token in tokens[-3:]] == ["."] * 3:
        raise UnknownValueError("the server truncated its text")
    return _DigestReader(tokens, [tables[name] for name in tables_named(digest) if name in tables]).read()


class _DigestReader:
    """Reads the tokens of one digest."""

    def __init__(self, tokens: list[Token], tables: list[Mapping[str, ColumnFacts]]) -> None:
        self._tokens = tokens
        self._tables = tables
        self._fragments = [""]
        self._slots: list[SlotModel] = []
        self._column = ""
        self._between: int | None = None
        self._is_insert = bool(tokens) and tokens[0].text.upper() in ("INSERT", "REPLACE")

    def read(self) -> StatementModel:
        place = 0
        while place < len(self._tokens):
            place = self._take(place)
        slots = tuple(Slot(slot.row, len(slot.models)) for slot in self._slots)
        return StatementModel(Template(tuple(self._fragments), slots), tuple(self._slots))

    def _take(self, place: int) -> int:
        token, before = self._tokens[place], self._word(place - 1)
        if token.text == "(" and self._is_omitted_list(place):
            self._omitted_list(before)
            return place + 5
        if before in ("VALUES", "VALUE") and token.text == "(" and self._is_insert:
            return self._row(place)
        if token.kind == "mark":
            self._mark(before)
        else:
            is_call = token.text == "(" and self._is_function(place - 1)
            self._write(token.text, after="" if is_call else " ")
        if token.kind == "name" and token.text.upper() not in _KEYWORDS:
            self._column = plain_name(token.text)
        return place + 1

    def _word(self, place: int) -> str:
        return self._tokens[place].text.upper() if place >= 0 else ""

    def _is_function(self, place: int) -> bool:
        """True if a name may be a function's: no space is allowed after it."""
        token = self._tokens[max(place, 0)]
        is_word = token.kind == "name" and not token.text.startswith("`")
        return is_word and token.text.upper() not in _KEYWORDS

    def _write(self, text: str, after: str = " ") -> None:
        """Write a token, separated by `after` from the previous one."""
        joined = self._fragments[-1]
        self._fragments[-1] = f"{joined}{after}{text}" if joined or self._slots else text

    def _add(self, slot: SlotModel) -> None:
        self._fragments[-1] += " " * bool(self._fragments[-1] and not slot.row)
        self._slots.append(slot)
        self._fragments.append("")

    def _is_omitted_list(self, place: int) -> bool:
        return [token.text for token in self._tokens[place : place + 5]] == ["(", ".", ".", ".", ")"]

    def _omitted_list(self, before: str) -> None:
        """`(...)`: the values of an IN list, or of one or more rows of an INSERT."""
        if before in ("VALUES", "VALUE"):
            for number, name in enumerate(self._inserted_columns()):
                self._write("(" if number == 0 else ",")
                self._add(SlotModel((self._model(name, is_new=True),)))
            self._write(")")
            return
        if before != "IN":
            raise UnknownValueError(f"a list after {before}")
        self._write("(")
        self._add(SlotModel((self._model(self._column),), "?", ASSUMED_LIST))
        self._write(")")

    def _inserted_columns(self) -> list[str]:
        """The columns between the table's name and VALUES; all columns of the table without a list."""
        words = [token.text for token in self._tokens]
        upper = [word.upper() for word in words]
        end = next(place for place, word in enumerate(upper) if word in ("VALUES", "VALUE"))
        if "(" in words[:end]:
            begin = words.index("(")
            return [plain_name(word) for word in words[begin + 1 : end - 1] if word != ","]
        if not self._tables:
            raise UnknownValueError("its table is not in this database")
        return list(self._tables[0])

    def _row(self, place: int) -> int:
        """One row of an INSERT, each `?` with its column."""
        columns, number, depth = self._inserted_columns(), 0, 0
        while place < len(self._tokens):
            token = self._tokens[place]
            depth += (token.text == "(") - (token.text == ")")
            if token.kind == "mark":
                name = columns[number] if number < len(columns) else ""
                self._add(SlotModel((self._model(name, is_new=depth == 1),)))
            else:
                self._write(token.text)
            number += token.text == "," and depth == 1
            place += 1
            if not depth:
                break
        return place

    def _mark(self, before: str) -> None:
        slot = len(self._slots)
        if before in ("LIMIT", ",", "OFFSET") and "LIMIT" in (before, self._last_keyword()):
            self._add(SlotModel((Constant(ASSUMED_LIMIT if before != "OFFSET" else 0),)))
        elif before in ("+", "-", "SELECT"):
            self._add(SlotModel((Constant(1),)))
        elif before == "BETWEEN":
            self._between = slot
            self._add(SlotModel((self._model(self._column),)))
        elif before == "AND" and self._between is not None:
            self._add(SlotModel((self._upper_end(self._between),)))
            self._between = None
        elif before in _COMPARISONS:
            self._add(SlotModel((self._model(self._column),)))
        else:
            raise UnknownValueError(f"a value after {before or 'nothing'}")

    def _last_keyword(self) -> str:
        words = " ".join(self._fragments).upper().split()
        return next((word for word in reversed(words) if word in _KEYWORDS), "")

    def _upper_end(self, slot: int) -> ValueModel:
        (model,) = self._slots[slot].models
        if isinstance(model, IntegerRange):
            return Related(sum(not each.row for each in self._slots[:slot]), ASSUMED_RANGE)
        return model

    def _model(self, column: str, *, is_new: bool = False) -> ValueModel:
        for table in self._tables:
            if column in table:
                return column_model(table[column], is_new=is_new)
        raise UnknownValueError(f"the values of '{column}'" if column else "a value without a column")


def column_model(facts: ColumnFacts, *, is_new: bool = False) -> ValueModel:
    """The values of a column: `is_new` for those that an INSERT writes."""
    if facts.data_type in _INTEGERS:
        if is_new and facts.is_key:
            return UniqueNumber()
        if facts.low is None or facts.high is None:
            return IntegerRange(1, 100)
        return IntegerRange(facts.low, facts.high) if facts.low < facts.high else Constant(facts.low)
    if facts.data_type in _DECIMALS:
        numbers = [float(each) for each in facts.samples] or [0.0, 1000.0]
        return DecimalSpan(int(min(numbers)), int(max(numbers)) + 1, 2)
    if is_new and facts.is_key:
        return RandomDigits(max(1, min(10, facts.length // _DIGIT_GROUP)))
    if facts.samples:
        return Listed(facts.samples[:MAX_LISTED])
    if facts.length >= _DIGIT_GROUP:
        return RandomDigits(min(10, facts.length // _DIGIT_GROUP))
    return Listed(
        ("2025-01-01",) if facts.data_type in ("date", "datetime", "timestamp") else ("1", "2", "3")
    )


def sample_text(value: object) -> str | None:
    """A value as an item of a list of texts; None for an unsuitable value."""
    if value is None or isinstance(value, bytes | bytearray | memoryview):
        return None
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)
