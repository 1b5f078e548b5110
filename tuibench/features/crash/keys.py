"""The key of crashes: opens the question."""

from tuibench.model.message import CRASH_REFUSAL
from tuibench.tui.action import UserAction

ACTIONS = (
    UserAction(
        "crash",
        "K",
        "K",
        "crash",
        "Crash of the private server",
        applies=lambda view: view.can_crash,
        absent=f"{CRASH_REFUSAL}: tuibench demo",
        in_footer=False,
        after="run_sql",
    ),
)
