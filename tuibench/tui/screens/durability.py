"""Durability dialog: presets and single settings, each with its confirmation or its obstacle."""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tuibench import sanitize
from tuibench.model.command import ApplyPreset, ChangeSetting
from tuibench.model.settings import PresetState, SettingState, consequence
from tuibench.tui.screens.confirm import RESTORED_NOTE, ChangePrompt, ConfirmDialog
from tuibench.tui.text.spans import shorten
from tuibench.tui.view import View

ORIGINAL_VALUE_NOTE = "That is the original value: there is nothing to restore when the run ends."


class DurabilityChoice(NamedTuple):
    """One choice. `obstacle` is the reason why it is unavailable, otherwise empty.

    `short` is the label if space is short: the consequence, without the mechanism.
    """

    label: str
    short: str
    current: bool
    obstacle: str
    proposal: ChangePrompt


class ChoiceGroup(NamedTuple):
    """Choices under a heading."""

    heading: str
    choices: tuple[DurabilityChoice, ...]


def durability_choices(view: View) -> list[ChoiceGroup]:
    """All choices, in the order of the dialog."""
    now = ", ".join(f"{setting.label} {setting.value}" for setting in view.durability)
    presets = ChoiceGroup(
        f"Presets, now {now}",
        tuple(_preset_choice(preset, view) for preset in view.status.presets),
    )
    return [presets, *(_setting_choices(setting) for setting in view.durability)]


def _preset_choice(preset: PresetState, view: View) -> DurabilityChoice:
    settings = [(view.setting(name), name, value) for name, value in preset.values.items()]
    values = ", ".join(f"{preset.label(name)} {value}" for name, value in preset.values.items())
    changed = ", ".join(
        f"{preset.label(name)} {value}"
        for setting, name, value in settings
        if setting is None or setting.value != value
    )
    steps = tuple(
        _change_line(name, setting.value if setting else "?", value) for setting, name, value in settings
    )
    at_risk = any(setting is not None and value in setting.risky for setting, _, value in settings)
    obstacles = [setting.unavailable for setting, _, _ in settings if setting and setting.unavailable]
    return DurabilityChoice(
        label=f"{preset.name:<9} {values}",
        short=f"{preset.name:<9} {changed or values}",
        current=all(setting is not None and setting.value == value for setting, _, value in settings),
        obstacle=obstacles[0] if obstacles else "",
        proposal=ChangePrompt(
            ApplyPreset(preset.name),
            f"Preset {preset.name}",
            steps,
            preset.risk,
            at_risk,
            _afterwards((setting, value) for setting, _, value in settings),
        ),
    )


def _setting_choices(setting: SettingState) -> ChoiceGroup:
    choices = tuple(_value_choice(setting, value, meaning) for value, meaning in setting.choices.items())
    return ChoiceGroup(f"{setting.name}, now {setting.value}", choices)


def _value_choice(setting: SettingState, value: str, meaning: str) -> DurabilityChoice:
    command = ChangeSetting(setting.name, value)
    steps = (_change_line(setting.name, setting.value, value),)
    return DurabilityChoice(
        label=f"{value:<5} {meaning}",
        short=f"{value:<5} {consequence(meaning)}",
        current=value == setting.value,
        obstacle=setting.unavailable,
        proposal=ChangePrompt(
            command, setting.name, steps, meaning, value in setting.risky, _afterwards([(setting, value)])
        ),
    )


def _afterwards(changes: Iterable[tuple[SettingState | None, str]]) -> str:
    """How the change is undone: it may itself restore the original value."""
    known = [(setting, value) for setting, value in changes if setting is not None]
    is_back = all(setting.original == value for setting, value in known)
    return ORIGINAL_VALUE_NOTE if is_back and any(setting.changed for setting, _ in known) else RESTORED_NOTE


def _change_line(name: str, old: str, new: str) -> str:
    return f"{name:<32} {old} → {new}" if old != new else f"{name:<32} stays {new}"


_WIDEST = 96
_FRAME = 12
"""Cells of the dialog's frame and padding around a label."""


class DurabilityDialog(ModalScreen[ChangePrompt | None]):
    """Returns the confirmed change, None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss(None)", "Back"),
        ("d", "dismiss(None)", "Back"),
    ]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._groups = durability_choices(view)
        self._production_signs = view.status.production_signs
        self._choices = [choice for group in self._groups for choice in group.choices]
        obstacles = [choice.obstacle for choice in self._choices]
        self._obstacle = "; ".join(dict.fromkeys(obstacles)) if all(obstacles) else ""
        """Why nothing can be chosen; empty if something can."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Durability: what survives a crash"
            dialog.border_subtitle = " · ".join(("● now", "▲ at risk", *self._keys()))
            yield OptionList(*self._options(), markup=False)
            why = (
                f"These settings cannot be changed: {sanitize.text(self._obstacle)}" if self._obstacle else ""
            )
            yield Static(why, id="verdict", markup=False, classes="-at-risk" if why else "")

    def on_mount(self) -> None:
        """Highlight the current value: the preset that the settings make up, or the first setting's."""
        present = next((n for n, choice in enumerate(self._choices) if choice.current), None)
        if present is not None and not self._choices[present].obstacle:
            options = self.query_one(OptionList)
            options.highlighted = options.get_option_index(str(present))

    def _keys(self) -> tuple[str, ...]:
        """The key hints; without available choices, esc only."""
        back = "esc goes back"
        return (back,) if self._obstacle else ("↑ ↓ choose", "enter asks to confirm", back)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        choice = self._choice(event.option_id)
        if choice is None and self._obstacle:
            return
        verdict = self.query_one("#verdict", Static)
        verdict.update(sanitize.text(choice.proposal.verdict) if choice else "")
        verdict.set_class(choice is not None and choice.proposal.at_risk, "-at-risk")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        choice = self._choice(event.option_id)
        if choice is None:
            return

        def decided(apply: bool | None) -> None:
            if apply:
                self.dismiss(choice.proposal)

        self.app.push_screen(ConfirmDialog(choice.proposal, self._production_signs), decided)

    def _options(self) -> list[Option | None]:
        """Headings and choices; None draws a line between groups."""
        options: list[Option | None] = []
        number = 0
        width = min(self.app.size.width, _WIDEST) - _FRAME
        for group in self._groups:
            options += [None] if options else []
            options.append(Option(Content.styled(group.heading, "bold"), disabled=True))
            for choice in group.choices:
                options.append(
                    Option(self._label(choice, width), id=str(number), disabled=bool(choice.obstacle))
                )
                number += 1
        return options

    def _choice(self, option_id: str | None) -> DurabilityChoice | None:
        return None if option_id is None else self._choices[int(option_id)]

    def _label(self, choice: DurabilityChoice, width: int) -> str:
        """Label of a choice; with its obstacle, unless all choices share one."""
        now = "●" if choice.current else " "
        risk = "▲" if choice.proposal.at_risk else " "
        text = choice.label if len(choice.label) <= width else choice.short
        if choice.obstacle and not self._obstacle:
            text = f"{text.split('  ')[0]:<10}cannot be changed: {choice.obstacle}"
        return f"{now} {risk} {shorten(text, width)}"
