"""Consistency check of a data set's tables.

Conditions are checked concurrently, each in one snapshot, so that a running load does not affect the result.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

import msgspec

from tuibench import suggestions
from tuibench.errors import UsageError
from tuibench.load.tables.conditions import CONDITIONS, Condition
from tuibench.load.tables.inspect_tables import check_tables_present, database_hint
from tuibench.load.tables.parallel import abort_and_kill, run_all
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import NoDatabaseError
from tuibench.mysql.session_defaults import Manner, connect_with_defaults
from tuibench.workload.datasets import build_data_set
from tuibench.workload.program.program import Program

SET_REPEATABLE_READ = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
START_SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT"

PARALLEL_CHECKS = 4
"""Number of concurrent connections; few, because the server has other work."""

CHECK_TABLE_OK = "OK"


class ConditionOutcome(StrEnum):
    """The status of a condition. Conditions that hold only directly after loading may be skipped."""

    HOLDS = "holds"
    BROKEN = "broken"
    SKIPPED = "skipped"


class ConditionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a condition: the number of violating rows, and an example with its columns."""

    condition: str
    description: str
    outcome: ConditionOutcome
    differing: int = 0
    example: dict[str, str | None] = {}
    message: str = ""


def conditions_of(program: Program) -> tuple[Condition, ...]:
    """The conditions of a program's data set. Raises UsageError if it has none."""
    name = program.data_set
    if name not in CONDITIONS:
        raise UsageError(
            f"there are no consistency conditions for the tables of {name}",
            suggestions.did_you_mean(name, CONDITIONS),
        )
    return CONDITIONS[name](build_data_set(program))


class CheckProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress: the number of completed conditions, and the names of those in progress."""

    done: int
    total: int
    under_way: tuple[str, ...]


async def check_consistency(
    target: Target,
    program: Program,
    *,
    after_load: bool | None = None,
    progress: Callable[[CheckProgress], None] | None = None,
) -> tuple[ConditionResult, ...]:
    """Checks each condition of the program's data set.

    `after_load` says whether no run has changed the tables since loading; None to detect it. Raises RunError
    if tables are missing or belong to another data set. On failure or cancellation, the queries are killed.
    """
    conditions = conditions_of(program)
    try:
        first = await connect_with_defaults(target)
    except NoDatabaseError as error:
        error.hint = database_hint(program, target)
        raise
    try:
        await check_tables_present(first, program)
    finally:
        await first.close()
    asking = _ConditionChecker(conditions, after_load, progress or _ignore_progress)
    connections: list[Connection] = []
    try:
        for _ in range(min(PARALLEL_CHECKS, len(conditions))):
            connections.append(await connect_with_defaults(target, manner=Manner.WORKS))
        await run_all(asking.ask(connection) for connection in connections)
    except BaseException:
        await abort_and_kill(target, connections)
        raise
    for connection in connections:
        await connection.close()
    return asking.verdicts


def _ignore_progress(progress: CheckProgress) -> None:
    """The default: no progress reports."""


class _ConditionChecker:
    """The conditions; each connection takes the next one."""

    def __init__(
        self,
        conditions: Sequence[Condition],
        after_load: bool | None,
        report: Callable[[CheckProgress], None],
    ) -> None:
        self._conditions = conditions
        self._waiting: Iterator[Condition] = iter(conditions)
        self._after_load = after_load
        self._report = report
        self._under_way: list[str] = []
        self._found: dict[str, ConditionResult] = {}

    @property
    def verdicts(self) -> tuple[ConditionResult, ...]:
        """The results in the conditions' order, when all are complete."""
        return tuple(self._found[condition.name] for condition in self._conditions)

    async def ask(self, connection: Connection) -> None:
        """Checks one condition after another until none is left."""
        await connection.execute(SET_REPEATABLE_READ)
        for condition in self._waiting:
            self._under_way.append(condition.name)
            self._report_progress()
            await connection.execute(START_SNAPSHOT)
            self._found[condition.name] = await check_condition(connection, condition, self._after_load)
            self._under_way.remove(condition.name)
        self._report_progress()

    def _report_progress(self) -> None:
        self._report(
            CheckProgress(
                done=len(self._found), total=len(self._conditions), under_way=tuple(self._under_way)
            )
        )


async def check_condition(
    connection: Connection, condition: Condition, after_load: bool | None = None
) -> ConditionResult:
    """Checks a condition on this connection."""
    if condition.only_after_load and not await _is_fresh(connection, condition, after_load):
        return ConditionResult(
            condition=condition.name,
            description=condition.description,
            outcome=ConditionOutcome.SKIPPED,
            message="holds directly after loading only",
        )
    if condition.command:
        return _result_of_command(condition, await connection.query_named(condition.command))
    found = await connection.query_named(f"{condition.differing} LIMIT 1")
    if not found:
        return ConditionResult(
            condition=condition.name, description=condition.description, outcome=ConditionOutcome.HOLDS
        )
    counted = await connection.query(f"SELECT COUNT(*) FROM ({condition.differing}) AS differing")  # noqa: S608
    return _broken(condition, int(counted[0][0]), found[0])


def _result_of_command(condition: Condition, rows: Sequence[dict[str, object]]) -> ConditionResult:
    """The result of a command: its rows end in OK or in an error."""
    wrong = [row for row in rows if str(list(row.values())[-1]) != CHECK_TABLE_OK]
    if not wrong:
        return ConditionResult(
            condition=condition.name, description=condition.description, outcome=ConditionOutcome.HOLDS
        )
    return _broken(condition, len(wrong), wrong[0])


async def _is_fresh(connection: Connection, condition: Condition, given: bool | None) -> bool:
    if given is not None:
        return given
    return not await connection.query(f"{condition.touched} LIMIT 1")


def _broken(condition: Condition, differing: int, example: dict[str, object]) -> ConditionResult:
    values = {column: None if value is None else str(value) for column, value in example.items()}
    shown = ", ".join(f"{column} {'null' if value is None else value}" for column, value in values.items())
    return ConditionResult(
        condition=condition.name,
        description=condition.description,
        outcome=ConditionOutcome.BROKEN,
        differing=differing,
        example=values,
        message=f"{condition.count(differing)}: {shown}",
    )
