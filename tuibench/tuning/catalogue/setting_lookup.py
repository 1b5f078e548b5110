"""Lookup of settings by name, and their state on a server.

Settings of which one is the other's upper limit: what may be set, and in which order.

MySQL cuts a value that breaks the limit; MariaDB changes the *other* setting instead, which tuibench
would not restore. So the limit is kept here, and settings are changed in an order that keeps it.
"""

from collections.abc import Mapping
from decimal import Decimal

from tuibench import suggestions
from tuibench.errors import UsageError
from tuibench.model.server import ServerInfo
from tuibench.model.settings import ServerVariable, SettingState, SettingTopic
from tuibench.tuning.catalogue.connections import CACHES, MEMORY, THREADS
from tuibench.tuning.catalogue.durability import DURABILITY
from tuibench.tuning.catalogue.innodb_pages import FLUSHING, PURGE, READING
from tuibench.tuning.catalogue.locks_and_logs import LOCKING, LOGGING, OPTIMIZER
from tuibench.tuning.catalogue.performance import PERFORMANCE
from tuibench.tuning.catalogue.redo_and_binlog import BINLOG, REDO
from tuibench.tuning.catalogue.setting import (
    NEVER,
    FlavourSupport,
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
"""Second names by which servers or people call a setting."""


def find_setting(name: str) -> Setting:
    """The setting of that name; UsageError with the nearest name otherwise."""
    plain = name.strip().lower().replace("-", "_")
    setting = SETTINGS_BY_NAME.get(SETTING_ALIASES.get(plain, plain))
    if setting:
        return setting
    hint = (
        suggestions.did_you_mean(plain, (*SETTINGS_BY_NAME, *SETTING_ALIASES)) or "see tuibench settings list"
    )
    raise UsageError(f"'{name}' is not a setting that tuibench changes", hint)


def is_slow(name: str) -> bool:
    """True for a setting whose changes go on in the background."""
    return name in SETTINGS_BY_NAME and SETTINGS_BY_NAME[name].slow


def may_become(name: str, asked: str, found: str) -> bool:
    """True if a server that was asked for one value may have the other one, because it rounds."""
    step = SETTINGS_BY_NAME[name].rounding_step if name in SETTINGS_BY_NAME else 0
    if not (step and asked.isdecimal() and found.isdecimal()):
        return asked == found
    return abs(int(asked) - int(found)) <= step


def canonical_value(setting: Setting, server: ServerInfo, value: str) -> str:
    """The value as the server will say it; UsageError with limits and nearest value if it cannot be."""
    support = setting.support(server)
    if support is None:
        raise UsageError(f"{setting.name} cannot be changed here: {unsupported_reason(setting, server)}")
    return setting.canonical(support, value)


def unsupported_reason(setting: Setting, server: ServerInfo) -> str:
    """Why this version of this flavour does not let it be changed; empty if it does."""
    support = setting.support(server)
    here = f"{server.flavour} {server.version}"
    if support is not None:
        if server.version_tuple >= support.dynamic_since:
            return ""
        if support.dynamic_since == NEVER:
            return f"it is read-only on {here}: changing it requires a restart"
        since = version_text(support.dynamic_since)
        return f"it is read-only on {here}, and dynamic since {since}: changing it requires a restart"
    supported = [support for support in setting.supported if support.flavour == server.flavour]
    if not supported:
        return f"only {_exclusive_flavour(setting)} has it; this is {here}"
    return f"{server.flavour} has it {_version_span(supported, server)}; this is {here}"


def other_flavour(setting: Setting, server: ServerInfo) -> str:
    """The flavour that has the setting, if the server's has it in no version; else empty."""
    flavours = [support.flavour for support in setting.supported]
    return "" if server.flavour in flavours else str(flavours[0])


def _exclusive_flavour(setting: Setting) -> str:
    support = setting.supported[0]
    return f"{support.flavour}{f' {version_text(support.since)} and later' if support.since else ''}"


def _version_span(supported: list[FlavourSupport], server: ServerInfo) -> str:
    past = [support for support in supported if support.is_past(server.version_tuple)]
    if past:
        return f"only before {version_text(past[-1].until)}"
    return f"since {version_text(supported[0].since)}"


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
        only=other_flavour(setting, server),
    )


LIMIT_PAIRS: tuple[tuple[str, str], ...] = (
    (ServerVariable.IO_CAPACITY, ServerVariable.IO_CAPACITY_MAX),
    ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"),
)
"""The lower one first."""


def paired_setting(name: str) -> str | None:
    """The other setting of its pair."""
    for pair in LIMIT_PAIRS:
        if name in pair:
            return pair[1 - pair.index(name)]
    return None


def check_pair_limit(name: str, value: str, other: str | None) -> None:
    """Raises UsageError when the value is beyond its partner's, which is `other` now."""
    for lower, upper in LIMIT_PAIRS:
        if other is None or name not in (lower, upper):
            continue
        if name == lower and Decimal(value) > Decimal(other):
            raise UsageError(f"{lower} may not be above {upper}, which is {other}", f"raise {upper} first")
        if name == upper and Decimal(value) < Decimal(other):
            raise UsageError(f"{upper} may not be below {lower}, which is {other}", f"lower {lower} first")


def order_by_limits(wanted: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names in an order in which each change keeps the limits, if the values of before and after do."""
    names = list(wanted)
    for lower, upper in LIMIT_PAIRS:
        if lower in wanted and upper in wanted:
            raised = Decimal(wanted[upper]) >= Decimal(now.get(upper, "0"))
            _put_before(names, *((upper, lower) if raised else (lower, upper)))
    return names


def _put_before(names: list[str], first: str, second: str) -> None:
    places = sorted((names.index(first), names.index(second)))
    names[places[0]], names[places[1]] = first, second
