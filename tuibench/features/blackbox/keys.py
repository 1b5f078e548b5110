"""The key of the black box: keeps the last minute."""

from tuibench.model.message import KeepBlackBox
from tuibench.tui.action import UserAction

ACTIONS = (
    UserAction(
        "black_box", "W", "W", "black box", "Keep the last minute: who held what",
        command=lambda _: KeepBlackBox(), in_footer=False, after="locks",
    ),
)  # fmt: skip
