"""The statements that take the most time, from the performance schema, in their normal form.

The normal form has no values: `SELECT c FROM t WHERE id IN (?, …)`.

Two tables are read, both cumulative. `events_statements_summary_by_digest` has the statements sent as text.
Newer servers count prepared statements in it, too, with the prefix EXECUTE. Older servers count them in
`prepared_statements_instances`, one row for each statement currently prepared on any connection; the row
disappears with the statement.

A reading is limited to the most recent statements, and to the histograms of those that took the most time.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from tuibench.base import numerals
from tuibench.base.clock import Clock
from tuibench.base.errors import MOMENTARY_ERRORS, SQLError
from tuibench.base.numerals import MOST_TIMER
from tuibench.metrics.series import growth
from tuibench.model.server import Flavour, StatementDetail, StatementFigures, StatementRow, Target
from tuibench.model.tick import US_PER_MS, rank_of
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.info import query_if_allowed
from tuibench.mysql.rows import Row
from tuibench.observe.status import Connect, MonitoringConnection, log_in

LONGEST = 240

# Letters of names are what is left of ASCII and everything above: a class up to \uffff takes 7 ms to compile.
_VALUES = re.compile(
    r"""
    (?P<comment>/\*(?!!).*?(?:\*/|\Z) | (?:--\s|\#)[^\n]*)
  | (?P<name>`(?:[^`]|``)*(?:`|\Z) | [@$]?
        [^\x00-@\x5b-\x5e`\x7b-\x7f][^\x00-\x23%-\x2d/:-@\x5b-\x5e`\x7b-\x7f]*(?!['"\w]))
  | (?P<value>
        (?:(?<!\w)(?:[NnXxBb]|_[a-z0-9]+\s*))?'(?:[^'\\]|''|\\.)*(?:'|\Z)
      | "(?:[^"\\]|""|\\.)*(?:"|\Z)
      | 0[xX][0-9a-fA-F]+
      | (?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_LIST = re.compile(r"-?\?(?:\s*,\s*-?\?)+")
_ROWS = re.compile(r"(\((?:\?|\?, …)\))(?:\s*,\s*\((?:\?|\?, …)\))+")


def normalize_sql(statement: str, longest: int = LONGEST) -> str:
    """The statement on one line of at most `longest` characters, its literals as `?`, lists shortened."""
    text = " ".join(_VALUES.sub(_replaced, statement).split())
    text = _ROWS.sub(r"\1, …", _LIST.sub("?, …", text))
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _replaced(match: re.Match[str]) -> str:
    if match["comment"] is not None:
        return " "
    return match["name"] if match["name"] is not None else "?"


MOST_FULL = 20_000
"""Characters of a statement in full."""
TIMEOUT_SECONDS, GIVE_UP_SECONDS = 5.0, 15.0
MOST_STATEMENTS, MOST_HISTOGRAMS = 500, 20
PS_PER_US = 1_000_000

DIGEST, PREPARED = "digest", "prepared"
OFF = "performance_schema is OFF: the server counts no statements"
NO_HISTOGRAMS = "p95: this server has no distribution of statement times"
PREPARED_NOTE = (
    "this server does not include prepared statements in its digests; they are read from "
    "prepared_statements_instances as long as they are prepared"
)
EXECUTED_NOTE = "digests that begin with EXECUTE are prepared statements"
EXECUTED = re.compile(r"\AEXECUTE (?=[A-Z(])")
"""A prepared statement among the digests; the statement EXECUTE itself is followed by a quoted name."""

KEY_SQL = "CONCAT(IFNULL(SCHEMA_NAME, ''), ' ', IFNULL(DIGEST, ''))"
DIGESTS_SQL = (
    f"SELECT {KEY_SQL}, DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT, SUM_LOCK_TIME, "  # noqa: S608 (names of our own)
    "SUM_ROWS_EXAMINED{cpu} FROM performance_schema.events_statements_summary_by_digest "
    f"ORDER BY LAST_SEEN DESC LIMIT {MOST_STATEMENTS}"
)
PREPARED_SQL = (
    "SELECT SQL_TEXT, SUM(COUNT_EXECUTE), SUM(SUM_TIMER_EXECUTE), SUM(SUM_LOCK_TIME), "  # noqa: S608 (our own)
    "SUM(SUM_ROWS_EXAMINED){cpu} FROM performance_schema.prepared_statements_instances "
    f"GROUP BY SQL_TEXT LIMIT {MOST_STATEMENTS}"
)
PREPARED_TEXT_SQL = (
    "SELECT DISTINCT SQL_TEXT FROM performance_schema.prepared_statements_instances "  # noqa: S608 (a number)
    f"LIMIT {MOST_STATEMENTS}"
)
EXAMPLE_SQL, NORMAL_SQL = (
    f"SELECT {text} FROM performance_schema.events_statements_summary_by_digest "  # noqa: S608 (our own names)
    "WHERE SCHEMA_NAME {schema} AND DIGEST = '{digest}'"
    for text in ("QUERY_SAMPLE_TEXT", "DIGEST_TEXT")
)
"""The text of a statement as it was executed once, which MariaDB does not keep, and in its normal form."""
HISTOGRAM_SQL = (
    f"SELECT {KEY_SQL}, BUCKET_TIMER_HIGH, COUNT_BUCKET "  # noqa: S608 (names of our own)
    "FROM performance_schema.events_statements_histogram_by_digest "
    "WHERE SCHEMA_NAME {schema} AND DIGEST = '{digest}' AND COUNT_BUCKET > 0"
)
"""Selects one statement by the table's key. Any other condition reads the whole table, 450 rows for each
digest.
"""

Distribution = dict[int, int]
"""Counts of a statement's times by the upper bound of their bucket, in microseconds."""


class StatementSums(NamedTuple):
    """Cumulative figures of a statement."""

    text: str
    source: str
    calls: int
    time_us: float
    rows_examined: int | None = None
    lock_us: float | None = None
    cpu_us: float | None = None
    distribution: Mapping[int, int] | None = None
    """Counts by upper bounds in µs, or None."""


class StatementReading(msgspec.Struct, frozen=True, kw_only=True):
    """One reading."""

    totals: dict[str, StatementSums] = {}
    """By statement; some have the distribution of their times."""
    gaps: tuple[str, ...] = ()
    """What could not be read."""


class StatementSampler:
    """Reads statement statistics, one reading at a time, over a connection opened at the first one."""

    def __init__(
        self,
        target: Target,
        clock: Clock,
        flavour: Flavour,
        own: OwnConnections | None = None,
        *,
        log_in: Connect = log_in,
    ) -> None:
        self._connection = MonitoringConnection(
            target,
            clock,
            timeout_seconds=TIMEOUT_SECONDS,
            give_up_seconds=GIVE_UP_SECONDS,
            log_in=log_in,
            own=own,
        )
        self._plans = MonitoringConnection(
            target,
            clock,
            timeout_seconds=TIMEOUT_SECONDS,
            give_up_seconds=GIVE_UP_SECONDS,
            log_in=log_in,
            own=own,
        )
        """A connection of its own, because a plan is that of one database."""
        self._flavour = flavour
        self._database = target.database

    async def read(self, wanted: Sequence[str] = ()) -> StatementReading | None:
        """The current statistics; None without a response. `wanted` selects the histograms to read."""
        return await self._connection.run(partial(self._read, tuple(wanted)))

    async def detail(self, key: str, sql: str = "") -> StatementDetail:
        """The statement of a key in full, with its plan. `sql` is the text of a statement of the load; any
        other is one that the server knows. Its values are left out.
        """
        found = await self._plans.run(partial(self._detail, key, sql))
        return found or StatementDetail(key=key, note=f"no plan: {self._plans.last_error}")

    async def close(self) -> None:
        await self._connection.close()
        await self._plans.close()

    async def _detail(self, key: str, sql: str, connection: Connection) -> StatementDetail:
        database = self._database
        if not sql:
            sql, database = await self._known(key, connection)
        if not sql:
            return StatementDetail(key=key, note="the server no longer has this statement")
        from tuibench.observe.plans import explain  # only if somebody asks for a plan

        plan, note = await explain(connection, self._flavour, sql, database)
        return StatementDetail(key=key, statement=normalize_sql(sql, MOST_FULL), plan=plan, note=note)

    async def _known(self, key: str, connection: Connection) -> tuple[str, str]:
        """The fullest text of a statement, and its database: an example with its values, if the server keeps
        one; two empty texts if it has the statement no longer.
        """
        source, _, text = key.partition(" ")
        if source == PREPARED:
            rows = await query_if_allowed(connection, PREPARED_TEXT_SQL) or ()
            found = next((str(row[0]) for row in rows if normalize_sql(str(row[0])) == text), "")
            return found, self._database
        for sql in (EXAMPLE_SQL, NORMAL_SQL):
            chosen = _of_digest(connection, key, sql)
            rows = (await query_if_allowed(connection, chosen) or ()) if chosen else ()
            if known := next((str(row[0]) for row in rows if row[0]), ""):
                return EXECUTED.sub("", known), key.rpartition(" ")[0]
        return "", ""

    async def _read(self, wanted: Sequence[str], connection: Connection) -> StatementReading:
        rows = await connection.query("SHOW GLOBAL VARIABLES LIKE 'performance_schema'")
        if not rows or str(rows[0][1]).upper() != "ON":
            return StatementReading(gaps=(OFF,))
        gaps: list[str] = []
        digests = await _first_allowed(connection, DIGESTS_SQL, ", SUM_CPU_TIME", gaps)
        # Excluded: statements without a digest, and those that read the performance schema, as this one does.
        totals = {
            str(key): _totals(str(text), DIGEST, figures)
            for key, text, *figures in digests
            if text and "performance_schema" not in str(text)
        }
        if any(EXECUTED.match(each.text) for each in totals.values()):
            gaps.append(EXECUTED_NOTE)
        else:
            totals |= await self._prepared(connection, gaps)
        return StatementReading(
            totals=totals | await self._distributions(connection, totals, wanted, gaps),
            gaps=tuple(dict.fromkeys(gaps)),
        )

    async def _prepared(self, connection: Connection, gaps: list[str]) -> dict[str, StatementSums]:
        """Statements currently prepared, if the digests do not count them."""
        rows = await _first_allowed(connection, PREPARED_SQL, ", SUM(SUM_CPU_TIME)", gaps)
        found: dict[str, StatementSums] = {}
        for row in rows:
            text, *figures = row
            each = _totals(normalize_sql(str(text)), PREPARED, figures)
            key = f"{PREPARED} {each.text}"
            before = found.get(key)
            if before is None:
                found[key] = each
            else:
                found[key] = each._replace(
                    calls=before.calls + each.calls,
                    time_us=before.time_us + each.time_us,
                    lock_us=(before.lock_us or 0.0) + (each.lock_us or 0.0),
                    rows_examined=(before.rows_examined or 0) + (each.rows_examined or 0),
                    cpu_us=((before.cpu_us or 0.0) + (each.cpu_us or 0.0)) or None,
                )
        if found:
            gaps.append(PREPARED_NOTE)
        return found

    async def _distributions(
        self,
        connection: Connection,
        totals: Mapping[str, StatementSums],
        wanted: Sequence[str],
        gaps: list[str],
    ) -> dict[str, StatementSums]:
        """The `wanted` statements, and those that took the most time so far, with their distributions."""
        if self._flavour is not Flavour.MYSQL:
            gaps.append(NO_HISTOGRAMS)
            return {}
        ranked = sorted(totals, key=lambda key: totals[key].time_us, reverse=True)
        keys = dict.fromkeys((*wanted[:MOST_HISTOGRAMS], *ranked[:MOST_HISTOGRAMS]))
        parts = [
            part
            for key in keys
            if totals[key].source == DIGEST and (part := _of_digest(connection, key, HISTOGRAM_SQL))
        ]
        if not parts:
            return {}
        rows = await query_if_allowed(connection, " UNION ALL ".join(parts))
        if rows is None:
            gaps.append(NO_HISTOGRAMS)
            return {}
        found = parse_distributions(rows)
        return {key: totals[key]._replace(distribution=each) for key, each in found.items() if key in totals}


def _of_digest(connection: Connection, key: str, sql: str) -> str:
    """The query for one digest; empty for an invalid key."""
    schema, _, digest = key.rpartition(" ")
    if not digest.isalnum():
        return ""
    named = f"= {connection.quote(schema)}" if schema else "IS NULL"
    return sql.format(schema=named, digest=digest)


async def _first_allowed(connection: Connection, sql: str, cpu: str, gaps: list[str]) -> Sequence[Row]:
    """The rows, without CPU time if the server does not count it; a refusal becomes a gap."""
    rows = await query_if_allowed(connection, sql.format(cpu=cpu))
    if rows is not None:
        return rows
    try:
        return await connection.query(sql.format(cpu=", NULL"))
    except MOMENTARY_ERRORS:
        raise
    except SQLError as error:
        gaps.append(f"statements: {error.message}")
        return ()


def _totals(text: str, source: str, figures: Sequence[object]) -> StatementSums:
    calls, time, lock, examined, cpu = figures
    lock_ps, cpu_ps = numerals.amount(lock, MOST_TIMER), numerals.amount(cpu, MOST_TIMER)
    return StatementSums(
        text=text,
        source=source,
        calls=numerals.count(calls) or 0,
        time_us=(numerals.amount(time, MOST_TIMER) or 0.0) / PS_PER_US,
        lock_us=None if lock_ps is None else lock_ps / PS_PER_US,
        rows_examined=numerals.count(examined),
        # A CPU time of 0 means that it is not counted.
        cpu_us=cpu_ps / PS_PER_US if cpu_ps else None,
    )


def parse_distributions(rows: Sequence[Row]) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    for key, upper, count in rows:
        upper_ps, times = numerals.amount(upper, MOST_TIMER), numerals.count(count)
        if upper_ps is None or times is None:
            continue
        upper_us = max(1, int(upper_ps // PS_PER_US))
        counts = found.setdefault(str(key), {})
        counts[upper_us] = counts.get(upper_us, 0) + times
    return found


MOST_ROWS = 40
CLIENT_SOURCE = "client"
"""The source of statements that the load measured itself; listed after those of the server."""


Sums = Mapping[str, StatementSums]


def figures_between(before: StatementSums | None, after: StatementSums) -> StatementFigures | None:
    """The figures of a statement between two readings; None if it was not called, or its figures were
    reset.
    """
    calls = after.calls - (before.calls if before else 0)
    time_us = after.time_us - (before.time_us if before else 0.0)
    if calls <= 0 or time_us < 0:
        return None
    value = growth(before.rows_examined if before else 0, after.rows_examined)
    return StatementFigures(
        calls=calls,
        total_ms=time_us / US_PER_MS,
        p95_ms=_p95_ms(before, after),
        rows_examined=None if value is None else int(value),
        lock_ms=_ms(growth(before.lock_us if before else 0.0, after.lock_us)),
        cpu_ms=_ms(growth((before.cpu_us or 0.0) if before else 0.0, after.cpu_us)),
    )


def statement_rows(first: Sums, changed: Sums | None, now: Sums) -> tuple[StatementRow, ...]:
    """The statements since a change, or since the first reading, those with the most time first.

    With a reading at a change (`changed`), each row also has the figures from the first reading to it.
    """
    base = changed if changed is not None else first
    rows = []
    for key, after in now.items():
        figures = figures_between(base.get(key), after)
        if figures is None:
            continue
        earlier = changed.get(key) if changed is not None else None
        before = figures_between(first.get(key), earlier) if earlier is not None else None
        rows.append(StatementRow(key=key, text=after.text, source=after.source, now=figures, before=before))
    ranked = sorted(rows, key=lambda row: row.now.total_ms, reverse=True)
    server = [row for row in ranked if row.source != CLIENT_SOURCE][:MOST_ROWS]
    return (*server, *(row for row in ranked if row.source == CLIENT_SOURCE))


def _p95_ms(before: StatementSums | None, after: StatementSums) -> float | None:
    """The p95; None unless both readings have the distribution."""
    if after.distribution is None or (before is not None and before.calls and before.distribution is None):
        return None
    old = (before.distribution if before is not None else None) or {}
    counts = {end: times - old.get(end, 0) for end, times in after.distribution.items()}
    total = sum(counts.values())
    if total <= 0 or min(counts.values()) < 0:
        return None
    wanted = rank_of(95.0, total)
    for end in sorted(counts):
        wanted -= counts[end]
        if wanted <= 0:
            return end / US_PER_MS
    return None


def _ms(us: float | None) -> float | None:
    return None if us is None else us / US_PER_MS
