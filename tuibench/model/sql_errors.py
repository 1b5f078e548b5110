"""SQL errors of a normal load: retried by default, and their plain names."""

from collections.abc import Iterable
from typing import NamedTuple


class ErrorName(NamedTuple):
    """An error's plain name, and the label of its rate."""

    text: str
    rate: str


ERROR_NAMES = {
    1213: ErrorName("deadlock", "deadlocks/s"),
    1020: ErrorName("snapshot conflict", "conflicts/s"),
    1205: ErrorName("lock wait timeout", "timeouts/s"),
}

IGNORED_ERRORS = tuple(ERROR_NAMES)
"""The default of --mysql-ignore-errors, the same as sysbench's."""


def error_text(code: str) -> str:
    """An error code with its plain name: "1213 deadlock"; the code alone without one."""
    name = ERROR_NAMES.get(int(code))
    return f"{code} {name.text}" if name else code


def error_rate_label(codes: Iterable[str]) -> str:
    """The label of the rate of these errors: their name if all are the same."""
    different = {int(code) for code in codes}
    name = ERROR_NAMES.get(different.pop()) if len(different) == 1 else None
    return name.rate if name else "errors/s"
