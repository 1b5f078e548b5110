"""Where a replay of a recorded run stands."""

import msgspec

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""How many times as fast as it was; a replay may be started at any other, up to the last."""
REFUSED = "this is a recorded run: it can be watched, not steered"


class Replaying(msgspec.Struct, frozen=True, tag="replaying", kw_only=True):
    """Second `position_seconds` of the run is shown, between the first and the last that were recorded.

    `speed` is 1 for the pace that it had. `cut_short` says that the record ends in the midst of the run.
    """

    position_seconds: float
    first_seconds: float
    last_seconds: float
    speed: float = 1.0
    paused: bool = False
    cut_short: bool = False
