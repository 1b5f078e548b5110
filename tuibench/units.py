"""How numbers are written for people, the same on every screen and in every message."""

import math

DASH = "–"
"""Stands where a value is missing; never a zero."""

FAR = 9_999
"""Where an interval is so wide, nothing is known."""

_SI = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_ROUNDS_UP = 0.9995
"""Of the next unit: what three digits would write as 1000 of the one below."""
_AXIS_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_AXIS_PARTS = {1.5: 3, 3.0: 3, 5.0: 5, 6.0: 3}


def count(value: float | None) -> str:
    """A whole number with thousands separators: 48,214."""
    return DASH if value is None else f"{value:,.0f}"


def counted(number: int, noun: str) -> str:
    """One thing, or so many things: 1 thread, 1,024 threads."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def from_to(first: int | None, last: int | None) -> str:
    """What a number was at first and in the end, once where that is the same: 8 → 64."""
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
        if abs(value) >= _ROUNDS_UP * factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g}"


def milliseconds(value: float | None) -> str:
    """A latency with three significant digits and its unit: 26.4 ms, 1.2 s."""
    if value is None:
        return DASH
    if value >= 1000 * _ROUNDS_UP:
        seconds = value / 1000
        return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"


def percent(value: float | None, digits: int = 0) -> str:
    """A share given in percent: 99.98 %."""
    return DASH if value is None else f"{value:.{digits}f} %"


def data(size_bytes: float | None) -> str:
    """A size in binary units with three digits at most: 9.1 GiB; 1,010 MiB are 0.986 GiB."""
    if size_bytes is None:
        return DASH
    for factor, unit in _BINARY:
        if abs(size_bytes) >= max(_ROUNDS_UP * factor * 1000 / 1024, 1024):
            return f"{size_bytes / factor:.3g} {unit}"
    return f"{size_bytes:.0f} B"


def small(value: float | None) -> str:
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


def span(low: float, high: float, digits: int = 0) -> str:
    """From here to there: 38..49, −36..−25. An edge beyond FAR is told as that."""
    return "..".join(_edge(edge, digits) for edge in (low, high))


def _edge(value: float, digits: int) -> str:
    if value > FAR:
        return f">{FAR:,}"
    return signed(value, digits).removeprefix("+")


def digits_for(*values: float) -> int:
    """Decimals that tell such numbers from each other and from zero."""
    sizes = [abs(value) for value in values]
    return 1 if max(sizes) < 10 or min(sizes) < 1 else 0


def with_interval(value: float, low: float, high: float, unit: str) -> str:
    """A difference and its interval: +43 % (38..49 %)."""
    digits = digits_for(value, low, high) if unit else 3
    return f"{signed(value, digits)}{unit} ({span(low, high, digits)}{unit})"


def clock(seconds: float) -> str:
    """A duration as a clock shows it: 01:24, 1:02:03."""
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
    """In how many equal parts an axis up to a round number is divided, so that each ends on a round one."""
    magnitude = 10.0 ** math.floor(math.log10(top))
    return _AXIS_PARTS.get(round(top / magnitude, 3), 4)


def axis_maximum(value: float) -> float:
    """The next round number an axis can end on: 2412 gives 3000. 1 for anything not above zero."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    magnitude = 10.0 ** math.floor(math.log10(value))
    for step in _AXIS_STEPS:
        if value <= step * magnitude * (1 + 1e-9):
            return step * magnitude
    return 10.0 * magnitude
