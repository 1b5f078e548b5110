"""Numbers in the texts of others: status, variables and lists of a server, pages of an exporter, files of a
kernel.

What is no number is None, never an error: digits that are not ASCII (²), NaN and Inf, words, an empty text,
and whatever is beyond `MOST` on either side of zero. A source may send any text; a run goes on without that
figure, and `unreadable` is the reason.

`MOST` is the largest signed integer of 64 bits: what is beyond it cannot be recorded. The length is checked
before a conversion, so that a text of millions of digits costs nothing.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from tuibench import sanitize

MOST = 2**63 - 1
"""The largest number that is read, unless a reader asks for more."""

MOST_TIMER = 10.0**30
"""For sums of the performance schema's timers in picoseconds, which pass `MOST` after 107 days."""

LONGEST = 80
"""Characters of a numeral: the longest DECIMAL of a server has 67."""

SHOWN_CHARACTERS = 24

_is_whole = re.compile(r"[+-]?[0-9]+").fullmatch
_is_number = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?").fullmatch


class Readable(NamedTuple):
    """The numbers of a source by name, and why others are missing."""

    found: dict[str, int]
    missing: dict[str, str]


def whole(foreign: object) -> int | None:
    """A whole number; None for everything else. The fraction of a number that is no text is cut off."""
    if isinstance(foreign, int | float | Decimal):
        # The comparison keeps int() from writing out a Decimal of a billion digits.
        return int(foreign) if _is_within(foreign, MOST) else None
    text = _text(foreign)
    return whole(int(text)) if _is_whole(text) else None


def count(foreign: object) -> int | None:
    """A whole number that is not negative; None for everything else."""
    value = whole(foreign)
    return value if value is not None and value >= 0 else None


def number(foreign: object, most: float = MOST) -> float | None:
    """A finite number of at most `most` on either side of zero; None for everything else."""
    if isinstance(foreign, int | float | Decimal):
        return float(foreign) if _is_within(foreign, float(most)) else None
    text = _text(foreign)
    return number(float(text), most) if _is_number(text) else None


def amount(foreign: object, most: float = MOST) -> float | None:
    """A number that is not negative; None for everything else."""
    value = number(foreign, most)
    return value if value is not None and value >= 0 else None


def readable(foreign: Iterable[tuple[str, object]]) -> Readable:
    """The counts among these texts."""
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
    """Why a text is missing as a figure, in a few words."""
    text = foreign.decode(errors="replace") if isinstance(foreign, bytes) else str(foreign)
    shown = sanitize.text(text[:SHOWN_CHARACTERS]) + ("…" if len(text) > SHOWN_CHARACTERS else "")
    return f"not a number that can be read: '{shown}'"


def _is_within(foreign: float | Decimal, most: float) -> bool:
    is_finite = foreign.is_finite() if isinstance(foreign, Decimal) else foreign == foreign
    return is_finite and -most <= foreign <= most


def _text(foreign: object) -> str:
    """The text of a numeral without spaces around it; empty for what cannot be one."""
    if isinstance(foreign, bytes):
        foreign = foreign[: LONGEST + 1].decode("ascii", "replace")
    if not isinstance(foreign, str) or len(foreign) > LONGEST:
        return ""
    return foreign.strip()
