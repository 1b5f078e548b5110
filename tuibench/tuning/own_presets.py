"""The user's own presets, from the configuration file; faults are told by file, key and nearest valid name.

[presets.night]
settings = { sync_binlog = 0, innodb_io_capacity = 4000, long_query_time = 0.5 }
risk = "A crash of the host loses the latest of the binary log."
"""

import re
from pathlib import Path
from typing import Any

import msgspec

from tuibench import config
from tuibench.errors import UsageError
from tuibench.model.setting import PresetState
from tuibench.tuning import catalogue
from tuibench.tuning.presets import PRESETS
from tuibench.workload import nearest

NO_RISK_GIVEN = "Your own preset; it does not say what it risks."

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")


class PresetText(msgspec.Struct, forbid_unknown_fields=True):
    """A preset as it is written."""

    settings: dict[str, str | int | float | bool]
    risk: str = NO_RISK_GIVEN


def presets(path: Path | None = None) -> tuple[PresetState, ...]:
    """Ours, then the user's. Raises UsageError when the file cannot be read as it is meant."""
    source = path or config.config_file()
    found = config.section("presets", path)
    return PRESETS + tuple(_preset(name, table, f"{source}: presets.{name}") for name, table in found.items())


def _preset(name: str, table: Any, where: str) -> PresetState:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: a preset's name is small letters, digits, - and _")
    if name in {preset.name for preset in PRESETS}:
        raise UsageError(f"{where}: {name} is built in", "give yours another name")
    text = _decoded(table, where)
    values = {}
    for written, value in text.settings.items():
        setting = _found(written, f"{where}.settings")
        values[setting.name] = _value(setting, value, f"{where}.settings.{written}")
    if not values:
        raise UsageError(f"{where}.settings: a preset has at least one setting")
    return PresetState(name=name, values=values, risk=text.risk)


def _decoded(table: Any, where: str) -> PresetText:
    known = PresetText.__struct_fields__
    if isinstance(table, dict):
        for key in table:
            if key not in known:
                raise UsageError(f"{where}.{key}: unknown key", nearest.hint(key, known))
    try:
        return msgspec.convert(table, PresetText)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        keys = path.rstrip("`").replace("[...]", "")
        raise UsageError(f"{where}{keys}: {message[:1].lower()}{message[1:]}") from None


def _found(name: str, where: str) -> catalogue.Setting:
    try:
        return catalogue.find(name)
    except UsageError as error:
        raise UsageError(f"{where}.{name}: {error.message}", error.hint) from None


def _value(setting: catalogue.Setting, value: str | float | bool, where: str) -> str:
    """The value as text; it must be one that some server takes."""
    text = str(value) if not isinstance(value, bool) else ("on" if value else "off")
    refusal: UsageError | None = None
    for form in setting.forms:
        try:
            setting.canonical(form, text)
        except UsageError as error:
            refusal = error
        else:
            return text
    if refusal is None:
        raise AssertionError(f"{setting.name} has no form")
    raise UsageError(f"{where}: {refusal.message}", refusal.hint)
