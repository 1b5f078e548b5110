"""The question before a crash of the private server."""

from tuibench.model.message import CrashServer
from tuibench.tui.screens.dialogs import ChangePrompt, ConfirmDialog
from tuibench.tui.view import View


def crash_dialog(view: View) -> ConfirmDialog:
    """Asks before the server is killed."""
    values = " · ".join(f"{setting.label} {setting.value}" for setting in view.durability)
    steps = (
        "The load keeps a ledger of what the server acknowledges, for 6 to 7 seconds.",
        "Then the server's process is killed (kill -9), and started again.",
        f"Now: {values}" if values else "The settings stay as they are.",
    )
    lost = "acknowledged commits can be lost" if view.at_risk else "no acknowledged commit should be lost"
    return ConfirmDialog(
        ChangePrompt(
            CrashServer(),
            "Crash the private server?",
            steps,
            f"It is a crash of the process, not a loss of power: {lost}.",
            view.at_risk,
            "The load goes on afterwards, with the same settings.",
            "kill the server",
        )
    )
