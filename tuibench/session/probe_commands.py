"""The commands of the formal run that a probe leads to: sysbench's, where it has the profile, and ours."""

from tuibench.model.plan import Plan
from tuibench.model.schedule import Quantity
from tuibench.model.target import Target
from tuibench.record.command_line import (
    PASSWORD,
    SYSBENCH_TESTS,
    line_of,
    load_words,
    option_words,
    server_words,
)

SECONDS, WARMUP_SECONDS, REPORT_SECONDS = 300, 30, 10


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
    options = option_words(plan.options)
    words = [*load, *times, *(["--db-ps-mode=disable"] if not plan.prepared else [])]
    ours = [
        "tuibench",
        "run",
        *load_words(plan),
        *words,
        f"--warmup-time={WARMUP_SECONDS}",
        *server_words(target, ""),
    ]
    found = {"tuibench": line_of([*ours, *options])}
    if plan.profile in SYSBENCH_TESTS:
        password = [f"--mysql-password={PASSWORD}"] if has_password else []
        theirs = [
            "sysbench",
            plan.profile,
            *words,
            *server_words(target, "mysql-"),
            *password,
            *options,
            "run",
        ]
        found = {"sysbench": line_of(theirs), **found}
    return found
