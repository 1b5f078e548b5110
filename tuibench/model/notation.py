"""Notation of values on a command line or in a dialog: parsers and formatters.

Durations: 20ms, 30s, 1m30s, 2h. Sizes as in MySQL's options: 512M, 4G.

The two values of an A/B test: sync_binlog=1,0, and the tolerance within which they count as equal: ±2%.

Weights of transactions by position: 50/50, or by name: new_order=50 payment=50.

Lists of numbers, as in sysbench: percentiles 50,95,99.9, error numbers 1213,1020, checkpoints 10,60.
"""

import re
from collections.abc import Sequence

from tuibench.errors import UsageError
from tuibench.model.option import check_range, plain_number

SECONDS_PER_UNIT = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = r"\d+(?:\.\d+)?"
_PART = re.compile(rf"({_NUMBER})(us|µs|ms|s|m|h)")
_WHOLE = re.compile(rf"{_NUMBER}(?:us|µs|ms|s|m|h)(?:{_NUMBER}(?:us|µs|ms|s|m|h))*|0")


def parse_duration(text: str) -> float:
    """Parse a duration to seconds. Raises UsageError without a unit and for anything else."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise UsageError(f"'{text}' is not a duration", "a number with its unit: 20ms, 30s, 1m30s")
    return sum(float(number) * SECONDS_PER_UNIT[unit] for number, unit in _PART.findall(text))


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


BYTES_PER_UNIT = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)(?:I?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Parse a size to bytes: 4G, 512M, 1.5g or 268435456. Raises UsageError for anything else."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' is not a size", "a number with its unit: 512M, 4G")
    return int(float(found[1]) * BYTES_PER_UNIT[found[2].upper()])


MAX_TOLERANCE_PERCENT = 50.0
_TOLERANCE = re.compile(rf"\s*(?:±|\+-|\+/-)?\s*({_NUMBER})\s*%?\s*")


def parse_tolerance(text: str) -> float:
    """Parse `±2%` to a percentage. Raises UsageError for anything else."""
    written = _TOLERANCE.fullmatch(text)
    percent = float(written[1]) if written else 0.0
    if not 0 < percent <= MAX_TOLERANCE_PERCENT:
        raise UsageError(
            f"the tolerance is a percentage of at most {MAX_TOLERANCE_PERCENT:g}, not '{text}'",
            "for example ±2%",
        )
    return percent


def parse_ab(text: str) -> tuple[str, str, str]:
    """Parse `SETTING=V1,V2` to the subject and both values. Raises UsageError for anything else."""
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


def parse_weights(text: str, names: Sequence[str]) -> dict[str, float]:
    """Parse the weights of transactions by name; without names, one for each transaction in order.

    Raises UsageError for an invalid number, an unknown name, and too few or too many weights.
    """
    example = f"such as {'/'.join('1' for _ in names)}, or {names[0]}=50"
    parts = text.replace("/", " ").replace(",", " ").split()
    if not any("=" in part for part in parts):
        if len(parts) != len(names):
            raise UsageError(f"{len(names)} weights are required, for {', '.join(names)}", example)
        parts = [f"{name}={part}" for name, part in zip(names, parts, strict=True)]
    return dict(_parse_weight(part, names, example) for part in parts)


def format_weights(weights: dict[str, float]) -> str:
    """The weights without names, in order: 90/10."""
    return "/".join(f"{weight:g}" for weight in weights.values())


def _parse_weight(part: str, names: Sequence[str], example: str) -> tuple[str, float]:
    name, _, number = part.partition("=")
    if name not in names:
        raise UsageError(f"there is no transaction '{name}'", f"there are {', '.join(names)}")
    if not number.replace(".", "", 1).isdecimal():
        raise UsageError(f"'{number}' is not a weight", example)
    return name, float(number)


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
    """Format error numbers for `parse_error_numbers`."""
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
    """Format percentiles for `parse_percentiles`."""
    return ",".join(map(plain_number, percentiles)) or "0"


MAX_CHECKPOINTS, LATEST_CHECKPOINT = 256, 2**31 - 1
"""Limits of sysbench."""


def parse_checkpoints(text: str) -> tuple[int, ...]:
    """Parse `10,60`: seconds after the start, in any order. Raises UsageError for what sysbench refuses."""
    try:
        wanted = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError as error:
        raise UsageError(
            f"--report-checkpoints takes whole seconds separated by commas, not '{text}'",
            "for example 10,60,300",
        ) from error
    for seconds in wanted:
        check_range("--report-checkpoints", seconds, 0, LATEST_CHECKPOINT)
    if len(wanted) > MAX_CHECKPOINTS:
        raise UsageError(f"--report-checkpoints takes {MAX_CHECKPOINTS} checkpoints at most")
    return tuple(seconds for seconds in wanted if seconds)


_LAG = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*s?")


def parse_max_lag(text: str) -> float:
    """Parse the seconds of `--max-lag`; 0 for no limit if empty. Raises UsageError for anything else."""
    if not text:
        return 0.0
    match = _LAG.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise UsageError(f"--max-lag takes seconds, not '{text}'", "for example --max-lag=5s")
    return float(match[1])
