"""Planned load, and the notation of values on a command line or in a dialog.

A stage of a plan holds one level, or ramps between two. It sets the threads or the rate; the other one keeps
its value.

    plan   stage, stage, …                                      8:30s,16:30s,64:1m
    stage  [threads | rate] LEVEL:TIME                          rate 200:30s,rate 400:1m
           [threads | rate] FIRST..LAST/TIME [doubling]         1..128/60s
    TIME   30s, 1m, 1m30s, 500ms, 2h

Levels are threads by default; if any stage sets a rate, every stage must name its quantity. The `MAX_`
constants limit both: larger numbers are considered typing errors.
"""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.option import (
    NUMBER,
    NotANumberError,
    check_range,
    parse_duration,
    parse_number,
    plain_number,
)


def format_duration(seconds: float) -> str:
    """Format a duration for `parse_duration`, in the largest unit that divides it."""
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:.0f}{unit}"
    return f"{plain_number(seconds)}s"


def parse_delay_ms(text: str) -> float:
    """Parse a delay to milliseconds: 20ms, 500us, 0.1s, 0. Raises UsageError for anything else."""
    return round(parse_duration(text) * 1e3, 6)


def format_delay(milliseconds: float) -> str:
    """Format a delay for display and for `parse_delay_ms`: 20ms, 500us."""
    if 0 < milliseconds < 1:
        return f"{milliseconds * 1e3:g}us"
    return f"{milliseconds:.10g}ms"


def format_rate(rate: float) -> str:
    """Format a rate per second for display: 1,500/s, none."""
    return f"{rate:,g}/s" if rate else "none"


BYTES_PER_UNIT = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)(?:I?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Parse a size, written as in MySQL's options, to bytes: 4G, 512M, 1.5g or 268435456. Raises UsageError
    for anything else.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' is not a size", "a number with its unit: 512M, 4G")
    return int(float(found[1]) * BYTES_PER_UNIT[found[2].upper()])


MAX_TOLERANCE_PERCENT = 50.0
_TOLERANCE = re.compile(rf"\s*(?:±|\+-|\+/-)?\s*({NUMBER})\s*%?\s*")


def parse_tolerance(text: str) -> float:
    """Parse `±2%`, the difference within which values count as equal, to a percentage. Raises UsageError for
    anything else.
    """
    written = _TOLERANCE.fullmatch(text)
    percent = float(written[1]) if written else 0.0
    if not 0 < percent <= MAX_TOLERANCE_PERCENT:
        raise UsageError(
            f"the tolerance is a percentage of at most {MAX_TOLERANCE_PERCENT:g}, not '{text}'",
            "for example 2%",
        )
    return percent


def parse_ab(text: str) -> tuple[str, str, str]:
    """Parse `SETTING=V1,V2` to the subject and both values.

    Several settings are sync_binlog+long_query_time=1+10,0+0.5. Raises UsageError for anything else.
    """
    name, equals, values = text.partition("=")
    subject = name.strip().lower().replace("-", "_")
    parts = [value.strip() for value in values.split(",")]
    if not subject or not equals or len(parts) != 2 or not all(parts):
        raise UsageError(
            f"an A/B test takes SETTING=V1,V2, not '{text}'", "for example innodb_flush_log_at_trx_commit=1,0"
        )
    if parts[0] == parts[1]:
        raise UsageError(f"an A/B test needs two different values, not {parts[0]} twice")
    return subject, parts[0], parts[1]


TOGETHER = "+"
"""Separates the settings that an A/B test changes together, and their values."""


def settings_of(subject: str, value: str) -> dict[str, str]:
    """The values by setting: `a+b` with `1+0` is a = 1, b = 0. Raises UsageError unless each has one."""
    names, values = subject.split(TOGETHER), value.split(TOGETHER)
    if len(names) != len(values) or not all(values):
        raise UsageError(
            f"'{value}' is not a value for each of {', '.join(names)}",
            f"{subject}={TOGETHER.join('1' for _ in names)},{TOGETHER.join('0' for _ in names)}",
        )
    return dict(zip(names, values, strict=True))


def parse_weights(text: str, names: Sequence[str]) -> dict[str, float]:
    """Parse the weights of transactions: by name (new_order=50 payment=50), or one for each in order (50/50).

    Raises UsageError for an invalid number, an unknown name, and too few or too many weights.
    """
    example = f"such as {'/'.join('1' for _ in names)}, or {names[0]}=50"
    parts = text.replace("/", " ").replace(",", " ").split()
    if not any("=" in part for part in parts):
        if len(parts) != len(names):
            raise UsageError(f"{len(names)} weights are required, for {', '.join(names)}", example)
        parts = [f"{name}={part}" for name, part in zip(names, parts, strict=True)]
    weights = {}
    for part in parts:
        name, _, number = part.partition("=")
        if name not in names:
            raise UsageError(f"there is no transaction '{name}'", f"there are {', '.join(names)}")
        if not number.replace(".", "", 1).isdecimal():
            raise UsageError(f"'{number}' is not a weight", example)
        weights[name] = float(number)
    return weights


def format_weights(weights: dict[str, float]) -> str:
    """The weights without names, in order: 90/10."""
    return "/".join(f"{weight:g}" for weight in weights.values())


ALL_ERRORS = "all"


def parse_error_numbers(text: str) -> tuple[int, ...] | None:
    """Parse `1213,1020`; None for `all`. Raises UsageError for invalid numbers."""
    if text == ALL_ERRORS:
        return None
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise UsageError(
            f"--mysql-ignore-errors takes error numbers separated by commas, not '{text}'"
        ) from error


def format_error_numbers(numbers: tuple[int, ...] | None) -> str:
    return ALL_ERRORS if numbers is None else ",".join(map(str, numbers))


def parse_percentiles(text: str) -> tuple[float, ...]:
    """Parse `95`, or several: `50,95,99.9`; `0` is none. Raises UsageError for anything else."""
    try:
        wanted = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"--percentile takes numbers separated by commas, not '{text}'") from error
    for percentile in wanted:
        check_range("--percentile", percentile, 0, 100)
    return tuple(percentile for percentile in wanted if percentile)


def format_percentiles(percentiles: tuple[float, ...]) -> str:
    return ",".join(map(plain_number, percentiles)) or "0"


MAX_CHECKPOINTS, LATEST_CHECKPOINT = 256, 2**31 - 1
"""Limits of sysbench."""


def parse_checkpoints(text: str) -> tuple[int, ...]:
    """Parse `10,60` or `10s,1m`: times after the start, in any order.

    Raises UsageError for what sysbench refuses.
    """
    try:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        wanted = sorted({parse_number("--report-checkpoints", part, int, is_seconds=True) for part in parts})
    except NotANumberError as error:
        raise UsageError(
            f"--report-checkpoints takes whole seconds separated by commas, not '{text}'",
            "for example 10,60,300",
        ) from error
    for seconds in wanted:
        check_range("--report-checkpoints", seconds, 0, LATEST_CHECKPOINT)
    if len(wanted) > MAX_CHECKPOINTS:
        raise UsageError(f"--report-checkpoints takes {MAX_CHECKPOINTS} checkpoints at most")
    return tuple(seconds for seconds in wanted if seconds)


def parse_max_lag(text: str) -> float:
    """Parse the seconds of `--max-lag`; 0 for no limit if empty. Raises UsageError for anything else."""
    if not text:
        return 0.0
    with suppress(NotANumberError):
        seconds = parse_number("--max-lag", text.strip(), float, is_seconds=True)
        if 0 < seconds < math.inf:
            return seconds
    raise UsageError(f"--max-lag takes seconds, not '{text}'", "for example --max-lag=5s")


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


MAX_BURST_FACTOR, MAX_BURST_SECONDS = 1000.0, 3600.0
_BURST = re.compile(rf"[x×]\s*({NUMBER})[\s,]+(?:for\s+)?(\S+)")


def parse_burst(text: str) -> tuple[float, float]:
    """Parse `x3 8s` or `x3,8s` to the factor of the rate and seconds. Raises UsageError for anything else."""
    found = _BURST.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' is not a burst", "a factor of the rate and a time: x3 8s")
    return (
        check_range("the factor of a burst", float(found[1]), 0.01, MAX_BURST_FACTOR),
        check_range("the seconds of a burst", parse_duration(found[2]), 0.1, MAX_BURST_SECONDS),
    )


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


_STAGE = re.compile(
    rf"(?:(?P<quantity>threads|rate)\s+)?(?:(?P<level>{NUMBER}):|(?P<first>{NUMBER})\.\.(?P<last>{NUMBER})/)"
    r"(?P<time>[^\s]+)(?P<doubling>\s+doubling)?"
)


def parse_schedule(text: str, unnamed: Quantity = Quantity.THREADS) -> Schedule:
    """Parse a plan; `unnamed` is the quantity of stages that name none.

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
    is_named = any(stage.quantity is Quantity.RATE for stage in stages)
    parts = []
    for stage in stages:
        name, time = f"{stage.quantity} " if is_named else "", format_duration(stage.seconds)
        if isinstance(stage, ConstantStage):
            parts.append(f"{name}{plain_number(stage.level)}:{time}")
        else:
            doubling = " doubling" if stage.doubling else ""
            parts.append(f"{name}{plain_number(stage.first)}..{plain_number(stage.last)}/{time}{doubling}")
    return ",".join(parts)


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
    """Progress of a plan."""

    stages: Schedule
    phase: PlanPhase
    stage: int
    """Counts from 1."""
    following: str
    """The next level in words; empty if the plan ends next."""
    due_seconds: float | None
    """When the next level begins, in seconds of the run; None while the plan is held."""
    left_seconds: float
    """The remaining time until the next level."""
    held: str = ""
    """The reason why the plan is held."""
