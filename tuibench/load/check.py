"""Whether the tables of a data set agree with each other: each condition asked of the server.

All is read in one snapshot, so that a load that runs meanwhile makes no difference.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tuibench.errors import UsageError
from tuibench.load.conditions import CONDITIONS
from tuibench.load.conditions.base import Condition
from tuibench.load.prepare_check import check_present
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.own import connect_own
from tuibench.workload import nearest
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program

SNAPSHOT = (
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
)

FINE = "OK"


class Outcome(StrEnum):
    """What became of a condition. Skipped is one that holds right after the load only."""

    HOLDS = "holds"
    BROKEN = "broken"
    SKIPPED = "skipped"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A condition and what came of it: how many rows contradict it, and one of them by its columns."""

    condition: str
    says: str
    outcome: Outcome
    differing: int = 0
    example: dict[str, str | None] = {}
    words: str = ""


def conditions_of(program: Program) -> tuple[Condition, ...]:
    """The conditions of a program's data set. Raises UsageError if nothing is known of it."""
    name = program.data_set
    if name not in CONDITIONS:
        raise UsageError(
            f"nothing is known that must hold in the tables of {name}", nearest.hint(name, CONDITIONS)
        )
    return CONDITIONS[name](data_set(program))


async def check(target: Target, program: Program, *, after_load: bool | None = None) -> tuple[Verdict, ...]:
    """Each condition of the program's data set, on its tables as they are now.

    `after_load` says whether nothing ran since the load; None to find that out. Raises RunError when tables
    are missing or others'.
    """
    conditions, spec = conditions_of(program), data_set(program)
    connection = await connect_own(target)
    try:
        await check_present(connection, program.data_set, spec, spec.prepare_command(program.profile))
        for sql in SNAPSHOT:
            await connection.execute(sql)
        return await verdicts(connection, conditions, after_load=after_load)
    finally:
        await connection.close()


async def verdicts(
    connection: Connection, conditions: Sequence[Condition], *, after_load: bool | None = None
) -> tuple[Verdict, ...]:
    """Each condition as it is seen from this connection."""
    return tuple([await _verdict(connection, condition, after_load) for condition in conditions])


async def _verdict(connection: Connection, condition: Condition, after_load: bool | None) -> Verdict:
    if condition.only_after_load and not await _is_fresh(connection, condition, after_load):
        return Verdict(
            condition=condition.name,
            says=condition.says,
            outcome=Outcome.SKIPPED,
            words="holds right after the load only",
        )
    if condition.command:
        return _commanded(condition, await connection.query_named(condition.command))
    found = await connection.query_named(f"{condition.differing} LIMIT 1")
    if not found:
        return Verdict(condition=condition.name, says=condition.says, outcome=Outcome.HOLDS)
    counted = await connection.query(f"SELECT COUNT(*) FROM ({condition.differing}) AS differing")  # noqa: S608
    return _broken(condition, int(counted[0][0]), found[0])


def _commanded(condition: Condition, rows: Sequence[dict[str, object]]) -> Verdict:
    """What a command found: its rows end in OK, but for those that tell what is wrong."""
    wrong = [row for row in rows if str(list(row.values())[-1]) != FINE]
    if not wrong:
        return Verdict(condition=condition.name, says=condition.says, outcome=Outcome.HOLDS)
    return _broken(condition, len(wrong), wrong[0])


async def _is_fresh(connection: Connection, condition: Condition, said: bool | None) -> bool:
    if said is not None:
        return said
    return not await connection.query(f"{condition.touched} LIMIT 1")


def _broken(condition: Condition, differing: int, example: dict[str, object]) -> Verdict:
    values = {column: None if value is None else str(value) for column, value in example.items()}
    shown = ", ".join(f"{column} {'null' if value is None else value}" for column, value in values.items())
    return Verdict(
        condition=condition.name,
        says=condition.says,
        outcome=Outcome.BROKEN,
        differing=differing,
        example=values,
        words=f"{condition.count(differing)}: {shown}",
    )
