"""Parsing of numbers in foreign text: a server's status, pages of an exporter, files of a kernel.

A text that is not a number gives None, never an error: words, an empty text, NaN and Inf, digits that are not
ASCII (²), and numbers whose absolute value exceeds `MOST`. A run continues without the figure, and
`unreadable` gives the reason. The length of a text is checked before it is converted, so that millions of
digits take no time.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from tuibench.base import sanitize

MOST = 2**63 - 1
"""The largest number that is accepted by default: a record has signed integers of 64 bits."""

MOST_TIMER = 10.0**30
"""Limit for sums of the performance schema's timers: in picoseconds, they exceed `MOST` after 107 days."""

LONGEST = 80
"""Maximum length of a numeral: the longest DECIMAL of a server has 67 characters."""

SHOWN_CHARACTERS = 24

_is_whole = re.compile(r"[+-]?[0-9]+").fullmatch
_is_number = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?").fullmatch


class Readable(NamedTuple):
    """The numbers of a source."""

    found: dict[str, int]
    """The numbers by name."""
    missing: dict[str, str]
    """The reasons why others are missing, by name."""


def whole(foreign: object) -> int | None:
    """A whole number; None for anything else. A float or Decimal is truncated."""
    if isinstance(foreign, int | float | Decimal):
        # Compare first: int() would compute all digits of Decimal("1e1000000000").
        return int(foreign) if _is_within(foreign, MOST) else None
    text = _text(foreign)
    return whole(int(text)) if _is_whole(text) else None


def count(foreign: object) -> int | None:
    """A whole number of at least 0; None for anything else."""
    value = whole(foreign)
    return value if value is not None and value >= 0 else None


def number(foreign: object, most: float = MOST) -> float | None:
    """A finite number with an absolute value of at most `most`; None for anything else."""
    if isinstance(foreign, int | float | Decimal):
        return float(foreign) if _is_within(foreign, float(most)) else None
    text = _text(foreign)
    return number(float(text), most) if _is_number(text) else None


def amount(foreign: object, most: float = MOST) -> float | None:
    """A number from 0 to `most`; None for anything else."""
    value = number(foreign, most)
    return value if value is not None and value >= 0 else None


def readable(foreign: Iterable[tuple[str, object]]) -> Readable:
    """Parse these texts, given with their names, as counts."""
    found: dict[str, int] = {}
    missing: dict[str, str] = {}
    for name, text in foreign:
        value = count(text)
        if value is None:
            missing[name] = unreadable(text)
        else:
            found[name] = value
    return Readable(found, missing)


def unreadable(foreign: object) -> str:
    """The reason why a text is not accepted as a number, in a few words."""
    text = foreign.decode(errors="replace") if isinstance(foreign, bytes) else str(foreign)
    shown = sanitize.text(text[:SHOWN_CHARACTERS]) + ("…" if len(text) > SHOWN_CHARACTERS else "")
    return f"not a number that can be read: '{shown}'"


def _is_within(foreign: float | Decimal, most: float) -> bool:
    is_finite = foreign.is_finite() if isinstance(foreign, Decimal) else foreign == foreign
    return is_finite and -most <= foreign <= most


def _text(foreign: object) -> str:
    """The text without surrounding blanks; empty if it cannot be a numeral."""
    if isinstance(foreign, bytes):
        foreign = foreign[: LONGEST + 1].decode("ascii", "replace")
    if not isinstance(foreign, str) or len(foreign) > LONGEST:
        return ""
    return foreign.strip()
