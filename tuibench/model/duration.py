"""Lengths of time as they are written on a command line or in a dialog: 20ms, 30s, 1m30s, 2h."""

import re

from tuibench.errors import UsageError

UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = r"\d+(?:\.\d+)?"
_PART = re.compile(rf"({_NUMBER})(us|µs|ms|s|m|h)")
_WHOLE = re.compile(rf"{_NUMBER}(?:us|µs|ms|s|m|h)(?:{_NUMBER}(?:us|µs|ms|s|m|h))*|0")


def seconds_in(text: str) -> float:
    """The seconds that a text says. Raises UsageError for one without units, or none at all."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise UsageError(f"'{text}' is not a length of time", "a number with its unit: 20ms, 30s, 1m30s")
    return sum(float(number) * UNITS[unit] for number, unit in _PART.findall(text))


def duration_text(seconds: float) -> str:
    """The length of time as `seconds_in` reads it, in the largest unit that leaves it whole."""
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.15g}s"


def delay_ms_in(text: str) -> float:
    """A delay in milliseconds: 20ms, 500us, 0.1s, 0. Raises UsageError for anything else."""
    return round(seconds_in(text) * 1e3, 6)


def delay_text(milliseconds: float) -> str:
    """A delay for people, and as `delay_ms_in` reads it: 20ms, 500us."""
    if 0 < milliseconds < 1:
        return f"{milliseconds * 1e3:g}us"
    return f"{milliseconds:.10g}ms"
