"""The key of a burst: ends the one that is watched, otherwise opens the dialog."""

from tuibench.tui.action import on_load

ACTIONS = (
    on_load(
        "burst", "B", "B", "burst", "Burst of the rate: does it recover?", after="callers", in_footer=False
    ),
)
