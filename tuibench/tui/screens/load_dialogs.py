"""Dialogs that change the load, start an experiment on it, or change the durability settings."""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tuibench.base import sanitize
from tuibench.base.errors import UsageError
from tuibench.base.units import pluralize
from tuibench.metrics.figures import FIGURES, read
from tuibench.model.hardware import EXAMPLE, FILE_KINDS, Hardware, changed_hardware
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    Command,
    Mark,
    RunSql,
    SetCallers,
    SetDelay,
    SetHardware,
    SetPlan,
    SetRate,
    SetThreads,
    SetWeights,
)
from tuibench.model.option import check_choice
from tuibench.model.plan import caller_options, policy_texts
from tuibench.model.schedule import (
    MAX_CLIENT_DELAY_MS,
    MAX_RATE,
    MAX_THREADS,
    format_delay,
    format_schedule,
    format_weights,
    parse_delay_ms,
    parse_schedule,
    parse_weights,
)
from tuibench.model.settings import PresetState, SettingState, consequence
from tuibench.tui.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.panels.time_chart import LAYOUTS, SLOT_FIGURES, parse_slots
from tuibench.tui.screens.dialogs import (
    MAX_NUMBER_LENGTH,
    RESTORED_NOTE,
    ChangePrompt,
    ConfirmDialog,
    InputDialog,
    parse_number,
)
from tuibench.tui.steering import show_slots
from tuibench.tui.text import shorten
from tuibench.tui.view import View


def threads_dialog(view: View) -> InputDialog:
    """Asks for a valid number of threads."""
    pause = action_key(ACTIONS_BY_NAME["pause"], view)

    def command(text: str) -> SetThreads:
        number = parse_number(text, whole=True)
        if number < 1:
            raise UsageError(f"a run has at least 1 thread; {pause} pauses it")
        if number > MAX_THREADS:
            raise UsageError(f"at most {MAX_THREADS:,} threads")
        return SetThreads(int(number))

    facts = f"{view.status.threads:,} now."
    connected = read("threads_connected", view.server)
    if view.server is not None and connected is not None:
        allowed = view.server.levels["max_connections"]
        limit = f" and allows {allowed:,.0f}" if allowed else ""
        facts += f" The server has {pluralize(round(connected), 'connection')}{limit}."
    now = f"now {view.status.threads}"
    return InputDialog("Threads", facts, now, command, max_length=MAX_NUMBER_LENGTH)


def rate_dialog(view: View) -> InputDialog:
    """Asks for transactions per second; 0 removes the limit."""
    now = view.status.rate
    facts = (
        f"{f'{now:,g} per second now' if now else 'No rate now: as many as the connections can do'}. "
        "Transactions that are due but not started are the backlog; 0 removes the rate."
    )
    hint = f"now {now:g}" if now else "for example 500"
    title = "Rate: transactions per second"
    return InputDialog(title, facts, hint, parse_rate, max_length=MAX_NUMBER_LENGTH)


def parse_rate(text: str) -> SetRate:
    """The rate. Raises UsageError with the reason for an invalid one."""
    number = parse_number(text)
    if number > MAX_RATE:
        raise UsageError(f"at most {MAX_RATE:,} per second")
    return SetRate(number)


def weights_dialog(view: View) -> InputDialog:
    """Asks for a weight per transaction, in order, or for some by name."""
    weights = view.status.weights
    now = format_weights(weights)
    facts = (
        f"{', '.join(f'{name} {weight:g}' for name, weight in weights.items())} now. Type all weights in "
        f"this order ({now}), or some by name ({next(iter(weights))}=50). A weight of 0 leaves a transaction "
        "out."
    )

    def command(text: str) -> SetWeights:
        given = parse_weights(text, tuple(weights))
        if set(given) == set(weights) and not any(given.values()):
            raise UsageError("at least one transaction needs a weight above 0")
        return SetWeights(given)

    return InputDialog("Weights of the transactions", facts, f"now {now}", command)


MAX_MARK_LENGTH = 80
MAX_SQL_LENGTH = 4_000


def mark_dialog(view: View) -> InputDialog:
    """Asks for the text of a mark."""
    facts = "Adds a numbered line to all charts, with this text in the events and in the report."
    return InputDialog(
        "Mark", facts, "for example index added", parse_mark, verb="marks", max_length=MAX_MARK_LENGTH
    )


def parse_mark(text: str) -> Mark:
    """The mark. Raises UsageError if its text is empty."""
    if not text.strip():
        raise UsageError("type a text for the mark")
    return Mark(text.strip())


def sql_dialog(view: View) -> InputDialog:
    """Asks for a statement to execute while the load runs."""
    facts = (
        "Runs one statement, such as ALTER TABLE, on a connection of its own. Its beginning and its end "
        "are markers on all charts, and their effects are measured. It is not undone at the end."
    )
    hint = "for example ALTER TABLE sbtest1 ADD INDEX (pad)"
    return InputDialog("Run SQL", facts, hint, parse_sql, verb="runs it", max_length=MAX_SQL_LENGTH)


def parse_sql(text: str) -> RunSql:
    """The statement. Raises UsageError if its text is empty."""
    if not text.strip():
        raise UsageError("type the statement to run")
    return RunSql(text.strip())


def delay_dialog(view: View) -> InputDialog:
    """Asks for milliseconds per round trip; 0 removes the delay."""
    now = format_delay(view.status.client_delay_ms) if view.status.client_delay_ms else ""
    facts = (
        f"{now or 'No delay'} now. Delays the response to each statement, including BEGIN and COMMIT, "
        "like a network between client and server. 0 removes it."
    )
    hint = f"now {now}" if now else "for example 5ms"
    return InputDialog("Simulated network delay", facts, hint, parse_delay, max_length=MAX_NUMBER_LENGTH)


def parse_delay(text: str) -> SetDelay:
    """The delay. Raises UsageError with the reason for an invalid text."""
    delay_ms = parse_delay_ms(text)
    if delay_ms > MAX_CLIENT_DELAY_MS:
        raise UsageError(f"at most {format_delay(MAX_CLIENT_DELAY_MS)}")
    return SetDelay(delay_ms)


def hardware_dialog(view: View) -> InputDialog:
    """Asks for what is added to the server's reads, writes and flushes, and for its processors and memory."""
    hardware = view.status.hardware or Hardware()
    now = f"{hardware} now" if hardware != Hardware() else "Nothing is simulated now"
    facts = (
        f"{now}. fsync=2ms, read, write: a delay of each, also of one kind of file "
        f"({', '.join(FILE_KINDS)}); "
        "cpus=1.5, memory=1G: limits of the server. What is not named stays; 0 removes everything."
    )
    hint = f"now {hardware}" if hardware != Hardware() else f"for example {EXAMPLE.partition(';')[0]}"
    return InputDialog("Simulated hardware", facts, hint, parse_hardware_change)


def parse_hardware_change(text: str) -> SetHardware:
    """The change. Raises UsageError with the reason for an invalid text."""
    changed_hardware(Hardware(), text)
    return SetHardware(text)


def callers_dialog(view: View) -> InputDialog:
    """Asks for a deadline, or for another option of the callers and its value; lists their present values."""
    deadline_ms, texts = view.status.callers.deadline_ms, policy_texts(view.status.callers)
    facts = (
        "A transaction is good if it ends within the deadline, counted from its intended start; 0 removes "
        "it. Another option of the callers is written with its value, as in the list."
    )
    hint = f"now {format_delay(deadline_ms)}" if deadline_ms else "for example 200ms"
    offers = {f"{name} {texts[name]}": each.option.help for name, each in caller_options().items()}
    return InputDialog("Callers: deadline and retries", facts, hint, parse_callers, offers=offers)


def parse_callers(text: str) -> SetCallers:
    """A deadline, or the name of an option and its value. Raises UsageError for any other text."""
    words = text.replace("=", " ").split(maxsplit=1)
    option, value = ("deadline", text.strip()) if len(words) < 2 else (words[0].lstrip("-"), words[1])
    options = caller_options()
    options[check_choice("the first word", option, options)].parse(value)
    return SetCallers(option, value)


_PLAN_FACTS = (
    "Consecutive stages: 16:30s holds 16 threads for 30 s, 1..128/60s rises linearly from 1 to 128, "
    "'1..128/60s doubling' by doubling; rate 200:30s is transactions per second. A manual change "
    "holds the plan; {key} resumes it."
)


def plan_dialog(view: View) -> InputDialog:
    """Asks for a plan, which starts at once and replaces any other."""
    plan = view.status.plan
    hint = f"now {format_schedule(plan.stages)}" if plan else "for example 8:30s,16:30s,64:1m"
    facts = _PLAN_FACTS.format(key=action_key(ACTIONS_BY_NAME["plan"], view))
    return InputDialog(
        "Plan: the load in stages", facts, hint, lambda text: SetPlan(parse_schedule(text)), verb="starts"
    )


def figures_dialog(view: View) -> InputDialog:
    """Asks for the figures on the charts of the first screen."""
    facts = (
        "The three charts of Live, from the top: a preset, or up to three figures by name. The configuration "
        "remembers them."
    )
    offers = {name: ", ".join(figures) for name, figures in LAYOUTS.items()}
    first, _, third = view.chart_state.slots if len(view.chart_state.slots) > 2 else LAYOUTS["engineer"]
    for name in SLOT_FIGURES:
        if name not in (first, third):
            offers[f"{first},{name},{third}"] = FIGURES[name].heading
    return InputDialog(
        "Figures on the charts", facts, "for example tps,fsyncs,p99",
        lambda text: show_slots(parse_slots(text)), verb="shows", offers=offers,
    )  # fmt: skip


ORIGINAL_VALUE_NOTE = "That is the original value: there is nothing to restore when the run ends."


class DurabilityChoice(NamedTuple):
    """One choice of the dialog."""

    label: str
    short: str
    """The label if space is short: the consequence without the mechanism."""
    current: bool
    """Whether it is the current value."""
    obstacle: str
    """The reason why it is unavailable; empty if it is available."""
    proposal: ChangePrompt


def durability_choices(view: View) -> list[tuple[str, tuple[DurabilityChoice, ...]]]:
    """The headings and their choices, in the order of the dialog."""
    now = ", ".join(f"{setting.label} {setting.value}" for setting in view.durability)
    presets = (
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


def _setting_choices(setting: SettingState) -> tuple[str, tuple[DurabilityChoice, ...]]:
    choices = tuple(_value_choice(setting, value, meaning) for value, meaning in setting.choices.items())
    return f"{setting.name}, now {setting.value}", choices


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
    """How the change is undone, unless it restores the original value itself."""
    known = [(setting, value) for setting, value in changes if setting is not None]
    is_back = all(setting.original == value for setting, value in known)
    return ORIGINAL_VALUE_NOTE if is_back and any(setting.changed for setting, _ in known) else RESTORED_NOTE


def _change_line(name: str, old: str, new: str) -> str:
    return f"{name:<32} {old} → {new}" if old != new else f"{name:<32} stays {new}"


_WIDEST = 96
_FRAME = 12
"""Number of cells of the dialog's frame and padding."""


class DurabilityDialog(ModalScreen[Command | None]):
    """Returns the confirmed command, None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,d", "dismiss(None)", "Back")]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._groups = durability_choices(view)
        self._production_signs = view.status.production_signs
        self._choices = [choice for _, choices in self._groups for choice in choices]
        obstacles = [choice.obstacle for choice in self._choices]
        self._obstacle = "; ".join(dict.fromkeys(obstacles)) if all(obstacles) else ""
        """The reason why no choice is available; empty if any is."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Durability: what survives a crash"
            # If no choice is available, esc is the only key.
            back = "esc goes back"
            dialog.border_subtitle = " · ".join(
                (
                    "● now",
                    "▲ at risk",
                    *((back,) if self._obstacle else ("↑ ↓ choose", "enter asks to confirm", back)),
                )
            )
            yield OptionList(*self._options(), markup=False)
            why = (
                f"These settings cannot be changed: {sanitize.text(self._obstacle)}" if self._obstacle else ""
            )
            yield Static(why, id="verdict", markup=False, classes="-at-risk" if why else "")

    def on_mount(self) -> None:
        """Highlight the current value: a preset if the settings equal it, otherwise the first setting's
        value.
        """
        present = next((n for n, choice in enumerate(self._choices) if choice.current), None)
        if present is not None and not self._choices[present].obstacle:
            options = self.query_one(OptionList)
            options.highlighted = options.get_option_index(str(present))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        choice = self._choice(event.option_id)
        if choice is None and self._obstacle:
            return
        verdict = self.query_one("#verdict", Static)
        verdict.update(sanitize.text(choice.proposal.verdict) if choice else "")
        verdict.set_class(choice is not None and choice.proposal.at_risk, "-at-risk")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if (choice := self._choice(event.option_id)) is not None:
            self.app.push_screen(ConfirmDialog(choice.proposal, self._production_signs), self._decided)

    def _decided(self, command: Command | None) -> None:
        if command is not None:
            self.dismiss(command)

    def _options(self) -> list[Option | None]:
        """Headings and choices; None draws a line between groups."""
        options: list[Option | None] = []
        number = 0
        width = min(self.app.size.width, _WIDEST) - _FRAME
        for heading, choices in self._groups:
            options += [None] if options else []
            options.append(Option(Content.styled(heading, "bold"), disabled=True))
            for choice in choices:
                # A label contains the obstacle, unless all choices have the same one.
                now = "●" if choice.current else " "
                risk = "▲" if choice.proposal.at_risk else " "
                text = choice.label if len(choice.label) <= width else choice.short
                if choice.obstacle and not self._obstacle:
                    text = f"{text.split('  ')[0]:<10}cannot be changed: {choice.obstacle}"
                options.append(
                    Option(
                        f"{now} {risk} {shorten(text, width)}", id=str(number), disabled=bool(choice.obstacle)
                    )
                )
                number += 1
        return options

    def _choice(self, option_id: str | None) -> DurabilityChoice | None:
        return None if option_id is None else self._choices[int(option_id)]
