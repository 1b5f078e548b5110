"""Compiler from a profile and options to a program.

Options and lists are substituted, constants are computed, steps that never run are omitted, SQL is generated
for each table, and the headline's ideal is computed.
"""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from tuibench.errors import UsageError
from tuibench.model.findings import Headline
from tuibench.model.plan import OptionValue
from tuibench.workload import distributions, language
from tuibench.workload.checker import MAX_REPEAT, check_profile_with_options
from tuibench.workload.datasets import data_set_class
from tuibench.workload.distributions import allowed_nurand_constants
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
    HeadlineText,
    PartText,
    Profile,
    ProfileOption,
    StatementText,
    StepText,
    TransactionText,
)
from tuibench.workload.program import (
    INTEGER_LIMIT,
    TOO_MANY_DIGITS,
    Bind,
    Bound,
    Chance,
    DecimalRange,
    Digits,
    Draw,
    Formula,
    Key,
    ListDraw,
    Nurand,
    Program,
    ProgramStep,
    RepeatedPart,
    Serial,
    Statement,
    StatementClass,
    Sum,
    Transaction,
    Uniform,
    Unique,
    Value,
    all_steps,
    statement_class,
    strip_literals,
)

LinearSum = tuple[tuple[str, ...], int]
"""A sum of variables and a constant."""


DECIMAL_PRECISION = 28
"""Digits with which decimal numbers are drawn and calculated: those of Python's default context."""


class ValueCompiler:
    """Compiles values with the options of a run and the lists of its profile."""

    def __init__(
        self, values: Mapping[str, OptionValue], lists: Mapping[str, tuple[int | float | str, ...]]
    ) -> None:
        self._values = values
        self._known = {name: literal(value) for name, value in (*values.items(), *lists.items())}
        self._distribution = distributions.chosen_distribution(values)

    def flag(self, name: str) -> bool:
        return bool(self._values[name])

    def is_known(self, name: str) -> bool:
        """True if the name is an option or list, which is replaced by its value."""
        return name in self._known

    def expression(self, text: str) -> Expression:
        return fold_constants(substitute(parse_expression(text), self._known))

    def number(self, operand: language.Operand) -> int:
        """An operand with the same value on every connection."""
        bound = self.bound(operand)
        if not isinstance(bound, int):
            raise UsageError(f"'{operand}' must be the same on every connection")
        return bound

    def bound(self, operand: language.Operand) -> Bound:
        """An operand: a number, or an expression of the connection's number."""
        if isinstance(operand, int):
            return operand
        expression = self.expression(operand)
        if not is_constant(expression):
            return expression
        value = constant_value(expression)
        if not isinstance(value, int | Decimal) or value != int(value):
            raise UsageError(f"'{operand}' is {value}, not a whole number")
        return int(value)

    def lets(self, lets: Mapping[str, language.LetSpec]) -> dict[str, Value]:
        """The variables of a step. Sums of keys are separate, because they are evaluated faster."""
        made: dict[str, Value] = {}
        for name, let in lets.items():
            keys = {earlier for earlier, value in made.items() if isinstance(value, Key | Sum)}
            made[name] = self._let(name, let, keys)
        return made

    def _let(self, name: str, let: language.LetSpec, keys: set[str]) -> Value:
        if isinstance(let, bool | int | float):
            return Formula(literal(let))
        if isinstance(let, str):
            expression = self.expression(let)
            linear = _as_linear_sum(expression, keys)
            return Sum(*linear) if linear is not None and linear[0] else Formula(expression)
        if isinstance(let, language.ListValue):
            count = literal(let.count) if isinstance(let.count, int) else self.expression(let.count)
            return ListDraw(self._draw(name, let.of), count, let.ordered)
        return self._draw(name, let)

    def _draw(self, name: str, make: language.DrawSpec) -> Draw:
        match make:
            case language.KeyValue():
                return Key(*self._range(name, make.low, make.high), self._distribution)
            case language.UniformValue():
                return Key(*self._range(name, make.low, make.high), Uniform())
            case language.NurandValue():
                return self._nurand(name, make)
            case language.DecimalValue(places=places):
                low, high = self._numbers(name, make.low, make.high)
                if max(abs(low), abs(high)) * 10**places >= 10**DECIMAL_PRECISION:
                    raise UsageError(
                        f"the range of '{name}' has numbers of more than {DECIMAL_PRECISION} digits"
                    )
                return DecimalRange(low, high, places)
            case language.DigitsValue(groups=groups):
                return Digits(groups)
            case language.ChanceValue(percent=percent):
                return Chance(self._percent(name, percent))
            case language.SerialValue(first=first):
                return Serial(first)
            case language.UniqueValue():
                return Unique(int(self._values["threads"]))
            case language.ListValue():
                raise TypeError("a list contains generators, not lists")

    def _nurand(self, name: str, make: language.NurandValue) -> Nurand:
        low, high = self._numbers(name, make.low, make.high)
        a = self.number(make.a)
        loaded_c = None if make.loaded_c is None else self.number(make.loaded_c)
        if not 0 <= a < 2**31 or low < 0:
            raise UsageError(f"NURand of '{name}' must be between 0 and 2³¹ − 1")
        if not allowed_nurand_constants(a, loaded_c):
            raise UsageError(f"no constant of '{name}' is as far from {loaded_c} as TPC-C requires")
        return Nurand(a, low, high, loaded_c)

    def _percent(self, name: str, percent: float | str) -> float:
        value = (
            float(constant_value(self._expression_of(name, percent))) if isinstance(percent, str) else percent
        )
        if not 0 <= value <= 100:
            raise UsageError(f"the chance '{name}' is 0 to 100 percent, not {value:g}")
        return value

    def _expression_of(self, name: str, text: str) -> Expression:
        expression = self.expression(text)
        if not is_constant(expression):
            raise UsageError(f"the chance '{name}' must be the same on every connection")
        return expression

    def _numbers(self, name: str, low: language.Operand, high: language.Operand) -> tuple[int, int]:
        first, last = self.number(low), self.number(high)
        self._range(name, first, last)
        return first, last

    def _range(self, name: str, low: language.Operand, high: language.Operand) -> tuple[Bound, Bound]:
        first, last = self.bound(low), self.bound(high)
        if isinstance(first, int) and isinstance(last, int) and first > last:
            raise UsageError(f"the range of '{name}' from {first:,} to {last:,} is empty")
        numbers = [bound for bound in (first, last) if isinstance(bound, int)]
        if sum(map(abs, numbers)) >= INTEGER_LIMIT:
            raise UsageError(f"the range of '{name}': {TOO_MANY_DIGITS}")
        return first, last


def _as_linear_sum(expression: Expression, keys: set[str]) -> LinearSum | None:
    """The expression as a sum of variables and a constant, if it is one."""
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
    """The compiled headline, None without one."""
    if text is None:
        return None
    is_doubtful = bool(text.needs) and not values.flag(text.needs)
    return Headline(
        title=text.title,
        transaction=text.transaction,
        per_seconds=text.per_seconds,
        note=text.note,
        ideal=_compile_ideal(text.ideal, values) if text.ideal else None,
        doubt=text.doubt if is_doubtful else "",
    )


def _compile_ideal(text: str, values: ValueCompiler) -> float:
    ideal = float(constant_value(values.expression(text)))
    if ideal <= 0:
        raise UsageError(f"the ideal of a headline, {text}, is {ideal:g}", "it must be above 0")
    return ideal


MAX_PLACEHOLDERS = 65_535
"""The servers' limit of placeholders in a prepared statement."""


def _frame_statement(name: str, sql: str, *, prepared: bool) -> Statement:
    return Statement(name=name, cls=StatementClass.OTHER, sql=(sql,), prepared=prepared)


BEGIN = ProgramStep(
    repeat=1, let={}, statements=(_frame_statement("begin", "START TRANSACTION", prepared=True),)
)
"""Not BEGIN: MariaDB with sql_mode=ORACLE parses it as the start of a block.

Prepared like COMMIT, as in sysbench, where the server can: MySQL prepares only COMMIT.
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

    def transaction(self, text: TransactionText, *, pauses: bool = True) -> Transaction:
        """The transaction; without `pauses`, there are no keying and think times."""
        autocommit = (
            self._values.flag(text.autocommit) if isinstance(text.autocommit, str) else text.autocommit
        )
        self._explicit = not autocommit
        steps = self._steps(
            tuple(self._named[step] if isinstance(step, str) else step for step in text.steps)
        )
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
        return ProgramStep(
            repeat=self._repeat(text),
            let=self._values.lets(text.let),
            statements=tuple(self._statement(statement) for statement in text.statements),
            when=when,
            each=self._values.expression(text.each) if text.each else None,
            names=text.into,
            index=text.index,
            table=self._values.expression(text.table) if text.table else None,
            steps=(*self._steps(text.steps), *self._rollback(float(text.rollback))),
        )

    def _rollback(self, chance: float) -> tuple[ProgramStep, ...]:
        """A step that rolls back; with autocommit, it only ends the transaction."""
        statements = (ROLLBACK,) if self._explicit else ()
        return (ProgramStep(repeat=1, let={}, statements=statements, rollback=chance),) if chance else ()

    def _repeat(self, text: StepText) -> Bound:
        repeat = self._values.bound(text.repeat)
        if isinstance(repeat, int) and not 0 <= repeat <= MAX_REPEAT:
            raise UsageError(
                f"a step would be repeated {repeat:,} times", f"0 to {MAX_REPEAT:,} are possible"
            )
        return repeat

    def _statement(self, text: StatementText) -> Statement:
        names_table = "{table}" in text.sql
        statement = Statement(
            name=text.name,
            cls=statement_class(text.sql),
            sql=tuple(text.sql.replace("{table}", table) for table in self._tables)
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
            return RepeatedPart(
                field=name,
                sql=part.sql,
                repeat=self._part_repeat(part),
                join=part.join,
                before=before,
                let=self._values.lets(part.let),
                bind=self._bind(part.bind),
            )
        return None

    def _part_repeat(self, part: PartText) -> int:
        repeat = self._values.number(part.repeat)
        if not 1 <= repeat <= MAX_REPEAT:
            raise UsageError(
                f"a part would be repeated {repeat:,} times", f"1 to {MAX_REPEAT:,} are possible"
            )
        return repeat

    def _bind(self, texts: tuple[str, ...]) -> Bind:
        """Keep a variable as a name: a lookup is faster than the evaluation of an expression."""
        known = self._values.is_known
        return tuple(
            text if is_variable_name(text) and not known(text) else self._values.expression(text)
            for text in texts
        )


def _count_placeholders(statement: Statement) -> int:
    part = statement.part
    return len(statement.bind) + (len(part.bind) * part.repeat if part else 0)


THREADS = "threads"
SHARED_OPTIONS = {
    THREADS: language.integer_option(
        1, "number of connections planned for the run", minimum=1, maximum=100_000
    ),
    **distributions.DISTRIBUTION_OPTIONS,
}
"""The options of every profile. --threads is an option of the run that is passed to the profile."""


def known_options(profile: Profile, source: str = "") -> dict[str, ProfileOption]:
    """All options of a profile: common ones, those of its data set, and its own."""
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
    values = language.resolve_options(known_options(profile), given)
    data_set = data_set_class(profile.data_set, profile.name).from_options(values)
    compiler = StepCompiler(ValueCompiler(values, profile.lists), data_set.table_names(), profile.steps)
    pauses = not profile.pauses_if or bool(values[profile.pauses_if])
    transactions = tuple(compiler.transaction(each, pauses=pauses) for each in profile.transactions)
    for transaction in transactions:
        if not _does_anything(transaction):
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


def _does_anything(transaction: Transaction) -> bool:
    return any(
        statement.cls is not StatementClass.OTHER or statement.name not in FRAME_STATEMENTS
        for step in all_steps(transaction.steps)
        for statement in step.statements
    )
