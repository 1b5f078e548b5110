"""What the server calls its errors."""

from asyncmy.constants import CR, ER

_NAMES = {
    value: name
    for constants in (CR, ER)
    for name, value in sorted(vars(constants).items())
    if isinstance(value, int) and not name.endswith(("ERROR_FIRST", "ERROR_LAST"))
}


def error_name(code: int) -> str:
    """The symbol of an error number (LOCK_DEADLOCK for 1213), empty if the driver knows none."""
    return _NAMES.get(code, "")
