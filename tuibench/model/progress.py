"""How far a planned load has come."""

from enum import StrEnum

import msgspec

from tuibench.model.schedule import Schedule


class PlanPhase(StrEnum):
    """Held by somebody, paused with the load, or over; else it waits for the start of measuring, or runs."""

    WAITING = "waiting"
    RUNNING = "running"
    HELD = "held"
    PAUSED = "paused"
    OVER = "over"


class PlanState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a plan stands. `stage` counts from 1.

    `following` is the next level in words, empty if the plan ends next. It comes at second `due_seconds` of
    the run, which is None while the plan stands still; `left_seconds` is how far off it was when this was
    said. `held` says in words why the plan is held.
    """

    stages: Schedule
    phase: PlanPhase
    stage: int
    following: str
    due_seconds: float | None
    left_seconds: float
    held: str = ""
