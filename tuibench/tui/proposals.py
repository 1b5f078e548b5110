"""The durability choices: presets, then each setting by itself, each with its question or its obstacle."""

from collections.abc import Iterable
from typing import NamedTuple

from tuibench.model.command import ApplyPreset, ChangeSetting
from tuibench.model.setting import PresetState, SettingState
from tuibench.tui.screens.confirm import JOURNALLED, Proposal
from tuibench.tui.view import View

BACK = "That is how it was at first: nothing is left then to be put back when the run ends."


class Choice(NamedTuple):
    """One line to choose. `obstacle` says why it cannot be chosen, else it is empty."""

    label: str
    current: bool
    obstacle: str
    proposal: Proposal


class Group(NamedTuple):
    """Choices under a heading."""

    heading: str
    choices: tuple[Choice, ...]


def groups(view: View) -> list[Group]:
    """All that can be chosen, in the order of the dialog."""
    presets = Group("Both together", tuple(_preset(preset, view) for preset in view.status.presets))
    return [presets, *(_setting(setting) for setting in view.durability)]


def _preset(preset: PresetState, view: View) -> Choice:
    settings = [(view.setting(name), name, value) for name, value in preset.values.items()]
    values = " · ".join(preset.values.values())
    steps = tuple(_step(name, setting.value if setting else "?", value) for setting, name, value in settings)
    at_risk = any(setting is not None and value in setting.risky for setting, _, value in settings)
    obstacles = [setting.unavailable for setting, _, _ in settings if setting and setting.unavailable]
    return Choice(
        label=f"{preset.name:<9} {values}",
        current=all(setting is not None and setting.value == value for setting, _, value in settings),
        obstacle=obstacles[0] if obstacles else "",
        proposal=Proposal(
            ApplyPreset(preset.name),
            f"Preset {preset.name}",
            steps,
            preset.risk,
            at_risk,
            _promise((setting, value) for setting, _, value in settings),
        ),
    )


def _setting(setting: SettingState) -> Group:
    choices = tuple(_value(setting, value, meaning) for value, meaning in setting.choices.items())
    return Group(setting.name, choices)


def _value(setting: SettingState, value: str, meaning: str) -> Choice:
    command = ChangeSetting(setting.name, value)
    steps = (_step(setting.name, setting.value, value),)
    return Choice(
        label=f"{value:<5} {meaning}",
        current=value == setting.value,
        obstacle=setting.unavailable,
        proposal=Proposal(
            command, setting.name, steps, meaning, value in setting.risky, _promise([(setting, value)])
        ),
    )


def _promise(changes: Iterable[tuple[SettingState | None, str]]) -> str:
    """What becomes of it afterwards: a change may be the way back."""
    known = [(setting, value) for setting, value in changes if setting is not None]
    is_back = all(setting.original == value for setting, value in known)
    return BACK if is_back and any(setting.changed for setting, _ in known) else JOURNALLED


def _step(name: str, old: str, new: str) -> str:
    return f"{name:<32} {old} → {new}" if old != new else f"{name:<32} stays {new}"
