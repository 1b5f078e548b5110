"""A whole mysqlslap test as text: what is sent before the clients, what each client sends, and what after.

How often a client goes through its queries, and where it commits and logs in again, becomes a program.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle as endless
from itertools import islice
from math import lcm

import msgspec

from tuibench.errors import UsageError
from tuibench.workload.expression import Apply, Expression, Variable, of_value
from tuibench.workload.placeholders import plain
from tuibench.workload.program import Program, Statement, StatementClass, Step, Transaction, Turns
from tuibench.workload.slap.generated import Query
from tuibench.workload.sql import class_of
from tuibench.workload.value import Formula, Key, Uniform, Value

PROFILE = "slap"
MOST_TURNS = 2_000_000
"""A cycle of queries and commits holds no more."""

MOST_WRITTEN_OUT = 2_000
"""A statement is written out once for each key, as long as that makes no more of them."""

COMMIT = Transaction(
    name="commit",
    weight=1.0,
    explicit=False,
    steps=(
        Step(
            repeat=1,
            let={},
            statements=(Statement(name="commit", cls=StatementClass.OTHER, sql=("COMMIT",), prepared=False),),
        ),
    ),
)

Keys = Sequence[int] | Sequence[str]
"""The keys of the rows that are there when the clients begin."""


class Engine(msgspec.Struct, frozen=True):
    """A storage engine to test with, and further table options."""

    name: str
    options: str = ""

    @property
    def clause(self) -> str:
        """What is put behind the CREATE TABLE."""
        return f" Engine = {self.name}" + (f" {self.options}" if self.options else "")


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """One test. The first of `create` is the CREATE TABLE that gets the engine.

    `writes` is how many statements of `create` are run, the first once and the others over and over; 0 for
    all of them once. `wants_keys` tells that queries are sent with the key of a row.
    """

    create: tuple[str, ...] = ()
    writes: int = 0
    queries: tuple[Query, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    wants_keys: bool = False

    def creation(self, engine: Engine | None) -> Iterator[str]:
        """What fills the schema, in its order."""
        if not self.create:
            return
        table, *rows = self.create
        yield table + (engine.clause if engine is not None else "")
        if not self.writes:
            yield from rows
        elif rows:
            yield from islice(endless(rows), self.writes - 1)


class Rhythm(msgspec.Struct, frozen=True, kw_only=True):
    """How a client goes through its queries: how many it sends in all, and after how many it does what.

    It commits after every `commit` of them, and logs in anew before every `detach`th of its list; 0: never.
    """

    queries: int
    commit: int = 0
    detach: int = 0


def client_program(script: Script, rhythm: Rhythm, keys: Keys) -> Program:
    """What every client does. Raises UsageError for a commit and a list that never meet."""
    distinct = list(dict.fromkeys(script.queries))
    places = [distinct.index(query) for query in script.queries]
    literals = _written_out(distinct, keys)
    transactions = [_transaction(number, query, keys, literals) for number, query in enumerate(distinct, 1)]
    return Program(
        profile=PROFILE,
        data_set="none",
        tables=literals,
        options={},
        transactions=(*transactions, *[COMMIT] * bool(rhythm.commit)),
        turns=turns(places, rhythm, len(distinct)),
    )


def turns(places: Sequence[int], rhythm: Rhythm, commit: int) -> Turns:
    """The order of one client's transactions; `commit` is the index of the COMMIT."""
    length, every = len(places), rhythm.commit
    period = min(lcm(length, every) if every else length, rhythm.queries)
    if period > MOST_TURNS:
        raise UsageError(
            f"{length:,} queries and a commit after every {every:,} of them: their order is too long",
            "take a --commit that is a multiple of the number of queries",
        )
    dealt: list[int] = []
    anew = set()
    for number in range(period):
        if rhythm.detach and number % length % rhythm.detach == 0:
            anew.add(len(dealt))
        dealt.append(places[number % length])
        if every and (number + 1) % every == 0:
            dealt.append(commit)
    count = rhythm.queries + (rhythm.queries // every if every else 0)
    return Turns(cycle=tuple(dealt), count=count, ending=(commit,) if every else (), anew=frozenset(anew))


def statements_in(text: str, delimiter: str) -> tuple[str, ...]:
    """A user's statements, told apart by the delimiter. Raises UsageError for a placeholder."""
    found = tuple(part.strip() for part in text.split(delimiter) if part.strip())
    for sql in found:
        if "?" in plain(sql):
            raise UsageError(f"'{sql[:60]}' has a placeholder, and nothing to put there")
    return found


def _written_out(queries: Sequence[Query], keys: Keys) -> tuple[str, ...]:
    """The keys as SQL, in the place of a program's tables: one is drawn for each statement, its text is made
    beforehand. None where that would make too many statements.
    """
    by_key = sum(query.by_key for query in queries)
    if by_key * len(keys) > MOST_WRITTEN_OUT:
        return ()
    return tuple("'" + str(key).replace("'", "''") + "'" for key in keys)


def _transaction(number: int, query: Query, keys: Keys, literals: tuple[str, ...]) -> Transaction:
    name = f"{query.sql.split(maxsplit=1)[0].lower()} {number}"
    is_bound = query.by_key and not literals
    behind = [f" {literal}" for literal in literals or ("?",)] if query.by_key else [""]
    statement = Statement(
        name=name,
        cls=class_of(query.sql),
        sql=tuple(query.sql + each for each in behind),
        bind=("key",) if is_bound else (),
        prepared=False,
    )
    step = Step(repeat=1, let=_key(keys) if is_bound else {}, statements=(statement,))
    return Transaction(name=name, weight=1.0, explicit=False, steps=(step,))


def _key(keys: Keys) -> dict[str, Value]:
    """One of the keys, each equally often. Numbers without a gap need no list."""
    first, last = keys[0], keys[-1]
    if isinstance(first, int) and isinstance(last, int) and last - first == len(keys) - 1:
        return {"key": Key(first, last, Uniform())}
    place: Value = Key(0, len(keys) - 1, Uniform())
    chosen: Expression = Apply("pick", (of_value(tuple(keys)), Variable("place")))
    return {"place": place, "key": Formula(chosen)}
