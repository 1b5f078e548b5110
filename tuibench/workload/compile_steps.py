"""From the steps of a profile to those of a program: what never happens left out, SQL for each table."""

from collections.abc import Mapping

from tuibench.errors import UsageError
from tuibench.workload.check_steps import MAX_REPEAT
from tuibench.workload.compile_values import ValueCompiler
from tuibench.workload.evaluate import fixed
from tuibench.workload.expression import is_fixed
from tuibench.workload.parse import is_name
from tuibench.workload.placeholders import plain
from tuibench.workload.profile import PartText, StatementText, StepText, TransactionText
from tuibench.workload.program import Bind, Part, Statement, StatementClass, Step, Transaction
from tuibench.workload.sql import class_of
from tuibench.workload.value import Bound

MAX_PLACEHOLDERS = 65_535
"""Servers prepare no statement with more."""


def _word(name: str, sql: str) -> Statement:
    return Statement(name=name, cls=StatementClass.OTHER, sql=(sql,), prepared=False)


BEGIN = Step(repeat=1, let={}, statements=(_word("begin", "START TRANSACTION"),))
"""Not in one word: MariaDB with sql_mode=ORACLE takes that for the beginning of a block."""

COMMIT = Step(repeat=1, let={}, statements=(_word("commit", "COMMIT"),))
ROLLBACK = _word("rollback", "ROLLBACK")
FRAME = frozenset({"begin", "commit", "rollback"})
"""Names of the statements that only begin and end a transaction."""


class StepCompiler:
    """Compiles the transactions of one profile for a run's options and tables."""

    def __init__(self, values: ValueCompiler, tables: tuple[str, ...], named: Mapping[str, StepText]) -> None:
        self._values = values
        self._tables = tables
        self._named = named
        self._explicit = True

    def transaction(self, text: TransactionText, *, pauses: bool = True) -> Transaction:
        """The transaction; without `pauses`, one follows on the other."""
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

    def _steps(self, texts: tuple[StepText, ...]) -> tuple[Step, ...]:
        compiled = (self._step(text) for text in texts)
        return tuple(step for step in compiled if step is not None and step.repeat != 0)

    def _step(self, text: StepText) -> Step | None:
        """None for a step that never happens with these options."""
        when = self._values.expression(text.when) if text.when else None
        if when is not None and is_fixed(when):
            if not fixed(when):
                return None
            when = None
        return Step(
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

    def _rollback(self, chance: float) -> tuple[Step, ...]:
        """A step of its own; with every statement by itself, there is only the end of the transaction."""
        statements = (ROLLBACK,) if self._explicit else ()
        return (Step(repeat=1, let={}, statements=statements, rollback=chance),) if chance else ()

    def _repeat(self, text: StepText) -> Bound:
        repeat = self._values.bound(text.repeat)
        if isinstance(repeat, int) and not 0 <= repeat <= MAX_REPEAT:
            raise UsageError(f"a step would be done {repeat:,} times", f"0 to {MAX_REPEAT:,} are possible")
        return repeat

    def _statement(self, text: StatementText) -> Statement:
        names_table = "{table}" in text.sql
        statement = Statement(
            name=text.name,
            cls=class_of(text.sql),
            sql=tuple(text.sql.replace("{table}", table) for table in self._tables)
            if names_table
            else (text.sql,),
            bind=self._bind(text.bind),
            prepared=text.prepared,
            capture=text.capture,
            rows=text.rows,
            part=self._part(text),
        )
        if statement.prepared and _placeholders(statement) > MAX_PLACEHOLDERS:
            raise UsageError(
                f"the statement '{text.name}' has {_placeholders(statement):,} placeholders",
                f"servers prepare {MAX_PLACEHOLDERS:,} at most: lower the repeat count of its part",
            )
        return statement

    def _part(self, text: StatementText) -> Part | None:
        for name, part in text.parts.items():
            before = plain(text.sql).partition(f"{{{name}}}")[0].count("?")
            return Part(
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
        """A variable stays a name, which is looked up faster than an expression is evaluated."""
        known = self._values.is_known
        return tuple(
            text if is_name(text) and not known(text) else self._values.expression(text) for text in texts
        )


def _placeholders(statement: Statement) -> int:
    part = statement.part
    return len(statement.bind) + (len(part.bind) * part.repeat if part else 0)
