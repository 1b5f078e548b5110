"""What all streams of a program have in common, computed once for thousands of connections.

Where each statement is in the flat list, and which transactions are simple: no step of them needs to know of
another, or of the server's answers.
"""

from tuibench.workload.expression import Expression, names
from tuibench.workload.program import (
    CONNECTION,
    FlatStatement,
    Program,
    Statement,
    Step,
    all_steps,
    flat_indexes,
    flat_of,
)
from tuibench.workload.value import Formula, Many, Sum


class Layout:
    """The layout of a program; `statements` is its flat list, `steps` are those of all transactions.

    A statement is found by its identity: it must be one of this program, or of one made from it with other
    weights.
    """

    def __init__(self, program: Program) -> None:
        indexes = flat_indexes(program)
        self.statements: tuple[FlatStatement, ...] = tuple(indexes)
        self.tables = len(program.tables)
        self.steps = [step for each in program.transactions for step in all_steps(each.steps)]
        self.are_simple = [all(map(_is_simple, each.steps)) for each in program.transactions]
        self.names_tables = any(step.table is not None for step in self.steps)
        self._first = {
            id(statement): indexes[flat_of(statement)] for step in self.steps for statement in step.statements
        }

    def first(self, statement: Statement) -> int:
        """The flat index of a statement for the first table."""
        return self._first[id(statement)]


def _is_simple(step: Step) -> bool:
    return (
        isinstance(step.repeat, int)
        and step.when is step.each is None
        and not (step.index or step.steps or step.rollback)
        and not any(statement.captures for statement in step.statements)
        and not any(isinstance(value, Many) for value in step.let.values())
        and (step.table is None or set(names(step.table)) <= {CONNECTION})
        and _used(step) <= {*step.let, CONNECTION}
    )


def _used(step: Step) -> set[str]:
    """The variables that a step's formulas and statements name, without those of their parts."""
    used: set[str] = set()
    for value in step.let.values():
        used |= _named(value)
    for statement in step.statements:
        used |= _bound(statement.bind)
        if statement.part is not None:
            inner = _bound(statement.part.bind).union(*map(_named, statement.part.let.values()))
            used |= inner - set(statement.part.let)
    return used


def _named(value: object) -> set[str]:
    match value:
        case Formula(expression=expression) | Many(count=expression):
            return set(names(expression))
        case Sum(variables=variables):
            return set(variables)
        case _:
            return set()


def _bound(bind: tuple[str | Expression, ...]) -> set[str]:
    return {name for one in bind for name in ([one] if isinstance(one, str) else names(one))}
