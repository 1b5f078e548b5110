"""Server settings: roles, state on a server, presets, and changes as text.

`tuning.catalogue` is the only list of the settings that tuibench changes: an entry holds limits, meanings,
privileges and roles. A `SettingState` carries all of it to screens, recorder and reports, so none of them
depends on a setting's name. To add a setting, add its entry: dialog, panel, costs, alarms and reports follow
from `group` and `roles`.

`ServerVariable` holds the names that code uses for another reason: an exception for one setting, or a
variable that tuibench reads and never changes.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from tuibench.model.schedule import TOGETHER

KEPT = "kept "
"""The beginning of the event that settings are not restored, at the wish of an operator."""

RESTORE_COMMAND = "tuibench restore"
"""Restores what a session has left changed."""


class SettingGroup(StrEnum):
    """Settings of DURABILITY determine which data survives a crash; the cost of their values is measured."""

    DURABILITY = "durability"
    TUNING = "tuning"


class SettingTopic(StrEnum):
    """The part of the server that a setting belongs to, in the order of lists and screens."""

    DURABILITY = "durability"
    BINLOG = "binlog"
    REDO = "redo"
    FLUSHING = "flushing"
    PURGE = "purge"
    MEMORY = "memory"
    CACHES = "caches"
    READING = "reading"
    THREADS = "threads"
    LOCKING = "locking"
    OPTIMIZER = "optimizer"
    LOGGING = "logging"

    @property
    def heading(self) -> str:
        return _TOPIC_TITLES[self]


_TOPIC_TITLES = {
    SettingTopic.DURABILITY: "Durability: what survives a crash",
    SettingTopic.BINLOG: "Binary log and group commit",
    SettingTopic.REDO: "Redo log",
    SettingTopic.FLUSHING: "Flushing of dirty pages",
    SettingTopic.PURGE: "Purge of old row versions",
    SettingTopic.MEMORY: "Memory",
    SettingTopic.CACHES: "Caches",
    SettingTopic.READING: "Reading of pages",
    SettingTopic.THREADS: "Threads and waiting",
    SettingTopic.LOCKING: "Locks and isolation",
    SettingTopic.OPTIMIZER: "Optimizer",
    SettingTopic.LOGGING: "Logs and statistics",
}


class SettingRole(StrEnum):
    """Where a setting appears even if it was not changed."""

    PANEL = "panel"
    """In the durability panel and the durability dialog."""

    COST = "cost"
    """The cost of a commit by its value is measured from the start, and reported."""

    ALARM = "alarm"
    """A value that can lose data raises the alarm, even if the server had it before the session."""

    REPORT = "report"
    """Among the variables that reports list first."""


COMMIT_ROLES = tuple(SettingRole)
"""All roles: those of a setting that decides whether a commit survives a crash."""


class CostFigure(StrEnum):
    """The cost of a commit that a setting determines: work on the redo log, or on the binary log."""

    NONE = ""
    REDO_LOG = "redo log"
    BINARY_LOG = "binary log"


class ServerVariable(StrEnum):
    """Variables that code uses by name."""

    FLUSH_LOG = "innodb_flush_log_at_trx_commit"
    SYNC_BINLOG = "sync_binlog"
    SQL_LOG_BIN = "sql_log_bin"
    REDO_LOG_ENABLED = "innodb_redo_log_enabled"
    IO_CAPACITY = "innodb_io_capacity"
    IO_CAPACITY_MAX = "innodb_io_capacity_max"
    ISOLATION = "transaction_isolation"
    LONG_QUERY_TIME = "long_query_time"
    SLOW_QUERY_LOG = "slow_query_log"
    MAX_CONNECTIONS = "max_connections"
    TABLE_OPEN_CACHE = "table_open_cache"
    MAX_PURGE_LAG = "innodb_max_purge_lag"
    THREAD_CONCURRENCY = "innodb_thread_concurrency"

    BINLOG_EXPIRE_SECONDS = "binlog_expire_logs_seconds"
    BINLOG_EXPIRE_DAYS = "expire_logs_days"
    GENERAL_LOG = "general_log"
    GROUP_NAME = "group_replication_group_name"
    INNODB_READ_ONLY = "innodb_read_only"
    LOG_BIN = "log_bin"
    MAX_PREPARED_STATEMENTS = "max_prepared_stmt_count"
    MAX_USER_CONNECTIONS = "max_user_connections"
    OPEN_FILES_LIMIT = "open_files_limit"
    PERFORMANCE_SCHEMA = "performance_schema"
    READ_ONLY = "read_only"
    SUPER_READ_ONLY = "super_read_only"
    TABLE_DEFINITION_CACHE = "table_definition_cache"
    WAIT_TIMEOUT = "wait_timeout"
    BUFFER_POOL_SIZE = "innodb_buffer_pool_size"
    LOG_BUFFER_SIZE = "innodb_log_buffer_size"
    DOUBLEWRITE = "innodb_doublewrite"
    FLUSH_METHOD = "innodb_flush_method"
    LOG_FILE_SIZE = "innodb_log_file_size"
    LOG_FILES = "innodb_log_files_in_group"
    PAGE_SIZE = "innodb_page_size"
    REDO_LOG_CAPACITY = "innodb_redo_log_capacity"
    FORCE_RECOVERY = "innodb_force_recovery"
    THREAD_SLEEP_DELAY = "innodb_thread_sleep_delay"


PREFLIGHT_VARIABLES = (
    ServerVariable.BINLOG_EXPIRE_SECONDS,
    ServerVariable.BINLOG_EXPIRE_DAYS,
    ServerVariable.GENERAL_LOG,
    ServerVariable.INNODB_READ_ONLY,
    ServerVariable.LOG_BIN,
    ServerVariable.LONG_QUERY_TIME,
    ServerVariable.MAX_CONNECTIONS,
    ServerVariable.MAX_PREPARED_STATEMENTS,
    ServerVariable.MAX_USER_CONNECTIONS,
    ServerVariable.OPEN_FILES_LIMIT,
    ServerVariable.PERFORMANCE_SCHEMA,
    ServerVariable.READ_ONLY,
    ServerVariable.SLOW_QUERY_LOG,
    ServerVariable.SUPER_READ_ONLY,
    ServerVariable.TABLE_DEFINITION_CACHE,
    ServerVariable.TABLE_OPEN_CACHE,
    ServerVariable.WAIT_TIMEOUT,
)
"""Read before a run."""

REPORTED_READ_ONLY = (ServerVariable.LOG_BIN,)
"""Read-only variables that reports list first, beside the settings with `SettingRole.REPORT`."""


REQUIRES_RESTART = "requires a restart"
"""End of the reason why a setting cannot be changed while the server runs."""


NO_OPTION = frozenset({"sql_log_bin", "innodb_redo_log_enabled"})
"""Settings that cannot be in an option file."""


def option_line(name: str, value: str) -> str:
    """The line below [mysqld] that sets the value at each start; empty if there is none."""
    return "" if name in NO_OPTION else f"{name} = {value}"


class SettingState(msgspec.Struct, frozen=True, kw_only=True):
    """A setting and its current state on the server."""

    name: str
    value: str
    original: str
    """The value before the first change by tuibench."""
    meaning: str
    """What the value does."""
    at_risk: bool
    """True if committed data can be lost with the value."""
    choices: dict[str, str] = {}
    """The values to offer, each with its meaning."""
    risky: tuple[str, ...] = ()
    """The values with which committed data can be lost."""
    unavailable: str = ""
    """The reason why the setting cannot be changed; empty if it can."""
    group: str = ""
    topic: str = ""
    """A `SettingTopic`."""
    scope: str = "server"
    """The reach of a change: "server" (all connections), "default" (the default of new connections, and the
    connections of the load at once), or "workload" (only the connections of the load).
    """
    takes: str = ""
    """The valid values in words."""
    risk: str = ""
    """The risk of a change."""
    counters: tuple[str, ...] = ()
    """The status counters that show its effect."""
    began: str = ""
    """The value at the start of the session."""
    changed_by: str = ""
    """The origin of the current value: "us", "others", or empty if it has not changed."""
    needs: tuple[str, ...] = ()
    """A login needs one of these privileges to change it."""
    roles: tuple[SettingRole, ...] = ()
    cost: CostFigure = CostFigure.NONE
    short_name: str = ""
    """For narrow panels; empty if it is `name`."""
    is_size: bool = False
    """True for a setting in bytes."""
    only: str = ""
    """The flavour that has the setting, if the server's flavour has it in no version."""
    allows: str = ""
    """The anomalies of isolation that the value allows, and another one prevents."""

    @property
    def changed(self) -> bool:
        return self.value != self.original

    @property
    def is_ours(self) -> bool:
        """True if the server has a value of this session, which a restore takes back."""
        return self.changed_by == "us" and self.scope != "workload"

    @property
    def requires_restart(self) -> bool:
        """True if only a restart of the server changes it."""
        return self.unavailable.endswith(REQUIRES_RESTART)

    @property
    def label(self) -> str:
        return self.short_name or self.name

    @property
    def is_costed(self) -> bool:
        """True if the cost of a commit is measured by its values."""
        return self.group == SettingGroup.DURABILITY or SettingRole.COST in self.roles

    @property
    def allows_anomalies(self) -> bool:
        """True if a change lets transactions have results that they could not have one after the other."""
        return self.changed and bool(self.allows)

    @property
    def raises_alarm(self) -> bool:
        """True if committed data can be lost, by a change or by a setting that always counts."""
        return self.at_risk and (self.changed or SettingRole.ALARM in self.roles)


def consequence(meaning: str) -> str:
    """Second part of a value's meaning, which is "mechanism: consequence"; for narrow places."""
    return meaning.partition(": ")[2] or meaning


def settings_with(role: SettingRole, settings: Iterable[SettingState]) -> tuple[SettingState, ...]:
    """The settings with a role, in catalogue order."""
    return tuple(setting for setting in settings if role in setting.roles)


class PresetState(msgspec.Struct, frozen=True, kw_only=True):
    """A named group of settings."""

    name: str
    values: dict[str, str]
    risk: str
    """In one sentence."""
    short_names: dict[str, str] = {}
    """Those of its settings that have one."""

    def label(self, setting: str) -> str:
        """Name of one of its settings in texts."""
        return self.short_names.get(setting, setting)


FEWEST_NAME_LETTERS = 12
"""Letters of a shortened name from which it is still recognised."""


_CHANGE = re.compile(r"(?P<subject>[a-z_.]+) (?P<before>\S+) → (?P<after>[^\s(;]+)(?: \(.*\))?")
_PRESET_CHANGE = re.compile(r"preset (?P<name>\S+): (?P<steps>\S+ \S+ → \S+(?:, \S+ \S+ → \S+)*)")
_STEP = re.compile(r"(?P<label>\S+) (?P<before>\S+) → [^\s,]+")


def preset_change(preset: str, steps: Iterable[tuple[str, str, str]]) -> str:
    """A preset with the values that it changed: `preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0`.

    A step is the label of a setting with its values before and after.
    """
    changed = [f"{label} {before or '?'} → {after}" for label, before, after in steps if before != after]
    return f"preset {preset}: {', '.join(changed) or 'no value changed'}"


def brief_change(change: str, width: int) -> str:
    """A change for narrow places.

    A preset is named without its values, a setting with its name shortened. Of several changes, it is the
    last one with the number of the others.
    """
    if len(change) <= width:
        return change
    if found := _PRESET_CHANGE.fullmatch(change):
        return f"preset {found['name']}"
    if found := _CHANGE.fullmatch(change):
        values = f" {found['before']} → {found['after']}"
        room = width - len(values)
        if room >= FEWEST_NAME_LETTERS:
            name = found["subject"]
            return f"{name if len(name) <= room else name[: room - 1] + '…'}{values}"
        return change
    *others, last = change.split("; ")
    more = f" and {len(others)} more"
    return f"{brief_change(last, width - len(more))}{more}" if others else change


def ab_order(change: str, presets: Iterable[PresetState]) -> str:
    """The A/B test of a change, as `SETTING=V1,V2`; empty for a change without two values.

    The test of a preset compares it with the preset of the values before. If those were no preset, it is of
    the settings that the preset has changed.
    """
    if found := _PRESET_CHANGE.fullmatch(change):
        return _preset_order(found["name"], found["steps"], tuple(presets))
    found = _CHANGE.fullmatch(change)
    if found is None or found["before"] == found["after"] or "," in found["before"] + found["after"]:
        return ""
    return f"{found['subject']}={found['before']},{found['after']}"


def changed_settings(change: str, presets: Iterable[PresetState]) -> tuple[str, ...]:
    """The setting that a change is of, or those that a preset has changed; empty for any other change."""
    if found := _PRESET_CHANGE.fullmatch(change):
        target = next((each for each in presets if each.name == found["name"]), None)
        labels = {step["label"] for step in _STEP.finditer(found["steps"])}
        return tuple(name for name in target.values if target.label(name) in labels) if target else ()
    found = _CHANGE.fullmatch(change)
    return (found["subject"],) if found else ()


def _preset_order(preset: str, steps: str, presets: tuple[PresetState, ...]) -> str:
    """The test of a preset against the preset whose values the settings had before, or of the settings that
    it has changed; empty for an unknown preset or value.
    """
    target = next((each for each in presets if each.name == preset), None)
    if target is None:
        return ""
    old = {step["label"]: step["before"] for step in _STEP.finditer(steps)}
    values = {name: old.get(target.label(name), value) for name, value in target.values.items()}
    if before := next((each.name for each in presets if each.values == values), ""):
        return f"preset={before},{preset}" if before != preset else ""
    changed = [name for name in values if target.label(name) in old]
    if not changed or "?" in old.values():
        return ""
    a, b = (TOGETHER.join(side[name] for name in changed) for side in (values, target.values))
    return f"{TOGETHER.join(changed)}={a},{b}"
