"""Limits of the values of a transaction, and the messages of values that exceed them.

They are the same in both engines (`native/src/values/limits.rs`): without them a server or a profile could
fill the memory. `docs/profiles.md` lists them.
"""

MAX_INTEGER_DIGITS = 38
INTEGER_LIMIT = 10**MAX_INTEGER_DIGITS

MAX_DECIMAL_DIGITS = 100
"""Digits of a decimal number before the point, and digits after it."""

MAX_CHARACTERS = 1_000_000
"""Characters of a text; bytes of a binary value."""

MAX_ITEMS = 100_000
"""Items of a list, values of a captured result, repetitions of a step or a part."""

MAX_DISTINCT_ITEMS, MAX_TRIES = 1_000, 100
"""Items of a list without duplicates, and the number of draws for each item before the list is refused."""

MAX_CAPTURED_BYTES = 1 << 24
"""Bytes of the response to a statement that captures."""

MAX_BOUND_CHARACTERS = 1 << 24
"""Characters of the texts among one statement's values."""

MAX_DRAWN_CHARACTERS = 1 << 26
"""Characters of the texts among the values of all statements that are drawn before the first of them
is sent.
"""

TOO_MANY_DIGITS = f"a whole number has more than {MAX_INTEGER_DIGITS} digits"
TOO_LARGE_DECIMAL = f"a decimal number has more than {MAX_DECIMAL_DIGITS} digits before or after the point"
TOO_LONG = f"a text has more than {MAX_CHARACTERS:,} characters"
TOO_MANY_BYTES = f"a value has more than {MAX_CHARACTERS:,} bytes"
TOO_MANY_ITEMS = f"a list has more than {MAX_ITEMS:,} items"
TOO_MANY_DISTINCT = f"a list has more than {MAX_DISTINCT_ITEMS:,} distinct items"
TOO_FEW_DISTINCT = "a list of distinct items has more of them than are drawn"
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
