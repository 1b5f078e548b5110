"""The dialogs that ask before they submit, in one table: which screen opens, and what its answer means.

A new dialog is a line here, under the name of its action. One that submits nothing the app opens itself, by
its method `_open_NAME`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from textual.screen import ModalScreen

from tuibench.model.command import Command, SetDelay, SetPlan, SetRate, SetThreads, SetWeights, StartProbe
from tuibench.tui.screens.confirm import Proposal
from tuibench.tui.screens.delay import delay_screen
from tuibench.tui.screens.durability import DurabilityScreen
from tuibench.tui.screens.plan import plan_screen
from tuibench.tui.screens.probe import probe_screen
from tuibench.tui.screens.rate import rate_screen
from tuibench.tui.screens.threads import threads_screen
from tuibench.tui.screens.weights import weights_screen
from tuibench.tui.view import View


class Dialog(NamedTuple):
    """A screen made from the view, and the command that its answer stands for.

    The screen answers None when the operator went back; `command` never gets that.
    """

    screen: Callable[[View], ModalScreen[Any]]
    command: Callable[[Any], Command]


def _threads(number: float) -> Command:
    return SetThreads(int(number))


def _proposed(proposal: Proposal) -> Command:
    return proposal.command


DIALOGS: dict[str, Dialog] = {
    "type_threads": Dialog(threads_screen, _threads),
    "rate": Dialog(rate_screen, SetRate),
    "weights": Dialog(weights_screen, SetWeights),
    "delay": Dialog(delay_screen, SetDelay),
    "type_plan": Dialog(plan_screen, SetPlan),
    "probe": Dialog(probe_screen, StartProbe),
    "durability": Dialog(DurabilityScreen, _proposed),
}
"""By the name of the action that opens it."""
