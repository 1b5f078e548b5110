"""Formatting of numbers with units, for screens and messages."""

import math
import sys
import time

DASH = "–"
"""Replaces a missing value."""

MAX_SHOWN, MAX_FACTOR = 9_999, 100
"""Bounds beyond this carry no information."""

_SI = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_ROUND_UP_SHARE = 0.9995
"""The value from which the next larger unit is used, so that three digits never show 1000."""
_AXIS_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_AXIS_PARTS = {1.5: 3, 3.0: 3, 5.0: 5, 6.0: 3}


def count(value: float | None) -> str:
    """A whole number with thousands separators: 48,214."""
    return DASH if value is None else f"{value:,.0f}"


def pluralize(number: int, noun: str) -> str:
    """A count with its noun: 1 thread, 1,024 threads."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def first_to_last(first: int | None, last: int | None) -> str:
    """A number at the start and the end, once if both are equal: 8 → 64."""
    known = [count(each) for each in (first, last) if each is not None]
    return " → ".join(dict.fromkeys(known)) or DASH


def decimal(value: float | None, digits: int = 2) -> str:
    """A number with a fixed number of digits: 1.04."""
    return DASH if value is None else f"{value:,.{digits}f}"


def si(value: float | None) -> str:
    """A number in at most five characters with its prefix: 3 k, 12.5 M."""
    if value is None:
        return DASH
    for factor, prefix in _SI:
        if abs(value) >= _ROUND_UP_SHARE * factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g}"


def milliseconds(value: float | None) -> str:
    """A latency with three significant digits and its unit: 26.4 ms, 1.2 s."""
    if value is None:
        return DASH
    if value >= 1000 * _ROUND_UP_SHARE:
        seconds = value / 1000
        return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"


def percent(value: float | None, digits: int = 0) -> str:
    """A share given in percent: 99.98 %."""
    return DASH if value is None else f"{value:.{digits}f} %"


def binary_size(size_bytes: float | None) -> str:
    """A size in binary units with three digits at most: 9.1 GiB; 1,010 MiB are 0.986 GiB."""
    if size_bytes is None:
        return DASH
    for factor, unit in _BINARY:
        if abs(size_bytes) >= max(_ROUND_UP_SHARE * factor * 1000 / 1024, 1024):
            return f"{size_bytes / factor:.3g} {unit}"
    return f"{size_bytes:.0f} B"


def small_number(value: float | None) -> str:
    """A number in three significant digits, down to thousandths: 1.02, 0.003, 0."""
    if value is None:
        return DASH
    if value == 0 or value < 0.0005:
        return "0"
    return f"{value:.3f}" if value < 0.0995 else f"{value:,.2f}"


def signed(value: float, digits: int = 0) -> str:
    """A difference with its sign: +43, −31."""
    text = f"{value:+,.{digits}f}".replace("-", "−")
    return text.lstrip("+−") if not text.strip("+−0.,") else text


def range_text(low: float, high: float, digits: int = 0) -> str:
    """A range: 38..49, −36..−25. A bound beyond MAX_SHOWN is shown as MAX_SHOWN."""
    return "..".join(_edge(edge, digits) for edge in (low, high))


def _edge(value: float, digits: int) -> str:
    if value > MAX_SHOWN:
        return f">{MAX_SHOWN:,}"
    return signed(value, digits).removeprefix("+")


def digits_for(*values: float) -> int:
    """The number of decimals that distinguishes these numbers from each other and from zero."""
    sizes = [abs(value) for value in values]
    return 1 if max(sizes) < 10 or min(sizes) < 1 else 0


def with_interval(value: float, low: float, high: float, unit: str) -> str:
    """A difference and its interval: +43 % (38..49 %). One beyond MAX_SHOWN is shown as MAX_SHOWN."""
    digits = digits_for(value, low, high) if unit else 3
    shown = _edge(value, digits) if value > MAX_SHOWN else signed(value, digits)
    return f"{shown}{unit} ({range_text(low, high, digits)}{unit})"


def interval_with_estimate(value: float, low: float, high: float, unit: str) -> str:
    """The interval first, for a difference that a test has stopped at: 38..49 % (about +43 %)."""
    shown, _, interval = with_interval(value, low, high, unit).partition(" (")
    return f"{interval.removesuffix(')')} (about {shown})"


def factor(percent: float) -> str:
    """A relative difference in percent as a factor: 3.5, 84, >100."""
    value = 1 + percent / 100
    if value > MAX_FACTOR:
        return f">{MAX_FACTOR}"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def factor_with_interval(percent: float, low: float, high: float) -> str:
    """The same with its interval: ×84 (37..>100)."""
    return f"×{factor(percent)} ({factor(low)}..{factor(high)})"


def hms(seconds: float) -> str:
    """A duration in clock format: 01:24, 1:02:03."""
    whole = int(abs(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    sign = "−" if seconds < 0 and whole else ""
    return f"{sign}{hours}:{minutes:02}:{rest:02}" if hours else f"{sign}{minutes:02}:{rest:02}"


def duration(seconds: float) -> str:
    """A duration in its largest two units: 3m, 2h 05m, 12d 4h."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m"
    if whole < 86_400:
        return f"{whole // 3600}h {whole // 60 % 60:02}m"
    return f"{whole // 86_400}d {whole // 3600 % 24}h"


def axis_parts(top: float) -> int:
    """The number of equal divisions of an axis up to a round number, such that each division is round."""
    magnitude = 10.0 ** math.floor(math.log10(top))
    return _AXIS_PARTS.get(round(top / magnitude, 3), 4)


def axis_maximum(value: float) -> float:
    """The next round number for the end of an axis: 2412 gives 3000. 1 for values that have none."""
    if value < sys.float_info.min or not math.isfinite(value):
        return 1.0
    magnitude = 10.0 ** math.floor(math.log10(value))
    for step in _AXIS_STEPS:
        if value <= step * magnitude * (1 + 1e-9):
            return step * magnitude
    return 10.0 * magnitude


def local_time(unix_seconds: float, form: str = "%Y-%m-%d %H:%M:%S %Z") -> str:
    """A moment in local time; a dash for one outside the calendar's range."""
    try:
        return time.strftime(form, time.localtime(unix_seconds))
    except (OverflowError, ValueError, OSError):
        return DASH
