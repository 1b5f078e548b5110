"""From a profile and the user's options to a program: numbers resolved, SQL written for each table."""

from collections.abc import Mapping

import msgspec

from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload import distribution, options
from tuibench.workload.check import Checker
from tuibench.workload.datasets import data_set_class
from tuibench.workload.options import Option
from tuibench.workload.profile import (
    DigitsValue,
    KeyValue,
    Make,
    Profile,
    StatementText,
    StepText,
    SumValue,
    TransactionText,
    UniformValue,
)
from tuibench.workload.program import (
    Digits,
    Key,
    Program,
    Statement,
    StatementClass,
    Step,
    Sum,
    Transaction,
    Uniform,
    Value,
)

CLASSES = {
    "SELECT": StatementClass.READ,
    "INSERT": StatementClass.WRITE,
    "UPDATE": StatementClass.WRITE,
    "DELETE": StatementClass.WRITE,
    "REPLACE": StatementClass.WRITE,
}
"""Where a statement is counted, by its first word; all others count as other."""

BEGIN = Step(
    repeat=1,
    let={},
    statements=(Statement(name="begin", cls=StatementClass.OTHER, sql=("BEGIN",), prepared=False),),
)
COMMIT = Step(
    repeat=1,
    let={},
    statements=(Statement(name="commit", cls=StatementClass.OTHER, sql=("COMMIT",), prepared=False),),
)


def known_options(profile: Profile, source: str = "") -> dict[str, Option]:
    """All options of a profile: the distribution's, its data set's with its own defaults, and its own."""
    shared = {**distribution.OPTIONS, **data_set_class(profile.data_set, source or profile.name).OPTIONS}
    for name in profile.options:
        if name in shared:
            raise UsageError(
                f"{source or profile.name}: options.{name}: the data set {profile.data_set} has this option",
                "give it another default in [defaults]",
            )
    for name, default in profile.defaults.items():
        if name in shared:
            shared[name] = msgspec.structs.replace(shared[name], default=default)
    return {**shared, **profile.options}


def check(profile: Profile, source: str) -> None:
    """Raises UsageError for the first thing in the profile that means nothing."""
    Checker(profile, known_options(profile, source), source).check()


def compile_profile(profile: Profile, given: Mapping[str, object]) -> Program:
    """The program of a checked profile with a user's options, as text or typed, `-` and `_` alike.

    Raises UsageError for an unknown option, a bad value, and options that leave nothing to do.
    """
    values = options.resolve(known_options(profile), given)
    data_set = data_set_class(profile.data_set, profile.name).from_options(values)
    compiler = _Compiler(values, data_set.table_names())
    transactions = tuple(compiler.transaction(transaction) for transaction in profile.transactions)
    for transaction in transactions:
        if all(
            statement.cls is StatementClass.OTHER
            for step in transaction.steps
            for statement in step.statements
        ):
            raise UsageError(
                f"{profile.name}: with these options the transaction '{transaction.name}' has nothing to do",
                "raise one of its repeat counts",
            )
    return Program(
        profile=profile.name,
        data_set=profile.data_set,
        tables=data_set.table_names(),
        options=values,
        transactions=transactions,
    )


class _Compiler:
    def __init__(self, values: Mapping[str, OptionValue], tables: tuple[str, ...]) -> None:
        self._values = values
        self._tables = tables
        self._distribution = distribution.chosen(values)

    def transaction(self, text: TransactionText) -> Transaction:
        autocommit = self._values[text.autocommit] if isinstance(text.autocommit, str) else text.autocommit
        steps = tuple(step for step in map(self._step, text.steps) if step.repeat)
        if not autocommit:
            steps = (BEGIN, *steps, COMMIT)
        return Transaction(name=text.name, weight=text.weight, explicit=not autocommit, steps=steps)

    def _step(self, text: StepText) -> Step:
        happens = not text.when or self._values[text.when]
        return Step(
            repeat=self._number(text.repeat) if happens else 0,
            let={name: self._value(name, make) for name, make in text.let.items()},
            statements=tuple(self._statement(statement) for statement in text.statements),
        )

    def _statement(self, text: StatementText) -> Statement:
        names_table = "{table}" in text.sql
        return Statement(
            name=text.name,
            cls=CLASSES.get(text.sql.split(maxsplit=1)[0].upper(), StatementClass.OTHER),
            sql=tuple(text.sql.replace("{table}", table) for table in self._tables)
            if names_table
            else (text.sql,),
            bind=text.bind,
        )

    def _value(self, name: str, make: Make) -> Value:
        match make:
            case KeyValue():
                return Key(*self._bounds(name, make), self._distribution)
            case UniformValue():
                return Key(*self._bounds(name, make), Uniform())
            case DigitsValue(groups=groups):
                return Digits(groups)
            case SumValue(of=terms):
                variables = tuple(
                    term for term in terms if isinstance(term, str) and term not in self._values
                )
                constant = sum(self._number(term) for term in terms if term not in variables)
                return Sum(variables, constant)

    def _bounds(self, name: str, make: KeyValue | UniformValue) -> tuple[int, int]:
        low, high = self._number(make.low), self._number(make.high)
        if low > high:
            raise UsageError(f"the values of '{name}' go from {low:,} to {high:,}: nothing lies between")
        return low, high

    def _number(self, operand: int | str) -> int:
        return int(self._values[operand]) if isinstance(operand, str) else operand
