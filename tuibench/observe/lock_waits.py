"""Who waits for which lock, and who holds it: row locks, metadata and table locks, global and user locks.

| lock | MySQL | MariaDB |
|---|---|---|
| row lock | data_lock_waits, data_locks | INNODB_LOCK_WAITS, INNODB_LOCKS |
| metadata, global, user lock | metadata_locks | the same with performance_schema, else METADATA_LOCK_INFO |
| user lock | | IS_USED_LOCK of the name in the statement |
| any other | the list of sessions | the list of sessions |

The last row is an inference, and is reported as probable: a session that has the table in its statement, has
an open transaction, or fell idle just before the first one had to wait.

The cheapest question comes first: nothing else is read while nobody waits. All queries are limited, because a
hot row results in as many pairs as the square of its waiters.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from tuibench.base import numerals
from tuibench.base.errors import MOMENTARY_ERRORS, SQLError
from tuibench.metrics.lock_graph import lock_graph
from tuibench.model.server import IDLE_COMMANDS, Blocker, Flavour, LockKind, LockWait
from tuibench.mysql.rows import Row
from tuibench.observe.statements import normalize_sql

Query = Callable[[str], Awaitable[Sequence[Row]]]

MOST_WAITERS, MOST_PAIRS, MOST_LOCKS, MOST_SESSIONS, MOST_ROOTS = 100, 300, 300, 2000, 10
STATEMENT_CHARACTERS, KEY_CHARACTERS = 1000, 120
LONGEST_SECONDS = 10 * 365 * 86_400
"""A time above this is a -1 of the server, read as unsigned."""

_SINCE = "TIMESTAMPDIFF(SECOND, {column}, CONVERT_TZ(NOW(), @@time_zone, 'SYSTEM'))"
"""The server reports these times in its own time zone, which may differ from the session's."""

WAITING_TRX_SQL = """
SELECT trx_id, trx_mysql_thread_id, {since}, LEFT(trx_query, {characters})
FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT' ORDER BY trx_wait_started LIMIT {most}
""".format(since=_SINCE.format(column="trx_wait_started"), characters=STATEMENT_CHARACTERS, most=MOST_WAITERS)
COUNT_SQL = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
PAIRS_SQL = {
    Flavour.MARIADB: """
SELECT p.requesting_trx_id, p.blocking_trx_id, l.lock_table, l.lock_index, LEFT(l.lock_data, {characters})
FROM information_schema.INNODB_LOCK_WAITS p
LEFT JOIN information_schema.INNODB_LOCKS l ON l.lock_id = p.requested_lock_id
WHERE p.requesting_trx_id IN ({ids})
ORDER BY p.blocking_trx_id IN ({ids}) LIMIT {most}
""",
    Flavour.MYSQL: """
SELECT p.REQUESTING_ENGINE_TRANSACTION_ID, p.BLOCKING_ENGINE_TRANSACTION_ID,
  CONCAT(l.OBJECT_SCHEMA, '.', l.OBJECT_NAME), l.INDEX_NAME, LEFT(l.LOCK_DATA, {characters})
FROM (
  SELECT REQUESTING_ENGINE_TRANSACTION_ID, BLOCKING_ENGINE_TRANSACTION_ID, REQUESTING_ENGINE_LOCK_ID
  FROM performance_schema.data_lock_waits
  WHERE ENGINE = 'INNODB' AND REQUESTING_ENGINE_TRANSACTION_ID IN ({ids})
  ORDER BY BLOCKING_ENGINE_TRANSACTION_ID IN ({ids}) LIMIT {most}
) p LEFT JOIN performance_schema.data_locks l
  ON l.ENGINE_LOCK_ID = p.REQUESTING_ENGINE_LOCK_ID AND l.ENGINE = 'INNODB'
""",
}
"""The waits of these transactions, those for one that does not wait itself first."""
_TRX = """
SELECT trx_id, trx_mysql_thread_id, {since}, trx_rows_locked, trx_rows_modified,
  LEFT(trx_query, {characters})
FROM information_schema.INNODB_TRX WHERE {which} IN ({ids})
"""

_MS = {Flavour.MARIADB: "TIME_MS", Flavour.MYSQL: "1000 * TIME"}
_WAITING = """
SELECT ID, STATE, {ms}, LEFT(INFO, {characters}) FROM information_schema.PROCESSLIST
WHERE STATE LIKE 'Waiting for %lock' OR STATE LIKE 'Waiting for table %' OR STATE = 'User lock'
ORDER BY 3 DESC LIMIT {most}
"""
_SESSIONS = """
SELECT ID, USER, HOST, COMMAND, STATE, TIME, LEFT(INFO, {characters}) FROM information_schema.PROCESSLIST
WHERE ID IN ({ids})
"""
_EVERYONE = """
SELECT p.ID, p.COMMAND, p.STATE, {ms}, LEFT(p.INFO, {characters}), {since}
FROM information_schema.PROCESSLIST p
LEFT JOIN information_schema.INNODB_TRX t ON t.trx_mysql_thread_id = p.ID
WHERE p.COMMAND NOT IN ('Daemon', 'Connect', 'Binlog Dump', 'Binlog Dump GTID')
  AND p.USER NOT IN ('system user', 'event_scheduler') ORDER BY {ms} DESC LIMIT {most}
"""
_METADATA = """
SELECT t.PROCESSLIST_ID, m.OBJECT_TYPE, m.OBJECT_SCHEMA, m.OBJECT_NAME, m.LOCK_TYPE
FROM performance_schema.metadata_locks m
JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID
{which} LIMIT {most}
"""
PENDING_SQL = _METADATA.format(most=MOST_LOCKS, which="WHERE m.LOCK_STATUS = 'PENDING'")
GRANTED_SQL = _METADATA.format(
    most=MOST_LOCKS,
    which="""
JOIN (SELECT DISTINCT OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME
  FROM performance_schema.metadata_locks WHERE LOCK_STATUS = 'PENDING') p
  ON p.OBJECT_TYPE = m.OBJECT_TYPE AND p.OBJECT_SCHEMA <=> m.OBJECT_SCHEMA AND p.OBJECT_NAME <=> m.OBJECT_NAME
WHERE m.LOCK_STATUS = 'GRANTED'
ORDER BY m.LOCK_TYPE IN ('INTENTION_EXCLUSIVE', 'SHARED_READ', 'SHARED_WRITE', 'BACKUP_DML')
""",
)
"""Granted locks on the objects for which somebody waits, those that most others tolerate last."""
PLUGIN_SQL = """
SELECT THREAD_ID, LOCK_TYPE, TABLE_SCHEMA, TABLE_NAME, LOCK_MODE FROM information_schema.METADATA_LOCK_INFO
LIMIT 300
"""
_LAST = """
SELECT t.PROCESSLIST_ID, LEFT(s.SQL_TEXT, {characters}) FROM performance_schema.threads t
JOIN performance_schema.events_statements_current s ON s.THREAD_ID = t.THREAD_ID
WHERE t.PROCESSLIST_ID IN ({ids}) ORDER BY s.EVENT_ID DESC
"""

ABSENT_CODES = frozenset({1109, 1146, 1286})
"""The server has no such table."""

# Compatibility of metadata locks.

_TYPES = (
    "SHARED",
    "SHARED_HIGH_PRIO",
    "SHARED_READ",
    "SHARED_WRITE",
    "SHARED_WRITE_LOW_PRIO",
    "SHARED_UPGRADABLE",
    "SHARED_READ_ONLY",
    "SHARED_NO_WRITE",
    "SHARED_NO_READ_WRITE",
    "EXCLUSIVE",
)
_GRANTED = (
    "+++++++++-",
    "+++++++++-",
    "++++++++--",
    "++++++----",
    "++++++----",
    "+++++-+---",
    "+++--+++--",
    "+++---+---",
    "++--------",
    "----------",
)
"""Which granted types (columns) a request (rows) tolerates: the matrix of MySQL's sql/mdl.cc."""
_STRONG = frozenset({"SHARED_NO_WRITE", "SHARED_NO_READ_WRITE", "EXCLUSIVE", "SHARED_READ_ONLY"})
_BACKUP = frozenset(
    f"BACKUP_{name}"
    for name in ("DML", "TRANS_DML", "SYS_DML", "DDL", "ALTER_COPY", "COMMIT", "FLUSH", "START")
)
"""MariaDB's types of the backup lock that statements take; all others keep statements out."""


def conflicts(request: str, granted: str) -> bool:
    """True if a request for a metadata lock of one type has to wait for a granted one of another type."""
    if request in _TYPES and granted in _TYPES:
        return _GRANTED[_TYPES.index(request)][_TYPES.index(granted)] == "-"
    if request.startswith("BACKUP_"):
        return (request in _BACKUP) != (granted in _BACKUP)
    # The lock of all objects: INTENTION_EXCLUSIVE, SHARED, EXCLUSIVE.
    return request != granted or request == "EXCLUSIVE"


class MetadataLock(NamedTuple):
    """A metadata lock that a connection has, or waits for."""

    id: int
    object: tuple[str, str, str]
    """Type, schema and name."""
    type: str

    @property
    def kind(self) -> LockKind:
        return _OBJECT_KINDS.get(self.object[0], LockKind.METADATA)


_OBJECT_KINDS = {
    **dict.fromkeys(("GLOBAL", "COMMIT", "BACKUP", "BACKUP LOCK"), LockKind.GLOBAL),
    "USER LEVEL LOCK": LockKind.USER,
}


def metadata_locks(rows: Iterable[Row]) -> list[MetadataLock]:
    return [
        MetadataLock(number, (str(kind or ""), str(schema or ""), str(name or "")), str(type or ""))
        for id, kind, schema, name, type in rows
        if (number := numerals.count(id)) is not None
    ]


def metadata_holders(
    pending: Sequence[MetadataLock], granted: Sequence[MetadataLock]
) -> list[tuple[MetadataLock, int]]:
    """Each request with the connections for which it waits: those whose granted lock it does not tolerate;
    without one, those whose stronger request came before it.
    """
    found = []
    for request in pending:
        others = [each for each in granted if each.object == request.object and each.id != request.id]
        ids = [each.id for each in others if conflicts(request.type, each.type)]
        if not ids:
            ids = [
                each.id
                for each in pending
                if each.object == request.object
                and each.id != request.id
                and each.type in _STRONG | {"SHARED"}
                and request.type not in _STRONG
                and conflicts(request.type, each.type)
            ]
        found += [(request, id) for id in dict.fromkeys(ids)]
    return found


# Inference from the list of sessions.

_KINDS = (
    ("user lock", LockKind.USER),
    ("waiting for global read lock", LockKind.GLOBAL),
    ("waiting for commit lock", LockKind.GLOBAL),
    ("waiting for backup lock", LockKind.GLOBAL),
    ("waiting for table level lock", LockKind.TABLE),
    ("waiting for table flush", LockKind.FLUSH),
)
_TABLE = re.compile(
    r"\b(?:FROM|JOIN|UPDATE|INTO|TABLES?|ON)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+|ONLY\s+|IGNORE\s+|LOW_PRIORITY\s+)*"
    r"(`[^`]+`(?:\.`[^`]+`)?|[\w$]+(?:\.[\w$]+)?)",
    re.IGNORECASE,
)
_NO_TABLE = frozenset({"select", "with", "read", "set", "values", "duplicate", "update", "delete", "dual"})
_DDL = re.compile(
    r"\s*(?:ALTER|DROP|TRUNCATE|RENAME|CREATE|OPTIMIZE|REPAIR|ANALYZE|LOCK\s+TABLES?)\b", re.IGNORECASE
)
_GLOBAL = re.compile(
    r"\s*(?:FLUSH\b|BACKUP\s+STAGE|LOCK\s+INSTANCE|SET\s+(?:GLOBAL\s+)?(?:@@GLOBAL\.)?READ_ONLY)",
    re.IGNORECASE,
)
_USER_LOCK = re.compile(r"""\bGET_LOCK\s*\(\s*(?:'([^'\\]+)'|"([^"\\]+)")\s*,""", re.IGNORECASE)
"""Only a name without an escape: it is sent to the server again."""


def state_kind(state: str) -> LockKind:
    """What a session with a state of waiting for a lock waits for."""
    return next((kind for name, kind in _KINDS if state.lower().startswith(name)), LockKind.METADATA)


def named_tables(statement: str) -> tuple[str, ...]:
    """The names of tables that follow a keyword in a statement, without schema and quotes."""
    found = (name.replace("`", "").rpartition(".")[2] for name in _TABLE.findall(statement))
    return tuple(dict.fromkeys(name for name in found if name.lower() not in _NO_TABLE))


class ListedSession(NamedTuple):
    """A session of the list."""

    id: int
    command: str
    state: str
    ms: float
    """The time it has been in its state: executing its statement, or idle."""
    statement: str
    open_seconds: int | None = None
    """The age of its transaction."""

    @property
    def kind(self) -> LockKind:
        return state_kind(self.state)

    @property
    def is_idle(self) -> bool:
        return self.command in IDLE_COMMANDS

    def names(self, tables: Sequence[str]) -> bool:
        """True if its statement names one of the tables."""
        return any(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", self.statement) for name in tables)


SLACK_MS = {Flavour.MARIADB: 100.0, Flavour.MYSQL: 1500.0}
"""How much later than its waiter a holder may seem to have fallen idle: MySQL reports whole seconds."""


def probable_holder(
    waiter: ListedSession,
    waiters: Sequence[ListedSession],
    everyone: Sequence[ListedSession],
    slack_ms: float,
) -> int | None:
    """For whom a session probably waits; None without a candidate. `everyone` is without tuibench's own
    monitoring; `waiters` are those that wait for any lock that is not a row lock.
    """
    blocked = {each.id for each in waiters}
    tables = named_tables(waiter.statement)
    before = [each for each in waiters if each.id != waiter.id and each.ms >= waiter.ms]
    if waiter.kind is LockKind.METADATA:
        queue = [
            each
            for each in before
            if each.kind is LockKind.METADATA and _DDL.match(each.statement) and each.names(tables)
        ]
    elif waiter.kind is LockKind.GLOBAL:
        queue = [each for each in before if _GLOBAL.match(each.statement)]
    else:
        queue = []
    if queue:
        return max(queue, key=lambda each: each.ms).id
    free = [each for each in everyone if each.id not in blocked]
    running = [
        each for each in free if not each.is_idle and each.statement and each.ms >= waiter.ms - slack_ms
    ]
    if waiter.kind in (LockKind.METADATA, LockKind.TABLE):
        running = [each for each in running if each.names(tables)]
    elif waiter.kind is LockKind.GLOBAL and not _GLOBAL.match(waiter.statement):
        running = [each for each in running if _GLOBAL.match(each.statement)]
    if running:
        return max(running, key=lambda each: each.ms).id
    idle = [each for each in free if each.is_idle]
    since = [each for each in idle if each.ms >= waiter.ms - slack_ms] or idle
    in_transaction = [each for each in since if each.open_seconds is not None]
    if waiter.kind in (LockKind.METADATA, LockKind.FLUSH) and in_transaction:
        return max(in_transaction, key=lambda each: (each.open_seconds or 0, each.ms)).id
    return min(since, key=lambda each: abs(each.ms - waiter.ms)).id if since else None


# Reading.


class KeyWait(NamedTuple):
    """A transaction that waits for a row."""

    table: str
    index_name: str
    key: str
    """The locked record's columns as the server prints them; empty if unknown."""
    holder: str
    """The statement of the holder; empty if it is idle."""


class LockReading(NamedTuple):
    """The waits at one moment."""

    waits: tuple[LockWait, ...] = ()
    """Without duplicates, the longest first."""
    blockers: tuple[Blocker, ...] = ()
    blocked: int = 0
    """The number of all sessions that wait."""
    keys: tuple[KeyWait, ...] = ()
    """One for each transaction that waits for a row, of at most `MOST_WAITERS`."""
    gaps: tuple[str, ...] = ()
    """What could not be read, and why."""


ROW_GAP, OTHER_GAP = "lock waits", "metadata locks"


class LockReader:
    """Reads who waits for whom. It remembers which tables the server does not have."""

    def __init__(self, flavour: Flavour) -> None:
        self._flavour = flavour
        self._absent: dict[str, SQLError] = {}
        self.last_waits: tuple[LockWait, ...] = ()
        self.last_blockers: tuple[Blocker, ...] = ()
        self.seen: Mapping[int, str] = {}
        """The last known statement of each connection, for those whose last one the server does not tell."""

    async def read(self, query: Query, ours: Set[int], monitors: Set[int]) -> LockReading:
        """Who waits at present. `ours` are tuibench's own connections, its load among them; `monitors` are
        those that only sample and control, and hold no lock. Raises the errors of a lost connection; a
        refusal is a gap.
        """
        gaps: list[str] = []
        of_rows, keys, blocked = await self._row_waits(query, ours, gaps)
        in_rows = {each.waiting for each in of_rows}
        others = await self._other_waits(query, ours, monitors, in_rows, gaps)
        waits = _longest_first({(each.waiting, each.blocking): each for each in (*of_rows, *others)}.values())
        blocked += len({each.waiting for each in others})
        self.last_waits = waits
        self.last_blockers = await self._blockers(query, waits, ours) if waits else ()
        return LockReading(waits, self.last_blockers, blocked, keys, tuple(gaps))

    async def _row_waits(
        self, query: Query, ours: Set[int], gaps: list[str]
    ) -> tuple[list[LockWait], tuple[KeyWait, ...], int]:
        """The waits for rows, the key of each waiter, and the number of waiters."""
        try:
            waiting = await query(WAITING_TRX_SQL)
            if not waiting:
                return [], (), 0
            blocked = len(waiting)
            if blocked == MOST_WAITERS:
                blocked = max(blocked, numerals.count((await query(COUNT_SQL))[0][0]) or 0)
            transactions = {id: row for row in waiting if (id := numerals.count(row[0])) is not None}
            ids = ", ".join(map(str, transactions))
            sql = PAIRS_SQL[self._flavour].format(ids=ids, characters=KEY_CHARACTERS, most=MOST_PAIRS)
            pairs = await query(sql) if ids else ()
            found = [
                (a, b, row)
                for row in pairs
                if (a := numerals.count(row[0])) and (b := numerals.count(row[1]))
            ]
            missing = ", ".join(map(str, {b for _, b, _ in found} - transactions.keys()))
            holding = await query(_transactions_sql("trx_id", missing)) if missing else ()
        except MOMENTARY_ERRORS:
            raise
        except SQLError as error:
            gaps.append(f"{ROW_GAP}: {error.message}")
            return [], (), 0
        connections = {
            id: (numerals.count(row[1]) or 0, str(row[3] or "")) for id, row in transactions.items()
        }
        for row in holding:
            if (id := numerals.count(row[0])) is not None:
                connections[id] = numerals.count(row[1]) or 0, str(row[5] or "")
        waits: list[LockWait] = []
        keys: dict[int, KeyWait] = {}
        for requesting, blocking, (_, _, table, index, key) in found:
            name = str(table or "").replace("`", "")
            holder = normalize_sql(connections.get(blocking, (0, ""))[1])
            keys.setdefault(
                requesting, KeyWait(name, str(index or "").replace("`", ""), str(key or ""), holder)
            )
            if requesting not in connections or blocking not in connections:
                continue
            waiting_id, blocking_id = connections[requesting][0], connections[blocking][0]
            waits.append(
                LockWait(
                    waiting=waiting_id,
                    blocking=blocking_id,
                    waiting_is_ours=waiting_id in ours,
                    blocking_is_ours=blocking_id in ours,
                    table=name,
                    seconds=seconds_of(transactions[requesting][2]) if requesting in transactions else 0,
                    waiting_statement=normalize_sql(connections[requesting][1]),
                    blocking_statement=holder,
                )
            )
        return waits, tuple(keys.values()), blocked

    async def _other_waits(
        self, query: Query, ours: Set[int], monitors: Set[int], in_rows: Set[int], gaps: list[str]
    ) -> list[LockWait]:
        """The waits for other locks, from the best source for each waiter. Those `in_rows` wait for a row."""
        ms = _MS[self._flavour]
        try:
            rows = await query(_WAITING.format(ms=ms, characters=STATEMENT_CHARACTERS, most=MOST_WAITERS))
            waiters = [
                ListedSession(number, "Query", str(state or ""), numerals.amount(age) or 0.0, str(info or ""))
                for id, state, age, info in rows
                if (number := numerals.count(id)) is not None
            ]
            if not waiters:
                return []
            found: dict[int, list[tuple[int, LockKind, str, bool]]] = {}
            metadata_waits = await self._metadata_waits(query)
            refusal = self._absent.get("metadata")
            if refusal and self._flavour is Flavour.MYSQL and refusal.code not in ABSENT_CODES:
                gaps.append(f"{OTHER_GAP}: {refusal.message}")
            for request, holder in metadata_waits:
                name = ".".join(part for part in request.object[1:] if part)
                found.setdefault(request.id, []).append((holder, request.kind, name, False))
            for waiter in waiters:
                if waiter.id not in found and waiter.kind is LockKind.USER:
                    name, user = await self._user_lock(query, waiter)
                    if user is not None:
                        found[waiter.id] = [(user, LockKind.USER, name, False)]
            unknown = [each for each in waiters if each.id not in found]
            if unknown:
                everyone = [
                    each
                    for each in await self._everyone(query)
                    if each.id not in monitors | in_rows
                    and not (each.id in ours and each.is_idle and each.open_seconds is None)
                ]
                holders = await self._plugin_holders(query, unknown)
                slack_ms = SLACK_MS[self._flavour]
                for waiter in unknown:
                    tables = named_tables(waiter.statement)
                    name = tables[0] if tables and waiter.kind is not LockKind.GLOBAL else ""
                    probable = holders.get(waiter.id) or probable_holder(waiter, waiters, everyone, slack_ms)
                    if probable is not None:
                        is_probable = waiter.id not in holders
                        found[waiter.id] = [(probable, waiter.kind, name, is_probable)]
        except MOMENTARY_ERRORS:
            raise
        except SQLError as error:
            gaps.append(f"{OTHER_GAP}: {error.message}")
            return []
        statements = {each.id: each.statement for each in waiters}
        ages = {each.id: each.ms for each in waiters}
        return [
            LockWait(
                waiting=id,
                blocking=holder,
                waiting_is_ours=id in ours,
                blocking_is_ours=holder in ours,
                table=name,
                seconds=int(ages.get(id, 0.0) / 1000),
                waiting_statement=normalize_sql(statements.get(id, "")),
                blocking_statement=normalize_sql(statements.get(holder, "")),
                kind=kind,
                is_probable=is_probable,
            )
            for id, holders_of in found.items()
            if id in statements
            for holder, kind, name, is_probable in holders_of
            if holder != id
        ]

    async def _optional(self, query: Query, what: str, sql: str) -> Sequence[Row]:
        """The rows of a table that not every server has or shows; once refused, it is not asked again."""
        if what in self._absent:
            return ()
        try:
            return await query(sql)
        except MOMENTARY_ERRORS:
            raise
        except SQLError as error:
            self._absent[what] = error
            return ()

    async def _metadata_waits(self, query: Query) -> list[tuple[MetadataLock, int]]:
        pending = metadata_locks(await self._optional(query, "metadata", PENDING_SQL))
        if not pending:
            return []
        return metadata_holders(pending, metadata_locks(await self._optional(query, "metadata", GRANTED_SQL)))

    async def _user_lock(self, query: Query, waiter: ListedSession) -> tuple[str, int | None]:
        """Name and holder of the user lock that a statement asks for; None if it does not have the name as a
        literal, or nobody holds it now.
        """
        match = _USER_LOCK.search(waiter.statement)
        if match is None:
            return "", None
        name = match[1] or match[2]
        rows = await query(f"SELECT IS_USED_LOCK(CONVERT(0x{name.encode().hex()} USING utf8mb4))")
        return name, numerals.count(rows[0][0]) if rows else None

    async def _plugin_holders(self, query: Query, unknown: Sequence[ListedSession]) -> dict[int, int]:
        """The holder for each waiter, according to MariaDB's plugin METADATA_LOCK_INFO."""
        if self._flavour is not Flavour.MARIADB:
            return {}
        granted = metadata_locks(await self._optional(query, "plugin", PLUGIN_SQL))
        found: dict[int, int] = {}
        for waiter in unknown:
            tables = named_tables(waiter.statement)
            for lock in granted:
                type = lock.type.removeprefix("MDL_")
                if lock.id == waiter.id or waiter.id in found:
                    continue
                if waiter.kind is LockKind.GLOBAL:
                    is_holder = type.startswith("BACKUP_") and (type in _BACKUP) == bool(
                        _GLOBAL.match(waiter.statement)
                    )
                else:
                    wanted = "EXCLUSIVE" if _DDL.match(waiter.statement) else "SHARED_WRITE"
                    is_table = lock.object[0].lower().startswith("table") and lock.object[2] in tables
                    is_holder = is_table and conflicts(wanted, type)
                if is_holder:
                    found[waiter.id] = lock.id
        return found

    async def _everyone(self, query: Query) -> list[ListedSession]:
        rows = await query(
            _EVERYONE.format(
                ms=_MS[self._flavour],
                characters=STATEMENT_CHARACTERS,
                since=_SINCE.format(column="t.trx_started"),
                most=MOST_SESSIONS,
            )
        )
        return [
            ListedSession(
                number,
                str(command or ""),
                str(state or ""),
                numerals.amount(age) or 0.0,
                str(info or ""),
                None if opened is None else seconds_of(opened),
            )
            for id, command, state, age, info, opened in rows
            if (number := numerals.count(id)) is not None
        ]

    async def _blockers(self, query: Query, waits: Sequence[LockWait], ours: Set[int]) -> tuple[Blocker, ...]:
        """What is known about the roots."""
        roots = [root.id for root in lock_graph(waits)][:MOST_ROOTS]
        ids = ", ".join(str(id) for id in roots if id)
        if not ids:
            return tuple(Blocker(id=id) for id in roots)
        sessions = await self._optional(
            query, "sessions", _SESSIONS.format(ids=ids, characters=STATEMENT_CHARACTERS)
        )
        transactions = {
            numerals.count(row[1]): row
            for row in await self._optional(query, "trx", _transactions_sql("trx_mysql_thread_id", ids))
        }
        last = {
            numerals.count(id): str(sql or "")
            for id, sql in await self._optional(
                query, "last", _LAST.format(ids=ids, characters=STATEMENT_CHARACTERS)
            )
        }
        found = {}
        for id, user, host, command, state, seconds, info in sessions:
            if (number := numerals.count(id)) is None:
                continue
            trx = transactions.get(number)
            is_earlier = not info and number not in last
            found[number] = Blocker(
                id=number,
                user=str(user or ""),
                host=str(host or ""),
                command=str(command or ""),
                state=str(state or ""),
                seconds=seconds_of(seconds),
                open_seconds=None if trx is None else seconds_of(trx[2]),
                rows_locked=(numerals.count(trx[3]) or 0) if trx else 0,
                rows_changed=(numerals.count(trx[4]) or 0) if trx else 0,
                statement=normalize_sql(str(info or last.get(number) or self.seen.get(number, ""))),
                is_earlier=is_earlier,
                is_ours=number in ours,
            )
        return tuple(found.get(id) or Blocker(id=id, is_ours=id in ours) for id in roots)


def _transactions_sql(column: str, ids: str) -> str:
    since = _SINCE.format(column="trx_started")
    return _TRX.format(since=since, characters=STATEMENT_CHARACTERS, which=column, ids=ids)


def _longest_first(waits: Iterable[LockWait]) -> tuple[LockWait, ...]:
    return tuple(sorted(waits, key=lambda wait: (-wait.seconds, wait.waiting, wait.blocking)))


def seconds_of(value: object) -> int:
    """The seconds of a list; 0 if the server does not report them."""
    seconds = numerals.count(value) or 0
    return seconds if seconds < LONGEST_SECONDS else 0
