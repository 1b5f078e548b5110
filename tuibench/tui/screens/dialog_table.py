"""Table of the dialogs that submit commands: screen, and conversion of its result.

A new dialog is a new entry, under the name of its action. A dialog that submits nothing is opened by the
app's method `_open_NAME`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from textual.screen import ModalScreen

from tuibench.model.command import (
    Command,
    Mark,
    SetDelay,
    SetPlan,
    SetRate,
    SetThreads,
    SetWeights,
    StartProbe,
    StartTune,
)
from tuibench.tui.screens.ab_test_dialog import AbTestDialog
from tuibench.tui.screens.confirm import ChangePrompt
from tuibench.tui.screens.durability import DurabilityDialog
from tuibench.tui.screens.load_dialogs import (
    delay_dialog,
    mark_dialog,
    plan_dialog,
    probe_dialog,
    rate_dialog,
    threads_dialog,
    tune_dialog,
    weights_dialog,
)
from tuibench.tui.view import View


class Dialog(NamedTuple):
    """A screen made from the view, and the conversion of its result to a command.

    The screen returns None if cancelled; `command` is not called then. `tab` is the screen of the tab line
    that shows what the command has started.
    """

    screen: Callable[[View], ModalScreen[Any]]
    command: Callable[[Any], Command]
    tab: str = ""


def _set_threads(number: float) -> Command:
    return SetThreads(int(number))


def _itself(command: Command) -> Command:
    return command


def _command_of(proposal: ChangePrompt) -> Command:
    return proposal.command


DIALOGS: dict[str, Dialog] = {
    "type_threads": Dialog(threads_dialog, _set_threads),
    "rate": Dialog(rate_dialog, SetRate),
    "weights": Dialog(weights_dialog, SetWeights),
    "delay": Dialog(delay_dialog, SetDelay),
    "type_plan": Dialog(plan_dialog, SetPlan),
    "name_mark": Dialog(mark_dialog, Mark),
    "probe": Dialog(probe_dialog, StartProbe, tab="saturation"),
    "ab_test": Dialog(AbTestDialog, _itself),
    "tune": Dialog(tune_dialog, StartTune, tab="tune"),
    "durability": Dialog(DurabilityDialog, _command_of),
}
"""Dialogs by the name of the action that opens them."""
