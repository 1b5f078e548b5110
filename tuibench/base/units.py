"""Formatting of numbers with units, for screens and messages."""

import math
import sys
import textwrap
import time

DASH = "–"
"""Stands for a missing value."""

TENFOLD, MAX_FACTOR = 10.0, 99_999
"""A difference is written as a factor if it is `TENFOLD` or more; `MAX_FACTOR` is the largest factor
written.
"""
FAR = 100.0
"""An edge of an interval that is this many times larger than the estimate is omitted."""

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


def shorten(text: str, characters: int) -> str:
    """The text in at most `characters`; the end of a longer one is replaced by an ellipsis."""
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def wrap_words(text: str, cells: int, indent: int = 2) -> list[str]:
    """A text broken between words into lines of `cells`; all lines but the first are indented."""
    return textwrap.wrap(
        text,
        cells,
        subsequent_indent=" " * indent,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


def first_to_last(first: int | None, last: int | None) -> str:
    """The values of a number at the start and at the end: 8 → 64; one value if both are equal."""
    known = [count(each) for each in (first, last) if each is not None]
    return " → ".join(dict.fromkeys(known)) or DASH


def decimal(value: float | None, digits: int = 2) -> str:
    """A number with a fixed number of digits: 1.04."""
    return DASH if value is None else f"{value:,.{digits}f}"


def si(value: float | None, *, in_column: bool = False) -> str:
    """A number with its SI prefix in at most six characters: 3 k, 12.5 M; in a column with zeros: 4.90 M."""
    if value is None:
        return DASH
    for factor, prefix in _SI:
        if abs(value) >= _ROUND_UP_SHARE * factor:
            digits = f"{value / factor:#.3g}".removesuffix(".") if in_column else f"{value / factor:.3g}"
            return f"{digits} {prefix}"
    return f"{value:.3g}"


def milliseconds(value: float | None, *, in_column: bool = False) -> str:
    """A latency with three significant digits and its unit: 26.4 ms, 1.2 s; in a column with zeros: 1.20
    s.
    """
    if value is None:
        return DASH
    number, unit = (value / 1000, "s") if value >= 1000 * _ROUND_UP_SHARE else (value, "ms")
    if number >= 100 * _ROUND_UP_SHARE:
        return f"{number:,.0f} {unit}"
    return f"{number:#.3g} {unit}" if in_column and number else f"{number:.3g} {unit}"


def percent(value: float | None, digits: int = 0) -> str:
    """A percentage: 99.98 %."""
    return DASH if value is None else f"{value:.{digits}f} %"


def binary_size(size_bytes: float | None, *, in_column: bool = False) -> str:
    """A size in binary units with at most three digits: 9.1 GiB, 0.986 GiB for 1,010 MiB; in a column with
    zeros: 9.10 GiB.
    """
    if size_bytes is None:
        return DASH
    for factor, unit in _BINARY:
        if abs(size_bytes) >= max(_ROUND_UP_SHARE * factor * 1000 / 1024, 1024):
            number = size_bytes / factor
            digits = f"{number:#.3g}".removesuffix(".") if in_column else f"{number:.3g}"
            return f"{digits} {unit}"
    return f"{size_bytes:.0f} B"


def small_number(value: float | None) -> str:
    """A number with three significant digits, and at most three decimals: 1.02, 0.003, 0."""
    if value is None:
        return DASH
    if value == 0 or value < 0.0005:
        return "0"
    return f"{value:.3f}" if value < 0.0995 else f"{value:,.2f}"


def three_digits(value: float, most: int = 2) -> str:
    """A number with all integer digits, or three significant ones, and at most `most` decimals: 2,412,
    26.9, 0.02.
    """
    if value == 0:
        return "0"
    return decimal(value, 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 1 else most)


def significant(value: float, digits: int = 2) -> str:
    """A number with at most `digits` significant digits, but all integer digits: 0.9, 7.5, 120, 12,345."""
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def microseconds(value: float | None) -> str:
    """CPU time, given in microseconds, with three significant digits and its unit: 41.2 µs, 2.37 ms."""
    if value is None or value >= 1000 * _ROUND_UP_SHARE:
        return milliseconds(None if value is None else value / 1000)
    return f"{three_digits(value)} µs"


def signed(value: float, digits: int = 0) -> str:
    """A difference with its sign: +43, −31."""
    text = f"{value:+,.{digits}f}".replace("-", "−")
    return text.lstrip("+−") if not text.strip("+−0.,") else text


def difference(percent: float) -> str:
    """A relative difference, given in percent: +43 %, −3.2 %; as a factor from `TENFOLD` on: ×48, ÷420."""
    return difference_and_interval(percent, percent, percent)[0]


def difference_and_interval(percent: float, low: float, high: float) -> tuple[str, str]:
    """A relative difference and its interval, all given in percent: +43 % and 38..49 %.

    If one of the three values is ten-fold or more, all are written as factors: ×48 and 20..100, ÷420 and
    300..600, ×1.9 and ÷6.7..×72. An edge that is far beyond the estimate (`FAR`, `MAX_FACTOR`) is left out:
    "÷25 or more", "at most ×72". The interval is empty if both edges are left out, or are written alike.
    """
    values = percent, low, high
    factors = [max(0.0, 1 + value / 100) for value in values]
    if all(1 / TENFOLD < each < TENFOLD for each in factors):
        decimals = 1 if max(map(abs, values)) < 10 else 0
        # One more decimal, if it makes the edges different.
        are_alike = [round(low, digits) == round(high, digits) for digits in (decimals, decimals + 1)]
        decimals += are_alike == [True, False]
        edges = "..".join(_few_digits(value, decimals).removeprefix("+") for value in (low, high))
        return f"{_few_digits(percent, decimals)} %", f"{edges} %"
    is_narrow = low != high and _factor(factors[1]) == _factor(factors[2])
    digits = 3 if is_narrow else 2
    estimate, first, last = (_factor(each, digits) for each in factors)
    estimate = estimate if factors[0] else "to 0"
    is_open = (
        factors[1] <= max(factors[0] / FAR if percent < 0 else 0.0, 1 / MAX_FACTOR),
        factors[2] > (min(factors[0] * FAR, MAX_FACTOR) if percent > 0 else MAX_FACTOR),
    )
    if first == last or all(is_open):
        return estimate, ""
    if any(is_open):
        edge, size = (last, factors[2]) if is_open[0] else (first, factors[1])
        is_certain = size < 1 if is_open[0] else size > 1
        return estimate, f"{edge} or more" if is_certain else f"at most {edge}"
    if min(factors) >= 1:
        return estimate, f"{first}..{last}".replace("×", "")
    if max(factors) <= 1:
        # In a decrease, the lower edge has the larger divisor.
        return estimate, f"{last}..{first}".replace("×", "").replace("÷", "")
    return estimate, f"{first}..{last}"


def _few_digits(percent: float, decimals: int) -> str:
    """A difference with its sign, and up to three decimals if it would otherwise be written as zero."""
    while decimals < 3 and percent and not float(f"{percent:.{decimals}f}"):
        decimals += 1
    return signed(percent, decimals)


def _factor(value: float, digits: int = 2) -> str:
    """A factor as ×48 or ÷420, with two or three significant digits."""
    sign, size = ("×", value) if value >= 1 else ("÷", 1 / value if value else math.inf)
    if size > MAX_FACTOR:
        return f"{sign}>{MAX_FACTOR:,}"
    if size >= 99.5:
        return f"{sign}{float(f'{size:.3g}'):,.0f}"
    return f"{sign}{size:.{3 if size < 1.1 else digits}g}"


def change_and_interval(delta: float, low: float, high: float) -> tuple[str, str]:
    """A difference in the figure's unit, and its interval: −0.998 and −1.01..−0.985. The interval is empty if
    both edges are written alike.
    """
    digits = 0 if (size := max(abs(low), abs(high))) >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    first, last = (signed(edge, digits).removeprefix("+") for edge in (low, high))
    return signed(delta, digits), f"{first}..{last}" if first != last else ""


def hms(seconds: float) -> str:
    """A duration in clock format: 01:24, 1:02:03."""
    whole = int(abs(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    sign = "−" if seconds < 0 and whole else ""
    return f"{sign}{hours}:{minutes:02}:{rest:02}" if hours else f"{sign}{minutes:02}:{rest:02}"


def time_left(seconds: float) -> str:
    """The remaining time in clock format, rounded up: 00:57 left."""
    return f"{hms(math.ceil(max(0.0, seconds)))} left"


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
    """The number of equal parts of an axis, so that each ends at a round number; `top` is a round number."""
    magnitude = 10.0 ** math.floor(math.log10(top))
    return _AXIS_PARTS.get(round(top / magnitude, 3), 4)


def axis_maximum(value: float) -> float:
    """The next round number for the end of an axis: 3000 for 2412; 1 for zero, NaN and infinity."""
    if value < sys.float_info.min or not math.isfinite(value):
        return 1.0
    magnitude = 10.0 ** math.floor(math.log10(value))
    for step in _AXIS_STEPS:
        if value <= step * magnitude * (1 + 1e-9):
            return step * magnitude
    return 10.0 * magnitude


def byte_unit(value: float) -> int:
    """The size of the largest binary unit that is not larger than `value`: 1,024 for 2,000 bytes."""
    return next((factor for factor, _ in _BINARY if value >= factor), 1)


def axis_maximum_of_bytes(value: float) -> float:
    """The next round number in binary units for the end of an axis: 15 MiB for 14.3 MiB, 1 MiB for 900
    KiB.
    """
    unit = byte_unit(value)
    rounded = axis_maximum(value / unit)
    return (rounded if rounded < 1000 else 1024) * unit


def local_time(unix_seconds: float, form: str = "%Y-%m-%d %H:%M:%S %Z") -> str:
    """Unix time as local time; a dash for a time outside the calendar's range."""
    try:
        return time.strftime(form, time.localtime(unix_seconds))
    except (OverflowError, ValueError, OSError):
        return DASH
