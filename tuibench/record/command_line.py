"""The words of command lines that we advise: of our program, and of sysbench where it has the same test."""

import shlex
from collections.abc import Mapping, Sequence

from tuibench.model.plan import OptionValue, Plan
from tuibench.model.target import Target

SYSBENCH_TESTS = frozenset(
    {
        "bulk_insert",
        "oltp_delete",
        "oltp_insert",
        "oltp_point_select",
        "oltp_read_only",
        "oltp_read_write",
        "oltp_update_index",
        "oltp_update_non_index",
        "oltp_write_only",
        "select_random_points",
        "select_random_ranges",
    }
)
"""Profiles that sysbench has, too, under the same names."""

PASSWORD = '"$MYSQL_PWD"'  # noqa: S105
"""Where a password belongs: never itself."""


def server_words(target: Target, prefix: str) -> list[str]:
    """Where the server is, and who logs in, in the spelling of either program."""
    database = "mysql-db" if prefix else "database"
    place = (
        [f"--{prefix}socket={target.socket}"]
        if target.socket
        else [f"--{prefix}host={target.host}", f"--{prefix}port={target.port}"]
    )
    return [*place, f"--{prefix}user={target.user}", f"--{database}={target.database}"]


def load_words(plan: Plan) -> Sequence[str]:
    """Which load: a profile, or somebody's own SQL."""
    return plan.sql_words or (plan.profile,)


def option_words(options: Mapping[str, OptionValue]) -> list[str]:
    """A profile's options."""
    return [f"--{name.replace('_', '-')}={_value(value)}" for name, value in options.items()]


def _value(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def line_of(words: Sequence[str]) -> str:
    """One line for a shell; a variable stays one."""
    return " ".join(word if PASSWORD in word else shlex.quote(word) for word in words)
