"""The words of every verdict on a difference, and how a level moved before a change."""

from enum import StrEnum

import msgspec


class Verdict(StrEnum):
    """What an interval says about a difference."""

    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "equal"
    CANNOT_TELL = "cannot tell"


class MovementKind(StrEnum):
    """How a level moves while nothing is changed."""

    TREND = "trend"
    STEP = "step"
    SAWTOOTH = "sawtooth"
    WANDERING = "wandering"


class LevelMovement(msgspec.Struct, frozen=True, kw_only=True):
    """Why a difference cannot be attributed to a change.

    `percent` is the slope per second of a trend, the height of a step, else the largest difference of two
    windows without a change. `seconds` is when a step happened, from the change, negative before it; or the
    period of a sawtooth.
    """

    kind: MovementKind
    percent: float
    seconds: float = 0.0
