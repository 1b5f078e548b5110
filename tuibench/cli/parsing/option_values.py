"""Parsing of structured option values."""

from collections.abc import Iterable
from typing import TypeVar

from tuibench.errors import UsageError
from tuibench.model.notation import parse_delay_ms

MAX_CHECKPOINTS, LATEST_CHECKPOINT = 256, 2**31 - 1
"""Limits of sysbench."""


DEFAULT_MAXIMUM = 10**9
"""Limit beyond any sensible value."""

Number = TypeVar("Number", int, float)
Choice = TypeVar("Choice", bound=str)


def check_range(name: str, value: Number, low: float, high: float = DEFAULT_MAXIMUM) -> Number:
    """The value of the option `name`. Raises UsageError if it is out of range."""
    if not low <= value <= high:
        raise UsageError(f"{name} must be between {low:,.12g} and {high:,.12g}, not {value:,.12g}")
    return value


def check_choice(name: str, word: str, choices: Iterable[Choice]) -> Choice:
    """The choice with this name. Raises UsageError with the list of choices for any other word."""
    for choice in choices:
        if choice == word:
            return choice
    raise UsageError(f"{name} is one of {', '.join(choices)}, not '{word}'")


def parse_switch(name: str, text: str) -> bool:
    """Parse `on`, `off` and their synonyms. Raises UsageError for anything else."""
    words = {"on": True, "off": False, "1": True, "0": False, "true": True, "false": False}
    return words[check_choice(name, text.lower(), words)]


def parse_error_numbers(name: str, text: str) -> tuple[int, ...]:
    """Parse `1213,1020`. Raises UsageError for invalid numbers."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise UsageError(f"{name} takes error numbers separated by commas, not '{text}'") from error


def parse_percentiles(text: str) -> tuple[float, ...]:
    """Parse `95`, or several: `50,95,99.9`; `0` is none. Raises UsageError for anything else."""
    try:
        wanted = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"--percentile takes numbers separated by commas, not '{text}'") from error
    for percentile in wanted:
        check_range("--percentile", percentile, 0, 100)
    return tuple(percentile for percentile in wanted if percentile)


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


def parse_client_delay(text: str) -> float:
    """Parse the delay of `--client-delay`. Raises UsageError if it is invalid or too long."""
    from tuibench.session.control.limits import checked_delay_ms

    try:
        return checked_delay_ms(parse_delay_ms(text))
    except UsageError as error:
        raise UsageError(f"--client-delay: {error.message}", error.hint) from error
