"""The dialog that starts a burst."""

from tuibench.model.message import StartBurst
from tuibench.model.schedule import parse_burst
from tuibench.tui.screens.dialogs import InputDialog
from tuibench.tui.view import View

FACTS = (
    "Multiplies the rate for some seconds, then sets it back, and measures how long goodput takes to come "
    "back. It needs a rate, and goodput a deadline."
)


def burst_dialog(view: View) -> InputDialog:
    """Asks for the factor and the seconds of a burst, which starts at once."""
    return InputDialog(
        "Burst of the rate", FACTS, "for example x3 8s", lambda text: StartBurst(*parse_burst(text)),
        verb="starts", offers={"x3 8s": "three times the rate for 8 s"},
    )  # fmt: skip
