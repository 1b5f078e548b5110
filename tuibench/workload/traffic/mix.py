"""Mix of observed transactions: each kind with its count, and samples of its values."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from tuibench.workload.program.program import StatementClass
from tuibench.workload.program.sql_text import statement_class
from tuibench.workload.traffic.templates import Observed, Template, Value, observe
from tuibench.workload.traffic.value_models import Constant, Related, ValueModel, model_of, relation

MAX_SAMPLES = 1000
"""Observations kept per kind; more are sampled evenly."""

MAX_KINDS = 5000
LOOK_BACK = 8
"""The number of earlier slots that a value is compared with."""


class SlotModel(NamedTuple):
    """A slot of a statement. For a list `models` has one for each column of `row`; `repeat` is its length."""

    models: tuple[ValueModel, ...]
    row: str = ""
    repeat: int = 1


class StatementModel(NamedTuple):
    """One statement of a transaction."""

    template: Template
    slots: tuple[SlotModel, ...]


class TransactionModel(NamedTuple):
    """One kind of transaction: its count, and its statements."""

    times: int
    explicit: bool
    statements: tuple[StatementModel, ...]


_Key = tuple[bool, tuple[Template, ...]]


class TrafficMix:
    """Collects transactions and builds their models. `skipped` counts statements that a profile cannot
    contain, by verb.
    """

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.transactions = 0
        self._counts: Counter[_Key] = Counter()
        self._samples: dict[_Key, list[tuple[Observed, ...]]] = {}
        self._random = Random(0)

    def add(self, statements: Sequence[str], *, explicit: bool) -> None:
        """Add a transaction; statements that a profile cannot contain are omitted."""
        observed = tuple(observe(sql) for sql in statements if self._can_have(sql))
        if not observed:
            return
        self.transactions += 1
        key = (explicit, tuple(each.template for each in observed))
        if key not in self._counts and len(self._counts) >= MAX_KINDS:
            return
        self._counts[key] += 1
        samples = self._samples.setdefault(key, [])
        if len(samples) < MAX_SAMPLES:
            samples.append(observed)
        elif (place := self._random.randrange(self._counts[key])) < MAX_SAMPLES:
            samples[place] = observed

    @staticmethod
    def is_wanted(sql: str) -> bool:
        """True for a statement that reads or writes rows."""
        return statement_class(sql) is not StatementClass.OTHER

    def _can_have(self, sql: str) -> bool:
        """True if a profile can contain it: braces and question marks have a meaning there."""
        if self.is_wanted(sql) and not any(
            sign in fragment for fragment in observe(sql).template.fragments for sign in "{}?"
        ):
            return True
        self.skipped[(sql.split() or ["?"])[0].upper()[:20]] += 1
        return False

    def kinds(self, most: int) -> list[TransactionModel]:
        """The most frequent kinds, most frequent first."""
        return [
            TransactionModel(count, key[0], _models(self._samples[key]))
            for key, count in self._counts.most_common(most)
        ]


def _models(samples: Sequence[tuple[Observed, ...]]) -> tuple[StatementModel, ...]:
    """The models of a transaction's statements; a value may depend on an earlier one."""
    earlier: list[tuple[int, list[Value]]] = []
    number = 0
    made = []
    for place, first in enumerate(samples[0]):
        slots = []
        for slot, shape in enumerate(first.template.slots):
            seen = [sample[place].values[slot] for sample in samples]
            if shape.row:
                slots.append(_list_model(shape.row, shape.width, seen))
                continue
            values = [rows[0][0] for rows in seen]
            model = _related(earlier, values) or model_of(values)
            if all(isinstance(value, int) for value in values) and not isinstance(model, Constant | Related):
                earlier.append((number, values))
            slots.append(SlotModel((model,)))
            number += 1
        made.append(StatementModel(first.template, tuple(slots)))
    return tuple(made)


def _related(earlier: Sequence[tuple[int, list[Value]]], values: Sequence[Value]) -> Related | None:
    if len(set(values)) == 1:
        return None
    for number, before in reversed(earlier[-LOOK_BACK:]):
        plus = relation(before, values)
        if plus is not None:
            return Related(number, plus)
    return None


def _list_model(row: str, width: int, seen: Sequence[tuple[tuple[Value, ...], ...]]) -> SlotModel:
    lengths = sorted(len(rows) for rows in seen)
    columns = [[row[column] for rows in seen for row in rows] for column in range(width)]
    return SlotModel(tuple(model_of(column) for column in columns), row, lengths[len(lengths) // 2])
