"""Environment of a run, read before the load starts: host, disk, server variables, network."""

import asyncio
import platform
import statistics
from collections.abc import Callable
from fnmatch import fnmatchcase

from tuibench import __version__
from tuibench.clock import NS_PER_MS
from tuibench.errors import TuibenchError
from tuibench.model.measurements.environment import DiskFacts, Environment, HostFacts, RoundTrip
from tuibench.model.server import ServerInfo
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.session_defaults import connect_with_defaults
from tuibench.observe.host.facts import disk_facts, host_facts
from tuibench.observe.server.variables import is_volatile

ROUND_TRIPS = 20
NOTHING_SQL = "DO 0"

RECORDED_VARIABLES = (
    "aria_pagecache_buffer_size",
    "autocommit",
    "back_log",
    "binlog_*",
    "character_set_server",
    "collation_server",
    "default_storage_engine",
    "enforce_gtid_consistency",
    "flush*",
    "general_log",
    "gtid_mode",
    "have_ssl",
    "innodb_*",
    "interactive_timeout",
    "join_buffer_size",
    "key_buffer_size",
    "large_pages",
    "log_bin",
    "log_output",
    "log_replica_updates",
    "log_slave_updates",
    "long_query_time",
    "lower_case_table_names",
    "max_connections",
    "max_heap_table_size",
    "max_prepared_stmt_count",
    "net_buffer_length",
    "open_files_limit",
    "performance_schema",
    "query_cache_size",
    "query_cache_type",
    "read_buffer_size",
    "read_only",
    "read_rnd_buffer_size",
    "require_secure_transport",
    "rpl_semi_sync_*",
    "skip_name_resolve",
    "slow_query_log",
    "sort_buffer_size",
    "sql_mode",
    "super_read_only",
    "sync_*",
    "table_definition_cache",
    "table_open_cache*",
    "thread_*",
    "tmp_table_size",
    "transaction_isolation",
    "tx_isolation",
    "userstat",
    "version*",
    "wsrep_on",
)
"""Patterns of the variables that matter to speed or durability."""

EXCLUDED_VARIABLES = ("innodb_*_dir*", "innodb_ft_*", "innodb_monitor_*", "innodb_tmpdir", "innodb_version")
"""Recorded variables to exclude: file names and variables without effect on a load."""


async def read_environment(
    target: Target, server: ServerInfo, now_ns: Callable[[], int], version: str = __version__
) -> Environment:
    """Read the environment. Data that cannot be read becomes a gap and does not fail the run."""
    variables: dict[str, str] = {}
    trip, gaps = None, []
    try:
        connection = await connect_with_defaults(target, use_database=False)
        try:
            variables = await _variables(connection)
            trip = await _round_trip(connection, now_ns)
        finally:
            await connection.close()
    except TuibenchError as error:
        gaps.append(f"the server's variables and the round trip: {error.message}")
    host, disk = await asyncio.to_thread(_host_and_disk, server)
    if disk is None and server.is_local and server.datadir:
        gaps.append(f"the disk: this system lists no file system that holds {server.datadir}")
    return Environment(
        tuibench=version,
        python=platform.python_version(),
        location="local" if server.is_local else "remote",
        host=host,
        round_trip=trip,
        disk=disk,
        variables=variables,
        gaps=tuple(gaps),
    )


def is_recorded_variable(name: str) -> bool:
    """True for a variable that is recorded."""
    wanted = any(fnmatchcase(name, pattern) for pattern in RECORDED_VARIABLES)
    return (
        wanted and not is_volatile(name) and not any(fnmatchcase(name, each) for each in EXCLUDED_VARIABLES)
    )


async def _variables(connection: Connection) -> dict[str, str]:
    rows = await connection.query("SHOW GLOBAL VARIABLES")
    return {str(name): str(value) for name, value in sorted(rows) if is_recorded_variable(str(name))}


async def _round_trip(connection: Connection, now_ns: Callable[[], int]) -> RoundTrip:
    """The round trip of a trivial statement; the first one is a warm-up and does not count."""
    await connection.query(NOTHING_SQL)
    took_ms = []
    for _ in range(ROUND_TRIPS):
        sent_ns = now_ns()
        await connection.query(NOTHING_SQL)
        took_ms.append((now_ns() - sent_ns) / NS_PER_MS)
    return RoundTrip(
        tries=ROUND_TRIPS,
        min_ms=min(took_ms),
        median_ms=statistics.median(took_ms),
        max_ms=max(took_ms),
    )


def _host_and_disk(server: ServerInfo) -> tuple[HostFacts, DiskFacts | None]:
    datadir = server.datadir if server.is_local else ""
    return host_facts(datadir), disk_facts(datadir)
