"""Settings of which one is the other's upper limit: what may be set, and in which order.

MySQL cuts a value that breaks the limit; MariaDB moves the *other* setting out of the way, which nobody asked
for and nobody would put back. So the limit is kept here, and settings are changed in an order that keeps it.
"""

from collections.abc import Mapping

from tuibench.errors import UsageError

PAIRS = (("innodb_io_capacity", "innodb_io_capacity_max"),)
"""The lower one first."""


def partner(name: str) -> str | None:
    """The other setting of its pair."""
    for pair in PAIRS:
        if name in pair:
            return pair[1 - pair.index(name)]
    return None


def check(name: str, value: str, other: str | None) -> None:
    """Raises UsageError when the value is beyond its partner's, which is `other` now."""
    for lower, upper in PAIRS:
        if other is None or name not in (lower, upper):
            continue
        if name == lower and int(value) > int(other):
            raise UsageError(f"{lower} may not be above {upper}, which is {other}", f"raise {upper} first")
        if name == upper and int(value) < int(other):
            raise UsageError(f"{upper} may not be below {lower}, which is {other}", f"lower {lower} first")


def ordered(wanted: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names in an order in which each change keeps the limits, if the values of before and after do."""
    names = list(wanted)
    for lower, upper in PAIRS:
        if lower in wanted and upper in wanted:
            raised = int(wanted[upper]) >= int(now.get(upper, "0"))
            _put_before(names, *((upper, lower) if raised else (lower, upper)))
    return names


def _put_before(names: list[str], first: str, second: str) -> None:
    places = sorted((names.index(first), names.index(second)))
    names[places[0]], names[places[1]] = first, second
