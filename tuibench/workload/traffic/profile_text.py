"""Writer of profiles from observed traffic: TOML for reading and editing."""

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple, assert_never

from tuibench.workload.traffic.mix import SlotModel, StatementModel, TransactionModel
from tuibench.workload.traffic.value_models import (
    Constant,
    DecimalSpan,
    IntegerRange,
    Listed,
    RandomDigits,
    Related,
    UniqueNumber,
    ValueModel,
)

_TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE|JOIN)\s+`?(?:\w+`?\.`?)?(\w+)", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]+")


class ObservedTraffic(NamedTuple):
    """The content of a profile. `notes` are comments at its head."""

    name: str
    summary: str
    notes: Sequence[str]
    kinds: Sequence[TransactionModel]


def toml_text(text: str) -> str:
    """A basic string of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def profile_text(traffic: ObservedTraffic) -> str:
    """The profile as a file."""
    writer = _Writer()
    bodies = [writer.transaction(kind) for kind in traffic.kinds]
    lines = [f"# {note}" if note else "#" for note in traffic.notes]
    lines += [
        "",
        f"name = {toml_text(traffic.name)}",
        f"summary = {toml_text(traffic.summary)}",
        'data_set = "none"',
    ]
    if writer.lists:
        lines += ["", "[lists]", *(f"{name} = {values}" for name, values in writer.lists.items())]
    return "\n".join(lines) + "\n" + "".join(bodies)


class _Writer:
    """Writes transactions; `lists` are the value lists used."""

    def __init__(self) -> None:
        self.lists: dict[str, str] = {}
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
        """A name for a statement: equal for equal SQL and repeated parts."""
        key = "\n".join((sql, *parts))
        if key not in self._names:
            verb = sql.split()[0].lower().strip("(")
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
            if isinstance(model, Constant):
                sql += _number_text(model.number)
            else:
                sql += "?"
                bind.append(self._bound(model, f"v{self._slots}", self.lets))
            self._slots += 1
        sql += statement.template.fragments[-1]
        name = self._writer.statement_name(sql, parts)
        self.names.append(name)
        lines = ["[[transactions.steps.statements]]", f"name = {toml_text(name)}", f"sql = {toml_text(sql)}"]
        lines += [f"bind = [{', '.join(map(toml_text, bind))}]"] * bool(bind)
        return lines + parts

    def _list(self, name: str, slot: SlotModel) -> Iterator[str]:
        """The repeated part of a statement."""
        lets: list[str] = []
        pieces, bind = slot.row.split("?"), []
        sql = pieces[0]
        for number, (model, piece) in enumerate(zip(slot.models, pieces[1:], strict=True)):
            if isinstance(model, Constant):
                sql += _number_text(model.number)
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
            case IntegerRange(low, high):
                lets.append(f'let.{name} = {{ make = "uniform", low = {low}, high = {high} }}')
            case DecimalSpan(low, high, places):
                lets.append(
                    f'let.{name} = {{ make = "decimal", low = {low}, high = {high}, places = {places} }}'
                )
            case Listed(values):
                listed = self._writer.add_list(values)
                if len(values) == 1:
                    return f"{listed}[0]"
                lets.append(f'let.{name} = {{ make = "uniform", low = 0, high = {len(values) - 1} }}')
                return f"{listed}[{name}]"
            case Related(slot, plus):
                return f"v{slot} + {plus}" if plus > 0 else f"v{slot} - {-plus}" if plus else f"v{slot}"
            case UniqueNumber():
                lets.append(f'let.{name} = {{ make = "unique" }}')
            case RandomDigits(groups):
                lets.append(f'let.{name} = {{ make = "digits", groups = {groups} }}')
            case Constant(number):
                return _number_text(number)
            case _:
                assert_never(model)
        return name


def _number_text(number: int | Decimal) -> str:
    return format(number, "f") if isinstance(number, Decimal) else str(number)


def _unused(name: str, taken: set[str]) -> str:
    """A unique name: the name itself, or with a number appended; it is reserved."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found
