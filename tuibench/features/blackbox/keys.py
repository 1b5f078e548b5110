"""The key of the black box: keeps the last minute."""

from tuibench.model.message import KeepBlackBox
from tuibench.tui.action import UserAction

ACTIONS = (
    UserAction(
        "black_box", "W", "W", "black box", "Black box of the last minute",
        command=lambda _: KeepBlackBox(), in_footer=False, after="locks",
    ),
)  # fmt: skip
