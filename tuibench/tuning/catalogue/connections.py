"""Settings of statement memory, caches, threads, locks, the optimizer and logs."""

from functools import partial

from tuibench.model.counters import DEADLOCKS, Counter
from tuibench.model.server import Flavour
from tuibench.model.settings import SettingTopic
from tuibench.tuning.catalogue import setting
from tuibench.tuning.catalogue.setting import (
    ABOVE_ZERO,
    OFF,
    ON,
    FlavourSupport,
    MemoryUse,
    Setting,
    SettingScope,
    TrialRule,
    ValueKind,
    both,
)

MARIADB, MYSQL = Flavour.MARIADB, Flavour.MYSQL
KIB, MIB, GIB = 2**10, 2**20, 2**30
_WORD = 2**32 - 1
_TEMPORARY = (Counter.TMP_DISK_TABLES, Counter.TMP_TABLES)
_SPIN = (Counter.ROW_LOCK_WAITS, Counter.THREADS_RUNNING)
_POOLED = {"thread_handling": ("pool-of-threads",)}
_CACHED = (Counter.QCACHE_HITS, Counter.QCACHE_INSERTS)

_cache = partial(Setting, topic=SettingTopic.CACHES)
_threads = partial(Setting, topic=SettingTopic.THREADS, counters=_SPIN)
_buffer = partial(
    Setting,
    topic=SettingTopic.MEMORY,
    kind=ValueKind.SIZE,
    scope=SettingScope.DEFAULT,
    memory=MemoryUse.PER_CONNECTION,
)
_pool = partial(
    Setting,
    topic=SettingTopic.THREADS,
    needs=setting.CONNECTIONS,
    counters=(Counter.THREADPOOL_THREADS, Counter.THREADS_RUNNING),
    acts_with=_POOLED,
)

MEMORY = (
    _buffer(
        name="tmp_table_size",
        supported=both(KIB, 64 * GIB),
        otherwise="an internal temporary table of more than {value} goes to disk",
        offered=(str(16 * MIB), str(64 * MIB), str(256 * MIB)),
        risk="Each statement may take that much memory.",
        counters=_TEMPORARY,
        rounding="it is rounded to whole blocks",
        rounding_step=16 * KIB,
    ),
    _buffer(
        name="max_heap_table_size",
        supported=both(16 * KIB, 64 * GIB),
        otherwise="tables in memory, internal temporary ones, too, have up to {value}",
        offered=(str(16 * MIB), str(64 * MIB), str(256 * MIB)),
        risk="Each statement may take that much memory.",
        counters=_TEMPORARY,
        rounding="it is rounded to whole KiB",
        rounding_step=KIB,
    ),
    _buffer(
        name="sort_buffer_size",
        supported=(FlavourSupport(MARIADB, KIB, 4 * GIB), FlavourSupport(MYSQL, 32 * KIB, 4 * GIB)),
        otherwise="a sort takes up to {value} of memory",
        offered=(str(256 * KIB), str(2 * MIB), str(8 * MIB)),
        risk="Each sort may take that much memory; large buffers cost time to allocate.",
        counters=(Counter.SORT_MERGE_PASSES,),
    ),
    _buffer(
        name="join_buffer_size",
        supported=both(128, 4 * GIB),
        otherwise="a join without an index takes up to {value} of memory",
        offered=(str(256 * KIB), str(MIB), str(4 * MIB)),
        risk="Each such join may take that much memory.",
        counters=(Counter.SELECT_FULL_JOIN, Counter.SELECT_SCAN),
        rounding="it is rounded to whole blocks of 128 bytes",
        rounding_step=128,
    ),
    _buffer(
        name="read_buffer_size",
        supported=both(8 * KIB, 2 * GIB - 4 * KIB),
        otherwise="a scan of a temporary table reads {value} at a time",
        offered=(str(128 * KIB), str(MIB)),
        risk="Each scan may take that much memory; InnoDB's own reads do not use it.",
        counters=(Counter.HANDLER_READ_RND_NEXT,),
        rounding="it is rounded to whole blocks of 4 KiB",
        rounding_step=4 * KIB,
    ),
    _buffer(
        name="read_rnd_buffer_size",
        supported=both(1, 2 * GIB - 1),
        otherwise="rows are read in the order of their keys {value} at a time",
        offered=(str(256 * KIB), str(2 * MIB)),
        risk="Each statement may take that much memory.",
        counters=(Counter.HANDLER_READ_KEY,),
    ),
    Setting(
        name="temptable_max_ram",
        topic=SettingTopic.MEMORY,
        kind=ValueKind.SIZE,
        supported=(FlavourSupport(MYSQL, 2 * MIB, 1024 * GIB, since=(8, 0, 2)),),
        otherwise="all internal temporary tables together take up to {value} of memory",
        offered=(str(256 * MIB), str(GIB), str(4 * GIB)),
        risk="Beyond it temporary tables go to disk.",
        counters=_TEMPORARY,
        memory=MemoryUse.ONCE,
    ),
    Setting(
        name="internal_tmp_mem_storage_engine",
        topic=SettingTopic.MEMORY,
        kind=ValueKind.CHOICE,
        scope=SettingScope.DEFAULT,
        supported=(FlavourSupport(MYSQL, values=("TempTable", "MEMORY"), since=(8, 0, 2)),),
        meanings={
            "TempTable": "internal temporary tables have rows of variable length",
            "MEMORY": "internal temporary tables have rows of fixed length",
        },
        offered=("TempTable", "MEMORY"),
        risk="MEMORY takes the full length of each VARCHAR, and has no BLOBs.",
        counters=_TEMPORARY,
    ),
)

CACHES = (
    _cache(
        name="table_definition_cache",
        supported=(FlavourSupport(MARIADB, 400, 2**21), FlavourSupport(MYSQL, 400, 2**19)),
        otherwise="up to {value} table definitions kept in memory",
        offered=("400", "2000", "10000"),
        risk="If too few, definitions are read again and again; each takes memory.",
        counters=(Counter.OPENED_TABLE_DEFINITIONS, Counter.OPENED_TABLES),
    ),
    _cache(
        name="host_cache_size",
        supported=(FlavourSupport(MARIADB, 0, 65_536), FlavourSupport(MYSQL, 0, 65_536, since=(5, 6, 5))),
        meanings={"0": "the name of a host is looked up at each login"},
        otherwise="the names of up to {value} hosts are kept",
        offered=("128", "803", "2000"),
        risk="Without it each login waits for the name server; a change empties the cache.",
        counters=(Counter.CONNECTIONS,),
        trial=TrialRule.NEVER,
    ),
    _cache(
        name="query_cache_type",
        kind=ValueKind.CHOICE,
        scope=SettingScope.DEFAULT,
        supported=(FlavourSupport(MARIADB, values=(OFF, ON, "DEMAND"), stuck=(OFF,)),),
        meanings={
            OFF: "results are not cached",
            ON: "results of SELECTs are cached until a table of theirs changes",
            "DEMAND": "results of SELECT SQL_CACHE are cached until a table of theirs changes",
        },
        offered=(OFF, ON, "DEMAND"),
        risk="One lock protects the cache: many writing threads wait for it.",
        counters=_CACHED,
    ),
    _cache(
        name="query_cache_size",
        kind=ValueKind.SIZE,
        supported=(FlavourSupport(MARIADB, 0, 64 * GIB),),
        otherwise="{value} of results kept in the query cache",
        offered=("0", str(MIB), str(64 * MIB)),
        risk="A large cache delays statements while it is cleaned.",
        counters=_CACHED,
        rounding="it is rounded to whole KiB, and below 40 KiB to nothing",
        rounding_step=40 * KIB,
        memory=MemoryUse.ONCE,
        acts_with={"query_cache_type": (ON, "DEMAND")},
    ),
    _cache(
        name="query_cache_limit",
        kind=ValueKind.SIZE,
        supported=(FlavourSupport(MARIADB, 0, _WORD),),
        otherwise="results of up to {value} go to the query cache",
        offered=(str(64 * KIB), str(MIB)),
        risk="Large results displace many small ones.",
        counters=_CACHED,
        acts_with={"query_cache_type": (ON, "DEMAND")},
    ),
)

THREADS = (
    _threads(
        name="innodb_spin_wait_delay",
        supported=(FlavourSupport(MARIADB, 0, 6000), FlavourSupport(MYSQL, 0, 1000)),
        meanings={"0": "no pause between two attempts to get a latch"},
        otherwise="up to {value} units of pause between two attempts to get a latch",
        offered=("4", "6", "24"),
        risk="Long pauses notice a free latch late; short ones load the memory bus.",
    ),
    _threads(
        name="innodb_spin_wait_pause_multiplier",
        supported=(FlavourSupport(MYSQL, 0, 100, since=(8, 0, 16)),),
        otherwise="a unit of pause at a latch is {value} PAUSE instructions",
        offered=("50", "5", "100"),
        risk="On CPUs with a long PAUSE instruction, a high value notices a free latch late.",
    ),
    _threads(
        name="innodb_sync_spin_loops",
        supported=both(0, _WORD),
        meanings={"0": "a thread sleeps at once when a latch is taken"},
        otherwise="a thread tries a latch {value} times before it sleeps",
        offered=("30", "0", "100"),
        risk="With more threads than cores, spinning prevents the thread that holds the latch from running.",
    ),
    _threads(
        name="innodb_thread_sleep_delay",
        supported=(FlavourSupport(MARIADB, 0, 1_000_000, until=(10, 6)), FlavourSupport(MYSQL, 0, 1_000_000)),
        meanings={"0": "a thread joins the queue before InnoDB at once"},
        otherwise="a thread sleeps {value} µs before it joins the queue before InnoDB",
        offered=("10000", "0", "1000"),
        risk="Long sleeps leave cores idle.",
        acts_with={"innodb_thread_concurrency": (ABOVE_ZERO,)},
    ),
    _threads(
        name="innodb_adaptive_max_sleep_delay",
        supported=(FlavourSupport(MYSQL, 0, 1_000_000, since=(5, 6, 3)),),
        meanings={"0": "innodb_thread_sleep_delay is not adapted"},
        otherwise="innodb_thread_sleep_delay is adapted up to {value} µs",
        offered=("150000", "0"),
        risk="Long sleeps leave cores idle.",
        acts_with={"innodb_thread_concurrency": (ABOVE_ZERO,)},
    ),
    _threads(
        name="innodb_concurrency_tickets",
        supported=(FlavourSupport(MARIADB, 1, _WORD, until=(10, 6)), FlavourSupport(MYSQL, 1, _WORD)),
        otherwise="a thread inside InnoDB may read {value} rows before it queues again",
        offered=("5000", "500", "50000"),
        risk="A high value makes small statements wait for large ones.",
        acts_with={"innodb_thread_concurrency": (ABOVE_ZERO,)},
    ),
    _pool(
        name="thread_pool_stall_limit",
        supported=(FlavourSupport(MARIADB, 1, _WORD),),
        otherwise="a group of threads counts as stalled after {value} ms",
        offered=("500", "60", "100"),
        risk="A low value starts threads that the cores cannot serve; a high one leaves clients waiting.",
    ),
    _pool(
        name="thread_pool_oversubscribe",
        supported=(FlavourSupport(MARIADB, 1, 1000),),
        otherwise="a group of threads runs up to {value} more at the same time",
        offered=("3", "10"),
        risk="A high value defeats the purpose of a thread pool.",
    ),
    _pool(
        name="thread_pool_max_threads",
        supported=(FlavourSupport(MARIADB, 1, 65_536),),
        otherwise="the thread pool has up to {value} threads",
        offered=("65536", "2000"),
        risk="When all of them wait, no client is served, including administrators.",
        trial=TrialRule.NEVER,
    ),
)


_locking = partial(Setting, topic=SettingTopic.LOCKING)
_logging = partial(Setting, topic=SettingTopic.LOGGING)
LOCKING = (
    _locking(
        name="innodb_deadlock_detect",
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MARIADB, since=(10, 2, 6)), FlavourSupport(MYSQL, since=(5, 7, 15))),
        meanings={
            ON: "deadlocks are found at once",
            OFF: "a deadlock ends after innodb_lock_wait_timeout",
        },
        offered=(ON, OFF),
        risk="When off, each deadlock blocks its rows for innodb_lock_wait_timeout, by default 50 s.",
        counters=(*DEADLOCKS, Counter.ROW_LOCK_TIME),
        trial=TrialRule.RISKY,
    ),
    _locking(
        name="innodb_snapshot_isolation",
        kind=ValueKind.SWITCH,
        scope=SettingScope.DEFAULT,
        supported=(FlavourSupport(MARIADB, since=(10, 6, 18)),),
        meanings={
            ON: "a locking read of a row that was changed since the snapshot fails with error 1020",
            OFF: "a locking read sees the latest version of a row, also past the snapshot",
        },
        offered=(OFF, ON),
        risk="When on, more transactions fail; when off, they may lose an update.",
        counters=(*DEADLOCKS, Counter.COM_ROLLBACK),
        trial=TrialRule.RISKY,
    ),
    _locking(
        name="lock_wait_timeout",
        scope=SettingScope.DEFAULT,
        supported=(FlavourSupport(MARIADB, 0, 31_536_000), FlavourSupport(MYSQL, 1, 31_536_000)),
        meanings={"0": "statements do not wait for table locks"},
        otherwise="statements wait up to {value} s for a table's lock",
        offered=("86400", "60", "5"),
        risk="With a low value, ALTER TABLE and the statements queued behind it fail.",
        counters=(Counter.COM_ROLLBACK,),
        trial=TrialRule.NEVER,
    ),
)

OPTIMIZER = (
    Setting(
        name="eq_range_index_dive_limit",
        topic=SettingTopic.OPTIMIZER,
        scope=SettingScope.DEFAULT,
        supported=(FlavourSupport(MARIADB, 0, _WORD), FlavourSupport(MYSQL, 0, _WORD, since=(5, 6, 5))),
        meanings={"0": "the rows of each value of an IN list are estimated in the index"},
        otherwise="from {value} values of an IN list on, rows are estimated from statistics",
        offered=("200", "0", "10"),
        risk="Estimates from statistics are quicker, and may lead to a worse plan.",
        counters=(Counter.HANDLER_READ_KEY, Counter.POOL_READ_REQUESTS),
    ),
    Setting(
        name="optimizer_search_depth",
        topic=SettingTopic.OPTIMIZER,
        scope=SettingScope.DEFAULT,
        supported=both(0, 62),
        meanings={"0": "the optimizer chooses how many tables ahead it plans"},
        otherwise="the optimizer plans {value} tables ahead",
        offered=("62", "0", "4"),
        risk="A low value plans joins of many tables faster, and may miss the best plan.",
        counters=(Counter.SELECT_FULL_JOIN, Counter.HANDLER_READ_KEY),
    ),
)

LOGGING = (
    _logging(
        name="general_log",
        kind=ValueKind.SWITCH,
        supported=both(),
        meanings={ON: "every statement is written to a log", OFF: "statements are not written to a log"},
        offered=(OFF, ON),
        tried=(OFF,),
        risk="When on, every statement waits for its log line, and the log fills the disk.",
        counters=(Counter.QUESTIONS,),
    ),
    _logging(
        name="log_queries_not_using_indexes",
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MYSQL),),
        meanings={
            ON: "the slow query log has statements without an index, too",
            OFF: "the slow query log has slow statements only",
        },
        offered=(OFF, ON),
        tried=(OFF,),
        risk="With the slow query log on, each such statement writes a line.",
        counters=(Counter.SLOW_QUERIES,),
        acts_with={"slow_query_log": (ON,)},
    ),
    _logging(
        name="min_examined_row_limit",
        scope=SettingScope.DEFAULT,
        supported=both(0, _WORD),
        otherwise="the slow query log leaves out statements that examined fewer than {value} rows",
        offered=("0", "100", "1000"),
        risk="A high value hides slow statements that wait for locks.",
        counters=(Counter.SLOW_QUERIES,),
        trial=TrialRule.NEVER,
    ),
    _logging(
        name="log_slow_rate_limit",
        scope=SettingScope.DEFAULT,
        supported=(FlavourSupport(MARIADB, 1, _WORD),),
        meanings={"1": "each slow statement is written to the log"},
        otherwise="one in {value} slow statements is written to the log",
        offered=("1", "10", "100"),
        risk="A high value hides rare slow statements.",
        counters=(Counter.SLOW_QUERIES,),
        acts_with={"slow_query_log": (ON,)},
    ),
    _logging(
        name="log_slow_extra",
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MYSQL, since=(8, 0, 14)),),
        meanings={
            ON: "lines of the slow query log have counters",
            OFF: "lines of the slow query log are short",
        },
        offered=(OFF, ON),
        tried=(OFF,),
        risk="Long lines take more disk space.",
        counters=(Counter.SLOW_QUERIES,),
        acts_with={"slow_query_log": (ON,)},
    ),
    _logging(
        name="innodb_print_all_deadlocks",
        kind=ValueKind.SWITCH,
        supported=both(),
        meanings={ON: "every deadlock is written to the error log", OFF: "only the latest deadlock is kept"},
        offered=(OFF, ON),
        tried=(OFF,),
        risk="When on, many deadlocks fill the error log, and each waits for its log lines.",
        counters=DEADLOCKS,
    ),
    _logging(
        name="userstat",
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MARIADB),),
        meanings={ON: "statistics by user, client, table and index", OFF: "no statistics by user and table"},
        offered=(OFF, ON),
        tried=(OFF,),
        risk="When on, each statement takes a little longer.",
        counters=(Counter.ROWS_READ,),
    ),
)
