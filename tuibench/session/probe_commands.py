"""The commands of the formal run that a probe leads to: sysbench's, where it has the profile, and ours."""

import shlex
from collections.abc import Sequence

from tuibench.model.plan import OptionValue, Plan
from tuibench.model.schedule import Quantity
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

SECONDS, WARMUP_SECONDS, REPORT_SECONDS = 300, 30, 10
PASSWORD = '"$MYSQL_PWD"'  # noqa: S105
"""Where a password belongs: never itself."""


def commands(
    plan: Plan, target: Target, by: Quantity, level: float, threads: int, *, has_password: bool
) -> dict[str, str]:
    """By the program's name; `level` is the one to run at, `threads` the connections with a rate."""
    load = (
        [f"--threads={level:.0f}"]
        if by is Quantity.THREADS
        else [f"--threads={threads}", f"--rate={level:g}"]
    )
    times = [f"--time={SECONDS}", f"--report-interval={REPORT_SECONDS}"]
    options = [f"--{name.replace('_', '-')}={_value(value)}" for name, value in plan.options.items()]
    words = [*load, *times, *(["--db-ps-mode=disable"] if not plan.prepared else [])]
    ours = ["tuibench", "run", plan.profile, *words, f"--warmup-time={WARMUP_SECONDS}", *_server(target, "")]
    found = {"tuibench": _line([*ours, *options])}
    if plan.profile in SYSBENCH_TESTS:
        password = [f"--mysql-password={PASSWORD}"] if has_password else []
        theirs = ["sysbench", plan.profile, *words, *_server(target, "mysql-"), *password, *options, "run"]
        found = {"sysbench": _line(theirs), **found}
    return found


def _server(target: Target, prefix: str) -> list[str]:
    """Where the server is, and who logs in, in the spelling of either program."""
    database = "mysql-db" if prefix else "database"
    place = (
        [f"--{prefix}socket={target.socket}"]
        if target.socket
        else [f"--{prefix}host={target.host}", f"--{prefix}port={target.port}"]
    )
    return [*place, f"--{prefix}user={target.user}", f"--{database}={target.database}"]


def _value(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _line(words: Sequence[str]) -> str:
    """One line for a shell; a variable stays one."""
    return " ".join(word if PASSWORD in word else shlex.quote(word) for word in words)
