"""Table of the dialogs that submit commands: screen, and conversion of the answer.

A new dialog is a line here, under the name of its action. One that submits nothing the app opens itself, by
its method `_open_NAME`.
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
    """A screen made from the view, and the command that its answer stands for.

    The screen answers None when the operator went back; `command` never gets that.
    """

    screen: Callable[[View], ModalScreen[Any]]
    command: Callable[[Any], Command]


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
    "probe": Dialog(probe_dialog, StartProbe),
    "ab_test": Dialog(AbTestDialog, _itself),
    "tune": Dialog(tune_dialog, StartTune),
    "durability": Dialog(DurabilityDialog, _command_of),
}
"""By the name of the action that opens it."""
