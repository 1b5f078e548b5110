"""Wait classes: what a connection does or waits for, and the tables of the names that tell it.

A connection is in exactly one class at any moment, so the classes of a tick add up to connections × seconds.
The process list names the state of a thread, and the performance schema, where enabled, its current wait
event; the kernel names the function in which a thread is blocked. Each source alone is incomplete: many
states name a phase of a statement and not a wait, and the kernel does not know why a thread waits on a futex.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from tuibench.model.server import Flavour
from tuibench.model.settings import ServerVariable

TIME = "time."
"""Prefix of the account in the sums, levels and gaps of a tick."""


class WaitClass(StrEnum):
    """What a connection does or waits for, in the order in which the chart stacks them."""

    CPU = "cpu"
    RUN_QUEUE = "run_queue"
    ROW_LOCK = "row_lock"
    METADATA_LOCK = "metadata_lock"
    COMMIT = "commit"
    BINARY_LOG = "binary_log"
    SEMI_SYNC = "semi_sync"
    PAGE_READ = "page_read"
    PAGE_WRITE = "page_write"
    MUTEX = "mutex"
    ADMISSION = "admission"
    PURGE_LAG = "purge_lag"
    NETWORK = "network"
    SLEEP = "sleep"
    OTHER = "other"
    ON_THE_WAY = "on_the_way"
    CLIENT = "client"

    @property
    def label(self) -> str:
        return TITLES[self][0]

    @property
    def meaning(self) -> str:
        return TITLES[self][1]

    @property
    def key(self) -> str:
        """Name of its sum in a tick: connection-microseconds."""
        return f"{TIME}{self}_us"


TITLES = {
    WaitClass.CPU: ("CPU", "the server's thread runs on a processor"),
    WaitClass.RUN_QUEUE: ("run queue", "the server's thread can run and waits for a processor"),
    WaitClass.ROW_LOCK: ("row lock", "a row is locked by another transaction"),
    WaitClass.METADATA_LOCK: ("metadata lock", "a table or the server is locked, by DDL or LOCK TABLES"),
    WaitClass.COMMIT: (
        "commit",
        "the redo log is written and flushed, or its turn in a group commit awaited",
    ),
    WaitClass.BINARY_LOG: ("binary log", "the binary log is written and flushed"),
    WaitClass.SEMI_SYNC: ("semi-sync", "a replica's acknowledgement of a commit is awaited"),
    WaitClass.PAGE_READ: ("page read", "a page is read from disk"),
    WaitClass.PAGE_WRITE: (
        "page write",
        "a page is written, or a free page or room in the redo log is awaited",
    ),
    WaitClass.MUTEX: ("mutex", "a mutex or latch inside the server is awaited"),
    WaitClass.ADMISSION: ("admission", "the limit of concurrent statements lets no more in"),
    WaitClass.PURGE_LAG: (
        "purge lag",
        "innodb_max_purge_lag delays a change, because purge is behind",
    ),
    WaitClass.NETWORK: ("network", "the client has not yet taken the result"),
    WaitClass.SLEEP: ("sleep", "SLEEP() of a statement waits"),
    WaitClass.OTHER: ("other", "a wait has no name, or the connection was not seen"),
    WaitClass.ON_THE_WAY: (
        "on the way",
        "a statement is in flight, but not in the server: network, proxy, a busy client",
    ),
    WaitClass.CLIENT: ("client", "no statement is in flight: the load's own work and its think time"),
}


class State(NamedTuple):
    """A state of the process list, and the wait that it names."""

    name: str
    """The beginning of the state's name, in lower case."""
    wait: WaitClass | None
    """None if the connection waits for its next statement."""
    flavours: tuple[Flavour, ...] = (Flavour.MARIADB, Flavour.MYSQL)
    version: str = ""
    """The first version that has the state; empty if all have it."""


MARIADB, MYSQL = (Flavour.MARIADB,), (Flavour.MYSQL,)
STATES = (
    State("reset for next command", None, MARIADB),
    State("waiting for table ", WaitClass.METADATA_LOCK),
    State("waiting for schema metadata lock", WaitClass.METADATA_LOCK),
    State("waiting for stored ", WaitClass.METADATA_LOCK),
    State("waiting for trigger metadata lock", WaitClass.METADATA_LOCK),
    State("waiting for event metadata lock", WaitClass.METADATA_LOCK),
    State("waiting for tablespace metadata lock", WaitClass.METADATA_LOCK, MYSQL),
    State("waiting for global read lock", WaitClass.METADATA_LOCK, MYSQL),
    State("waiting for commit lock", WaitClass.METADATA_LOCK, MYSQL),
    State("waiting for backup lock", WaitClass.METADATA_LOCK),
    State("waiting for acl cache lock", WaitClass.METADATA_LOCK, MYSQL, "8.0"),
    State("waiting for column statistics lock", WaitClass.METADATA_LOCK, MYSQL, "8.0"),
    State("waiting for foreign key metadata lock", WaitClass.METADATA_LOCK, MYSQL, "8.0"),
    State("waiting for check constraint metadata lock", WaitClass.METADATA_LOCK, MYSQL, "8.0"),
    State("waiting for locking service lock", WaitClass.METADATA_LOCK, MYSQL),
    State("user lock", WaitClass.METADATA_LOCK),
    State("commit", WaitClass.COMMIT, MARIADB),
    State("waiting for prior transaction to ", WaitClass.COMMIT, MARIADB),
    State("waiting for handler commit", WaitClass.COMMIT, MYSQL, "8.0"),
    State("waiting for preceding transaction to commit", WaitClass.COMMIT, MYSQL),
    State("waiting for binlog group commit ticket", WaitClass.BINARY_LOG, MYSQL, "8.0"),
    State("writing to binlog", WaitClass.BINARY_LOG, MARIADB),
    State("waiting for semi-sync ack", WaitClass.SEMI_SYNC),
    State("user sleep", WaitClass.SLEEP),
)
"""All other states name a phase of a statement, in which a thread may wait for anything. `Writing to net` is
among those: MariaDB keeps it until the next state.
"""

REDO_EVENT, BINARY_LOG_EVENT, DATA_EVENT = (
    "wait/io/file/innodb/innodb_log_file",
    "wait/io/file/sql/binlog",
    "wait/io/file/innodb/innodb_data_file",
)

EVENTS = {
    REDO_EVENT: WaitClass.COMMIT,
    BINARY_LOG_EVENT: WaitClass.BINARY_LOG,
    "wait/io/file/innodb/": WaitClass.PAGE_READ,
    "wait/io/socket/": None,
    "idle": None,
    "wait/lock/metadata/": WaitClass.METADATA_LOCK,
    "wait/lock/table/": WaitClass.METADATA_LOCK,
    "wait/synch/cond/sql/mdl_context": WaitClass.METADATA_LOCK,
    "wait/synch/cond/sql/mysql_bin_log::": WaitClass.COMMIT,
    "wait/synch/mutex/sql/mysql_bin_log::": WaitClass.BINARY_LOG,
    "wait/synch/mutex/innodb/log_": WaitClass.COMMIT,
    "wait/synch/cond/sql/item_func_sleep": WaitClass.SLEEP,
    "wait/synch/": WaitClass.MUTEX,
}
"""Wait events of MySQL's performance schema by the beginning of their names, in lower case; the first match
counts.
"""

WRITES = ("write", "sync", "flush")
"""Operations of a file's wait event that are writes; on a data file they are page writes."""

FILES = (
    (re.compile(r"ib_logfile\d+|#ib_redo\d+(_tmp)?"), REDO_EVENT),
    (re.compile(r".+\.\d{6,}"), BINARY_LOG_EVENT),
    (re.compile(r".+\.(ibd|ibu|dblwr|bdblwr)|ibdata\d+|ibtmp\d+|undo_?\d+"), DATA_EVENT),
)
"""Patterns of the server's file names, and the wait event of a thread that the kernel shows in a call on such
a file.
"""

SLEEPS = ("hrtimer_nanosleep", "do_nanosleep", "clock_nanosleep")
"""Kernel functions in which a thread sleeps for a time of its own choice."""

KERNEL = {
    **dict.fromkeys(("do_poll", "poll_", "do_sys_poll", "do_epoll", "ep_poll", "do_select"), None),
    **dict.fromkeys(("sk_wait_data", "wait_woken", "unix_stream_read", "unix_stream_data_wait"), None),
    "tcp_recvmsg": None,
    **dict.fromkeys(("sk_stream_wait_memory", "sock_alloc_send", "unix_wait_for_peer"), WaitClass.NETWORK),
    **dict.fromkeys(("futex_", "do_futex"), WaitClass.MUTEX),
    **dict.fromkeys(SLEEPS, WaitClass.MUTEX),
    **dict.fromkeys(("io_schedule", "folio_wait", "wait_on_page", "submit_bio_wait"), WaitClass.PAGE_READ),
    **dict.fromkeys(("iomap_dio", "blkdev_", "do_blockdev", "read_events", "io_cqring"), WaitClass.PAGE_READ),
    **dict.fromkeys(
        ("jbd2_", "xlog_", "sync_dirty", "writeback", "wait_for_completion"), WaitClass.PAGE_WRITE
    ),
}
"""Kernel functions in which a thread is blocked, by the beginning of their names without leading underscores;
None stands for reading the next statement. They explain a thread whose state names no wait.
"""

SLEEPERS = {
    ServerVariable.MAX_PURGE_LAG: WaitClass.PURGE_LAG,
    ServerVariable.THREAD_CONCURRENCY: WaitClass.ADMISSION,
}
"""Limits of InnoDB for which its threads sleep. If none is set, a sleeping thread waits for a latch. Threads
that sleep for the second limit are known by their transactions (`QUEUED`).
"""


def slept_for(limits: Mapping[str, int]) -> WaitClass:
    """What a sleeping thread waits for if neither its state nor its transaction says so. `limits` are the
    values by variable; 0 means no limit.
    """
    return next((wait for name, wait in SLEEPERS.items() if limits.get(name)), WaitClass.MUTEX)


LOCK_WAIT = "lock wait"
"""InnoDB's state of a transaction that waits for a row lock."""
QUEUED = ("sleeping before entering innodb", "waiting in innodb queue")
"""InnoDB's operation states of a transaction that innodb_thread_concurrency keeps out."""


def file_event(name: str) -> str:
    """The wait event of a call on one of the server's files; empty if the name tells nothing."""
    return next((event for pattern, event in FILES if pattern.fullmatch(name)), "")


def may_be_file(kernel: str) -> bool:
    """True if a thread blocked in this kernel function may wait for a file, so that it is worth reading which
    one.
    """
    at_kernel, wait = _first(kernel.lstrip("_"), KERNEL.items())
    return not at_kernel or is_asleep(kernel) or wait in (WaitClass.PAGE_READ, WaitClass.PAGE_WRITE)


def is_asleep(kernel: str) -> bool:
    """True for a kernel function in which a thread sleeps."""
    return kernel.lstrip("_").startswith(SLEEPS)


def _first(name: str, table: Iterable[tuple[str, WaitClass | None]]) -> tuple[bool, WaitClass | None]:
    """Whether the table has a beginning of this name, and its class."""
    name = name.lower()
    return next(((True, wait) for start, wait in table if name.startswith(start)), (False, None))


_NAMES = {
    flavour: tuple((state.name, state.wait) for state in STATES if flavour in state.flavours)
    for flavour in Flavour
}


class ObservedConnection(NamedTuple):
    """A connection at one moment."""

    command: str
    """Command and state of the process list."""
    state: str
    innodb: str = ""
    """State or operation of its transaction if that waits in InnoDB."""
    event: str = ""
    """Its current wait event, and the operation of that."""
    operation: str = ""
    kernel: str = ""
    """The kernel function in which its thread is blocked; may be unknown although the thread is blocked."""
    is_blocked: bool | None = None
    """None if the server's threads cannot be seen."""


def wait_of(
    seen: ObservedConnection, flavour: Flavour, sleeps_for: WaitClass = WaitClass.MUTEX
) -> WaitClass | None:
    """What a connection waits for; None if it waits for its next statement. `sleeps_for` is the class of a
    sleeping thread under the server's limits (`slept_for`).

    A thread that is not blocked has the class CPU: the kernel's counts divide its time into CPU and run
    queue.
    """
    if seen.command == "Sleep" and not seen.event.startswith("wait/io/file/"):
        return None
    if seen.is_blocked is False:
        return WaitClass.CPU
    at_kernel, kernel = _first(seen.kernel.lstrip("_"), KERNEL.items()) if seen.kernel else (False, None)
    if at_kernel and kernel is None:
        return None
    if is_asleep(seen.kernel):
        kernel = sleeps_for
    is_named, wait = _first(seen.state, _NAMES[flavour])
    if seen.innodb and not is_named:  # InnoDB's list is read later
        return WaitClass.ROW_LOCK if seen.innodb == LOCK_WAIT else WaitClass.ADMISSION
    if is_named and wait is not WaitClass.COMMIT:
        return wait
    has_event, event = _first(seen.event, EVENTS.items()) if seen.event else (False, None)
    if has_event and event is not WaitClass.MUTEX:
        is_write = event is WaitClass.PAGE_READ and seen.operation.startswith(WRITES)
        return WaitClass.PAGE_WRITE if is_write else event
    if is_named:
        return wait
    if has_event or at_kernel:
        return event or kernel
    return WaitClass.CPU if seen.is_blocked is None else WaitClass.OTHER
