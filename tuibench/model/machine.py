"""What this host is, as far as it does not change from tick to tick."""

import msgspec


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and habits of this host that matter to a measurement; None or empty where it does not tell.

    `files_soft` and `files_hard` are the open files a process of ours may have, None without a limit. Disk
    figures are those of the file system that holds the server's data directory.
    """

    files_soft: int | None = None
    files_hard: int | None = None
    swap_used_bytes: int | None = None
    swap_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    disk_total_bytes: int | None = None
    governors: tuple[str, ...] = ()
    clocksource: str = ""
    fine_timers: bool = True
