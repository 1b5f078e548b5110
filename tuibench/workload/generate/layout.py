"""Layout of a program: shared by the generators of all connections.

It contains the flat indexes of statements, and which transactions are static: their steps depend neither on
each other nor on captured rows.
"""

from tuibench.workload.language.expressions import Expression, variable_names
from tuibench.workload.program.program import (
    CONNECTION,
    FlatStatement,
    Program,
    ProgramStep,
    Statement,
    all_steps,
    flat_indexes,
    flat_of,
)
from tuibench.workload.program.values import Formula, ListDraw, Sum


class ProgramLayout:
    """The layout of a program; `statements` is its flat list, `steps` are those of all transactions.

    Statements are looked up by identity: they must belong to this program, or to a copy with other weights.
    """

    def __init__(self, program: Program) -> None:
        indexes = flat_indexes(program)
        self.statements: tuple[FlatStatement, ...] = tuple(indexes)
        self.tables = len(program.tables)
        self.steps = [step for each in program.transactions for step in all_steps(each.steps)]
        self.are_static = [all(map(_is_static, each.steps)) for each in program.transactions]
        self.names_tables = any(step.table is not None for step in self.steps)
        self._first = {
            id(statement): indexes[flat_of(statement)] for step in self.steps for statement in step.statements
        }

    def first(self, statement: Statement) -> int:
        """The flat index of a statement for the first table."""
        return self._first[id(statement)]


def _is_static(step: ProgramStep) -> bool:
    return (
        isinstance(step.repeat, int)
        and step.when is step.each is None
        and not (step.index or step.steps or step.rollback)
        and not any(statement.captures for statement in step.statements)
        and not any(isinstance(value, ListDraw) for value in step.let.values())
        and (step.table is None or set(variable_names(step.table)) <= {CONNECTION})
        and _used_variables(step) <= {*step.let, CONNECTION}
    )


def _used_variables(step: ProgramStep) -> set[str]:
    """The variables that a step's formulas and statements use, without those of parts."""
    used: set[str] = set()
    for value in step.let.values():
        used |= _variables_of_value(value)
    for statement in step.statements:
        used |= _bound_variables(statement.bind)
        if statement.part is not None:
            inner = _bound_variables(statement.part.bind).union(
                *map(_variables_of_value, statement.part.let.values())
            )
            used |= inner - set(statement.part.let)
    return used


def _variables_of_value(value: object) -> set[str]:
    match value:
        case Formula(expression=expression) | ListDraw(count=expression):
            return set(variable_names(expression))
        case Sum(variables=variables):
            return set(variables)
        case _:
            return set()


def _bound_variables(bind: tuple[str | Expression, ...]) -> set[str]:
    return {name for one in bind for name in ([one] if isinstance(one, str) else variable_names(one))}
