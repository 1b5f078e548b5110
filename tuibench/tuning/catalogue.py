"""Lookup of settings by name, their state on a server, their limits, privileges, and presets.

Some settings are the upper limit of another one. If a value exceeds the limit, MySQL reduces it, but MariaDB
changes the *other* setting, which tuibench would not restore. So the limits are known here, and settings are
changed in an order that keeps them.

Presets are named groups of settings, built-in or the user's own from the configuration file:

    [presets.night]
    settings = { sync_binlog = 0, innodb_io_capacity = 4000, long_query_time = 0.5 }
    risk = "A crash of the host loses the latest of the binary log."
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from tuibench.base import config, numerals
from tuibench.base.errors import SQLError, UsageError, did_you_mean
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.settings import (
    REQUIRES_RESTART,
    PresetState,
    ServerVariable,
    SettingGroup,
    SettingState,
    SettingTopic,
)
from tuibench.mysql.info import EVERYTHING, global_privileges
from tuibench.tuning.connection import AdminConnection
from tuibench.tuning.durability import BINLOG, DURABILITY, REDO
from tuibench.tuning.performance import (
    CACHES,
    FLUSHING,
    LOCKING,
    LOGGING,
    MEMORY,
    OPTIMIZER,
    PERFORMANCE,
    PURGE,
    READING,
    THREADS,
)
from tuibench.tuning.setting import (
    NEVER,
    ServerVersion,
    Setting,
    SettingScope,
    ValueKind,
    version_text,
)

__all__ = [
    "SETTINGS",
    "SETTINGS_BY_NAME",
    "Setting",
    "SettingScope",
    "ValueKind",
    "canonical_value",
    "find_setting",
    "setting_state",
    "unsupported_reason",
    "wanted_settings",
]


_TOPICS = tuple(SettingTopic)
SETTINGS = tuple(
    sorted(
        (
            *DURABILITY,
            *PERFORMANCE,
            *BINLOG,
            *REDO,
            *FLUSHING,
            *PURGE,
            *MEMORY,
            *CACHES,
            *READING,
            *THREADS,
            *LOCKING,
            *OPTIMIZER,
            *LOGGING,
        ),
        key=lambda setting: _TOPICS.index(setting.topic),
    )
)
"""All settings, by topic."""

SETTINGS_BY_NAME = {setting.name: setting for setting in SETTINGS}

SETTING_ALIASES = {
    "tx_isolation": ServerVariable.ISOLATION,
    "isolation": ServerVariable.ISOLATION,
    "innodb_redo_log": ServerVariable.REDO_LOG_ENABLED,
    "log_slow_query": ServerVariable.SLOW_QUERY_LOG,
    "log_slow_query_time": ServerVariable.LONG_QUERY_TIME,
}
"""Other names of settings, on servers or in common use."""


def find_setting(name: str) -> Setting:
    """The setting of that name. Raises UsageError with the nearest name if there is none."""
    plain = name.strip().lower().replace("-", "_")
    setting = SETTINGS_BY_NAME.get(SETTING_ALIASES.get(plain, plain))
    if setting:
        return setting
    hint = did_you_mean(plain, (*SETTINGS_BY_NAME, *SETTING_ALIASES)) or "see tuibench settings list"
    raise UsageError(f"'{name}' is not a setting that tuibench changes", hint)


def is_slow(name: str) -> bool:
    """True for a setting whose changes continue in the background."""
    return name in SETTINGS_BY_NAME and SETTINGS_BY_NAME[name].slow


def survives_restart(name: str) -> bool:
    """True for a setting that the server stores, so that a change survives a restart."""
    return name in SETTINGS_BY_NAME and SETTINGS_BY_NAME[name].survives_restart


def may_become(name: str, asked: str, found: str) -> bool:
    """True if a server may have the value `found` after it was asked for another one, because it rounds."""
    step = SETTINGS_BY_NAME[name].rounding_step if name in SETTINGS_BY_NAME else 0
    wanted, has = numerals.count(asked), numerals.count(found)
    if not step or wanted is None or has is None:
        return asked == found
    return abs(wanted - has) <= step


def canonical_value(setting: Setting, server: ServerVersion, value: str) -> str:
    """The value as the server reports it. Raises UsageError with limits and nearest value if it is
    invalid.
    """
    support = setting.support(server)
    if support is None:
        raise UsageError(f"{setting.name} cannot be changed here: {unsupported_reason(setting, server)}")
    return setting.canonical(support, value)


def unsupported_reason(setting: Setting, server: ServerVersion) -> str:
    """Why this version of this flavour does not allow a change of the setting; empty if it does."""
    support = setting.support(server)
    here = f"{server.flavour} {server.version}"
    if support is not None:
        if server.version_tuple >= support.dynamic_since:
            return ""
        if support.dynamic_since == NEVER:
            why = setting.at_start or f"it is read-only on {here}"
            return f"{why}: changing it {REQUIRES_RESTART}"
        since = version_text(support.dynamic_since)
        return f"it is read-only on {here}, and dynamic since {since}: changing it {REQUIRES_RESTART}"
    supported = [support for support in setting.supported if support.flavour == server.flavour]
    if not supported:
        only = setting.supported[0]
        since = f" {version_text(only.since)} and later" if only.since else ""
        return f"only {only.flavour}{since} has it; this is {here}"
    past = [support for support in supported if support.is_past(server.version_tuple)]
    span = (
        f"only before {version_text(past[-1].until)}" if past else f"since {version_text(supported[0].since)}"
    )
    return f"{server.flavour} has it {span}; this is {here}"


def requires_restart(setting: Setting, server: ServerVersion) -> bool:
    """True if some of its values can only be set at the start of such a server."""
    support = setting.support(server)
    return support is not None and (server.version_tuple < support.dynamic_since or bool(support.stuck))


def start_option(setting: Setting, server: ServerVersion, value: str) -> tuple[str, str]:
    """The option of such a server's command line, and the value as the server reports it.

    Raises UsageError if it does not have the setting or the value.
    """
    support = setting.support(server)
    if support is None:
        raise UsageError(f"{setting.name} cannot be set here: {unsupported_reason(setting, server)}")
    if setting.scope is SettingScope.WORKLOAD:
        raise UsageError(
            f"{setting.name} is not an option of {server.flavour} {server.version}", "leave it out"
        )
    said = setting.canonical(support.at_start, value)
    return setting.start_options.get(said) or f"--{setting.name.replace('_', '-')}={said}", said


def setting_state(
    setting: Setting,
    server: ServerInfo,
    value: str,
    original: str,
    unavailable: str = "",
    *,
    began: str = "",
    changed_by: str = "",
) -> SettingState:
    """A setting as screens and records show it."""
    support = setting.support(server)
    offered = [setting.canonical(support, choice) for choice in setting.choices(support)] if support else []
    # The flavour that has the setting, if the server's has it in no version; else empty.
    flavours = [support.flavour for support in setting.supported]
    return SettingState(
        name=setting.name,
        value=value,
        original=original,
        meaning=setting.meaning(value) if value else "",
        at_risk=bool(value) and setting.at_risk(value),
        choices={choice: setting.meaning(choice) for choice in offered},
        risky=tuple(choice for choice in offered if setting.at_risk(choice)),
        unavailable=unavailable,
        group=setting.group,
        topic=setting.topic,
        scope=setting.scope,
        takes=setting.takes(support) if support else "",
        risk=setting.risk,
        counters=setting.counters,
        began=began,
        changed_by=changed_by,
        needs=setting.privileges(server.flavour, server.version_tuple),
        roles=setting.roles,
        cost=setting.cost,
        short_name=setting.short_name,
        is_size=setting.kind is ValueKind.SIZE,
        only="" if server.flavour in flavours else str(flavours[0]),
        allows=setting.allows.get(value, ""),
    )


LIMIT_PAIRS: tuple[tuple[str, str], ...] = (
    (ServerVariable.IO_CAPACITY, ServerVariable.IO_CAPACITY_MAX),
    ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"),
)
"""Pairs of settings, of which the second is the upper limit of the first."""


def paired_setting(name: str) -> str | None:
    for pair in LIMIT_PAIRS:
        if name in pair:
            return pair[1 - pair.index(name)]
    return None


def check_pair_limit(name: str, value: str, other: str | None) -> None:
    """Raises UsageError if the value violates the limit of its partner, whose current value is `other`."""
    limit = numerals.number(other)
    for lower, upper in LIMIT_PAIRS:
        if limit is None or name not in (lower, upper):
            continue
        if name == lower and Decimal(value) > limit:
            raise UsageError(f"{lower} may not be above {upper}, which is {other}", f"raise {upper} first")
        if name == upper and Decimal(value) < limit:
            raise UsageError(f"{upper} may not be below {lower}, which is {other}", f"lower {lower} first")


def order_by_limits(wanted: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names in an order in which each change keeps the limits, if the values before and after do."""
    names = list(wanted)
    for lower, upper in LIMIT_PAIRS:
        if lower in wanted and upper in wanted:
            raised = Decimal(wanted[upper]) >= (numerals.number(now.get(upper)) or 0.0)
            places = sorted((names.index(lower), names.index(upper)))
            names[places[0]], names[places[1]] = (upper, lower) if raised else (lower, upper)
    return names


def _builtin_preset(name: str, flush_log: str, sync_binlog: str, risk: str) -> PresetState:
    values: dict[str, str] = {ServerVariable.FLUSH_LOG: flush_log, ServerVariable.SYNC_BINLOG: sync_binlog}
    return PresetState(name=name, values=values, risk=risk)


def _grouped(name: str, delay_us: int, count: int) -> PresetState:
    """The preset 1/1 with a delay of group commit; each flavour uses its own names."""
    values: dict[str, str] = {
        ServerVariable.FLUSH_LOG: "1",
        ServerVariable.SYNC_BINLOG: "1",
        "binlog_commit_wait_usec": str(delay_us),
        "binlog_commit_wait_count": str(count),
        "binlog_group_commit_sync_no_delay_count": str(count),
        "binlog_group_commit_sync_delay": str(delay_us),
    }
    risk = (
        f"No crash loses a commit; a commit may wait {delay_us / 1000:g} ms longer for other commits to "
        "share its flush, and holds its locks meanwhile."
    )
    return PresetState(name=name, values=values, risk=risk)


BUILTIN_PRESETS = (
    _builtin_preset(
        "durable",
        "1",
        "1",
        "Every commit is on disk before the client gets the response: a crash loses nothing.",
    ),
    _grouped("grouped", 1000, 16),
    _grouped("batched", 5000, 64),
    _builtin_preset(
        "relaxed",
        "2",
        "100",
        "A crash of the host loses about the last second of commits, and up to 100 in the binary log.",
    ),
    _builtin_preset(
        "unsafe",
        "0",
        "0",
        "Any crash of the server loses about the last second of commits; a crash of the host also loses "
        "the end of the binary log, and replicas then differ.",
    ),
    PresetState(
        name="strict",
        values={ServerVariable.ISOLATION: "SERIALIZABLE"},
        risk="The load has no anomaly of isolation. Reads take locks, and more transactions deadlock.",
    ),
    PresetState(
        name="default",
        values={ServerVariable.ISOLATION: "REPEATABLE-READ"},
        risk="The servers' default level: the load may lose updates without an error, unless MariaDB's "
        "innodb_snapshot_isolation is on.",
    ),
)
"""The presets of tuibench: those of durability, then those of isolation, each time the safest first."""

_BUILTIN_NAMES = frozenset(preset.name for preset in BUILTIN_PRESETS)


def presets_for_server(presets: Iterable[PresetState], server: ServerInfo) -> tuple[PresetState, ...]:
    """The presets with their values as this server reports them, if it supports them at all.

    A built-in preset leaves out the settings that only another flavour or version has.
    """
    return tuple(
        PresetState(
            name=preset.name,
            values={
                name: _canonical_if_valid(name, value, server)
                for name, value in preset.values.items()
                if preset.name not in _BUILTIN_NAMES or find_setting(name).support(server)
            },
            risk=preset.risk,
            short_names={name: short for name in preset.values if (short := find_setting(name).short_name)},
        )
        for preset in presets
    )


def find_preset(presets: Iterable[PresetState], name: str) -> PresetState:
    """The preset of that name. Raises UsageError with the valid names if there is none."""
    by_name = {preset.name: preset for preset in presets}
    preset = by_name.get(name.strip().lower())
    if preset:
        return preset
    # No guess: the nearest name to "safe" is "unsafe".
    raise UsageError(f"there is no preset '{name}'", f"valid: {', '.join(by_name)}")


def _canonical_if_valid(name: str, value: str, server: ServerInfo) -> str:
    try:
        return canonical_value(find_setting(name), server, value)
    except UsageError:
        return value


_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")


class PresetConfig(msgspec.Struct, forbid_unknown_fields=True):
    """A preset in the configuration file."""

    settings: dict[str, str | int | float | bool]
    risk: str = "Your own preset, without a description of its risk."


def all_presets(path: Path | None = None) -> tuple[PresetState, ...]:
    """The built-in presets, then the user's. Raises UsageError for an invalid file."""
    source = path or config.config_file()
    found = config.read_section("presets", path)
    return BUILTIN_PRESETS + tuple(
        _user_preset(name, table, f"{source}: presets.{name}") for name, table in found.items()
    )


def _user_preset(name: str, table: Any, where: str) -> PresetState:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: a preset's name is small letters, digits, - and _")
    if name in {preset.name for preset in BUILTIN_PRESETS}:
        raise UsageError(f"{where}: {name} is built in", "give your preset another name")
    text = _decode_preset(table, where)
    values = {}
    for written, value in text.settings.items():
        try:
            setting = find_setting(written)
        except UsageError as error:
            raise UsageError(f"{where}.settings.{written}: {error.message}", error.hint) from None
        values[setting.name] = _preset_value(setting, value, f"{where}.settings.{written}")
    if not values:
        raise UsageError(f"{where}.settings: a preset has at least one setting")
    return PresetState(name=name, values=values, risk=text.risk)


def _decode_preset(table: Any, where: str) -> PresetConfig:
    known = PresetConfig.__struct_fields__
    if isinstance(table, dict):
        for key in table:
            if key not in known:
                raise UsageError(f"{where}.{key}: unknown key", did_you_mean(key, known))
    try:
        return msgspec.convert(table, PresetConfig)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        keys = path.rstrip("`").replace("[...]", "")
        raise UsageError(f"{where}{keys}: {message[:1].lower()}{message[1:]}") from None


def _preset_value(setting: Setting, value: str | float | bool, where: str) -> str:
    """The value as text. Raises UsageError unless some server accepts it."""
    text = str(value) if not isinstance(value, bool) else ("on" if value else "off")
    refusal: UsageError | None = None
    for support in setting.supported:
        try:
            setting.canonical(support, text)
        except UsageError as error:
            refusal = error
        else:
            return text
    if refusal is None:
        raise AssertionError(f"{setting.name} has no form")
    raise UsageError(f"{where}: {refusal.message}", refusal.hint)


def missing_privilege(setting: Setting, server: ServerInfo, held: frozenset[str]) -> str:
    """Why a login with these privileges cannot change the setting; empty if it can."""
    needed = setting.privileges(server.flavour, server.version_tuple)
    if not needed or EVERYTHING in held or held.intersection(needed):
        return ""
    return "this login cannot change it: it needs the privilege " + " or ".join(needed)


WITHOUT_EFFECT = "this server has no InnoDB: it accepts the variable, which has no effect"


def needs_innodb(setting: Setting) -> bool:
    """True for settings of InnoDB, and for those of durability, which concern its redo log and the binary
    log.
    """
    is_log = setting.group is SettingGroup.DURABILITY and setting.scope is not SettingScope.WORKLOAD
    return is_log or setting.name.startswith("innodb_")


async def unavailable_settings(control: AdminConnection, server: ServerInfo) -> dict[str, str]:
    """The settings that cannot be changed on this server, each with the reason."""
    names = [setting.name for setting in SETTINGS]
    present = await control.values(names) | await control.session_values()
    fixed = await control.read_only(names) if server.flavour == Flavour.MARIADB else set()
    held = await _held_privileges(control)
    has_innodb = await control.has_innodb()
    reasons = {
        setting.name: unsupported_reason(setting, server)
        or ("" if has_innodb or not needs_innodb(setting) else WITHOUT_EFFECT)
        or _read_only_reason(setting, server, present.get(setting.name), is_fixed=setting.name in fixed)
        or missing_privilege(setting, server, held)
        for setting in SETTINGS
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _read_only_reason(setting: Setting, server: ServerInfo, value: str | None, *, is_fixed: bool) -> str:
    """Why this server does not allow a change, although its version supports it; empty if it does."""
    support = setting.support(server)
    if value is None:
        return f"{server.flavour} {server.version} does not have it here"
    if is_fixed:
        return f"it is read-only on this server: changing it {REQUIRES_RESTART}"
    if support is not None and value in support.stuck:
        return f"it is {value}; changing that {REQUIRES_RESTART}"
    return ""


async def _held_privileges(control: AdminConnection) -> frozenset[str]:
    """The login's privileges; all if the server does not report them, so that the change itself is
    the test.
    """
    try:
        return global_privileges(await control.grants())
    except SQLError:
        return frozenset({EVERYTHING})


_GRANT = re.compile(r"GRANT (.+?) ON (?:TABLE )?(\S+)\.(\S+) TO ", re.IGNORECASE | re.DOTALL)

_ACCOUNT = re.compile(r" TO ([`'\"][^`'\"]*[`'\"]@[`'\"][^`'\"]*[`'\"])")

_COLUMNS = re.compile(r"\([^)]*\)")


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """Privileges of a login, in capitals."""

    everywhere: frozenset[str]
    database: frozenset[str]
    partly: bool
    """True if the login has privileges on single tables of the database."""
    account: str = ""
    """The login as the server writes it."""

    def lacks(self, privileges: Iterable[str]) -> tuple[str, ...]:
        """The privileges that the login has neither globally nor on the database."""
        held = self.everywhere | self.database
        return () if EVERYTHING in held else tuple(name for name in privileges if name not in held)

    def may(self, *any_of: str) -> bool:
        """True if the login has one of these global privileges."""
        return bool(self.everywhere.intersection((EVERYTHING, *any_of)))


def parse_grants(lines: Iterable[str], database: str) -> Grants:
    """The privileges that the lines grant on the database."""
    known = list(lines)
    on_database: set[str] = set()
    partly = False
    for line in known:
        match = _GRANT.match(line.strip())
        if not match or match[2] == "*" or not _covers(match[2].strip("`'\""), database):
            continue
        if match[3] == "*":
            names = {" ".join(name.split()).upper() for name in _COLUMNS.sub("", match[1]).split(",")}
            on_database |= {EVERYTHING if name == "ALL PRIVILEGES" else name for name in names}
        else:
            partly = True
    return Grants(
        everywhere=global_privileges(known),
        database=frozenset(on_database),
        partly=partly,
        account=next((match[1] for line in known if (match := _ACCOUNT.search(line))), ""),
    )


def _covers(pattern: str, database: str) -> bool:
    r"""True if a grant's pattern matches this database: `%` and `_` are wild, unless after a backslash."""
    parts = re.split(r"(\\.|%|_)", pattern)
    wild = {"%": ".*", "_": "."}
    expression = "".join(
        wild.get(part, re.escape(part[1:] if part.startswith("\\") and len(part) == 2 else part))
        for part in parts
    )
    return re.fullmatch(expression, database) is not None


def wanted_settings(only: Sequence[str]) -> tuple[Setting, ...]:
    """The settings with these names or topics; all if `only` is empty. Raises UsageError for an
    unknown name.
    """
    if not only:
        return SETTINGS
    names: set[str] = set()
    for word in only:
        topic = word.strip().lower()
        if topic in tuple(SettingTopic):
            names |= {setting.name for setting in SETTINGS if setting.topic == topic}
            continue
        try:
            names.add(find_setting(word).name)
        except UsageError as error:
            near = did_you_mean(topic, tuple(map(str, SettingTopic)))
            topics = f"topics are {', '.join(SettingTopic)}"
            raise UsageError(f"--only: {error.message}", near or error.hint or topics) from None
    return tuple(setting for setting in SETTINGS if setting.name in names)
