"""Checks of the server's variables and other clients, as far as they distort a measurement.

Checks of the login: what the load needs, what changing settings needs, what looking needs.
"""

from tuibench.model.measurements.finding import Finding, next_step, not_visible, note, ok, stop, warning
from tuibench.model.server import Flavour
from tuibench.model.settings import ServerVariable
from tuibench.mysql.info import READ_ONLY_BYPASS_WARNING, read_only_bypass_privileges
from tuibench.tuning.catalogue import access, setting_lookup
from tuibench.tuning.preflight.facts import ClientConnection, Facts
from tuibench.units import duration, pluralize

SLOW_SECONDS = 0.1
"""A slow log with a threshold below this is written at nearly every statement under load."""

NAMED = 3
DAY_SECONDS = 86_400


def check_server(facts: Facts) -> Finding:
    info = facts.server.info
    up = "" if info.uptime_seconds is None else f", up {duration(info.uptime_seconds)}"
    return ok("server", f"{info.flavour} {info.version} at {info.where}{up}")


def check_data_set(facts: Facts) -> Finding:
    data = facts.data
    if data.ready and data.unused:
        return warning("data_set", data.unused)
    if data.ready:
        return ok("data_set", f"{data.described} in the database '{facts.server.database}'")
    if data.is_creatable:
        return next_step("data_set", data.problem, data.remedy)
    return stop("data_set", data.problem, data.remedy)


def check_read_only(facts: Facts) -> Finding:
    """A server that refuses writes, unless the login is above that."""
    name, server = ServerVariable.READ_ONLY, facts.server
    if ServerVariable.READ_ONLY not in server.variables:
        return not_visible(name, ServerVariable.READ_ONLY)
    if not server.is_on(ServerVariable.READ_ONLY) and not server.is_on(ServerVariable.INNODB_READ_ONLY):
        return ok(name, "the server accepts writes")
    kinds = ", ".join(kind for kind in facts.requirements.kinds if kind != "SELECT")
    if not facts.requirements.writes:
        return note(name, "the server is read-only, and so is the load")
    above = server.grants is not None and server.grants.may(*read_only_bypass_privileges(server.info))
    if above and not (
        server.is_on(ServerVariable.SUPER_READ_ONLY) or server.is_on(ServerVariable.INNODB_READ_ONLY)
    ):
        return warning(
            name,
            READ_ONLY_BYPASS_WARNING,
            "run on the primary, or SET GLOBAL read_only = OFF",
        )
    return stop(
        name,
        f"the server is read-only, the load does {kinds}",
        "run on the primary, or SET GLOBAL read_only = OFF",
    )


def check_slow_log(facts: Facts) -> Finding:
    name, server = ServerVariable.LONG_QUERY_TIME, facts.server
    text = server.variables.get(ServerVariable.LONG_QUERY_TIME)
    if text is None:
        return not_visible(name, ServerVariable.LONG_QUERY_TIME)
    if not server.is_on(ServerVariable.SLOW_QUERY_LOG):
        return ok(name, f"the slow query log is off (long_query_time {float(text):g} s)")
    if float(text) >= SLOW_SECONDS:
        return ok(name, f"the slow query log contains statements over {float(text):g} s")
    return warning(
        name,
        f"the slow query log contains statements over {float(text):g} s: nearly all statements of the load, "
        "which costs time",
        "SET GLOBAL long_query_time = 1",
    )


def check_general_log(facts: Facts) -> Finding:
    if facts.server.is_on(ServerVariable.GENERAL_LOG):
        return warning(
            ServerVariable.GENERAL_LOG,
            "the general log contains every statement, which costs time",
            "SET GLOBAL general_log = OFF",
        )
    return ok(ServerVariable.GENERAL_LOG, "the general log is off")


def check_performance_schema(facts: Facts) -> Finding:
    name, server = ServerVariable.PERFORMANCE_SCHEMA, facts.server
    if ServerVariable.PERFORMANCE_SCHEMA not in server.variables:
        return not_visible(name, ServerVariable.PERFORMANCE_SCHEMA)
    if server.is_on(name):
        return note(name, "performance_schema is on: compare only with servers where it is on, too")
    if server.info.flavour == Flavour.MYSQL:
        return note(
            name,
            "performance_schema is off: lock waits cannot be shown",
            "performance_schema=ON in the server's option file, and a restart",
        )
    return ok(name, "performance_schema is off")


def check_replicas(facts: Facts) -> Finding:
    name, count = "replicas", facts.server.replicas
    if count:
        found = f"{pluralize(count, 'replica')} attached: everything that the load writes is replicated"
        return (warning if facts.requirements.writes else note)(
            name, found, "run on a server without replicas"
        )
    if not facts.server.sees_all:
        return not_visible(
            name, "whether replicas are attached", f"GRANT PROCESS ON *.* TO {facts.server.account}"
        )
    if facts.server.clients is None:
        return not_visible(name, "whether replicas are attached (the server does not list its sessions)")
    return ok(name, "no replica is attached")


def check_binary_log(facts: Facts) -> Finding:
    """How long the binary log is kept: a load writes gigabytes an hour."""
    name, server = "binary_log", facts.server
    if ServerVariable.LOG_BIN not in server.variables:
        return not_visible(name, ServerVariable.LOG_BIN)
    if not server.is_on(ServerVariable.LOG_BIN):
        return ok(name, "the binary log is off")
    if not facts.requirements.writes:
        return ok(name, "the binary log is on, the load writes nothing")
    seconds = _expiry_seconds(facts)
    if not seconds:
        return note(
            name,
            "the binary log is on and never purged: a load with writes fills the disk",
            "PURGE BINARY LOGS BEFORE NOW() after the run",
        )
    if seconds < DAY_SECONDS:
        return ok(name, f"the binary log is on and kept for {seconds:,.0f} s")
    return note(
        name,
        f"the binary log is on and kept for {seconds / DAY_SECONDS:,.3g} days: a load with writes increases "
        "it",
        "PURGE BINARY LOGS BEFORE NOW() after the run",
    )


def check_clients(facts: Facts) -> Finding:
    """Activity of other clients distorts the figures."""
    name, busy = "other_clients", facts.server.busy
    if facts.server.clients is None:
        return not_visible(name, "other clients")
    if busy:
        named = "; ".join(dict.fromkeys(_named(client) for client in busy[:NAMED]))
        return warning(
            name,
            f"{pluralize(len(busy), 'active connection')} of other users ({named})",
            "SHOW PROCESSLIST",
        )
    if not facts.server.sees_all:
        return not_visible(
            name, "the connections of other users", f"GRANT PROCESS ON *.* TO {facts.server.account}"
        )
    if facts.server.written:
        return warning(
            name,
            f"other clients changed data {facts.server.written:,} times in "
            f"{facts.server.watched_seconds:.1f} s",
            "SHOW PROCESSLIST",
        )
    return ok(name, f"{pluralize(len(facts.server.clients), 'other connection')}, none of them active")


def _expiry_seconds(facts: Facts) -> float:
    """Zero for never. Both variables have the same value on MariaDB."""
    seconds = facts.server.number(ServerVariable.BINLOG_EXPIRE_SECONDS)
    if seconds is not None:
        return seconds
    return float(facts.server.variables.get(ServerVariable.BINLOG_EXPIRE_DAYS, "0")) * DAY_SECONDS


def _named(client: ClientConnection) -> str:
    return f"{client.user}@{client.host.partition(':')[0]} in {client.database or 'no database'}"


def check_load_privileges(facts: Facts) -> Finding:
    """The server's own word counts; without tables to try the statements on, its grants."""
    name, grants, kinds = "privileges_load", facts.server.grants, facts.requirements.kinds
    wanted = ", ".join(kinds)
    if facts.data.refusal:
        return stop(name, f"the load's statements are refused: {facts.data.refusal}", _grant(facts, kinds))
    if facts.data.refusal == "":
        return ok(name, f"the server accepts every statement of the load ({wanted})")
    if grants is None:
        return not_visible(name, "its own privileges (SHOW GRANTS)")
    missing = grants.lacks(kinds)
    if not missing:
        return ok(name, f"this login has {wanted} on the database")
    found = f"this login has no {', '.join(missing)} privilege on the whole database"
    return (note if grants.partly else stop)(name, found, _grant(facts, missing))


def check_setting_privileges(facts: Facts) -> Finding:
    """Which settings of the catalogue this login may change."""
    name, grants, info = "privileges_settings", facts.server.grants, facts.server.info
    if grants is None:
        return not_visible(name, "its own privileges (SHOW GRANTS)")
    settings = [
        setting for setting in setting_lookup.SETTINGS if not setting_lookup.unsupported_reason(setting, info)
    ]
    refused = [setting for setting in settings if access.missing_privilege(setting, info, grants.everywhere)]
    if not refused:
        return ok(name, f"this login can change all {len(settings)} settings")
    needed = dict.fromkeys(setting.privileges(info.flavour, info.version_tuple)[0] for setting in refused)
    return note(
        name,
        f"this login cannot change {len(refused)} of {len(settings)} settings "
        f"({', '.join(setting.name for setting in refused[:3])}{', …' if len(refused) > 3 else ''})",
        f"GRANT {', '.join(needed)} ON *.* TO {facts.server.account}",
    )


def check_process_privilege(facts: Facts) -> Finding:
    name = "privileges_process"
    if facts.server.grants is None:
        return not_visible(name, "its own privileges (SHOW GRANTS)")
    if facts.server.sees_all:
        return ok(name, "this login can see all sessions and locks (PROCESS)")
    return note(
        name,
        "without the PROCESS privilege, other users' sessions, replicas and lock waits are not visible",
        f"GRANT PROCESS ON *.* TO {facts.server.account}",
    )


def _grant(facts: Facts, kinds: tuple[str, ...]) -> str:
    return f"GRANT {', '.join(kinds)} ON `{facts.server.database}`.* TO {facts.server.account}"
