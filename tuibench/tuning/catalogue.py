"""The settings tuibench can change, found by name, and how one of them stands on a server."""

from tuibench.errors import UsageError
from tuibench.model.server import ServerInfo
from tuibench.model.setting import SettingState
from tuibench.tuning.durability import DURABILITY
from tuibench.tuning.performance import PERFORMANCE
from tuibench.tuning.setting import NEVER, Form, Group, Kind, Scope, Setting, version_words
from tuibench.workload import nearest

__all__ = ["BY_NAME", "SETTINGS", "Group", "Kind", "Scope", "Setting", "absence", "find", "state", "validate"]

SETTINGS = (*DURABILITY, *PERFORMANCE)
BY_NAME = {setting.name: setting for setting in SETTINGS}

OTHER_NAMES = {
    "tx_isolation": "transaction_isolation",
    "isolation": "transaction_isolation",
    "innodb_redo_log": "innodb_redo_log_enabled",
    "log_slow_query": "slow_query_log",
    "log_slow_query_time": "long_query_time",
}
"""Second names by which servers or people call a setting."""


def find(name: str) -> Setting:
    """The setting of that name; UsageError with the nearest name otherwise."""
    plain = name.strip().lower().replace("-", "_")
    setting = BY_NAME.get(OTHER_NAMES.get(plain, plain))
    if setting:
        return setting
    hint = nearest.hint(plain, (*BY_NAME, *OTHER_NAMES)) or "see tuibench settings list"
    raise UsageError(f"'{name}' is not a setting that tuibench changes", hint)


def validate(setting: Setting, server: ServerInfo, value: str) -> str:
    """The value as the server will say it; UsageError with limits and nearest value if it cannot be."""
    form = setting.form(server)
    if form is None:
        raise UsageError(f"{setting.name} cannot be changed here: {absence(setting, server)}")
    return setting.canonical(form, value)


def absence(setting: Setting, server: ServerInfo) -> str:
    """Why this version of this flavour does not let it be changed; empty if it does."""
    form = setting.form(server)
    here = f"{server.flavour} {server.version}"
    if form is not None:
        if server.version_tuple >= form.dynamic_since:
            return ""
        if form.dynamic_since == NEVER:
            return f"it is read only on {here}: only a restart changes it"
        since = version_words(form.dynamic_since)
        return f"it is read only on {here}, and dynamic since {since}: only a restart changes it"
    forms = [form for form in setting.forms if form.flavour == server.flavour]
    if not forms:
        return f"only {_only(setting)} has it; this is {here}"
    return f"{server.flavour} has it {_span(forms, server)}; this is {here}"


def _only(setting: Setting) -> str:
    form = setting.forms[0]
    return f"{form.flavour}{f' {version_words(form.since)} and later' if form.since else ''}"


def _span(forms: list[Form], server: ServerInfo) -> str:
    past = [form for form in forms if form.is_past(server.version_tuple)]
    if past:
        return f"only before {version_words(past[-1].until)}"
    return f"since {version_words(forms[0].since)}"


def state(
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
    form = setting.form(server)
    offered = [setting.canonical(form, choice) for choice in setting.choices(form)] if form else []
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
        scope=setting.scope,
        takes=setting.takes(form) if form else "",
        risk=setting.risk,
        counters=setting.counters,
        began=began,
        changed_by=changed_by,
        needs=setting.privileges(server.flavour, server.version_tuple),
    )
