"""Limits of a record that is read: the folder may be damaged, or come from somebody else.

Valid records stay below: ten hours at ten samples per second, or a probe with thousands of events. A line
beyond the limits is left out and named; a file beyond them is refused.
"""

import re
from typing import Any, NamedTuple

import msgspec

LONGEST_SECONDS = 366 * 86_400.0
LATEST_AT = 1e11
"""Unix time, in the year 5138."""
SHORTEST_SECONDS = 1e-3
DOCUMENT_BYTES = 16 << 20
HISTOGRAM_BYTES = 1 << 19
"""A decoded histogram: each of its 23,000 buckets takes at most nine bytes."""
INFLATED_BYTES = 4 << 30
"""Decompressed samples: 12 KiB in each of 10 hours at ten samples per second."""
LARGEST_INTEGER, LARGEST_FRACTION = 1 << 64, 1e18
MOST_FIGURES = 10_000_000
"""Sums and levels in all samples of a run: 140 in each sample of 20 hours."""
MIB = 1 << 20


class FileLimits(NamedTuple):
    """Limits of a file of lines."""

    lines: int
    line_bytes: int = MIB
    file_bytes: int = 1 << 30


SAMPLES = FileLimits(lines=400_000)
EVENTS = FileLimits(lines=50_000, line_bytes=1 << 18, file_bytes=64 * MIB)
STATUS = FileLimits(lines=400_000, file_bytes=128 * MIB)
REPORTS = FileLimits(lines=10_000, file_bytes=256 * MIB)
HISTOGRAMS = FileLimits(lines=2_000_000)
RESULTS = FileLimits(lines=10_000, file_bytes=64 * MIB)
"""Cells of a sweep, blocks of a screening."""

_MAYBE_HUGE = re.compile(rb"[\[:,]\s*-?(?:[0-9.]+[eE]\+?[0-9]{2}|[0-9]{19})")


def number_refusal(document: bytes) -> str:
    """The reason why a JSON document is refused: a number that cannot be calculated with; empty if none."""
    return _huge(msgspec.json.decode(document)) if _MAYBE_HUGE.search(document) else ""


def _huge(value: Any, name: str = "a value") -> str:
    """The first number that is too large, with its name."""
    match value:
        case int() if abs(value) > LARGEST_INTEGER:
            return f"{name} is a number of {len(str(abs(value)))} digits"
        case float() if abs(value) > LARGEST_FRACTION:
            return f"{name} is {value:g}"
        case dict():
            return next(filter(None, (_huge(inner, key) for key, inner in value.items())), "")
        case list():
            return next(filter(None, (_huge(inner, name) for inner in value)), "")
    return ""


def time_refusal(elapsed_seconds: float, at: float = 0.0) -> str:
    """The reason why a time is refused; empty if it is not."""
    if not abs(elapsed_seconds) <= LONGEST_SECONDS:
        return f"elapsed_seconds is {elapsed_seconds:g}"
    return "" if 0 <= at <= LATEST_AT else f"at is {at:g}"


def length_refusal(seconds: float) -> str:
    """The reason why the length of an interval is refused; empty if it is not."""
    return "" if seconds == 0 or SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS else f"seconds is {seconds:g}"


class SampleTimes:
    """The time axis of a run's samples: within the limits, and not going back in the measured load."""

    def __init__(self) -> None:
        self._last_seconds = 0.0

    def refusal(self, elapsed_seconds: float, at: float) -> str:
        """The reason why the next sample is refused; empty if it is not."""
        if found := time_refusal(elapsed_seconds, at):
            return found
        if 0 < elapsed_seconds < self._last_seconds:
            return f"elapsed_seconds goes back from {self._last_seconds:g} to {elapsed_seconds:g}"
        self._last_seconds = max(self._last_seconds, elapsed_seconds)
        return ""
