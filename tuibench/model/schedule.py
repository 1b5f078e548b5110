"""Planned load: stages of constant levels, and ramps between levels.

A stage sets the threads or the rate; the other one keeps its value. The `MAX_` constants limit both: larger
numbers are considered typing errors.

Notation of a plan: `8:30s,16:30s,64:1m`, `1..128/60s`, `rate 200:30s,rate 400:1m`.

plan   stage, stage, …
stage  [threads | rate] LEVEL:TIME
       [threads | rate] FIRST..LAST/TIME [doubling]
TIME   30s, 1m, 1m30s, 500ms, 2h

Levels are threads by default; if any stage sets a rate, every stage must name its quantity.

`PlanProgress` is the progress of a plan. The `checked_` functions limit what an operator or a plan asks for.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tuibench.errors import UsageError
from tuibench.model.notation import format_delay, format_duration, parse_delay_ms, parse_duration
from tuibench.model.option import plain_number

MAX_THREADS = 100_000
MAX_RATE = 10_000_000
"""Transactions per second."""

MAX_CLIENT_DELAY_MS = 10_000.0


def checked_threads(threads: int, least: int = 1) -> int:
    """Returns the number. Raises UsageError if it is out of range."""
    if not least <= threads <= MAX_THREADS:
        raise UsageError(f"threads must be between {least} and {MAX_THREADS:,}, not {threads:,}")
    return threads


def checked_rate(rate: float) -> float:
    """Returns the rate. Raises UsageError if it is out of range."""
    if not 0 <= rate <= MAX_RATE:
        raise UsageError(f"the rate must be between 0 and {MAX_RATE:,} per second, not {rate:,g}")
    return rate


def checked_delay_ms(milliseconds: float) -> float:
    """Returns the delay. Raises UsageError if it is out of range."""
    if not 0 <= milliseconds <= MAX_CLIENT_DELAY_MS:
        raise UsageError(
            f"the client delay must be between 0 and {format_delay(MAX_CLIENT_DELAY_MS)}, "
            f"not {format_delay(milliseconds)}"
        )
    return milliseconds


def parse_client_delay(text: str) -> float:
    """Parse a delay to milliseconds. Raises UsageError if it is invalid or too long."""
    return checked_delay_ms(parse_delay_ms(text))


MAX_STAGES = 100
SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 1e7
EXAMPLE = "such as 8:30s,16:30s,64:1m or 1..128/60s or rate 200:30s,rate 200..2000/5m"


class Quantity(StrEnum):
    """The quantity that a stage controls."""

    THREADS = "threads"
    RATE = "rate"


class ConstantStage(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    """A constant level for some seconds: threads, or transactions per second (0 for no limit)."""

    quantity: Quantity = Quantity.THREADS
    level: float
    seconds: float

    @property
    def levels(self) -> tuple[float, ...]:
        return (self.level,)


class RampStage(msgspec.Struct, frozen=True, kw_only=True, tag="ramp"):
    """A ramp from one level to another, both included: in even steps, or by doubling.

    Each level takes an equal part of the time: 1 to 4 threads in 40 s are four steps of 10 s.
    """

    quantity: Quantity = Quantity.THREADS
    first: float
    last: float
    seconds: float
    doubling: bool = False

    @property
    def levels(self) -> tuple[float, ...]:
        """The first and the last level."""
        return (self.first, self.last)


Stage = ConstantStage | RampStage
Schedule = tuple[Stage, ...]


def validate_schedule(stages: Sequence[Stage]) -> Schedule:
    """Validate the stages. Raises UsageError for an invalid stage, or for too many."""
    if not 1 <= len(stages) <= MAX_STAGES:
        raise UsageError(f"a plan has between 1 and {MAX_STAGES:,} stages, not {len(stages):,}", EXAMPLE)
    for number, stage in enumerate(stages, 1):
        if reason := stage_error(stage):
            raise UsageError(f"stage {number} of the plan: {reason}", EXAMPLE)
    return tuple(stages)


def stage_error(stage: Stage) -> str:
    """Why a stage is invalid; empty if it is valid."""
    if not SHORTEST_SECONDS <= stage.seconds <= LONGEST_SECONDS:
        return (
            f"it must take between {format_duration(SHORTEST_SECONDS)} and {format_duration(LONGEST_SECONDS)}"
        )
    if stage.quantity is Quantity.THREADS:
        if not all(1 <= level <= MAX_THREADS and level == int(level) for level in stage.levels):
            return f"threads are whole numbers from 1 to {MAX_THREADS:,}"
    elif not all(0 <= level <= MAX_RATE for level in stage.levels):
        return f"a rate is between 0 and {MAX_RATE:,} per second"
    elif isinstance(stage, RampStage) and not all(stage.levels):
        return "both ends of a ramp of rates must be above 0"
    return ""


def total_seconds(stages: Sequence[Stage]) -> float:
    """The duration of the whole plan."""
    return sum(stage.seconds for stage in stages)


def first_level(stages: Sequence[Stage], quantity: Quantity) -> float | None:
    """The first level of a quantity; None if the plan does not set it."""
    return next((stage.levels[0] for stage in stages if stage.quantity is quantity), None)


def most_threads(stages: Sequence[Stage]) -> int:
    """The maximum number of threads; 0 if the plan does not set threads."""
    return max((int(max(s.levels)) for s in stages if s.quantity is Quantity.THREADS), default=0)


_NUMBER = r"\d+(?:\.\d+)?"
_STAGE = re.compile(
    rf"(?:(?P<quantity>threads|rate)\s+)?(?:(?P<level>{_NUMBER}):|(?P<first>{_NUMBER})\.\.(?P<last>{_NUMBER})/)"
    r"(?P<time>[^\s]+)(?P<doubling>\s+doubling)?"
)


def parse_schedule(text: str, unnamed: Quantity = Quantity.THREADS) -> Schedule:
    """Parse a plan; a stage that does not name its quantity is of `unnamed`.

    Raises UsageError with the position of the first invalid stage.
    """
    stages, names, position = [], [], 0
    for part in text.split(","):
        start = position + len(part) - len(part.lstrip())
        stage, name = _parse_stage(part.strip(), start + 1, unnamed)
        stages.append(stage)
        names.append(name)
        if Quantity.RATE in names and "" in names:
            raise _syntax_error(
                part.strip(), start + 1, "if a stage sets a rate, each stage must name threads or rate"
            )
        position += len(part) + 1
    return validate_schedule(stages)


def parse_ramp(text: str, quantity: Quantity = Quantity.THREADS) -> Schedule:
    """Parse a plan of a single ramp. Raises UsageError for any other plan."""
    stages = parse_schedule(text, quantity)
    if len(stages) != 1 or not isinstance(stages[0], RampStage):
        option = "--ramp" if quantity is Quantity.THREADS else "--ramp-rate"
        raise UsageError(f"{option} takes one ramp, not '{text}'", "FIRST..LAST/TIME, such as 1..128/60s")
    return stages


def format_schedule(stages: Sequence[Stage]) -> str:
    """Format a plan for `parse_schedule`."""
    is_named = any(stage.quantity is Quantity.RATE for stage in stages)
    return ",".join(f"{f'{stage.quantity} ' if is_named else ''}{_format_stage(stage)}" for stage in stages)


def _format_stage(stage: Stage) -> str:
    time = format_duration(stage.seconds)
    if isinstance(stage, ConstantStage):
        return f"{plain_number(stage.level)}:{time}"
    doubling = " doubling" if stage.doubling else ""
    return f"{plain_number(stage.first)}..{plain_number(stage.last)}/{time}{doubling}"


def _parse_stage(text: str, position: int, unnamed: Quantity) -> tuple[Stage, str]:
    """One stage, and the quantity it names."""
    found = _STAGE.fullmatch(text)
    if found is None:
        raise _syntax_error(text, position, "a stage is LEVEL:TIME or FIRST..LAST/TIME")
    try:
        seconds = parse_duration(found["time"])
    except UsageError as error:
        raise _syntax_error(text, position + found.start("time"), error.message) from error
    quantity = Quantity(found["quantity"] or unnamed)
    stage: Stage
    if found["level"]:
        stage = ConstantStage(quantity=quantity, level=float(found["level"]), seconds=seconds)
        if found["doubling"]:
            raise _syntax_error(text, position + found.start("doubling") + 1, "only a ramp can be doubling")
    else:
        first, last = float(found["first"]), float(found["last"])
        doubling = bool(found["doubling"])
        stage = RampStage(quantity=quantity, first=first, last=last, seconds=seconds, doubling=doubling)
    if reason := stage_error(stage):
        raise _syntax_error(text, position, reason)
    return stage, found["quantity"] or ""


def _syntax_error(text: str, position: int, reason: str) -> UsageError:
    return UsageError(f"character {position}, '{text}': {reason}", EXAMPLE)


class PlanPhase(StrEnum):
    """The state of a plan: waiting for the start of the measurement, running, held, paused with the load, or
    finished.
    """

    WAITING = "waiting"
    RUNNING = "running"
    HELD = "held"
    PAUSED = "paused"
    OVER = "over"


class PlanProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a plan. `stage` counts from 1.

    `following` is the next level in words, empty if the plan ends next. `due_seconds` is its time in seconds
    of the run, None while the plan is held; `left_seconds` is the remaining time until then. `held` is the
    reason why the plan is held.
    """

    stages: Schedule
    phase: PlanPhase
    stage: int
    following: str
    due_seconds: float | None
    left_seconds: float
    held: str = ""
