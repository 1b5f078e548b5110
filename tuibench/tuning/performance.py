"""Settings of performance; none loses a committed transaction.

InnoDB's pages, caches, flushing, purge and read-ahead; statement memory, caches, threads, locks, the
optimizer and logs.
"""

from functools import partial

from tuibench.model.counters import DEADLOCKS, HISTORY_LIST_LENGTH, Counter
from tuibench.model.settings import ServerVariable, SettingRole, SettingTopic
from tuibench.tuning.setting import (
    ABOVE_ZERO,
    CONNECTIONS,
    NEVER,
    NONE_NEEDED,
    OFF,
    ON,
    MemoryUse,
    Setting,
    SettingScope,
    TrialRule,
    ValueKind,
    both,
    mariadb,
    mysql,
)

KIB, MIB, GIB = 2**10, 2**20, 2**30
_WORD = 2**32 - 1
_FLUSHED = (Counter.POOL_PAGES_FLUSHED, Counter.POOL_BYTES_DIRTY, Counter.POOL_WAIT_FREE)
_SPIN = (Counter.ROW_LOCK_WAITS, Counter.THREADS_RUNNING)
_PERFORMANCE_READS = (Counter.POOL_READ_REQUESTS, Counter.POOL_READS)
_PERFORMANCE_FLUSHED = (Counter.POOL_PAGES_FLUSHED, Counter.DATA_WRITTEN)
_READS = (Counter.POOL_READS, Counter.READ_AHEAD, Counter.DATA_READ)

AT_START = both(dynamic_since=NEVER)
_BUFFERED = ("none", "inserts", "deletes", "changes", "purges", "all")

_flushing = partial(Setting, topic=SettingTopic.FLUSHING, counters=_FLUSHED)
_purge = partial(Setting, topic=SettingTopic.PURGE, counters=HISTORY_LIST_LENGTH)
_reading = partial(Setting, topic=SettingTopic.READING, counters=_READS)

_memory = partial(Setting, topic=SettingTopic.MEMORY, counters=_PERFORMANCE_READS)
_cache = partial(Setting, topic=SettingTopic.CACHES)
_threads = partial(Setting, topic=SettingTopic.THREADS, counters=_SPIN)
_locking = partial(Setting, topic=SettingTopic.LOCKING)
_logging = partial(Setting, topic=SettingTopic.LOGGING)

FLUSHING = (
    _flushing(
        name="innodb_max_dirty_pages_pct",
        kind=ValueKind.PERCENT,
        supported=both(0, 99),
        meanings={"0.000000": "dirty pages are flushed as soon as possible"},
        otherwise="flushing keeps dirty pages below {value} % of the buffer pool",
        offered=("90", "75", "50"),
        risk="A low value writes the same page more often; a high one lengthens recovery after a crash.",
    ),
    _flushing(
        name="innodb_max_dirty_pages_pct_lwm",
        kind=ValueKind.PERCENT,
        supported=both(0, 99),
        meanings={"0.000000": "no flushing ahead of innodb_max_dirty_pages_pct"},
        otherwise="flushing ahead begins at {value} % dirty pages",
        offered=("0", "10", "50"),
        risk="Early flushing writes more pages in total; without it, flushing comes in bursts.",
    ),
    _flushing(
        name="innodb_adaptive_flushing",
        meanings={
            ON: "the rate of flushing follows the rate of redo",
            OFF: "flushing ignores the rate of redo until the redo log is nearly full",
        },
        risk="When off, a full redo log stops all writes until pages are flushed.",
        counters=(*_FLUSHED, Counter.LOG_WAITS),
    ),
    _flushing(
        name="innodb_adaptive_flushing_lwm",
        kind=ValueKind.PERCENT,
        supported=(mariadb(0, 70), mysql(0, 70, kind=ValueKind.INTEGER)),
        otherwise="adaptive flushing begins when {value} % of the redo log are used",
        offered=("10", "30", "60"),
        risk="A high value leaves little space in the redo log for a burst of writes.",
    ),
    _flushing(
        name="innodb_flushing_avg_loops",
        supported=both(1, 1000),
        otherwise="the rate of flushing is averaged over {value} rounds",
        offered=("30", "5", "200"),
        risk="A high value is slow to follow a change of the load; a low one makes flushing uneven.",
    ),
    _flushing(
        name="innodb_flush_sync",
        supported=(mariadb(), mysql(since=(5, 7, 8))),
        meanings={
            ON: "at a checkpoint, flushing may exceed innodb_io_capacity",
            OFF: "flushing obeys innodb_io_capacity at a checkpoint, too",
        },
        risk="When off, writes wait longer for a full redo log; when on, bursts of flushing delay reads.",
    ),
    _flushing(
        name="innodb_lru_scan_depth",
        supported=both(100, _WORD),
        otherwise="each buffer pool is scanned {value} pages deep for pages to free",
        offered=("1024", "256", "4096"),
        risk="A high value costs CPU time every second; with a low one, reads lack free pages.",
        counters=(Counter.POOL_WAIT_FREE, Counter.POOL_PAGES_FLUSHED),
    ),
    _flushing(
        name="innodb_idle_flush_pct",
        supported=(mysql(0, 100, since=(8, 0, 18)),),
        otherwise="an idle server flushes with {value} % of innodb_io_capacity",
        offered=("100", "20"),
        risk="A low value saves writes while the server is idle, and leaves more dirty pages for later.",
    ),
    _flushing(
        name="innodb_use_fdatasync",
        supported=(mysql(since=(8, 0, 26)),),
        meanings={
            ON: "files are flushed with fdatasync, without their modification time",
            OFF: "files are flushed with fsync",
        },
        risk="No risk for data: fdatasync writes everything needed to read a file again.",
        counters=(Counter.DATA_FSYNCS, Counter.OS_LOG_FSYNCS),
    ),
    _flushing(
        name=ServerVariable.FLUSH_METHOD,
        supported=both(values=("fsync", "O_DSYNC", "O_DIRECT", "O_DIRECT_NO_FSYNC"), dynamic_since=NEVER),
        meanings={
            "fsync": "pages are read and written through the page cache of the kernel, and flushed",
            "O_DSYNC": "as fsync; the redo log is opened so that each write is flushed",
            "O_DIRECT": "pages are read and written past the page cache of the kernel, and flushed",
            "O_DIRECT_NO_FSYNC": "as O_DIRECT; writes that do not change the size of a file are not flushed",
        },
        offered=("O_DIRECT", "fsync", "O_DIRECT_NO_FSYNC", "O_DSYNC"),
        safe=("fsync", "O_DSYNC", "O_DIRECT"),
        risk="Without O_DIRECT pages are in memory twice; O_DIRECT_NO_FSYNC loses pages if the disk has a "
        "volatile cache.",
        counters=(Counter.DATA_FSYNCS, Counter.POOL_READS, Counter.POOL_PAGES_FLUSHED),
    ),
    _flushing(
        name="innodb_use_native_aio",
        supported=AT_START,
        meanings={
            ON: "the kernel reads and writes pages in the background (io_uring or libaio)",
            OFF: "threads of the server read and write pages, each waits for its own",
        },
        risk="When off, more I/O threads are needed for the same reads and writes.",
        counters=(*_FLUSHED, *_READS),
    ),
    _flushing(
        name="innodb_page_cleaners",
        supported=(
            mariadb(1, 64, since=(10, 2, 2), until=(10, 5), dynamic_since=NEVER),
            mysql(1, 64, since=(5, 7, 4), dynamic_since=NEVER),
        ),
        otherwise="threads that flush dirty pages: {value}, at most one for each instance of the buffer pool",
        offered=("1", "4", "8"),
        risk="Many threads compete with transactions for the disk; too few fall behind.",
    ),
    _flushing(
        name="innodb_doublewrite_pages",
        supported=(mysql(1, 512, since=(8, 0, 20), dynamic_since=NEVER),),
        otherwise="up to {value} pages in a batch of the doublewrite buffer",
        offered=("16", "128", "512"),
        risk="Large batches take longer to flush.",
        counters=(Counter.DBLWR_WRITES,),
    ),
)

PURGE = (
    _purge(
        name="innodb_purge_batch_size",
        supported=both(1, 5000),
        otherwise="old row versions are purged {value} undo pages at a time",
        offered=("300", "30", "1000"),
        risk="Large batches delay other threads; with small ones, old row versions accumulate.",
    ),
    _purge(
        name="innodb_purge_threads",
        supported=(mariadb(1, 32, dynamic_since=(10, 5)), mysql(1, 32, dynamic_since=NEVER)),
        otherwise="threads that purge old row versions: {value}",
        offered=("1", "4", "8"),
        risk="Many threads compete with transactions for CPU and locks; too few fall behind.",
    ),
    _purge(
        name="innodb_purge_rseg_truncate_frequency",
        supported=both(1, 128),
        otherwise="undo space is freed after every {value} rounds of purge",
        offered=("128", "32"),
        risk="A low value frees undo space earlier, and costs time.",
    ),
    _purge(
        name="innodb_max_purge_lag",
        supported=both(0, _WORD),
        meanings={"0": "writes are not delayed for purge"},
        otherwise="writes are delayed while more than {value} transactions wait for purge",
        offered=("0", "100000", "1000000"),
        risk="A low value slows every write down while purge is behind.",
        trial=TrialRule.RISKY,
    ),
    _purge(
        name="innodb_max_purge_lag_delay",
        supported=both(0, 10_000_000),
        meanings={"0": "no limit of the delay that innodb_max_purge_lag imposes"},
        otherwise="innodb_max_purge_lag delays a write by at most {value} µs",
        offered=("0", "1000", "10000"),
        risk="A high value lets a single write wait for up to ten seconds.",
        trial=TrialRule.RISKY,
    ),
    _purge(
        name="innodb_undo_log_truncate",
        supported=(mariadb(), mysql(since=(5, 7, 5))),
        meanings={
            ON: "undo tablespaces that have grown large are truncated",
            OFF: "undo tablespaces never shrink",
        },
        risk="Truncating a tablespace can stall transactions; without it the files never shrink.",
    ),
)

READING = (
    _reading(
        name="innodb_read_ahead_threshold",
        supported=both(0, 64),
        meanings={"0": "no read-ahead of the next extent"},
        otherwise="the next extent is read ahead after {value} of its 64 pages were read in order",
        offered=("56", "0", "16"),
        risk="Early read-ahead fills the buffer pool with pages that may never be read.",
    ),
    _reading(
        name="innodb_random_read_ahead",
        meanings={
            OFF: "no read-ahead for pages that are read in random order",
            ON: "the rest of an extent is read when 13 of its pages are in the buffer pool",
        },
        risk="When on, speculative reads compete with others for the disk.",
    ),
    _reading(
        name="innodb_old_blocks_pct",
        supported=both(5, 95),
        otherwise="{value} % of the buffer pool is for pages that were read once",
        offered=("37", "20", "60"),
        rounding="it is kept as a fraction of 1024 pages",
        rounding_step=1,
        risk="If too high, a scan displaces pages that are used often.",
    ),
    _reading(
        name="innodb_old_blocks_time",
        supported=both(0, _WORD),
        meanings={"0": "a page counts as used often at its second access"},
        otherwise="a page counts as used often when it is used again after {value} ms",
        offered=("1000", "0", "5000"),
        risk="With 0, one scan of a table displaces the pages that are used often.",
    ),
    _reading(
        name="innodb_read_io_threads",
        supported=(mariadb(1, 64, dynamic_since=(10, 11)), mysql(1, 64, dynamic_since=NEVER)),
        otherwise="threads that complete reads from disk: {value}",
        offered=("4", "8", "16"),
        risk="More threads than the disk can serve in parallel only take memory.",
    ),
    _flushing(
        name="innodb_write_io_threads",
        supported=(mariadb(2, 64, dynamic_since=(10, 11)), mysql(1, 64, dynamic_since=NEVER)),
        otherwise="threads that complete writes to disk: {value}",
        offered=("4", "8", "16"),
        risk="More threads than the disk can serve in parallel only take memory.",
    ),
    _reading(
        name="innodb_change_buffering",
        supported=(mariadb(values=_BUFFERED, until=(11,)), mysql(values=_BUFFERED)),
        meanings={
            "none": "changes of secondary indexes are made at once",
            "all": "changes of index pages that are not in memory are buffered and merged later",
        },
        otherwise="changes of index pages that are not in memory are buffered: {value}",
        risk="Buffered changes save reads now; merging them later takes disk and time, at a restart, too.",
        counters=(*_READS, Counter.POOL_PAGES_FLUSHED),
    ),
    _reading(
        name="innodb_change_buffer_max_size",
        supported=(mariadb(0, 50, until=(11,)), mysql(0, 50)),
        otherwise="buffered changes take up to {value} % of the buffer pool",
        offered=("5", "25", "50"),
        risk="Space for buffered changes is not available for pages.",
        acts_with={"innodb_change_buffering": _BUFFERED[1:]},
    ),
    Setting(
        name="innodb_stats_auto_recalc",
        topic=SettingTopic.OPTIMIZER,
        supported=(mariadb(), mysql(since=(5, 6, 6))),
        meanings={
            ON: "the statistics of a table are updated after a tenth of its rows have changed",
            OFF: "the statistics of a table are updated by ANALYZE TABLE only",
        },
        risk="When off, the optimizer uses old statistics, and its plans may get worse.",
        counters=(Counter.POOL_READ_REQUESTS,),
    ),
)


_MOST = 2**63 - 1

ISOLATION_LEVELS = ("READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE")
YEAR_SECONDS = 365 * 24 * 3600

PERFORMANCE = (
    _memory(
        name=ServerVariable.BUFFER_POOL_SIZE,
        kind=ValueKind.SIZE,
        supported=(
            mariadb(5 * MIB, _MOST, dynamic_since=(10, 2, 2)),
            mysql(5 * MIB, _MOST, dynamic_since=(5, 7, 5)),
        ),
        otherwise="{value} of pages kept in memory",
        offered=(str(128 * MIB), str(GIB), str(4 * GIB)),
        risk="If too large, the host swaps or kills the server; resizing may stall transactions for seconds.",
        roles=(SettingRole.REPORT,),
        memory=MemoryUse.ONCE,
        rounding="it is rounded to whole chunks of the buffer pool",
        rounding_step=8 * GIB,
        slow=True,
    ),
    _memory(
        name="innodb_buffer_pool_instances",
        supported=(
            mariadb(1, 64, until=(10, 5), dynamic_since=NEVER),
            mysql(1, 64, since=(5, 5, 4), dynamic_since=NEVER),
        ),
        meanings={"1": "one buffer pool, whose lists have one lock each"},
        otherwise="the buffer pool is {value} pools with locks of their own",
        offered=("1", "4", "8", "16"),
        risk="Each instance has its share of the pages: small ones evict pages early.",
    ),
    _memory(
        name="innodb_buffer_pool_chunk_size",
        kind=ValueKind.SIZE,
        supported=(
            mariadb(MIB, _MOST, since=(10, 2, 2), until=(10, 11, 12), dynamic_since=NEVER),
            mysql(MIB, _MOST, since=(5, 7, 5), dynamic_since=NEVER),
        ),
        otherwise="the buffer pool is resized by {value} at a time",
        offered=(str(2 * MIB), str(32 * MIB), str(128 * MIB)),
        risk="The buffer pool is rounded up to whole chunks of every instance.",
        trial=TrialRule.NEVER,
    ),
    _memory(
        name=ServerVariable.PAGE_SIZE,
        kind=ValueKind.SIZE,
        supported=both(4 * KIB, 64 * KIB, dynamic_since=NEVER),
        otherwise="tables and the buffer pool consist of pages of {value}",
        offered=(str(16 * KIB), str(4 * KIB), str(8 * KIB)),
        risk="Files keep the page size of their creation: all data has to be dumped and loaded again.",
        counters=(*_PERFORMANCE_READS, *_PERFORMANCE_FLUSHED),
        at_start="files keep the page size of their creation",
    ),
    _memory(
        name="large_pages",
        supported=AT_START,
        meanings={
            OFF: "the buffer pool is in pages of the usual size",
            ON: "the buffer pool is in huge pages, as far as the kernel has reserved them",
        },
        risk="Reserved huge pages are not available for anything else; too few are not used at all.",
        trial=TrialRule.NEVER,
    ),
    _memory(
        name="character_set_server",
        supported=(
            mariadb(values=("latin1", "utf8mb3", "utf8mb4", "binary"), dynamic_since=NEVER),
            mysql(values=("latin1", "utf8mb3", "utf8mb4", "binary"), dynamic_since=NEVER),
        ),
        meanings={
            "latin1": "new databases have one byte per character",
            "utf8mb4": "new databases have up to four bytes per character",
            "binary": "new databases have bytes instead of characters",
        },
        otherwise="new databases have the character set {value}",
        offered=("utf8mb4", "latin1"),
        risk="Text that the character set does not have cannot be stored.",
        trial=TrialRule.NEVER,
        at_start="databases and tables keep the character set of their creation",
    ),
    _flushing(
        name=ServerVariable.IO_CAPACITY,
        supported=both(100, 2**32 - 1),
        otherwise="background flushing may use about {value} writes per second",
        offered=("200", "1000", "2000", "10000"),
        risk="If too low, dirty pages accumulate until flushing stalls everything; if too high, reads get "
        "too little of the disk.",
        counters=_PERFORMANCE_FLUSHED,
    ),
    _flushing(
        name=ServerVariable.IO_CAPACITY_MAX,
        supported=(mariadb(100, 2**32 - 1, since=(10,)), mysql(100, 2**32 - 1, since=(5, 6))),
        otherwise="flushing that falls behind may use about {value} writes per second",
        offered=("2000", "4000", "20000"),
        risk="If too high, a burst of flushing slows all other disk access.",
        counters=_PERFORMANCE_FLUSHED,
    ),
    _cache(
        name=ServerVariable.TABLE_OPEN_CACHE,
        supported=(mariadb(10, 2**20), mysql(1, 2**19)),
        otherwise="up to {value} tables kept open",
        offered=("400", "2000", "4000", "10000"),
        risk="Open tables take memory and file descriptors; if too few, tables are opened again and again.",
        counters=(Counter.OPENED_TABLES, Counter.TABLE_CACHE_MISSES, Counter.TABLE_CACHE_OVERFLOWS),
    ),
    _cache(
        name="table_open_cache_instances",
        supported=(
            mariadb(1, 64, since=(10, 2, 2), dynamic_since=NEVER),
            mysql(1, 64, since=(5, 6, 6), dynamic_since=NEVER),
        ),
        otherwise="the cache of open tables has {value} parts with locks of their own",
        offered=("1", "8", "16"),
        risk="With few parts, connections wait for each other at each statement; MariaDB adds parts itself.",
        counters=(Counter.TABLE_CACHE_MISSES, Counter.TABLE_CACHE_OVERFLOWS, Counter.OPENED_TABLES),
    ),
    _cache(
        name="thread_cache_size",
        supported=both(0, 16384),
        meanings={"0": "every connection gets a new thread"},
        otherwise="up to {value} threads kept for new connections",
        offered=("0", "16", "100", "256"),
        risk="Idle threads take memory; without them, every connection creates a new thread.",
        counters=(Counter.THREADS_CREATED, Counter.CONNECTIONS),
    ),
    _threads(
        name=ServerVariable.MAX_CONNECTIONS,
        supported=(mariadb(10, 100_000), mysql(1, 100_000)),
        otherwise="up to {value} clients at a time",
        offered=("151", "500", "1000", "5000"),
        risk="If too few, clients are refused, including tuibench; too many can use all memory.",
        needs=CONNECTIONS,
        trial=TrialRule.NEVER,
        counters=(Counter.CONNECTIONS, Counter.ABORTED_CONNECTS),
    ),
    _logging(
        name=ServerVariable.LONG_QUERY_TIME,
        kind=ValueKind.DECIMAL,
        scope=SettingScope.DEFAULT,
        supported=both(0, YEAR_SECONDS),
        meanings={"0.000000": "every statement is slow"},
        otherwise="statements that take longer than {value} s are slow",
        offered=("10", "1", "0.1", "0"),
        risk="With the slow query log on, a low value writes a line for every statement.",
        trial=TrialRule.NEVER,
        counters=(Counter.SLOW_QUERIES,),
    ),
    _logging(
        name=ServerVariable.SLOW_QUERY_LOG,
        meanings={OFF: "slow statements are only counted", ON: "slow statements are written to a log"},
        risk="The log grows on the server's disk, and each line costs time.",
        tried=(OFF,),
        counters=(Counter.SLOW_QUERIES,),
    ),
    Setting(
        name="innodb_redo_log_capacity",
        topic=SettingTopic.REDO,
        kind=ValueKind.SIZE,
        supported=(
            mysql(8 * MIB, 128 * GIB, since=(8, 0, 30), until=(8, 0, 34)),
            mysql(8 * MIB, 512 * GIB, since=(8, 0, 34)),
        ),
        otherwise="{value} of redo log on disk",
        offered=(str(100 * MIB), str(GIB), str(8 * GIB)),
        risk="If too small, flushing stalls the load; a large log takes disk space and slows recovery.",
        roles=(SettingRole.REPORT,),
        memory=MemoryUse.DISK,
        counters=(Counter.OS_LOG_WRITTEN, Counter.LOG_WAITS, Counter.POOL_PAGES_FLUSHED),
        rounding="it is rounded to whole MiB",
        rounding_step=MIB,
    ),
    Setting(
        name="innodb_log_file_size",
        topic=SettingTopic.REDO,
        kind=ValueKind.SIZE,
        supported=(
            mariadb(4 * MIB, 512 * GIB, dynamic_since=(10, 9)),
            mysql(4 * MIB, 512 * GIB, until=(8, 0, 30), dynamic_since=NEVER),
        ),
        otherwise="{value} of redo log on disk",
        offered=(str(96 * MIB), str(GIB), str(8 * GIB)),
        risk="If too small, flushing stalls the load; a large log takes disk space and slows recovery.",
        roles=(SettingRole.REPORT,),
        memory=MemoryUse.DISK,
        counters=(Counter.OS_LOG_WRITTEN, Counter.LOG_WAITS, Counter.POOL_PAGES_FLUSHED),
        rounding="it is rounded to whole blocks of 4 KiB",
        rounding_step=4096,
        slow=True,
    ),
    _reading(
        name="innodb_adaptive_hash_index",
        meanings={
            OFF: "index pages are found through the index alone",
            ON: "hot index pages are found through a hash table in memory",
        },
        risk="When on, its latches can delay many writing threads; disabling it empties it under a lock.",
        counters=_PERFORMANCE_READS,
    ),
    _reading(
        name="innodb_adaptive_hash_index_parts",
        supported=(
            mariadb(1, 512, since=(10, 2, 2), dynamic_since=NEVER),
            mysql(1, 512, since=(5, 7, 8), dynamic_since=NEVER),
        ),
        otherwise="the hash index has {value} parts with locks of their own",
        offered=("8", "1", "64"),
        risk="With few parts, writing threads wait for each other; each part takes memory.",
        counters=_PERFORMANCE_READS,
        acts_with={"innodb_adaptive_hash_index": (ON,)},
    ),
    _flushing(
        name="innodb_flush_neighbors",
        supported=both(0, 2),
        meanings={
            "0": "dirty pages are flushed one by one, suitable for an SSD",
            "1": "adjacent dirty pages are flushed together",
            "2": "all dirty pages of the same extent are flushed together",
        },
        risk="On an SSD, flushing neighbours writes more than needed; on a rotating disk it saves seeks.",
        counters=_PERFORMANCE_FLUSHED,
    ),
    _threads(
        name="innodb_thread_concurrency",
        supported=(mariadb(0, 1000, until=(10, 6)), mysql(0, 1000)),
        meanings={"0": "no limit for threads inside InnoDB"},
        otherwise="up to {value} threads inside InnoDB at a time",
        offered=("0", "8", "32", "128"),
        risk="If too few, transactions wait to enter InnoDB while the host is idle.",
        counters=(Counter.ROW_LOCK_WAITS,),
    ),
    _locking(
        name="innodb_lock_wait_timeout",
        scope=SettingScope.DEFAULT,
        supported=(mariadb(0, 100_000_000), mysql(1, 2**30)),
        meanings={"0": "statements do not wait for row locks"},
        otherwise="statements wait up to {value} s for a row lock",
        offered=("50", "10", "5", "1"),
        risk="With a low value, more transactions fail with error 1205.",
        trial=TrialRule.NEVER,
        counters=(Counter.ROW_LOCK_WAITS, Counter.ROW_LOCK_TIME),
    ),
    _locking(
        name=ServerVariable.ISOLATION,
        scope=SettingScope.WORKLOAD,
        supported=both(values=ISOLATION_LEVELS),
        meanings={
            "READ-UNCOMMITTED": "the load reads uncommitted data",
            "READ-COMMITTED": "each statement of the load sees data committed before the statement",
            "REPEATABLE-READ": "each transaction of the load sees one consistent snapshot",
            "SERIALIZABLE": "reads of the load lock the rows that they read",
        },
        offered=("REPEATABLE-READ", "READ-COMMITTED", "READ-UNCOMMITTED", "SERIALIZABLE"),
        allows={
            "READ-UNCOMMITTED": "dirty reads, aborted reads, fuzzy reads, read skews, phantoms, "
            "lost updates, write skews",
            "READ-COMMITTED": "fuzzy reads, read skews, phantoms, lost updates, write skews",
            "REPEATABLE-READ": "lost updates, write skews",
        },
        risk="Below SERIALIZABLE, the load may lose updates without an error; with statement-based binary "
        "logging, writes are refused below REPEATABLE-READ.",
        needs=NONE_NEEDED,
        trial=TrialRule.RISKY,
        counters=(Counter.ROW_LOCK_WAITS, Counter.DEADLOCKS),
    ),
)


_TEMPORARY = (Counter.TMP_DISK_TABLES, Counter.TMP_TABLES)
_CACHED = (Counter.QUERY_CACHE_HITS, Counter.QCACHE_INSERTS)

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
    needs=CONNECTIONS,
    counters=(Counter.THREADPOOL_THREADS, Counter.THREADS_RUNNING),
    acts_with={"thread_handling": ("pool-of-threads",)},
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
        supported=(mariadb(KIB, 4 * GIB), mysql(32 * KIB, 4 * GIB)),
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
        supported=(mysql(2 * MIB, 1024 * GIB, since=(8, 0, 2)),),
        otherwise="all internal temporary tables together take up to {value} of memory",
        offered=(str(256 * MIB), str(GIB), str(4 * GIB)),
        risk="Beyond it temporary tables go to disk.",
        counters=_TEMPORARY,
        memory=MemoryUse.ONCE,
    ),
    Setting(
        name="internal_tmp_mem_storage_engine",
        topic=SettingTopic.MEMORY,
        scope=SettingScope.DEFAULT,
        supported=(mysql(values=("TempTable", "MEMORY"), since=(8, 0, 2)),),
        meanings={
            "TempTable": "internal temporary tables have rows of variable length",
            "MEMORY": "internal temporary tables have rows of fixed length",
        },
        risk="MEMORY takes the full length of each VARCHAR, and has no BLOBs.",
        counters=_TEMPORARY,
    ),
)

CACHES = (
    _cache(
        name=ServerVariable.TABLE_DEFINITION_CACHE,
        supported=(mariadb(400, 2**21), mysql(400, 2**19)),
        otherwise="up to {value} table definitions kept in memory",
        offered=("400", "2000", "10000"),
        risk="If too few, definitions are read again and again; each takes memory.",
        counters=(Counter.OPENED_TABLE_DEFINITIONS, Counter.OPENED_TABLES),
    ),
    _cache(
        name="host_cache_size",
        supported=(mariadb(0, 65_536), mysql(0, 65_536, since=(5, 6, 5))),
        meanings={"0": "the name of a host is looked up at each login"},
        otherwise="the names of up to {value} hosts are kept",
        offered=("128", "803", "2000"),
        risk="Without it each login waits for the name server; a change empties the cache.",
        counters=(Counter.CONNECTIONS,),
        trial=TrialRule.NEVER,
    ),
    _cache(
        name="query_cache_type",
        scope=SettingScope.DEFAULT,
        supported=(mariadb(values=(OFF, ON, "DEMAND"), stuck=(OFF,)),),
        meanings={
            OFF: "results are not cached",
            ON: "results of SELECTs are cached until a table of theirs changes",
            "DEMAND": "results of SELECT SQL_CACHE are cached until a table of theirs changes",
        },
        risk="One lock protects the cache: many writing threads wait for it.",
        counters=_CACHED,
    ),
    _cache(
        name="query_cache_size",
        kind=ValueKind.SIZE,
        supported=(mariadb(0, 64 * GIB),),
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
        supported=(mariadb(0, _WORD),),
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
        supported=(mariadb(0, 6000), mysql(0, 1000)),
        meanings={"0": "no pause between two attempts to get a latch"},
        otherwise="up to {value} units of pause between two attempts to get a latch",
        offered=("4", "6", "24"),
        risk="Long pauses notice a free latch late; short ones load the memory bus.",
    ),
    _threads(
        name="innodb_spin_wait_pause_multiplier",
        supported=(mysql(0, 100, since=(8, 0, 16)),),
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
        supported=(mariadb(0, 1_000_000, until=(10, 6)), mysql(0, 1_000_000)),
        meanings={"0": "a thread joins the queue before InnoDB at once"},
        otherwise="a thread sleeps {value} µs before it joins the queue before InnoDB",
        offered=("10000", "0", "1000"),
        risk="Long sleeps leave cores idle.",
        acts_with={"innodb_thread_concurrency": (ABOVE_ZERO,)},
    ),
    _threads(
        name="innodb_adaptive_max_sleep_delay",
        supported=(mysql(0, 1_000_000, since=(5, 6, 3)),),
        meanings={"0": "innodb_thread_sleep_delay is not adapted"},
        otherwise="innodb_thread_sleep_delay is adapted up to {value} µs",
        offered=("150000", "0"),
        risk="Long sleeps leave cores idle.",
        acts_with={"innodb_thread_concurrency": (ABOVE_ZERO,)},
    ),
    _threads(
        name="innodb_concurrency_tickets",
        supported=(mariadb(1, _WORD, until=(10, 6)), mysql(1, _WORD)),
        otherwise="a thread inside InnoDB may read {value} rows before it queues again",
        offered=("5000", "500", "50000"),
        risk="A high value makes small statements wait for large ones.",
        acts_with={"innodb_thread_concurrency": (ABOVE_ZERO,)},
    ),
    _threads(
        name="thread_handling",
        supported=(mariadb(values=("one-thread-per-connection", "pool-of-threads"), dynamic_since=NEVER),),
        meanings={
            "one-thread-per-connection": "each connection has a thread",
            "pool-of-threads": "connections share a pool of threads, about one running per core",
        },
        risk="In a pool, short statements may wait behind long ones; few connections gain nothing from it.",
        counters=(Counter.THREADPOOL_THREADS, Counter.THREADS_RUNNING),
    ),
    _threads(
        name="innodb_sync_array_size",
        supported=(mysql(1, 1024, since=(5, 6, 3), dynamic_since=NEVER),),
        otherwise="the list of threads that wait inside InnoDB has {value} parts with locks of their own",
        offered=("1", "16", "64"),
        risk="Worth a trial only if hundreds of threads wait at the same time.",
    ),
    _pool(
        name="thread_pool_size",
        supported=(mariadb(1, 128, dynamic_since=NEVER),),
        at_start="a change while there is no thread pool makes it 0 for good",
        otherwise="the thread pool has {value} groups of threads, each with about one that runs",
        offered=("2", "8", "32"),
        risk="With few groups, statements wait while cores are idle; with many, a pool has no advantage.",
    ),
    _pool(
        name="thread_pool_stall_limit",
        supported=(mariadb(1, _WORD),),
        otherwise="a group of threads counts as stalled after {value} ms",
        offered=("500", "60", "100"),
        risk="A low value starts threads that the cores cannot serve; a high one leaves clients waiting.",
    ),
    _pool(
        name="thread_pool_oversubscribe",
        supported=(mariadb(1, 1000),),
        otherwise="a group of threads runs up to {value} more at the same time",
        offered=("3", "10"),
        risk="A high value defeats the purpose of a thread pool.",
    ),
    _pool(
        name="thread_pool_max_threads",
        supported=(mariadb(1, 65_536),),
        otherwise="the thread pool has up to {value} threads",
        offered=("65536", "2000"),
        risk="When all of them wait, no client is served, including administrators.",
        trial=TrialRule.NEVER,
    ),
)


LOCKING = (
    _locking(
        name="innodb_deadlock_detect",
        supported=(mariadb(since=(10, 2, 6)), mysql(since=(5, 7, 15))),
        meanings={ON: "deadlocks are found at once", OFF: "a deadlock ends after innodb_lock_wait_timeout"},
        risk="When off, each deadlock blocks its rows for innodb_lock_wait_timeout, by default 50 s.",
        counters=(*DEADLOCKS, Counter.ROW_LOCK_TIME),
        trial=TrialRule.RISKY,
    ),
    _locking(
        name="innodb_snapshot_isolation",
        scope=SettingScope.DEFAULT,
        supported=(mariadb(since=(10, 6, 18)),),
        meanings={
            OFF: "a locking read sees the latest version of a row, also past the snapshot",
            ON: "a locking read of a row that was changed since the snapshot fails with error 1020",
        },
        allows={OFF: "lost updates"},
        risk="When on, transactions fail with error 1020; when off, they lose the update without an error.",
        counters=(*DEADLOCKS, Counter.COM_ROLLBACK),
        trial=TrialRule.RISKY,
    ),
    _locking(
        name="lock_wait_timeout",
        scope=SettingScope.DEFAULT,
        supported=(mariadb(0, 31_536_000), mysql(1, 31_536_000)),
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
        supported=(mariadb(0, _WORD), mysql(0, _WORD, since=(5, 6, 5))),
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
        meanings={OFF: "statements are not written to a log", ON: "every statement is written to a log"},
        tried=(OFF,),
        risk="When on, every statement waits for its log line, and the log fills the disk.",
        counters=(Counter.QUESTIONS,),
    ),
    _logging(
        name=ServerVariable.PERFORMANCE_SCHEMA,
        supported=AT_START,
        meanings={
            OFF: "nothing is counted and timed beyond the status counters",
            ON: "statements and waits are counted and timed",
        },
        risk="When on, each statement takes a little longer, and memory is allocated at the start; when off, "
        "its causes of slowness stay unknown.",
        counters=(Counter.QUESTIONS,),
    ),
    _logging(
        name="log_queries_not_using_indexes",
        supported=(mysql(),),
        meanings={
            OFF: "the slow query log has slow statements only",
            ON: "the slow query log has statements without an index, too",
        },
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
        supported=(mariadb(1, _WORD),),
        meanings={"1": "each slow statement is written to the log"},
        otherwise="one in {value} slow statements is written to the log",
        offered=("1", "10", "100"),
        risk="A high value hides rare slow statements.",
        counters=(Counter.SLOW_QUERIES,),
        acts_with={"slow_query_log": (ON,)},
    ),
    _logging(
        name="log_slow_extra",
        supported=(mysql(since=(8, 0, 14)),),
        meanings={
            OFF: "lines of the slow query log are short",
            ON: "lines of the slow query log have counters",
        },
        tried=(OFF,),
        risk="Long lines take more disk space.",
        counters=(Counter.SLOW_QUERIES,),
        acts_with={"slow_query_log": (ON,)},
    ),
    _logging(
        name="innodb_print_all_deadlocks",
        meanings={OFF: "only the latest deadlock is kept", ON: "every deadlock is written to the error log"},
        tried=(OFF,),
        risk="When on, many deadlocks fill the error log, and each waits for its log lines.",
        counters=DEADLOCKS,
    ),
    _logging(
        name="userstat",
        supported=(mariadb(),),
        meanings={OFF: "no statistics by user and table", ON: "statistics by user, client, table and index"},
        tried=(OFF,),
        risk="When on, each statement takes a little longer.",
        counters=(Counter.ROWS_READ,),
    ),
)
