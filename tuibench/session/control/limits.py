"""Limits of the load, the same for command-line options, operator and plan."""

from tuibench.errors import UsageError
from tuibench.model.notation import format_delay
from tuibench.model.schedule import MAX_CLIENT_DELAY_MS, MAX_RATE, MAX_THREADS


def checked_threads(threads: int, least: int = 1) -> int:
    """Returns the number. Raises UsageError if it is out of range."""
    if not least <= threads <= MAX_THREADS:
        raise UsageError(f"threads must be between {least} and {MAX_THREADS:,}, not {threads:,}")
    return threads


def checked_rate(rate: float) -> float:
    """Returns the rate. Raises UsageError if it is out of range."""
    if not 0 <= rate <= MAX_RATE:
        raise UsageError(f"the rate must be between 0 and {MAX_RATE:,} per second, not {rate:,g}")
    return rate


def checked_delay_ms(milliseconds: float) -> float:
    """Returns the delay. Raises UsageError if it is out of range."""
    if not 0 <= milliseconds <= MAX_CLIENT_DELAY_MS:
        raise UsageError(
            f"the client delay must be between 0 and {format_delay(MAX_CLIENT_DELAY_MS)}, "
            f"not {format_delay(milliseconds)}"
        )
    return milliseconds
