"""The key of A/B tests: ends the operator's test, otherwise opens the dialog."""

from tuibench.model.message import StopExperiment
from tuibench.tui.action import UserAction

ACTIONS = (
    UserAction(
        "ab_test",
        "A",
        "A",
        "A/B",
        "A/B test of two values",
        command=lambda view: StopExperiment("ab") if view.is_ab_testing else None,
        after="double",
    ),
)
