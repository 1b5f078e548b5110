"""The state of a cell's server at the moment when the cell's load starts.

With `--start=cold` or `warm`, three conditions hold for each cell:

- The server has no backlog: pages are clean, old row versions are purged, and the checkpoint age is small.
  The cell waits until the readings are within `LIMITS`.
- The buffer pool is empty (cold), or all tables have been read into it (warm).
- The data are the same: a private server gets back a copy of its data directory (`PrivateServers`); on
  another server the rows are counted.

The cell has a warning for each condition that is not met.

An idle server may keep dirty pages (MariaDB does by default). The settings of `FLUSHING` are therefore
changed while the cell waits, by commands of the cell's session, which journals and restores them.
"""

from collections.abc import Awaitable, Callable, Mapping

from tuibench.base import numerals, units
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import TuibenchError
from tuibench.load.script_commands import run_command
from tuibench.load.tables import prewarm_tables
from tuibench.metrics.figures import read
from tuibench.model.counters import Counter, redo_limit
from tuibench.model.message import ChangeSetting
from tuibench.model.server import Target
from tuibench.model.sweep import Start, Sweep, SweepCase
from tuibench.model.tick import Tick
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import connect_with_defaults, query_if_allowed
from tuibench.observe.status import INNODB_METRICS_SQL, STATUS_SQL, innodb_figures, kept_status
from tuibench.workload import script
from tuibench.workload.program import Program

WAIT_SECONDS, LOOK_SECONDS, REPORT_SECONDS = 120.0, 0.5, 10.0
ROWS, WAITED = "rows", "waited_seconds"
PREWARM = "prewarm"
"""The command of a Lua script that reads its tables into the buffer pool."""


LIMITS: dict[str, tuple[float, str, Callable[[float], str]]] = {
    "dirty_percent": (1.0, "dirty pages", units.percent),
    "history_list": (1000.0, "history list", lambda value: f"{value:,.0f}"),
    "checkpoint_age_percent": (10.0, "checkpoint age", units.percent),
}
"""The maximum of each reading, its title and its format. Dirty pages are in percent of the buffer pool, the
checkpoint age in percent of the redo log. The purge of an idle server leaves some hundred row versions.
"""

FLUSHING = {
    "innodb_io_capacity_max": "20000",
    "innodb_io_capacity": "20000",
    "innodb_max_dirty_pages_pct_lwm": "0",
    "innodb_max_dirty_pages_pct": "0",
}
"""Settings that make a server flush all dirty pages soon. In this order, no value exceeds the maximum that
another setting has at that time.
"""

Readings = Mapping[str, float]
Change = Callable[[ChangeSetting], Awaitable[object]]


def readings(status: Mapping[str, float]) -> dict[str, float]:
    """The readings of `LIMITS` that the server's status variables give, by name."""
    tick = Tick(levels=dict(status))
    found = {}
    pool = status.get(Counter.POOL_PAGES_TOTAL, 0) * status.get(Counter.PAGE_SIZE, 0)
    if pool and Counter.POOL_BYTES_DIRTY in status:
        found["dirty_percent"] = 100 * status[Counter.POOL_BYTES_DIRTY] / pool
    history = read("history_list", tick)
    if history is not None:
        found["history_list"] = history
    age, capacity = read("checkpoint_age", tick), redo_limit(status)
    if age is not None and capacity:
        found["checkpoint_age_percent"] = 100 * age / capacity
    return found


def beyond(found: Readings) -> tuple[str, ...]:
    """The names of the readings that exceed their limit."""
    return tuple(name for name, (most, _, _) in LIMITS.items() if found.get(name, 0) > most)


def state_words(found: Readings) -> str:
    """The readings as text: dirty pages 12 %, history list 4,200."""
    return ", ".join(
        f"{title} {write(found[name])}" for name, (_, title, write) in LIMITS.items() if name in found
    )


def shortcomings(found: Readings, rows_before: float | None) -> tuple[str, ...]:
    """The warnings of a cell that starts with these readings.

    `rows_before` is the number of rows in its tables before the first cell, None if unknown.
    """
    warnings = []
    if late := beyond(found):
        kept = state_words({name: found[name] for name in late})
        warnings.append(f"beginning not reached: {kept} after {found.get(WAITED, 0):.0f} s")
    if unknown := [title for name, (_, title, _) in LIMITS.items() if name not in found]:
        warnings.append(f"beginning not known: the server does not tell {', '.join(unknown)}")
    if rows_before is not None and found.get(ROWS, rows_before) != rows_before:
        warnings.append(f"other data: {found[ROWS]:,.0f} rows, {rows_before:,.0f} before the first cell")
    return tuple(warnings)


def rows_before(sweep: Sweep, case: SweepCase) -> float | None:
    """The number of rows in a case's tables before the first cell that used them; None if unknown."""
    known = (one.beginning.get(ROWS) for one in sweep.results if one.cell.case.data == case.data)
    return next((rows for rows in known if rows is not None), None)


def beginning_line(sweep: Sweep) -> str:
    """The state in which the cells of a sweep started, in one line; empty for `--start=as-is`."""
    start = sweep.record.plan.start
    known = [one.beginning for one in sweep.done if one.beginning]
    if start is Start.AS_IS or not known:
        return ""
    most = {name: max(one[name] for one in known if name in one) for name in LIMITS if name in known[0]}
    waited = max(one.get(WAITED, 0) for one in known)
    return f"each cell began {start}, with at most {state_words(most)}; waited up to {waited:.1f} s"


async def begin(
    target: Target,
    program: Program,
    start: Start,
    clock: Clock,
    change: Change,
    report: Callable[[str], None],
) -> dict[str, float]:
    """Read the tables for a warm start, then wait until the readings are within their limits.

    Returns the readings, the seconds of the wait, and the number of rows if they were counted.
    """
    rows = await _read_tables(target, program, report) if start is Start.WARM else {}
    connection = await connect_with_defaults(target, use_database=False)
    begun_ns = said_ns = clock.now_ns()
    changed: dict[str, str] = {}
    try:
        found = await _readings(connection)
        late = bool(beyond(found))
        if late:
            report(f"waiting up to {WAIT_SECONDS:.0f} s for the beginning: {state_words(found)}")
            if set(beyond(found)) - {"history_list"}:
                await _flush(connection, change, changed)
        while beyond(found) and clock.now_ns() < begun_ns + WAIT_SECONDS * NS_PER_SECOND:
            await clock.sleep(LOOK_SECONDS)
            found = await _readings(connection)
            if clock.now_ns() > said_ns + REPORT_SECONDS * NS_PER_SECOND:
                said_ns = clock.now_ns()
                report(f"still waiting: {state_words(found)}")
        for name, value in reversed(changed.items()):
            await change(ChangeSetting(name, value))
    finally:
        await connection.close()
    waited = (clock.now_ns() - begun_ns) / NS_PER_SECOND
    return {**found, **rows, WAITED: waited if late else 0.0}


async def _readings(connection: Connection) -> dict[str, float]:
    status: dict[str, float] = {**kept_status(await connection.query(STATUS_SQL)).found}
    if "mariadb" not in connection.version_text.lower():
        rows = await query_if_allowed(connection, INNODB_METRICS_SQL) or ()
        status |= innodb_figures(rows).found
    return readings(status)


async def _flush(connection: Connection, change: Change, changed: dict[str, str]) -> None:
    """Change the settings of `FLUSHING`, and store the values before in `changed`.

    A setting that the login must not change keeps its value.
    """
    names = ", ".join(f"'{name}'" for name in FLUSHING)
    rows = await connection.query(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
    now = {str(name): str(value) for name, value in rows}
    for name, value in FLUSHING.items():
        present = numerals.number(now.get(name))
        if present is None:
            continue
        raised = now[name] if "capacity" in name and present > float(value) else value
        if float(raised) != present:
            try:
                await change(ChangeSetting(name, raised))
            except TuibenchError:
                return
            changed[name] = now[name]


async def _read_tables(target: Target, program: Program, report: Callable[[str], None]) -> dict[str, float]:
    """Read each table through each of its indexes; returns the number of rows, empty if not counted."""
    if program.script is not None:
        if PREWARM in script.declared(program.script).commands:
            await run_command(target, program, PREWARM, write=lambda _: None)
        else:
            report(f"not read into the buffer pool: the script has no command {PREWARM}")
        return {}
    tables = await prewarm_tables(target, program, lambda table: None)
    return {ROWS: float(sum(tables.values()))} if tables else {}
