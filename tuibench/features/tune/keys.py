"""The key of screenings: ends the operator's screening, otherwise opens the dialog."""

from tuibench.model.message import Command, StopExperiment
from tuibench.tui.action import UserAction
from tuibench.tui.view import View


def _stop_tune(view: View) -> Command | None:
    """The command that ends a running screening of settings."""
    is_stoppable = view.tune is not None and view.tune.can_be_stopped and not view.stopping
    return StopExperiment("tune") if is_stoppable else None


ACTIONS = (
    UserAction(
        "screening",
        "U",
        "U",
        "tune",
        "Tune: settings that matter",
        command=_stop_tune,
        rarity=3,
        after="resolve",
    ),
)
