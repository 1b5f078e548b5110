"""A mysqlslap test: setup statements, the clients' queries, commits and reconnects, compiled to a program."""

from collections.abc import Iterator, Sequence
from itertools import cycle as endless
from itertools import islice
from math import lcm

import msgspec

from tuibench.errors import UsageError
from tuibench.workload.language.expressions import Expression, Operation, Variable, literal
from tuibench.workload.program.program import (
    Program,
    ProgramStep,
    Statement,
    StatementClass,
    Transaction,
    Turns,
)
from tuibench.workload.program.sql_text import statement_class, strip_literals
from tuibench.workload.program.values import Formula, Key, Uniform, Value
from tuibench.workload.slap.generated_sql import SlapQuery

SLAP_PROFILE = "slap"
MAX_TURNS = 2_000_000
"""The maximum length of a cycle of queries and commits."""

MAX_LITERAL_STATEMENTS = 2_000
"""The maximum number of statements that are expanded for each key."""

COMMIT = Transaction(
    name="commit",
    weight=1.0,
    explicit=False,
    steps=(
        ProgramStep(
            repeat=1,
            let={},
            statements=(Statement(name="commit", cls=StatementClass.OTHER, sql=("COMMIT",), prepared=False),),
        ),
    ),
)

Keys = Sequence[int] | Sequence[str]
"""The keys of the rows that exist when the clients start."""


class StorageEngine(msgspec.Struct, frozen=True):
    """A storage engine, and table options."""

    name: str
    options: str = ""

    @property
    def clause(self) -> str:
        """The suffix of the CREATE TABLE."""
        return f" Engine = {self.name}" + (f" {self.options}" if self.options else "")


class SlapScript(msgspec.Struct, frozen=True, kw_only=True):
    """One test. The first statement of `create` is the CREATE TABLE that gets the engine.

    `writes` is the number of statements of `create` to execute, the first once and the others repeatedly; 0
    for all of them once. `wants_keys` means that queries use the key of a row.
    """

    create: tuple[str, ...] = ()
    writes: int = 0
    queries: tuple[SlapQuery, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    wants_keys: bool = False

    def creation(self, engine: StorageEngine | None) -> Iterator[str]:
        """The statements that fill the schema, in order."""
        if not self.create:
            return
        table, *rows = self.create
        yield table + (engine.clause if engine is not None else "")
        if not self.writes:
            yield from rows
        elif rows:
            yield from islice(endless(rows), self.writes - 1)


class QueryCycle(msgspec.Struct, frozen=True, kw_only=True):
    """The sequence of a client: number of queries, commits, reconnects.

    It commits after every `commit` queries, and reconnects before every `detach`th of its list; 0: never.
    """

    queries: int
    commit: int = 0
    detach: int = 0


def client_program(script: SlapScript, rhythm: QueryCycle, keys: Keys) -> Program:
    """The program of every client. Raises UsageError for a commit interval that does not fit the list."""
    distinct = list(dict.fromkeys(script.queries))
    places = [distinct.index(query) for query in script.queries]
    literals = _key_literals(distinct, keys)
    transactions = [_transaction(number, query, keys, literals) for number, query in enumerate(distinct, 1)]
    return Program(
        profile=SLAP_PROFILE,
        data_set="none",
        tables=literals,
        options={},
        transactions=(*transactions, *[COMMIT] * bool(rhythm.commit)),
        turns=client_turns(places, rhythm, len(distinct)),
    )


def client_turns(places: Sequence[int], rhythm: QueryCycle, commit: int) -> Turns:
    """The order of one client's transactions; `commit` is the index of the COMMIT."""
    length, every = len(places), rhythm.commit
    period = min(lcm(length, every) if every else length, rhythm.queries)
    if period > MAX_TURNS:
        raise UsageError(
            f"{length:,} queries and a commit after every {every:,} of them: the combined sequence is too "
            "long",
            "use a --commit that is a multiple of the number of queries",
        )
    dealt: list[int] = []
    reconnect_at = set()
    for number in range(period):
        if rhythm.detach and number % length % rhythm.detach == 0:
            reconnect_at.add(len(dealt))
        dealt.append(places[number % length])
        if every and (number + 1) % every == 0:
            dealt.append(commit)
    count = rhythm.queries + (rhythm.queries // every if every else 0)
    return Turns(
        cycle=tuple(dealt),
        count=count,
        ending=(commit,) if every else (),
        reconnect_at=frozenset(reconnect_at),
    )


def split_user_statements(text: str, delimiter: str) -> tuple[str, ...]:
    """The statements separated by the delimiter. Raises UsageError for a placeholder."""
    found = tuple(part.strip() for part in text.split(delimiter) if part.strip())
    for sql in found:
        if "?" in strip_literals(sql):
            raise UsageError(f"'{sql[:60]}' has a placeholder without a value")
    return found


def _key_literals(queries: Sequence[SlapQuery], keys: Keys) -> tuple[str, ...]:
    """The keys as SQL, used like a program's tables: the statement is expanded for each key.

    Empty if there would be too many statements.
    """
    by_key = sum(query.by_key for query in queries)
    if by_key * len(keys) > MAX_LITERAL_STATEMENTS:
        return ()
    return tuple("'" + str(key).replace("'", "''") + "'" for key in keys)


def _transaction(number: int, query: SlapQuery, keys: Keys, literals: tuple[str, ...]) -> Transaction:
    name = f"{query.sql.split(maxsplit=1)[0].lower()} {number}"
    is_bound = query.by_key and not literals
    behind = [f" {literal}" for literal in literals or ("?",)] if query.by_key else [""]
    statement = Statement(
        name=name,
        cls=statement_class(query.sql),
        sql=tuple(query.sql + each for each in behind),
        bind=("key",) if is_bound else (),
        prepared=False,
    )
    step = ProgramStep(repeat=1, let=_key(keys) if is_bound else {}, statements=(statement,))
    return Transaction(name=name, weight=1.0, explicit=False, steps=(step,))


def _key(keys: Keys) -> dict[str, Value]:
    """A uniformly drawn key. Consecutive numbers need no list."""
    first, last = keys[0], keys[-1]
    if isinstance(first, int) and isinstance(last, int) and last - first == len(keys) - 1:
        return {"key": Key(first, last, Uniform())}
    place: Value = Key(0, len(keys) - 1, Uniform())
    chosen: Expression = Operation("pick", (literal(tuple(keys)), Variable("place")))
    return {"place": place, "key": Formula(chosen)}
