"""Compiler from a profile and options to a program.

Options and lists are substituted, constants are computed, steps that never run are omitted, SQL is generated
for each table, and the headline's ideal is computed.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import chain, takewhile
from typing import Any

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.findings import Headline
from tuibench.model.plan import OptionValue
from tuibench.workload.checker import MAX_REPEAT, check_profile_with_options
from tuibench.workload.dataset import data_set_class
from tuibench.workload.draw import constant_value, fold_constants
from tuibench.workload.expressions import (
    Constant,
    Expression,
    Operation,
    Variable,
    is_constant,
    is_variable_name,
    literal,
    parse_expression,
    substitute,
)
from tuibench.workload.language import (
    MAX_PART_SIZES,
    HeadlineText,
    LetSpec,
    Profile,
    StatementText,
    StepText,
    TransactionText,
    all_step_texts,
    drawn_sizes,
)
from tuibench.workload.options import THREADS, ProfileOption, integer_option, resolve_options
from tuibench.workload.program import (
    Bind,
    Program,
    ProgramStep,
    RepeatedPart,
    Statement,
    Transaction,
    all_steps,
)
from tuibench.workload.sql import StatementClass, fill_field, statement_class, strip_literals
from tuibench.workload.values import (
    DISTRIBUTION_OPTIONS,
    Bound,
    Draw,
    Formula,
    Interval,
    Key,
    List,
    Operand,
    OperandKind,
    Sum,
    Value,
    distributed,
    with_operands,
)


class ValueCompiler:
    """Compiles values with the options of a run and the lists of its profile."""

    def __init__(
        self, values: Mapping[str, OptionValue], lists: Mapping[str, tuple[int | float | str, ...]]
    ) -> None:
        self._values = values
        self._known = {name: literal(value) for name, value in (*values.items(), *lists.items())}

    def flag(self, name: str) -> bool:
        return bool(self._values[name])

    def is_known(self, name: str) -> bool:
        """True if the name is an option or list, which is replaced by its value."""
        return name in self._known

    def expression(self, text: str) -> Expression:
        return fold_constants(substitute(parse_expression(text), self._known))

    def shared(self, text: str) -> int | Decimal:
        """The number of an expression, which is the same on every connection."""
        expression = self.expression(text)
        if not is_constant(expression):
            raise UsageError(f"'{text}' must be the same on every connection")
        value = constant_value(expression)
        if not isinstance(value, int | Decimal):
            raise UsageError(f"'{text}' is {value}, not a number")
        return value

    def number(self, operand: Operand) -> int:
        """An operand with the same value on every connection."""
        if isinstance(operand, int):
            return operand
        value = self.shared(operand)
        if value != int(value):
            raise UsageError(f"'{operand}' is {value}, not a whole number")
        return int(value)

    def bound(self, operand: Operand) -> Bound:
        """An operand: a number, or an expression of the connection's number."""
        if isinstance(operand, int) or is_constant(expression := self.expression(operand)):
            return self.number(operand)
        return expression

    def lets(self, lets: Mapping[str, LetSpec]) -> dict[str, Value]:
        """The variables of a step. Sums of keys are separate, because they are evaluated faster."""
        made: dict[str, Value] = {}
        for name, let in lets.items():
            keys = {earlier for earlier, value in made.items() if isinstance(value, Interval | Sum)}
            made[name] = self._let(name, let, keys)
        return made

    def _let(self, name: str, let: LetSpec, keys: set[str]) -> Value:
        match let:
            case bool() | int() | float():
                return Formula(literal(let))
            case str():
                expression = self.expression(let)
                linear = _as_linear_sum(expression, keys)
                return Sum(*linear) if linear is not None and linear[0] else Formula(expression)
            case List(of=of, count=count):
                times = count if isinstance(count, int) else self.expression(count)
                return List(of=self._draw(name, of), count=times, ordered=let.ordered, distinct=let.distinct)
            case _:
                return self._draw(name, let)

    def _draw(self, name: str, make: Draw[Operand]) -> Draw[Bound]:
        chosen = distributed(self._values, make.low, make.high) if isinstance(make, Key) else make
        made: Draw[Bound] = with_operands(chosen, self._operand)
        made.check(name)
        return made

    def _operand(self, kind: OperandKind, operand: Any) -> Bound | float:
        """The operand of a generator with the options' values."""
        match kind:
            case "own":
                return self.bound(operand)
            case "shared":
                return self.number(operand)
            case "percent":
                return float(self.shared(operand) if isinstance(operand, str) else operand)


def _as_linear_sum(expression: Expression, keys: set[str]) -> tuple[tuple[str, ...], int] | None:
    """The expression as variables and a constant if it is their sum; otherwise None."""
    match expression:
        case Variable(name=name) if name in keys:
            return (name,), 0
        case Constant(value=int() as value) if not isinstance(value, bool):
            return (), value
        case Operation(operator="+" | "-" as sign, operands=(left, right)):
            first, second = _as_linear_sum(left, keys), _as_linear_sum(right, keys)
            if first is None or second is None or (sign == "-" and second[0]):
                return None
            return first[0] + second[0], first[1] + (second[1] if sign == "+" else -second[1])
        case _:
            return None


def compile_headline(text: HeadlineText | None, values: ValueCompiler) -> Headline | None:
    if text is None:
        return None
    is_doubtful = bool(text.needs) and not values.flag(text.needs)
    ideal = float(constant_value(values.expression(text.ideal))) if text.ideal else None
    if ideal is not None and ideal <= 0:
        raise UsageError(f"the ideal of a headline, {text.ideal}, is {ideal:g}", "it must be above 0")
    return Headline(
        title=text.title,
        transaction=text.transaction,
        per_seconds=text.per_seconds,
        note=", ".join(
            filter(None, (text.note, *(note for flag, note in text.note_if.items() if values.flag(flag))))
        ),
        ideal=ideal,
        doubt=text.doubt if is_doubtful else "",
    )


MAX_PLACEHOLDERS = 65_535
"""The servers' limit of placeholders in a prepared statement."""


def _frame_statement(name: str, sql: str, *, prepared: bool) -> Statement:
    return Statement(name=name, cls=StatementClass.OTHER, sql=(sql,), prepared=prepared)


BEGIN = ProgramStep(
    repeat=1, let={}, statements=(_frame_statement("begin", "START TRANSACTION", prepared=True),)
)
"""Not BEGIN, which MariaDB with sql_mode=ORACLE parses as the start of a block.

It is prepared like COMMIT, as in sysbench, if the server can prepare it; MySQL can prepare only COMMIT.
"""

COMMIT = ProgramStep(repeat=1, let={}, statements=(_frame_statement("commit", "COMMIT", prepared=True),))
ROLLBACK = _frame_statement("rollback", "ROLLBACK", prepared=False)
FRAME_STATEMENTS = frozenset({"begin", "commit", "rollback"})
"""Names of the statements that begin and end transactions."""


class StepCompiler:
    """Compiles the transactions of one profile for a run's options and tables."""

    def __init__(self, values: ValueCompiler, tables: tuple[str, ...], named: Mapping[str, StepText]) -> None:
        self._values = values
        self._tables = tables
        self._named = named
        self._explicit = True
        self._sizes: dict[str, range] = {}

    def transaction(self, text: TransactionText, *, pauses: bool = True) -> Transaction:
        """The transaction; without keying and think times if `pauses` is False."""
        autocommit = (
            self._values.flag(text.autocommit) if isinstance(text.autocommit, str) else text.autocommit
        )
        self._explicit = not autocommit
        texts = tuple(self._named[step] if isinstance(step, str) else step for step in text.steps)
        self._sizes = self._compile_sizes(texts)
        steps = self._steps(texts)
        if not autocommit:
            steps = (BEGIN, *steps, COMMIT)
        return Transaction(
            name=text.name,
            weight=text.weight,
            explicit=not autocommit,
            steps=steps,
            keying_seconds=text.keying_seconds if pauses else 0.0,
            think_seconds=text.think_seconds if pauses else 0.0,
        )

    def _compile_sizes(self, texts: tuple[StepText, ...]) -> dict[str, range]:
        """The sizes that the parts of a transaction may have, by their variable."""
        repeats = {
            part.repeat
            for step in all_step_texts(texts)
            for statement in step.statements
            for part in statement.parts.values()
        }
        drawn = {name: made for name, made in drawn_sizes(texts).items() if name in repeats}
        sizes = {
            name: range(self._values.number(made.low), self._values.number(made.high) + 1)
            for name, made in drawn.items()
        }
        for name, each in sizes.items():
            if each.start < 1 or not 1 <= len(each) <= MAX_PART_SIZES:
                raise UsageError(
                    f"'{name}' is {each.start:,} to {each.stop - 1:,}, which are no sizes of a part",
                    f"a part is repeated 1 to {MAX_REPEAT:,} times, in at most {MAX_PART_SIZES} sizes",
                )
        return sizes

    def _steps(self, texts: tuple[StepText, ...]) -> tuple[ProgramStep, ...]:
        compiled = (self._step(text) for text in texts)
        return tuple(step for step in compiled if step is not None and step.repeat != 0)

    def _step(self, text: StepText) -> ProgramStep | None:
        """None for a step that never runs with these options."""
        when = self._values.expression(text.when) if text.when else None
        if when is not None and is_constant(when):
            if not constant_value(when):
                return None
            when = None
        fixed = tuple(takewhile(lambda each: self._size_of(each) is None, text.statements))
        repeat = self._values.bound(text.repeat)
        if isinstance(repeat, int) and not 0 <= repeat <= MAX_REPEAT:
            raise UsageError(
                f"a step would be repeated {repeat:,} times", f"0 to {MAX_REPEAT:,} are possible"
            )
        # With autocommit, a rollback only ends the transaction.
        chance = float(text.rollback)
        statements = (ROLLBACK,) if self._explicit else ()
        return ProgramStep(
            repeat=repeat,
            let=self._values.lets(text.let),
            statements=tuple(self._statement(statement) for statement in fixed),
            when=when,
            each=self._values.expression(text.each) if text.each else None,
            names=text.into,
            index=text.index,
            table=self._values.expression(text.table) if text.table else None,
            steps=(
                *chain.from_iterable(map(self._sized_steps, text.statements[len(fixed) :])),
                *self._steps(text.steps),
                *((ProgramStep(repeat=1, let={}, statements=statements, rollback=chance),) if chance else ()),
            ),
        )

    def _size_of(self, text: StatementText) -> str | None:
        """The variable that is the size of the statement's part; None for a fixed size."""
        return next((str(part.repeat) for part in text.parts.values() if part.repeat in self._sizes), None)

    def _sized_steps(self, text: StatementText) -> Iterator[ProgramStep]:
        """The statement as one step for each size of its part, of which exactly one runs."""
        size = self._size_of(text)
        if size is None:
            yield ProgramStep(repeat=1, let={}, statements=(self._statement(text),))
            return
        ((name, part),) = text.parts.items()
        for number in self._sizes[size]:
            parts = {name: msgspec.structs.replace(part, repeat=number)}
            statement = self._statement(msgspec.structs.replace(text, parts=parts))
            when = Operation("==", (Variable(size), Constant(number)))
            yield ProgramStep(repeat=1, let={}, statements=(statement,), when=when)

    def _statement(self, text: StatementText) -> Statement:
        names_table = "{table}" in strip_literals(text.sql)
        statement = Statement(
            name=text.name,
            cls=statement_class(text.sql),
            sql=tuple(fill_field(text.sql, "table", table) for table in self._tables)
            if names_table
            else (text.sql,),
            bind=self._bind(text.bind),
            prepared=text.prepared,
            capture=text.capture,
            rows=text.rows,
            part=self._part(text),
        )
        if statement.prepared and _count_placeholders(statement) > MAX_PLACEHOLDERS:
            raise UsageError(
                f"the statement '{text.name}' has {_count_placeholders(statement):,} placeholders",
                f"servers prepare {MAX_PLACEHOLDERS:,} at most: lower the repeat count of its part",
            )
        return statement

    def _part(self, text: StatementText) -> RepeatedPart | None:
        for name, part in text.parts.items():
            before = strip_literals(text.sql).partition(f"{{{name}}}")[0].count("?")
            repeat = self._values.number(part.repeat)
            if not 1 <= repeat <= MAX_REPEAT:
                raise UsageError(
                    f"a part would be repeated {repeat:,} times", f"1 to {MAX_REPEAT:,} are possible"
                )
            return RepeatedPart(
                field=name,
                sql=part.sql,
                repeat=repeat,
                join=part.join,
                index=part.index,
                before=before,
                let=self._values.lets(part.let),
                bind=self._bind(part.bind),
            )
        return None

    def _bind(self, texts: tuple[str, ...]) -> Bind:
        """A variable remains a name, because its lookup is faster than the evaluation of an expression."""
        known = self._values.is_known
        return tuple(
            text if is_variable_name(text) and not known(text) else self._values.expression(text)
            for text in texts
        )


def _count_placeholders(statement: Statement) -> int:
    part = statement.part
    return len(statement.bind) + (len(part.bind) * part.repeat if part else 0)


SHARED_OPTIONS = {
    THREADS: integer_option(1, "number of connections planned for the run", minimum=1, maximum=100_000),
    **DISTRIBUTION_OPTIONS,
}
"""The options of every profile. --threads is an option of the run that is passed to the profile."""


def known_options(profile: Profile, source: str = "") -> dict[str, ProfileOption]:
    """All options of a profile: the shared ones, those of its data set, and its own. Raises UsageError if one
    of its own has the name of another.
    """
    shared = {**SHARED_OPTIONS, **data_set_class(profile.data_set, source or profile.name).OPTIONS}
    for name in profile.options:
        if name in shared:
            raise UsageError(
                f"{source or profile.name}: options.{name}: the data set {profile.data_set} "
                "defines this option",
                "give it another default in [defaults]",
            )
    for name, default in profile.defaults.items():
        if name in shared:
            shared[name] = msgspec.structs.replace(shared[name], default=default)
    own = {
        name: msgspec.structs.replace(option, default=profile.defaults.get(name, option.default))
        for name, option in profile.options.items()
    }
    return {**shared, **own}


def check_profile(profile: Profile, source: str) -> None:
    """Raises UsageError for the first error in the profile."""
    check_profile_with_options(profile, known_options(profile, source), source)


def compile_profile(profile: Profile, given: Mapping[str, object]) -> Program:
    """Compile a checked profile with options, as text or typed values; names may use `-` or `_`.

    The option `threads` is the planned number of connections: some profiles divide tables or keys among them.
    Raises UsageError for an unknown option, an invalid value, and options that leave no statements.
    """
    values = resolve_options(known_options(profile), given)
    data_set = data_set_class(profile.data_set, profile.name).from_options(values)
    compiler = StepCompiler(ValueCompiler(values, profile.lists), data_set.table_names(), profile.steps)
    pauses = not profile.pauses_if or bool(values[profile.pauses_if])
    transactions = tuple(compiler.transaction(each, pauses=pauses) for each in profile.transactions)
    for transaction in transactions:
        if not any(
            statement.cls is not StatementClass.OTHER or statement.name not in FRAME_STATEMENTS
            for step in all_steps(transaction.steps)
            for statement in step.statements
        ):
            raise UsageError(
                f"{profile.name}: with these options the transaction '{transaction.name}' has no statements",
                "increase one of its repeat counts",
            )
    return Program(
        profile=profile.name,
        data_set=profile.data_set,
        tables=data_set.table_names(),
        options=values,
        transactions=transactions,
        deck=profile.draw == "deck",
        empty=bool(profile.empty_unless) and not values[profile.empty_unless],
        headline=compile_headline(profile.headline, ValueCompiler(values, profile.lists)),
    )
