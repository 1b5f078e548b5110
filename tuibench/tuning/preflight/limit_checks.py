"""Checks of the server's limits against the requirements of the run."""

import math

from tuibench.model.counters import Counter
from tuibench.model.measurements.finding import Finding, not_visible, note, ok, stop, warning
from tuibench.model.settings import ServerVariable
from tuibench.tuning.preflight.facts import OWN_AT_ONCE, OWN_CONNECTIONS, Facts
from tuibench.units import pluralize

NAME = ServerVariable.MAX_CONNECTIONS
ROOM_FOR_OPERATOR = 10
"""Connections that should stay free for administrators while the load runs."""

LARGEST_PREPARED_LIMIT = 4_194_304
"""The most that servers of either flavour take for max_prepared_stmt_count."""

SPREAD = 5
"""How many times the mean a wait for work at random may well last."""

FILES_FOR_ITSELF = 100
"""Logs, system tables and temporary files of the server."""


def check_connections(facts: Facts) -> Finding:
    """Threads against max_connections, those of others and of tuibench itself counted in."""
    limit = facts.server.number(ServerVariable.MAX_CONNECTIONS)
    if limit is None:
        return not_visible(NAME, ServerVariable.MAX_CONNECTIONS)
    return _of_user(facts, limit) or _in_all(facts, limit)


def _in_all(facts: Facts, limit: int) -> Finding:
    others = max(0, facts.server.status.get(Counter.THREADS_CONNECTED, 1) - 1)
    needed = others + facts.requirements.connections
    fact = f"{_wanted(facts)}, plus {others:,} of other clients; the server accepts {limit:,}"
    remedy = f"SET GLOBAL max_connections = {needed + ROOM_FOR_OPERATOR}"
    if needed > limit:
        return warning(NAME, f"{fact}: {needed - limit:,} will be refused", remedy)
    if needed + ROOM_FOR_OPERATOR > limit:
        return note(NAME, f"{fact}: {limit - needed} are left for your own logins", remedy)
    return ok(NAME, fact)


def _of_user(facts: Facts, limit: int) -> Finding | None:
    """The account's own limit, or the server's for each account, if it is too low and the lower one."""
    server = facts.server
    most = server.user_connections
    if not most or not 0 < most < limit:
        return None
    others = sum(client.user == server.user for client in server.clients or ())
    needed = others + facts.requirements.connections
    of_all = server.number(ServerVariable.MAX_USER_CONNECTIONS) == most
    which, remedy = (
        (ServerVariable.MAX_USER_CONNECTIONS, f"SET GLOBAL max_user_connections = {needed}")
        if of_all
        else ("its MAX_USER_CONNECTIONS", f"ALTER USER {server.account} WITH MAX_USER_CONNECTIONS {needed}")
    )
    may = f"the account may have {most:,} ({which})"
    if most <= OWN_AT_ONCE:
        return stop(NAME, f"a run takes {OWN_AT_ONCE} connections in addition to its load, {may}", remedy)
    if needed <= most:
        return None
    beside = f", plus {others:,} of the same user" if others else ""
    return warning(NAME, f"{_wanted(facts)}{beside}, {may}: up to {needed - most:,} will be refused", remedy)


def _wanted(facts: Facts) -> str:
    wanted = facts.requirements
    idle = f", {wanted.idle_connections:,} idle" if wanted.idle_connections else ""
    return f"{pluralize(wanted.threads, 'thread')}{idle} and {OWN_CONNECTIONS} connections of tuibench"


def check_prepared_statements(facts: Facts) -> Finding:
    """Threads times statements, compared with max_prepared_stmt_count, which counts those of all clients."""
    name, limit = (
        ServerVariable.MAX_PREPARED_STATEMENTS,
        facts.server.number(ServerVariable.MAX_PREPARED_STATEMENTS),
    )
    in_use = facts.server.status.get(Counter.PREPARED_STMT_COUNT)
    threads, statements = facts.requirements.threads, facts.requirements.statements
    if limit is None or in_use is None:
        return not_visible(name, ServerVariable.MAX_PREPARED_STATEMENTS)
    needed = threads * statements
    used = f", {in_use:,} are in use" if in_use else ""
    product = f"{pluralize(threads, 'connection')} × {statements} prepared statements are {needed:,}"
    fact = f"{product}, the server keeps {limit:,}{used}"
    if needed <= max(0, limit - in_use):
        return ok(name, fact)
    instead = "run with --db-ps-mode=disable"
    enough = in_use + needed
    raised = f"SET GLOBAL max_prepared_stmt_count={enough}, or {instead}"
    return warning(
        name,
        f"{fact}: the others will be sent as text, which is slower",
        raised if enough <= LARGEST_PREPARED_LIMIT else instead,
    )


def check_open_tables(facts: Facts) -> Finding:
    """A thread holds one table open at a time; with fewer than threads × tables some are opened again."""
    name, cache = ServerVariable.TABLE_OPEN_CACHE, facts.server.number(ServerVariable.TABLE_OPEN_CACHE)
    if cache is None:
        return not_visible(name, ServerVariable.TABLE_OPEN_CACHE)
    threads, tables = facts.requirements.threads, facts.requirements.tables
    product = f"{pluralize(threads, 'thread')} × {pluralize(tables, 'table')} are {threads * tables:,}"
    fact = f"{product} open tables, the server keeps {cache:,}"
    remedy = f"SET GLOBAL table_open_cache = {threads * tables}"
    if threads > cache:
        return warning(name, f"{fact}: tables are closed and reopened all the time", remedy)
    if threads * tables > cache:
        return note(name, f"{fact}: some will be reopened", remedy)
    return ok(name, fact)


def check_open_files(facts: Facts) -> Finding:
    """The server's own file descriptors: one a connection, some for the tables."""
    name, limit = ServerVariable.OPEN_FILES_LIMIT, facts.server.number(ServerVariable.OPEN_FILES_LIMIT)
    if not limit:
        return not_visible(name, ServerVariable.OPEN_FILES_LIMIT)
    needed = facts.requirements.connections + facts.requirements.tables + FILES_FOR_ITSELF
    fact = f"the server may open {limit:,} files, connections and tables need about {needed:,}"
    if needed <= limit:
        return ok(name, fact)
    return warning(name, fact, f"open_files_limit={2 * needed} in the server's option file, and a restart")


def check_idle_connections(facts: Facts) -> Finding:
    """How long connections wait for work at the run's rate, against the server's wait_timeout."""
    name, limit = ServerVariable.WAIT_TIMEOUT, facts.server.number(ServerVariable.WAIT_TIMEOUT)
    if limit is None:
        return not_visible(name, ServerVariable.WAIT_TIMEOUT)
    rate, threads = facts.requirements.rate, facts.requirements.threads
    if not rate or (idle := SPREAD * threads / rate) < limit:
        return ok(name, f"the server allows idle connections for {limit:,} s")
    return warning(
        name,
        f"at {rate:g} transactions/s {threads} connections may be idle for {idle:.0f} s, "
        f"the server closes them after {limit:,} s: transactions will fail",
        f"SET GLOBAL wait_timeout={math.ceil(idle * 2)}, or run with fewer --threads",
    )
