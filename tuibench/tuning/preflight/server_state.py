"""Checks of what the server is set to and who else is on it, as far as that falsifies a measurement."""

from tuibench.model.finding import Finding
from tuibench.model.server import Flavour
from tuibench.mysql.readonly import ABOVE_READ_ONLY, privileges_above
from tuibench.tuning.preflight.facts import Client, Facts
from tuibench.tuning.preflight.findings import note, ok, stop, unseen, warning
from tuibench.units import counted, duration

SLOW_SECONDS = 0.1
"""A slow log with a threshold below this is written at nearly every statement under load."""

NAMED = 3
DAY_SECONDS = 86_400


def server(facts: Facts) -> Finding:
    info = facts.server.info
    return ok("server", f"{info.flavour} {info.version} at {info.where}, up {duration(info.uptime_seconds)}")


def data_set(facts: Facts) -> Finding:
    data = facts.data
    if data.ready and data.unused:
        return warning("data_set", data.unused)
    if data.ready:
        return ok("data_set", f"{data.described} in the database '{facts.server.database}'")
    return stop("data_set", data.problem, data.remedy)


def read_only(facts: Facts) -> Finding:
    """A server that refuses writes, unless the login is above that."""
    name, server = "read_only", facts.server
    if "read_only" not in server.variables:
        return unseen(name, "read_only")
    if not server.is_on("read_only") and not server.is_on("innodb_read_only"):
        return ok(name, "the server takes writes")
    kinds = ", ".join(kind for kind in facts.demand.kinds if kind != "SELECT")
    if not facts.demand.writes:
        return note(name, "the server is read only, and so is the load")
    above = server.grants is not None and server.grants.may(*privileges_above(server.info))
    if above and not (server.is_on("super_read_only") or server.is_on("innodb_read_only")):
        return warning(
            name,
            ABOVE_READ_ONLY,
            "run on the primary, or SET GLOBAL read_only = OFF",
        )
    return stop(
        name,
        f"the server is read only, the load does {kinds}",
        "run on the primary, or SET GLOBAL read_only = OFF",
    )


def slow_log(facts: Facts) -> Finding:
    name, server = "long_query_time", facts.server
    text = server.variables.get("long_query_time")
    if text is None:
        return unseen(name, "long_query_time")
    if not server.is_on("slow_query_log"):
        return ok(name, f"the slow query log is off (long_query_time {float(text):g} s)")
    if float(text) >= SLOW_SECONDS:
        return ok(name, f"the slow query log takes statements over {float(text):g} s")
    return warning(
        name,
        f"the slow query log takes statements over {float(text):g} s: nearly all of a load, which costs time",
        "SET GLOBAL long_query_time = 1",
    )


def general_log(facts: Facts) -> Finding:
    if facts.server.is_on("general_log"):
        return warning(
            "general_log",
            "the general log writes down every statement, which costs time",
            "SET GLOBAL general_log = OFF",
        )
    return ok("general_log", "the general log is off")


def performance_schema(facts: Facts) -> Finding:
    name, server = "performance_schema", facts.server
    if "performance_schema" not in server.variables:
        return unseen(name, "performance_schema")
    if server.is_on(name):
        return note(name, "performance_schema is on: compare only with servers where it is on, too")
    if server.info.flavour == Flavour.MYSQL:
        return note(
            name,
            "performance_schema is off: lock waits cannot be shown",
            "performance_schema=ON in the server's option file, and a restart",
        )
    return ok(name, "performance_schema is off")


def replicas(facts: Facts) -> Finding:
    name, count = "replicas", facts.server.replicas
    if count:
        found = f"{counted(count, 'replica')} attached: everything the load writes goes there, too"
        return (warning if facts.demand.writes else note)(name, found, "run on a server without replicas")
    if not facts.server.sees_all:
        return unseen(
            name, "whether replicas are attached", f"GRANT PROCESS ON *.* TO {facts.server.account}"
        )
    return ok(name, "no replica is attached")


def binary_log(facts: Facts) -> Finding:
    """How long the binary log is kept: a load writes gigabytes an hour."""
    name, server = "binary_log", facts.server
    if "log_bin" not in server.variables:
        return unseen(name, "log_bin")
    if not server.is_on("log_bin"):
        return ok(name, "the binary log is off")
    if not facts.demand.writes:
        return ok(name, "the binary log is on, the load writes nothing")
    seconds = _expiry_seconds(facts)
    if not seconds:
        return note(
            name,
            "the binary log is on and kept for ever: a writing load fills the disk",
            "PURGE BINARY LOGS BEFORE NOW() after the run",
        )
    if seconds < DAY_SECONDS:
        return ok(name, f"the binary log is on and kept for {seconds:,.0f} s")
    return note(
        name,
        f"the binary log is on and kept for {seconds / DAY_SECONDS:,.3g} days: a writing load makes it grow",
        "PURGE BINARY LOGS BEFORE NOW() after the run",
    )


def clients(facts: Facts) -> Finding:
    """Others at work falsify every figure."""
    name, busy = "other_clients", facts.server.busy
    if facts.server.clients is None:
        return unseen(name, "other clients")
    if busy:
        named = "; ".join(dict.fromkeys(_named(client) for client in busy[:NAMED]))
        return warning(
            name, f"{counted(len(busy), 'connection')} of others at work ({named})", "SHOW PROCESSLIST"
        )
    if not facts.server.sees_all:
        return unseen(
            name, "the connections of other users", f"GRANT PROCESS ON *.* TO {facts.server.account}"
        )
    if facts.server.written:
        return warning(
            name,
            f"others changed data {facts.server.written:,} times in {facts.server.watched_seconds:.1f} s",
            "SHOW PROCESSLIST",
        )
    return ok(name, f"{counted(len(facts.server.clients), 'other connection')}, none of them at work")


def _expiry_seconds(facts: Facts) -> float:
    """Zero for never. MariaDB tells the same in both variables."""
    seconds = facts.server.number("binlog_expire_logs_seconds")
    if seconds is not None:
        return seconds
    return float(facts.server.variables.get("expire_logs_days", "0")) * DAY_SECONDS


def _named(client: Client) -> str:
    return f"{client.user}@{client.host.partition(':')[0]} in {client.database or 'no database'}"
