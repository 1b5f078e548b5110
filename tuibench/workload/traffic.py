"""Observed traffic as a profile: the mix of transactions, models of digests, and the writer of its TOML.

A digest has no values, so they are taken from the columns that it compares or sets. The context of a `?`
tells its meaning: the column before a comparison, the columns of an INSERT, a LIMIT. If the meaning is
unknown, the statement is left out, with the reason.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import NamedTuple

from tuibench.workload.expressions import Constant, DecimalConstant, literal
from tuibench.workload.language import generator_text, toml_text
from tuibench.workload.query_log import DAMAGED
from tuibench.workload.sql import (
    CLASS_BY_VERB,
    StatementClass,
    Token,
    split_at_placeholders,
    statement_class,
    strip_literals,
    tokens_of,
    verb_of,
)
from tuibench.workload.table_names import qualified
from tuibench.workload.templates import (
    MAX_LISTED,
    Listed,
    Observed,
    Slot,
    StatementReader,
    Template,
    Value,
    ValueModel,
    model_of,
    relation,
)
from tuibench.workload.values import DecimalRange, Digits, Generator, Sum, Uniform, Unique

MAX_SAMPLES = 1000
"""Transactions sampled for each kind, all with the same probability."""

MIN_SAMPLES = 20
"""Samples kept for each kind even if all samples are too large."""
MAX_KEPT = 500_000
"""Size of all samples together: a statement counts 1, and its values as in `Observed.keep`. If they are
larger, fewer samples of each kind are kept.
"""

MAX_KINDS = 5000
MAX_TEXT = 1 << 25
"""Characters of all kinds together. If there are more kinds or characters, the rarer half of the kinds is
forgotten.
"""

MAX_REASONS = 200
MAX_DATABASES = 1000
"""Numbers of reasons and databases that are kept apart."""

MAX_PLACEHOLDERS = 65_535
"""The servers' limit of placeholders in a prepared statement."""

LOOK_BACK = 8
"""Number of earlier slots with which a value is compared."""

RARE = "of rare kinds"
UNBOUND = "with ? in place of a value"
TOO_MANY_VALUES = f"with more than {MAX_PLACEHOLDERS:,} values"
WITH_FILES = "that read or write files"
OTHER_STATEMENTS = "of other kinds"


class SlotModel(NamedTuple):
    """The values of one slot of a statement."""

    models: tuple[ValueModel, ...]
    """One model; for a list, one for each column of `row`."""
    row: str = ""
    """SQL of one row of a list; empty for a single value."""
    repeat: int = 1
    """Number of rows of a list."""


class StatementModel(NamedTuple):
    """One statement of a transaction."""

    template: Template
    slots: tuple[SlotModel, ...]
    database: str = ""
    """Empty if unknown."""


class TransactionModel(NamedTuple):
    """One kind of transaction."""

    times: int
    """How often it was observed."""
    explicit: bool
    statements: tuple[StatementModel, ...]


class _Kind(NamedTuple):
    """The key of transactions that differ in values only."""

    is_explicit: bool
    statements: tuple[tuple[Template, str], ...]
    """Template and database of each statement."""


_Sample = tuple[Observed, ...]


class TrafficMix:
    """Collects transactions and builds their models.

    Memory is bounded by the number of kinds, of which the most frequent are kept (lossy counting), and by the
    size of the samples.
    """

    def __init__(self) -> None:
        self.lost: Counter[str] = Counter()
        """Statements that are left out, because a profile cannot contain them or their kind is rare, by
        reason.
        """
        self.transactions = 0
        self.databases: set[str] = set()
        self._counts: Counter[_Kind] = Counter()
        self._samples: dict[_Kind, list[_Sample]] = {}
        self._kept = 0
        self._text = 0
        self._most_samples = MAX_SAMPLES
        self._random = Random(0)
        self._reader = StatementReader()
        self._losses: dict[Template, str] = {}
        self._losses_text = 0

    def add(
        self, statements: Sequence[str], *, explicit: bool, databases: Sequence[str] = (), times: int = 1
    ) -> None:
        """Add a transaction that represents `times` transactions. `databases` has the database of each
        statement.

        Statements that a profile cannot contain are left out.
        """
        observed, known = [], []
        for place, sql in enumerate(statements):
            if (found := self._observe(sql)) is not None:
                observed.append(found)
                known.append(databases[place] if databases else "")
        if not observed:
            return
        self.transactions += times
        if len(self.databases) < MAX_DATABASES:
            self.databases.update(filter(None, known))
        kind = _Kind(
            explicit, tuple((each.template, name) for each, name in zip(observed, known, strict=True))
        )
        if kind not in self._counts:
            self._text += _length(kind)
            if len(self._counts) >= MAX_KINDS or (self._text > MAX_TEXT and len(self._counts) > 1):
                self._drop_rare()
        self._counts[kind] += times
        self._sample(kind, tuple(observed))

    def _sample(self, kind: _Kind, observed: _Sample) -> None:
        """Keep a sample of the kind's values, each with the same probability."""
        samples = self._samples.setdefault(kind, [])
        if len(samples) < self._most_samples:
            samples.append(observed)
            self._kept += _size(observed)
        elif (place := self._random.randrange(self._counts[kind])) < self._most_samples:
            self._kept += _size(observed) - _size(samples[place])
            samples[place] = observed
        if self._kept > MAX_KEPT and self._most_samples > MIN_SAMPLES:
            self._most_samples //= 2
            for each in self._samples.values():
                if len(each) > self._most_samples:
                    each[:] = self._random.sample(each, self._most_samples)
            self._kept = sum(_size(each) for found in self._samples.values() for each in found)

    def _drop_rare(self) -> None:
        """Forget the rarer half of the kinds."""
        for kind, times in self._counts.most_common()[len(self._counts) // 2 :]:
            del self._counts[kind]
            self._text -= _length(kind)
            self._kept -= sum(map(_size, self._samples.pop(kind)))
            self.lost[RARE] += times * len(kind.statements)

    @staticmethod
    def is_wanted(sql: str) -> bool:
        """True for a statement that reads or writes rows."""
        return statement_class(sql) is not StatementClass.OTHER

    def _observe(self, sql: str) -> Observed | None:
        """The statement; None if a profile cannot contain it, for the reason counted in `lost`."""
        observed = self._reader.observe(sql)
        template = observed.template
        loss = self._losses.get(template)
        if loss is None:
            self._losses_text += sum(map(len, template.fragments))
            if len(self._losses) > 2 * MAX_KINDS or self._losses_text > MAX_TEXT:
                self._losses.clear()
                self._losses_text = 0
            loss = self._losses[template] = _loss(template)
        if observed.placeholders > MAX_PLACEHOLDERS:
            loss = TOO_MANY_VALUES
        if loss:
            is_known = loss in self.lost or len(self.lost) < MAX_REASONS
            self.lost[loss if is_known else OTHER_STATEMENTS] += 1
            return None
        return observed

    def kinds(self, most: int) -> list[TransactionModel]:
        """Models of the `most` most frequent kinds, the most frequent first."""
        return [
            TransactionModel(count, kind.is_explicit, _models(kind, self._samples[kind]))
            for kind, count in self._counts.most_common(most)
        ]


def _loss(template: Template) -> str:
    """Why a profile cannot contain such statements; empty if it can."""
    text = "".join(template.fragments)
    verb = verb_of(text)
    if CLASS_BY_VERB.get(verb, StatementClass.OTHER) is StatementClass.OTHER:
        return verb or "empty"
    fixed = strip_literals(text)
    # Both have a meaning in a profile; where a text ends may depend on the placeholders.
    if "?" in fixed:
        return UNBOUND
    if any(sign in strip_literals("?".join(template.fragments)) for sign in "{}"):
        return f"{verb} with braces"
    if any(
        len(split_at_placeholders(sql)) != count + 1
        for sql, count in [("?".join(template.fragments), len(template.slots)), *filter(all, template.slots)]
    ):
        return DAMAGED
    return WITH_FILES if _FILES.search(fixed) else ""


_FILES = re.compile(r"\bINTO\s+(?:OUTFILE|DUMPFILE)\b|\s*LOAD\b", re.IGNORECASE)


def _length(kind: _Kind) -> int:
    """The characters of a kind's statements."""
    return sum(len(fragment) for template, _ in kind.statements for fragment in template.fragments)


def _size(sample: _Sample) -> int:
    """The size of a sample, in the unit of `MAX_KEPT`."""
    return len(sample) + sum([observed.keep() for observed in sample])


def _models(kind: _Kind, samples: Sequence[_Sample]) -> tuple[StatementModel, ...]:
    """The models of a transaction's statements; a value may depend on an earlier one."""
    earlier: list[tuple[int, list[Value]]] = []
    number = 0
    made = []
    for place, (template, database) in enumerate(kind.statements):
        slots = []
        observed = [sample[place].values for sample in samples]
        for slot, shape in enumerate(template.slots):
            seen = [values[slot] for values in observed]
            if shape.row:
                lengths = sorted(sample[place].lengths[slot] for sample in samples)
                columns = [[row[column] for rows in seen for row in rows] for column in range(shape.width)]
                slots.append(SlotModel(tuple(map(model_of, columns)), shape.row, lengths[len(lengths) // 2]))
                continue
            values = [rows[0][0] for rows in seen]
            model = _related(earlier, values) or model_of(values)
            if all(isinstance(value, int) for value in values) and not isinstance(model, Constant | Sum):
                earlier.append((number, values))
            slots.append(SlotModel((model,)))
            number += 1
        made.append(StatementModel(template, tuple(slots), database))
    return tuple(made)


def _related(earlier: Sequence[tuple[int, list[Value]]], values: Sequence[Value]) -> Sum | None:
    if len(set(values)) == 1:
        return None
    for number, before in reversed(earlier[-LOOK_BACK:]):
        plus = relation(before, values)
        if plus is not None:
            return _plus(number, plus)
    return None


def _plus(slot: int, number: int) -> Sum:
    """The value of an earlier slot plus a number."""
    return Sum((f"v{slot}",), number)


ASSUMED_RANGE = 99
"""Assumed difference of the two numbers in BETWEEN ? AND ?."""

ASSUMED_LIST = 10
"""Assumed number of values in IN (...)."""

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
    """What is known of a column."""

    data_type: str
    length: int = 0
    is_key: bool = False
    """True if an INSERT must not repeat a value."""
    low: int | None = None
    """Lowest and highest value; None if unknown."""
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
        token, before = self._tokens[place], self._tokens[place - 1].text.upper() if place else ""
        if token.text == "(" and [each.text for each in self._tokens[place : place + 5]] == list("(...)"):
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

    def _is_function(self, place: int) -> bool:
        """True if a name may be a function's: then no space may follow it."""
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

    def _omitted_list(self, before: str) -> None:
        """The values of `(...)`: of an IN list, or of one or more rows of an INSERT."""
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
        """The columns between the table's name and VALUES; without such a list, all columns of the table."""
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
            self._add(SlotModel((literal(ASSUMED_LIMIT if before != "OFFSET" else 0),)))
        elif before in ("+", "-", "SELECT"):
            self._add(SlotModel((literal(1),)))
        elif before == "BETWEEN":
            self._between = slot
            self._add(SlotModel((self._model(self._column),)))
        elif before == "AND" and self._between is not None:
            (model,) = self._slots[self._between].models
            self._add(
                SlotModel(
                    (
                        (
                            _plus(sum(not each.row for each in self._slots[: self._between]), ASSUMED_RANGE)
                            if isinstance(model, Uniform)
                            else model
                        ),
                    )
                )
            )
            self._between = None
        elif before in _COMPARISONS:
            self._add(SlotModel((self._model(self._column),)))
        else:
            raise UnknownValueError(f"a value after {before or 'nothing'}")

    def _last_keyword(self) -> str:
        words = " ".join(self._fragments).upper().split()
        return next((word for word in reversed(words) if word in _KEYWORDS), "")

    def _model(self, column: str, *, is_new: bool = False) -> ValueModel:
        for table in self._tables:
            if column in table:
                return column_model(table[column], is_new=is_new)
        raise UnknownValueError(f"the values of '{column}'" if column else "a value without a column")


def column_model(facts: ColumnFacts, *, is_new: bool = False) -> ValueModel:
    """The values of a column. With `is_new`, they are values that an INSERT writes."""
    if facts.data_type in _INTEGERS:
        if is_new and facts.is_key:
            return Unique()
        if facts.low is None or facts.high is None:
            return Uniform(low=1, high=100)
        return Uniform(low=facts.low, high=facts.high) if facts.low < facts.high else literal(facts.low)
    if facts.data_type in _DECIMALS:
        numbers = [float(each) for each in facts.samples] or [0.0, 1000.0]
        return DecimalRange(low=int(min(numbers)), high=int(max(numbers)) + 1)
    if is_new and facts.is_key:
        return Digits(groups=max(1, min(10, facts.length // _DIGIT_GROUP)))
    if facts.samples:
        return Listed(facts.samples[:MAX_LISTED])
    if facts.length >= _DIGIT_GROUP:
        return Digits(groups=min(10, facts.length // _DIGIT_GROUP))
    return Listed(
        ("2025-01-01",) if facts.data_type in ("date", "datetime", "timestamp") else ("1", "2", "3")
    )


def sample_text(value: object) -> str | None:
    """A value as an item of a list of texts; None if it cannot be one."""
    if value is None or isinstance(value, bytes | bytearray | memoryview):
        return None
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


_TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE|JOIN)\s+`?(?:\w+`?\.`?)?(\w+)", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]+")


def statement_sql(statement: StatementModel, *, with_database: bool = False) -> str:
    """The statement's SQL in the profile, with a `?` for each value that is drawn."""
    sql = statement.template.fragments[0]
    for slot, fragment in zip(statement.slots, statement.template.fragments[1:], strict=True):
        if slot.row:
            pieces = split_at_placeholders(slot.row)
            row = pieces[0] + "".join(
                (_constant_text(model) or "?") + piece
                for model, piece in zip(slot.models, pieces[1:], strict=True)
            )
            sql += ", ".join([row] * slot.repeat)
        else:
            sql += _constant_text(slot.models[0]) or "?"
        sql += fragment
    return qualified(sql, statement.database) if with_database else sql


def profile_text(
    name: str,
    summary: str,
    notes: Sequence[str],
    kinds: Sequence[TransactionModel],
    *,
    with_database: bool = False,
) -> str:
    """A profile of observed transactions. `notes` are comments at its head. With `with_database`, tables are
    written with the database of the statement.
    """
    writer = _Writer(with_database=with_database)
    bodies = [writer.transaction(kind) for kind in kinds]
    lines = [f"# {note}" if note else "#" for note in notes]
    lines += [
        "",
        f"name = {toml_text(name)}",
        f"summary = {toml_text(summary)}",
        'data_set = "none"',
    ]
    if writer.lists:
        lines += ["", "[lists]", *(f"{each} = {values}" for each, values in writer.lists.items())]
    return "\n".join(lines) + "\n" + "".join(bodies)


class _Writer:
    """Writes transactions."""

    def __init__(self, *, with_database: bool) -> None:
        self.lists: dict[str, str] = {}
        """The value lists that the transactions use."""
        self.with_database = with_database
        self._names: dict[str, str] = {}
        self._transactions: set[str] = set()

    def transaction(self, kind: TransactionModel) -> str:
        body = _Body(self)
        written = [body.statement(statement) for statement in kind.statements]
        first = body.names[0] if len(body.names) == 1 else f"{body.names[0]}_and_{len(body.names) - 1}"
        name = _unused(first, self._transactions)
        lines = ["", "[[transactions]]", f"name = {toml_text(name)}", f"weight = {kind.times}"]
        lines += ["autocommit = true"] * (not kind.explicit)
        lines += ["", "[[transactions.steps]]", *body.lets]
        for statement in written:
            lines += ["", *statement]
        return "\n".join(lines) + "\n"

    def statement_name(self, sql: str, parts: Sequence[str]) -> str:
        """A statement's name: the same for the same SQL and repeated parts."""
        key = "\n".join((sql, *parts))
        if key not in self._names:
            verb = verb_of(sql).lower()
            table = _TABLE.search(sql)
            plain = _NOT_IN_NAMES.sub("_", f"{verb}_{table[1].lower()}" if table else verb)
            self._names[key] = _unused(plain, set(self._names.values()))
        return self._names[key]

    def add_list(self, values: Sequence[int | str]) -> str:
        text = ", ".join(toml_text(value) if isinstance(value, str) else str(value) for value in values)
        known = {written: name for name, written in self.lists.items()}
        name = known.get(f"[{text}]", f"seen{len(self.lists) + 1}")
        self.lists[name] = f"[{text}]"
        return name


class _Body:
    """The single step of a transaction: its variables, then its statements."""

    def __init__(self, writer: _Writer) -> None:
        self.lets: list[str] = []
        self.names: list[str] = []
        self._writer = writer
        self._slots = 0
        self._parts = 0

    def statement(self, statement: StatementModel) -> list[str]:
        sql = ""
        bind: list[str] = []
        parts: list[str] = []
        for fragment, slot in zip(statement.template.fragments, statement.slots, strict=False):
            sql += fragment
            if slot.row:
                self._parts += 1
                sql += f"{{list{self._parts}}}"
                parts += self._list(f"list{self._parts}", slot)
                continue
            (model,) = slot.models
            if (constant := _constant_text(model)) is not None:
                sql += constant
            else:
                sql += "?"
                bind.append(self._bound(model, f"v{self._slots}", self.lets))
            self._slots += 1
        sql += statement.template.fragments[-1]
        if self._writer.with_database:
            sql = qualified(sql, statement.database)
        name = self._writer.statement_name(sql, parts)
        self.names.append(name)
        lines = ["[[transactions.steps.statements]]", f"name = {toml_text(name)}", f"sql = {toml_text(sql)}"]
        lines += [f"bind = [{', '.join(map(toml_text, bind))}]"] * bool(bind)
        return lines + parts

    def _list(self, name: str, slot: SlotModel) -> Iterator[str]:
        """The repeated part of a statement."""
        lets: list[str] = []
        pieces, bind = split_at_placeholders(slot.row), []
        sql = pieces[0]
        for number, (model, piece) in enumerate(zip(slot.models, pieces[1:], strict=True)):
            if (constant := _constant_text(model)) is not None:
                sql += constant
            else:
                sql += "?"
                bind.append(self._bound(model, f"c{number}", lets))
            sql += piece
        yield f"parts.{name}.sql = {toml_text(sql)}"
        yield f"parts.{name}.repeat = {slot.repeat}"
        yield from (f"parts.{name}.{let}" for let in lets)
        if bind:
            yield f"parts.{name}.bind = [{', '.join(map(toml_text, bind))}]"

    def _bound(self, model: ValueModel, name: str, lets: list[str]) -> str:
        """The value bound to a slot; its variable is added to `lets`."""
        match model:
            case Listed(values):
                listed = self._writer.add_list(values)
                if len(values) == 1:
                    return f"{listed}[0]"
                lets.append(f"let.{name} = {generator_text(Uniform(low=0, high=len(values) - 1))}")
                return f"{listed}[{name}]"
            case Sum(variables=(earlier,), constant=plus):
                return f"{earlier} {'+' if plus > 0 else '-'} {abs(plus)}" if plus else earlier
            case Generator():
                lets.append(f"let.{name} = {generator_text(model)}")
                return name
            case Constant(value=number) | DecimalConstant(value=number):
                return _number_text(number)
            case _:
                raise TypeError(f"{model} is no model of a value")


def _constant_text(model: ValueModel) -> str | None:
    """The literal of a value that is always the same. None for other values, and for a text that depends on
    how the server reads backslashes and quotes.
    """
    match model:
        case Constant(value=number) | DecimalConstant(value=number):
            return _number_text(number)
        case Listed(values=(str(text),)) if text.isprintable() and not {"'", "\\"} & set(text):
            return f"'{text}'"
        case _:
            return None


def _number_text(number: object) -> str:
    return format(number, "f") if isinstance(number, Decimal) else str(number)


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a number appended if it is taken; the result is added to `taken`."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found
