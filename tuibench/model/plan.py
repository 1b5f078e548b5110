"""All that a run needs to be repeated, apart from the server."""

import msgspec

OptionValue = bool | int | float | str

MAX_THREADS = 100_000
IGNORED_ERRORS = (1213, 1020, 1205)
"""sysbench's default --mysql-ignore-errors: deadlock, record changed, lock wait timeout."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, how hard, and for how long.

    `seconds` is None for a run without a time limit. `options` holds the profile's options that were set, by
    their name with underscores; the rest have the profile's defaults. `workers` is None to choose by cores.
    """

    profile: str
    options: dict[str, OptionValue] = {}
    threads: int = 1
    seconds: float | None = 10.0
    interval_seconds: float = 1.0
    seed: int = 0
    percentile: float = 95.0
    ignored_errors: tuple[int, ...] = IGNORED_ERRORS
    max_retries: int = 100
    workers: int | None = None
