"""Whether the tables of a data set agree with each other: each condition asked of the server.

Several are asked at a time, each in one snapshot, so that a load that runs meanwhile makes no difference.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

import msgspec

from tuibench.errors import UsageError
from tuibench.load.conditions import CONDITIONS
from tuibench.load.conditions.base import Condition
from tuibench.load.prepare_check import check_present
from tuibench.load.several import cut_off, together
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.own import connect_own
from tuibench.workload import nearest
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program

REPEATABLE = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT"

AT_ONCE = 4
"""Connections that ask: the server has other work."""

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


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the conditions are answered, and the names of those that the server is at."""

    done: int
    total: int
    under_way: tuple[str, ...]


async def check(
    target: Target,
    program: Program,
    *,
    after_load: bool | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Verdict, ...]:
    """Each condition of the program's data set, on its tables as they are now.

    `after_load` says whether nothing ran since the load; None to find that out. Raises RunError when tables
    are missing or others'. When it fails or is cancelled, the server is told to stop looking.
    """
    conditions, spec = conditions_of(program), data_set(program)
    first = await connect_own(target)
    try:
        await check_present(first, program.data_set, spec, spec.prepare_command(program.profile))
    finally:
        await first.close()
    asking = _Asking(conditions, after_load, progress or _say_nothing)
    connections: list[Connection] = []
    try:
        for _ in range(min(AT_ONCE, len(conditions))):
            connections.append(await connect_own(target))
        await together(asking.ask(connection) for connection in connections)
    except BaseException:
        await cut_off(target, connections)
        raise
    for connection in connections:
        await connection.close()
    return asking.verdicts


def _say_nothing(progress: Progress) -> None:
    """For those who only want the verdicts."""


class _Asking:
    """The conditions, of which each connection takes the next one that nobody has."""

    def __init__(
        self, conditions: Sequence[Condition], after_load: bool | None, report: Callable[[Progress], None]
    ) -> None:
        self._conditions = conditions
        self._waiting: Iterator[Condition] = iter(conditions)
        self._after_load = after_load
        self._report = report
        self._under_way: list[str] = []
        self._found: dict[str, Verdict] = {}

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """In the conditions' order, once all are answered."""
        return tuple(self._found[condition.name] for condition in self._conditions)

    async def ask(self, connection: Connection) -> None:
        """Asks for one condition after the other until none waits."""
        await connection.execute(REPEATABLE)
        for condition in self._waiting:
            self._under_way.append(condition.name)
            self._tell()
            await connection.execute(SNAPSHOT)
            self._found[condition.name] = await verdict_of(connection, condition, self._after_load)
            self._under_way.remove(condition.name)
        self._tell()

    def _tell(self) -> None:
        self._report(
            Progress(done=len(self._found), total=len(self._conditions), under_way=tuple(self._under_way))
        )


async def verdict_of(connection: Connection, condition: Condition, after_load: bool | None = None) -> Verdict:
    """A condition as it is seen from this connection."""
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
