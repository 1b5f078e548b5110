"""The settings of a server in words, a few lines each."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tuibench.model.setting import PresetState, SettingState
from tuibench.units import DASH

REACH = {
    "server": "",
    "default": "; the workload's connections follow at once",
    "workload": "; for the workload's own connections only",
}
"""Whom a change reaches, by a setting's scope; nothing to say where that is everybody."""


def table(settings: Sequence[SettingState], presets: Iterable[PresetState]) -> str:
    """The settings by groups, then the presets; ends in a line's end."""
    return "\n".join([*_settings(settings), *_presets(presets)]) + "\n"


def _settings(settings: Sequence[SettingState]) -> Iterator[str]:
    name_width = max(len(setting.name) for setting in settings)
    value_width = max(len(setting.value) for setting in settings)
    for group, members in groupby(settings, key=lambda setting: setting.group):
        yield f"{group}:"
        for setting in members:
            value = setting.value or DASH
            yield f"  {setting.name:{name_width}}  {value:{value_width}}  {setting.meaning}".rstrip()
            yield from _details(setting)
        yield ""


def _details(setting: SettingState) -> Iterator[str]:
    indent = " " * 6
    if setting.unavailable:
        yield f"{indent}cannot be changed: {setting.unavailable}"
        return
    yield f"{indent}takes {setting.takes}{REACH[setting.scope]}"
    yield f"{indent}risk: {setting.risk}"


def _presets(presets: Iterable[PresetState]) -> Iterator[str]:
    yield "presets:"
    for preset in presets:
        values = ", ".join(f"{name}={value}" for name, value in preset.values.items())
        yield f"  {preset.name}: {values}"
        yield f"      {preset.risk}"
