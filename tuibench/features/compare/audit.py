"""Audit of a comparison: which conditions differ between its sides, and whether that makes it unfair.

Facts are compared by their effect, not as text: a redo log of two files of 48 MiB equals one of 96 MiB, and
`sync_binlog` has no effect without a binary log. They are read from the environments of the runs or starts.

A difference is intended if it is the subject of the comparison, such as the version of the servers. Any
other difference that affects the results is a caveat of each verdict.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from tuibench.base import numerals, units
from tuibench.base.document import Table
from tuibench.model.counters import Counter
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.settings import ServerVariable
from tuibench.model.summary import SetupDifference
from tuibench.model.sweep import SweepEnvironment

UNKNOWN = "unknown"
CAVEAT_MARK = "!"
MOST_NAMED, LONGEST_LIST = 3, 40
DAY_SECONDS = 86_400
STALE_SHARE = 0.2
"""Statistics whose number of rows is wrong by a larger share are reported as stale. InnoDB recalculates them
after a tenth of the rows has changed.
"""

DEBUG_MARKS = ("debug", "valgrind", "asan", "ubsan", "tsan", "sanitizer")
MOUNT_OPTIONS = ("barrier", "nobarrier", "data=", "sync", "dirsync", "dax", "compress", "commit=", "discard")
"""Mount options that change the cost of a write or a flush; others, such as `relatime`, are ignored."""


class AuditedRun:
    """The server and environment of one run or start, from which facts are read; unknown values are empty."""

    def __init__(self, around: SweepEnvironment) -> None:
        self.server = around.server
        self.environment = around.environment
        self.seen = around.environment.in_effect

    def variable(self, *names: str) -> str:
        """The value of the first of these variables that the server has, in upper case."""
        found = self.environment.variables
        return next((found[name].upper() for name in names if name in found), "")

    def is_on(self, name: str) -> bool:
        return self.variable(name) in ("ON", "1", "YES", "TRUE")

    def number(self, name: str) -> float | None:
        """A variable or a reading as a number; None if unknown."""
        text = self.environment.variables.get(name, "") or self.seen.get(name, "")
        return numerals.amount(text)


Value = str | float | None


class Fact(NamedTuple):
    """One condition of a measurement."""

    name: str
    read: Callable[[AuditedRun], Value]
    worth: str
    """What a difference means for the results, in words."""
    settings: tuple[str, ...] = ()
    """The settings that determine the value."""
    write: Callable[[float], str] = units.binary_size
    within: float = 0.0
    """Two numbers count as equal if they differ by at most this share."""
    has_weight: bool = True
    """Whether a difference is a caveat; otherwise it is only listed."""

    def text(self, value: Value) -> str:
        if value is None or value == "":
            return UNKNOWN
        return value if isinstance(value, str) else self.write(value)

    def agree(self, one: Value, other: Value) -> bool:
        if isinstance(one, float) and isinstance(other, float):
            return abs(one - other) <= self.within * max(abs(one), abs(other))
        return (one or None) == (other or None)


def _redo_capacity(facts: AuditedRun) -> Value:
    if facts.seen.get(ServerVariable.REDO_LOG_ENABLED) == "OFF":
        return "none: it is disabled"
    resized = facts.number(Counter.REDO_LOG_CAPACITY.lower()) or facts.number(
        ServerVariable.REDO_LOG_CAPACITY
    )
    file_size = facts.number(ServerVariable.LOG_FILE_SIZE)
    return resized or (file_size and file_size * (facts.number(ServerVariable.LOG_FILES) or 1.0))


def _doublewrite(facts: AuditedRun) -> Value:
    value = facts.variable(ServerVariable.DOUBLEWRITE)
    words = {"OFF": "off", "0": "off", "FALSE": "off", "DETECT_ONLY": "detects only", "FAST": "fast"}
    return words.get(value, "on") if value else None


_REDO_FLUSH = {"0": "redo log flushed once a second", "2": "redo log written, flushed once a second"}


def _durability(facts: AuditedRun) -> Value:
    flush = facts.variable(ServerVariable.FLUSH_LOG)
    if not flush:
        return None
    parts = [_REDO_FLUSH.get(flush, "redo log flushed at each commit")]
    if facts.is_on(ServerVariable.LOG_BIN):
        every = facts.variable(ServerVariable.SYNC_BINLOG)
        often = {"0": "never", "1": "at each commit"}.get(every, f"at each {every}th commit")
        parts.append(f"binary log flushed {often}")
    return ", ".join(parts)


def _binary_log(facts: AuditedRun) -> Value:
    if not facts.variable(ServerVariable.LOG_BIN):
        return None
    if not facts.is_on(ServerVariable.LOG_BIN):
        return "off"
    image = facts.variable("binlog_row_image")
    form = facts.variable("binlog_format") or "ROW"
    return " ".join(word for word in ("on,", form, image if form != "STATEMENT" else "") if word)


def _gtid(facts: AuditedRun) -> Value:
    if facts.server.flavour is Flavour.MARIADB:
        return "on" if facts.is_on(ServerVariable.LOG_BIN) else "off"
    return facts.variable("gtid_mode").lower()


def _performance_schema(facts: AuditedRun) -> Value:
    if not facts.is_on(ServerVariable.PERFORMANCE_SCHEMA):
        return "off" if facts.variable(ServerVariable.PERFORMANCE_SCHEMA) else None
    consumers, instruments = facts.seen.get("consumers"), facts.seen.get("instruments")
    if consumers is None or instruments is None:
        return None
    return f"on; consumers {consumers or 'none'}; instruments {instruments or 'none'}"


def _query_cache(facts: AuditedRun) -> Value:
    if not facts.environment.variables:
        return None
    kind, size = facts.variable("query_cache_type"), facts.number("query_cache_size")
    return "off" if kind in ("", "OFF", "0") or not size else f"{kind.lower()}, {units.binary_size(size)}"


def _build(facts: AuditedRun) -> Value:
    if not facts.environment.variables:
        return None
    text = f"{facts.server.version_text} {facts.variable('version_comment')}".lower()
    kind = next((mark for mark in DEBUG_MARKS if mark in text), "release")
    of_build = (
        "version_comment",
        "version_compile_os",
        "version_compile_machine",
        "version_source_revision",
        "version_malloc_library",
    )
    return ", ".join([kind, *(word.lower() for name in of_build if (word := facts.variable(name)))])


def _adaptive_hash_index(facts: AuditedRun) -> Value:
    name = "innodb_adaptive_hash_index"
    return ("on" if facts.is_on(name) else "off") if facts.variable(name) else None


def _native_io(facts: AuditedRun) -> Value:
    name = "innodb_use_native_aio"
    return ("on" if facts.is_on(name) else "simulated") if facts.variable(name) else None


def _thread_handling(facts: AuditedRun) -> Value:
    """The server's thread model: MySQL has one thread per connection, except in editions with a pool."""
    if not facts.environment.variables:
        return None
    return facts.variable("thread_handling").lower().replace("-", " ") or "one thread per connection"


def _huge_pages(facts: AuditedRun) -> Value:
    server, kernel = facts.variable("large_pages"), facts.environment.host.conditions.huge_pages
    if not server and not kernel:
        return None
    return f"large_pages {server.lower() or UNKNOWN}, kernel {kernel or UNKNOWN}"


def _cpu(facts: AuditedRun) -> Value:
    host = facts.environment.host
    if not host.cores:
        return None
    limit = f", limited to {host.cpu_limit:g}" if host.cpu_limit else ""
    governors = f", {'/'.join(host.conditions.governors)}" if host.conditions.governors else ""
    return f"{host.cores} × {host.cpu_model or host.architecture or 'CPU'}{limit}{governors}"


def _memory(facts: AuditedRun) -> Value:
    host = facts.environment.host
    found = host.memory_limit_bytes or host.memory_bytes
    return None if found is None else float(found)


def _file_system(facts: AuditedRun) -> Value:
    disk = facts.environment.disk
    if disk is None:
        return None
    options = sorted(option for option in disk.options if option.startswith(MOUNT_OPTIONS))
    return ", ".join([disk.file_system, *([disk.kind] if disk.kind else []), *options])


def _statistics(facts: AuditedRun) -> Value:
    tables, rows = facts.number("tables"), facts.number("rows")
    known, described = facts.number("tables_with_statistics"), facts.number("rows_in_statistics")
    if tables is None or rows is None or known is None or described is None:
        return None
    if known < tables:
        return f"missing for {tables - known:.0f} of {tables:.0f} tables"
    if abs(rows - described) > STALE_SHARE * max(rows, described):
        return f"stale: they count {described:,.0f} rows of {rows:,.0f}"
    return "current"


def _statistics_age(facts: AuditedRun) -> Value:
    seconds = facts.number("statistics_age_seconds")
    return None if seconds is None else float(seconds >= DAY_SECONDS)


BINARY_LOG = ("log_bin", "skip_log_bin")

AUDITED = (
    Fact("server version", lambda facts: f"{facts.server.flavour} {facts.server.version}", "everything"),
    Fact(
        "build", _build, "everything: a debug build has a fraction of the speed, other compilers some percent"
    ),
    Fact(
        "redo log capacity",
        _redo_capacity,
        "writes: a small one forces pages to disk while transactions wait, at 8 MiB most of the time",
        (ServerVariable.LOG_FILE_SIZE, ServerVariable.LOG_FILES, ServerVariable.REDO_LOG_CAPACITY),
        within=0.1,
    ),
    Fact(
        "doublewrite",
        _doublewrite,
        "writes: each page is written twice with it",
        (ServerVariable.DOUBLEWRITE,),
    ),
    Fact(
        "durability",
        _durability,
        "writes: a flush per commit, often most of its time",
        (ServerVariable.FLUSH_LOG, ServerVariable.SYNC_BINLOG, *BINARY_LOG),
    ),
    Fact(
        "binary log",
        _binary_log,
        "writes: a second log to write and flush; small transactions are up to twice as fast without it",
        (*BINARY_LOG, "binlog_format", "binlog_row_image"),
    ),
    Fact(
        "GTID",
        _gtid,
        "writes: an event more in the binary log",
        ("gtid_mode", *BINARY_LOG),
        has_weight=False,
    ),
    Fact(
        "flush method",
        lambda facts: facts.variable(ServerVariable.FLUSH_METHOD).lower(),
        "reads and writes of pages: through the page cache of the kernel, or past it",
        (ServerVariable.FLUSH_METHOD,),
    ),
    Fact(
        "buffer pool",
        lambda facts: facts.number(ServerVariable.BUFFER_POOL_SIZE),
        "reads: what does not fit is read from disk",
        (ServerVariable.BUFFER_POOL_SIZE,),
        within=0.05,
    ),
    Fact(
        "page size",
        lambda facts: facts.number(ServerVariable.PAGE_SIZE),
        "reads and writes of pages",
        (ServerVariable.PAGE_SIZE,),
    ),
    Fact(
        "isolation",
        lambda facts: facts.variable("transaction_isolation", "tx_isolation").replace("-", " ").lower(),
        "locks and old row versions",
        ("transaction_isolation", "isolation"),
    ),
    Fact(
        "performance_schema",
        _performance_schema,
        "CPU of each statement: a few percent, more with instruments of locks",
        ("performance_schema", "performance_schema_*"),
    ),
    Fact(
        "adaptive hash index",
        _adaptive_hash_index,
        "reads by key: fewer steps with it; writes of many threads share its locks",
        ("innodb_adaptive_hash_index",),
    ),
    Fact(
        "native I/O",
        _native_io,
        "reads and writes of pages: without it, threads of the server wait for each",
        ("innodb_use_native_aio",),
    ),
    Fact(
        "thread handling",
        _thread_handling,
        "many connections: a pool bounds the threads that run, and adds a queue",
        ("thread_handling",),
    ),
    Fact(
        "query cache",
        _query_cache,
        "reads: repeated statements are not executed; a lock that all statements share",
        ("query_cache_type", "query_cache_size"),
    ),
    Fact(
        "tables' collation",
        lambda facts: facts.seen.get("table_collations", ""),
        "comparing and sorting of strings; with several bytes a character also the size of rows in memory",
        ("character_set_server", "collation_server"),
    ),
    Fact(
        "connection's character set",
        lambda facts: facts.seen.get("connection_collation", "").partition("_")[0],
        "conversion of each string",
    ),
    Fact("table definitions", lambda facts: facts.seen.get("definitions", ""), "everything"),
    Fact(
        "rows",
        lambda facts: facts.number("rows"),
        "depth of indexes, and what fits into memory",
        write=lambda rows: f"about {rows:,.0f}",
        within=STALE_SHARE,
    ),
    Fact("table statistics", _statistics, "the plans of joins and ranges"),
    Fact(
        "age of the statistics",
        _statistics_age,
        "nothing as long as they are current",
        write=lambda is_old: "a day or more" if is_old else "less than a day",
        has_weight=False,
    ),
    Fact("huge pages", _huge_pages, "CPU of memory access with a large buffer pool", ("large_pages",)),
    Fact("CPU", _cpu, "everything: a governor other than performance lowers the clock between statements"),
    Fact("memory", _memory, "the page cache, and what fits into it", within=0.05),
    Fact(
        "file system",
        _file_system,
        "writes: the cost of a flush; without barriers it is almost none, and a loss of power loses data",
    ),
)
"""All facts, in the order in which they are listed."""

PROGRAM = ("server version", "build")
"""Facts in which two server programs always differ."""

TABLES = ("table definitions", "rows")
"""Facts that the options of a profile determine."""


def decided_by(settings: Iterable[str]) -> frozenset[str]:
    """The names of the facts that these settings determine."""
    names = {name.lower().replace("-", "_") for name in settings}
    return frozenset(
        fact.name
        for fact in AUDITED
        if any(
            name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
            for name in names
            for pattern in fact.settings
        )
    )


def about_servers(servers: Iterable[ServerInfo]) -> frozenset[str]:
    """The intended differences of these servers: `PROGRAM` if their versions differ, otherwise none."""
    return frozenset(PROGRAM if len({(one.flavour, one.version) for one in servers}) > 1 else ())


def audit(
    sides: Sequence[Sequence[SweepEnvironment]], intended: Collection[str] = ()
) -> tuple[SetupDifference, ...]:
    """The facts that differ between the sides or within a side; each side is one or more runs or starts.

    `intended` are the names of facts that may differ. A side that agrees with the first one has the text of
    the first one. A fact that is unknown on all sides is left out.
    """
    read = [[AuditedRun(around) for around in side] for side in sides]
    found = []
    for fact in AUDITED:
        values = [list(dict.fromkeys(map(fact.read, side))) for side in read]
        # A side without values is possible: a run that ended early has no record of its server.
        first = next((value for side in values for value in side), None)
        if all(fact.agree(first, value) for side in values for value in side):
            continue
        texts = _apart(
            [
                " / ".join(
                    dict.fromkeys(fact.text(first if fact.agree(first, value) else value) for value in side)
                )
                or UNKNOWN
                for side in values
            ]
        )
        found.append(
            SetupDifference(
                group="in effect",
                path=fact.name,
                values=texts,
                worth=fact.worth,
                intended=fact.name in intended,
                has_weight=fact.has_weight and UNKNOWN not in texts,
            )
        )
    return tuple(found)


def _apart(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts; long lists without the words that they have in common."""
    if max(map(len, texts)) <= LONGEST_LIST:
        return tuple(texts)
    words = [re.split(r"[,;] ", text) for text in texts]
    common = set.intersection(*map(set, words))
    return tuple(", ".join(word for word in each if word not in common) or units.DASH for each in words)


def caveat(found: Iterable[SetupDifference], side: int) -> str:
    """The caveat of a side's verdict: "but redo log capacity differs"; empty if there is none."""
    names = [
        one.path
        for one in found
        if one.has_weight
        and not one.intended
        and (one.values[side] != one.values[0] or " / " in one.values[0])
    ]
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    shown = names[:MOST_NAMED]
    listed = (
        ", ".join(shown) if more else " and ".join([", ".join(shown[:-1])] * (len(shown) > 1) + shown[-1:])
    )
    return f"but {listed}{more} {'differs' if len(names) == 1 else 'differ'}"


def audit_table(found: Sequence[SetupDifference], names: Sequence[str]) -> Table:
    """A table with a row per difference; intended ones are marked and come last."""
    rows = tuple(
        (
            one.path,
            *(units.shorten(each, LONGEST_LIST) for each in one.values),
            "intended" if one.intended else one.worth,
        )
        for one in sorted(found, key=lambda one: (one.intended, not one.has_weight))
    )
    return Table(header=("", *names, "worth"), rows=rows, words=2 + len(names))
