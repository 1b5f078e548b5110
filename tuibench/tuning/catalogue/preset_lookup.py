"""Presets: named groups of settings, built-in and the user's, with the risk of each.

The user's own presets, from the configuration file; errors name the file, the key and the nearest valid name.

[presets.night]
settings = { sync_binlog = 0, innodb_io_capacity = 4000, long_query_time = 0.5 }
risk = "A crash of the host loses the latest of the binary log."
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from tuibench import config, suggestions
from tuibench.errors import UsageError
from tuibench.model.server import ServerInfo
from tuibench.model.settings import PresetState, ServerVariable
from tuibench.tuning.catalogue import setting_lookup


def _builtin_preset(name: str, flush_log: str, sync_binlog: str, risk: str) -> PresetState:
    values: dict[str, str] = {ServerVariable.FLUSH_LOG: flush_log, ServerVariable.SYNC_BINLOG: sync_binlog}
    return PresetState(name=name, values=values, risk=risk)


def _grouped(name: str, delay_us: int, count: int) -> PresetState:
    """1/1 with a delay of group commit; each flavour takes the names that it has."""
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
)
"""Those that come with tuibench, the safest first."""

_BUILTIN_NAMES = frozenset(preset.name for preset in BUILTIN_PRESETS)


def presets_for_server(presets: Iterable[PresetState], server: ServerInfo) -> tuple[PresetState, ...]:
    """The presets with their values as this server will say them, where it can take them at all.

    A built-in preset leaves out what only another flavour or version has.
    """
    return tuple(
        PresetState(
            name=preset.name,
            values={
                name: _canonical_if_valid(name, value, server)
                for name, value in preset.values.items()
                if preset.name not in _BUILTIN_NAMES or setting_lookup.find_setting(name).support(server)
            },
            risk=preset.risk,
            short_names=_short_names(preset.values),
        )
        for preset in presets
    )


def _short_names(names: Iterable[str]) -> dict[str, str]:
    found = {name: setting_lookup.find_setting(name).short_name for name in names}
    return {name: short for name, short in found.items() if short}


def find_preset(presets: Iterable[PresetState], name: str) -> PresetState:
    """The preset of that name; UsageError with the nearest name otherwise."""
    by_name = {preset.name: preset for preset in presets}
    preset = by_name.get(name.strip().lower())
    if preset:
        return preset
    raise UsageError(f"there is no preset '{name}'", suggestions.did_you_mean(name.lower(), by_name))


def _canonical_if_valid(name: str, value: str, server: ServerInfo) -> str:
    try:
        return setting_lookup.canonical_value(setting_lookup.find_setting(name), server, value)
    except UsageError:
        return value


NO_RISK_GIVEN = "Your own preset, without a description of its risk."

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")


class PresetConfig(msgspec.Struct, forbid_unknown_fields=True):
    """A preset as it is written."""

    settings: dict[str, str | int | float | bool]
    risk: str = NO_RISK_GIVEN


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
        setting = _find_setting_at(written, f"{where}.settings")
        values[setting.name] = _preset_value(setting, value, f"{where}.settings.{written}")
    if not values:
        raise UsageError(f"{where}.settings: a preset has at least one setting")
    return PresetState(name=name, values=values, risk=text.risk)


def _decode_preset(table: Any, where: str) -> PresetConfig:
    known = PresetConfig.__struct_fields__
    if isinstance(table, dict):
        for key in table:
            if key not in known:
                raise UsageError(f"{where}.{key}: unknown key", suggestions.did_you_mean(key, known))
    try:
        return msgspec.convert(table, PresetConfig)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        keys = path.rstrip("`").replace("[...]", "")
        raise UsageError(f"{where}{keys}: {message[:1].lower()}{message[1:]}") from None


def _find_setting_at(name: str, where: str) -> setting_lookup.Setting:
    try:
        return setting_lookup.find_setting(name)
    except UsageError as error:
        raise UsageError(f"{where}.{name}: {error.message}", error.hint) from None


def _preset_value(setting: setting_lookup.Setting, value: str | float | bool, where: str) -> str:
    """The value as text; it must be one that some server takes."""
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
