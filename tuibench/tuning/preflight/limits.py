"""Checks of the server's limits against what the run asks for."""

import math

from tuibench.model.finding import Finding
from tuibench.tuning.preflight.demand import OWN_AT_ONCE, OWN_CONNECTIONS
from tuibench.tuning.preflight.facts import Facts
from tuibench.tuning.preflight.findings import note, ok, stop, unseen, warning
from tuibench.units import counted

NAME = "max_connections"
ROOM_FOR_OPERATOR = 10
"""Connections that should stay free for whoever must log in while the load runs."""

LARGEST_PREPARED_LIMIT = 4_194_304
"""The most that servers of either flavour take for max_prepared_stmt_count."""

SPREAD = 5
"""How many times the mean a wait for work at random may well last."""

FILES_FOR_ITSELF = 100
"""Logs, system tables and temporary files of the server."""


def connections(facts: Facts) -> Finding:
    """Threads against max_connections, those of others and of tuibench itself counted in."""
    limit = facts.server.number("max_connections")
    if limit is None:
        return unseen(NAME, "max_connections")
    return _of_user(facts, limit) or _in_all(facts, limit)


def _in_all(facts: Facts, limit: int) -> Finding:
    others = max(0, facts.server.status.get("Threads_connected", 1) - 1)
    needed = others + facts.demand.connections
    said = f"{_wanted(facts)} beside {others:,} of others, the server takes {limit:,}"
    remedy = f"SET GLOBAL max_connections = {needed + ROOM_FOR_OPERATOR}"
    if needed > limit:
        return warning(NAME, f"{said}: {needed - limit:,} will be refused", remedy)
    if needed + ROOM_FOR_OPERATOR > limit:
        return note(NAME, f"{said}: {limit - needed} are left for you to log in", remedy)
    return ok(NAME, said)


def _of_user(facts: Facts, limit: int) -> Finding | None:
    """The account's own limit, or the server's for each account, if it is too low and the lower one."""
    server = facts.server
    most = server.user_connections
    if not most or not 0 < most < limit:
        return None
    others = sum(client.user == server.user for client in server.clients or ())
    needed = others + facts.demand.connections
    of_all = server.number("max_user_connections") == most
    which, remedy = (
        ("max_user_connections", f"SET GLOBAL max_user_connections = {needed}")
        if of_all
        else ("its MAX_USER_CONNECTIONS", f"ALTER USER {server.account} WITH MAX_USER_CONNECTIONS {needed}")
    )
    may = f"the account may have {most:,} ({which})"
    if most <= OWN_AT_ONCE:
        return stop(NAME, f"a run takes {OWN_AT_ONCE} connections beside its load, {may}", remedy)
    if needed <= most:
        return None
    beside = f" beside {others:,} of the same user" if others else ""
    return warning(NAME, f"{_wanted(facts)}{beside}, {may}: up to {needed - most:,} will be refused", remedy)


def _wanted(facts: Facts) -> str:
    return f"{counted(facts.demand.threads, 'thread')} and {OWN_CONNECTIONS} connections of our own"


def prepared_statements(facts: Facts) -> Finding:
    """Threads times statements against max_prepared_stmt_count, which counts everybody's."""
    name, limit = "max_prepared_stmt_count", facts.server.number("max_prepared_stmt_count")
    in_use = facts.server.status.get("Prepared_stmt_count")
    threads, statements = facts.demand.threads, facts.demand.statements
    if limit is None or in_use is None:
        return unseen(name, "max_prepared_stmt_count")
    needed = threads * statements
    used = f", {in_use:,} are in use" if in_use else ""
    product = f"{counted(threads, 'connection')} × {statements} prepared statements are {needed:,}"
    said = f"{product}, the server keeps {limit:,}{used}"
    if needed <= max(0, limit - in_use):
        return ok(name, said)
    instead = "run with --db-ps-mode=disable"
    enough = in_use + needed
    raised = f"SET GLOBAL max_prepared_stmt_count={enough}, or {instead}"
    return warning(
        name,
        f"{said}: the rest will be sent as text, which is slower",
        raised if enough <= LARGEST_PREPARED_LIMIT else instead,
    )


def open_tables(facts: Facts) -> Finding:
    """A thread holds one table open at a time; with fewer than threads × tables some are opened anew."""
    name, cache = "table_open_cache", facts.server.number("table_open_cache")
    if cache is None:
        return unseen(name, "table_open_cache")
    threads, tables = facts.demand.threads, facts.demand.tables
    product = f"{counted(threads, 'thread')} × {counted(tables, 'table')} are {threads * tables:,}"
    said = f"{product} open tables, the server keeps {cache:,}"
    remedy = f"SET GLOBAL table_open_cache = {threads * tables}"
    if threads > cache:
        return warning(name, f"{said}: tables are closed and opened all the time", remedy)
    if threads * tables > cache:
        return note(name, f"{said}: some will be opened anew", remedy)
    return ok(name, said)


def open_files(facts: Facts) -> Finding:
    """The server's own file descriptors: one a connection, some for the tables."""
    name, limit = "open_files_limit", facts.server.number("open_files_limit")
    if not limit:
        return unseen(name, "open_files_limit")
    needed = facts.demand.connections + facts.demand.tables + FILES_FOR_ITSELF
    said = f"the server may open {limit:,} files, connections and tables need about {needed:,}"
    if needed <= limit:
        return ok(name, said)
    return warning(name, said, f"open_files_limit={2 * needed} in the server's option file, and a restart")


def idle_connections(facts: Facts) -> Finding:
    """How long connections wait for work at the run's rate, against the server's wait_timeout."""
    name, limit = "wait_timeout", facts.server.number("wait_timeout")
    if limit is None:
        return unseen(name, "wait_timeout")
    rate, threads = facts.demand.rate, facts.demand.threads
    if not rate or (idle := SPREAD * threads / rate) < limit:
        return ok(name, f"the server lets a connection be idle for {limit:,} s")
    return warning(
        name,
        f"at {rate:g} transactions/s {threads} connections may be idle for {idle:.0f} s, "
        f"the server hangs up after {limit:,} s: transactions will fail for it",
        f"SET GLOBAL wait_timeout={math.ceil(idle * 2)}, or run with fewer --threads",
    )
