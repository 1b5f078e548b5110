"""Limits of the values of a transaction, the same in both engines (`native/src/values/limits.rs`).

Without them a server or a profile could fill the memory. `docs/profiles.md` lists them.
"""

MAX_INTEGER_DIGITS = 38
INTEGER_LIMIT = 10**MAX_INTEGER_DIGITS

MAX_DECIMAL_DIGITS = 100
"""Digits of a decimal number before the point, and after it."""

MAX_CHARACTERS = 1_000_000
"""Characters of a text, or bytes."""

MAX_ITEMS = 100_000
"""Items of a list, values of a captured result, repetitions of a step or a part."""

MAX_CAPTURED_BYTES = 1 << 24
"""The response to a statement that captures."""

MAX_BOUND_CHARACTERS = 1 << 24
"""The texts among a statement's values."""

MAX_DRAWN_CHARACTERS = 1 << 26
"""The texts among the values of the statements that are drawn before the first of them is sent."""

TOO_MANY_DIGITS = f"a whole number has more than {MAX_INTEGER_DIGITS} digits"
TOO_LARGE_DECIMAL = f"a decimal number has more than {MAX_DECIMAL_DIGITS} digits before or after the point"
TOO_LONG = f"a text has more than {MAX_CHARACTERS:,} characters"
TOO_MANY_BYTES = f"a value has more than {MAX_CHARACTERS:,} bytes"
TOO_MANY_ITEMS = f"a list has more than {MAX_ITEMS:,} items"
TOO_MANY_VALUES = f"a captured result has more than {MAX_ITEMS:,} values"
TOO_MANY_REPETITIONS = f"a step is repeated more than {MAX_ITEMS:,} times"
TOO_DEEP = "an item of a list is a list of lists"
TOO_MUCH_BOUND = f"the texts of a statement have more than {MAX_BOUND_CHARACTERS:,} characters"
TOO_MUCH_DRAWN = f"the texts of a transaction have more than {MAX_DRAWN_CHARACTERS:,} characters"


class LimitError(ValueError):
    """A value exceeds its limit."""


def checked_text(value: str) -> str:
    if len(value) > MAX_CHARACTERS:
        raise LimitError(TOO_LONG)
    return value


def checked_bytes(value: bytes) -> bytes:
    if len(value) > MAX_CHARACTERS:
        raise LimitError(TOO_MANY_BYTES)
    return value
