"""A small dialog that asks for one number, and says at once why one will not do."""

from collections.abc import Callable
from functools import partial

from tuibench.errors import UsageError
from tuibench.tui.screens.ask import AskScreen

Reason = str
Check = Callable[[float], Reason]
"""Why a number cannot be, empty if it can."""

LONGEST = 12


def number_in(text: str) -> float | None:
    """The number that a text says, thousands separators allowed; None if it says none."""
    plain = text.strip().replace(",", "")
    try:
        number = float(plain)
    except ValueError:
        return None
    return number if plain[:1].isdecimal() and number < float("inf") else None


def checked_number(text: str, check: Check, *, whole: bool) -> float:
    """The number that a text says. Raises UsageError for none, or one that will not do."""
    if not text.strip():
        raise UsageError("type a number")
    number = number_in(text)
    if number is None or (whole and number != int(number)):
        raise UsageError(f"{text.strip()!r} is not a {'whole ' if whole else ''}number")
    if reason := check(number):
        raise UsageError(reason)
    return number


class NumberScreen(AskScreen[float]):
    """Answers the number, or None when the operator went back; whole ones only, if `whole`."""

    def __init__(self, title: str, facts: str, now: str, check: Check, *, whole: bool) -> None:
        read = partial(checked_number, check=check, whole=whole)
        super().__init__(title, facts, now, read, max_length=LONGEST)
