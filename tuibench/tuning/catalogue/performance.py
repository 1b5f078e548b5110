"""Settings of InnoDB's pages, caches, flushing, purge and read-ahead; none loses a committed transaction."""

from functools import partial

from tuibench.model.counters import HISTORY_LIST_LENGTH, Counter
from tuibench.model.server import Flavour
from tuibench.model.settings import ServerVariable, SettingRole, SettingTopic
from tuibench.tuning.catalogue import setting
from tuibench.tuning.catalogue.setting import (
    NEVER,
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
_WORD = 2**32 - 1
_FLUSHED = (Counter.POOL_PAGES_FLUSHED, Counter.POOL_BYTES_DIRTY, Counter.POOL_WAIT_FREE)
_READS = (Counter.POOL_READS, Counter.READ_AHEAD, Counter.DATA_READ)

_flushing = partial(Setting, topic=SettingTopic.FLUSHING, counters=_FLUSHED)
_purge = partial(Setting, topic=SettingTopic.PURGE, counters=HISTORY_LIST_LENGTH)
_reading = partial(Setting, topic=SettingTopic.READING, counters=_READS)

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
        kind=ValueKind.SWITCH,
        supported=both(),
        meanings={
            ON: "the rate of flushing follows the rate of redo",
            OFF: "flushing ignores the rate of redo until the redo log is nearly full",
        },
        offered=(ON, OFF),
        risk="When off, a full redo log stops all writes until pages are flushed.",
        counters=(*_FLUSHED, Counter.LOG_WAITS),
    ),
    _flushing(
        name="innodb_adaptive_flushing_lwm",
        kind=ValueKind.PERCENT,
        supported=(FlavourSupport(MARIADB, 0, 70), FlavourSupport(MYSQL, 0, 70, kind=ValueKind.INTEGER)),
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
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MARIADB), FlavourSupport(MYSQL, since=(5, 7, 8))),
        meanings={
            ON: "at a checkpoint, flushing may exceed innodb_io_capacity",
            OFF: "flushing obeys innodb_io_capacity at a checkpoint, too",
        },
        offered=(ON, OFF),
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
        supported=(FlavourSupport(MYSQL, 0, 100, since=(8, 0, 18)),),
        otherwise="an idle server flushes with {value} % of innodb_io_capacity",
        offered=("100", "20"),
        risk="A low value saves writes while the server is idle, and leaves more dirty pages for later.",
    ),
    _flushing(
        name="innodb_use_fdatasync",
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MYSQL, since=(8, 0, 26)),),
        meanings={
            ON: "files are flushed with fdatasync, without their modification time",
            OFF: "files are flushed with fsync",
        },
        offered=(ON, OFF),
        risk="No risk for data: fdatasync writes everything needed to read a file again.",
        counters=(Counter.DATA_FSYNCS, Counter.OS_LOG_FSYNCS),
    ),
    _flushing(
        name="innodb_doublewrite_pages",
        supported=(FlavourSupport(MYSQL, 1, 512, since=(8, 0, 20), dynamic_since=NEVER),),
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
        supported=(
            FlavourSupport(MARIADB, 1, 32, dynamic_since=(10, 5)),
            FlavourSupport(MYSQL, 1, 32, dynamic_since=NEVER),
        ),
        otherwise="{value} threads purge old row versions",
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
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MARIADB), FlavourSupport(MYSQL, since=(5, 7, 5))),
        meanings={
            ON: "undo tablespaces that have grown large are truncated",
            OFF: "undo tablespaces never shrink",
        },
        offered=(ON, OFF),
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
        kind=ValueKind.SWITCH,
        supported=both(),
        meanings={
            ON: "the rest of an extent is read when 13 of its pages are in the buffer pool",
            OFF: "no read-ahead for pages that are read in random order",
        },
        offered=(OFF, ON),
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
        supported=(
            FlavourSupport(MARIADB, 1, 64, dynamic_since=(10, 11)),
            FlavourSupport(MYSQL, 1, 64, dynamic_since=NEVER),
        ),
        otherwise="{value} threads complete reads from disk",
        offered=("4", "8", "16"),
        risk="More threads than the disk can serve in parallel only take memory.",
    ),
    _flushing(
        name="innodb_write_io_threads",
        supported=(
            FlavourSupport(MARIADB, 2, 64, dynamic_since=(10, 11)),
            FlavourSupport(MYSQL, 1, 64, dynamic_since=NEVER),
        ),
        otherwise="{value} threads complete writes to disk",
        offered=("4", "8", "16"),
        risk="More threads than the disk can serve in parallel only take memory.",
    ),
    _reading(
        name="innodb_change_buffering",
        kind=ValueKind.CHOICE,
        supported=tuple(
            FlavourSupport(
                flavour, values=("none", "inserts", "deletes", "changes", "purges", "all"), until=until
            )
            for flavour, until in ((MARIADB, (11,)), (MYSQL, ()))
        ),
        meanings={
            "none": "changes of secondary indexes are made at once",
            "all": "changes of index pages that are not in memory are buffered and merged later",
        },
        otherwise="changes of index pages that are not in memory are buffered: {value}",
        offered=("none", "all"),
        risk="Buffered changes save reads now; merging them later takes disk and time, at a restart, too.",
        counters=(*_READS, Counter.POOL_PAGES_FLUSHED),
    ),
    _reading(
        name="innodb_change_buffer_max_size",
        supported=(FlavourSupport(MARIADB, 0, 50, until=(11,)), FlavourSupport(MYSQL, 0, 50)),
        otherwise="buffered changes take up to {value} % of the buffer pool",
        offered=("5", "25", "50"),
        risk="Space for buffered changes is not available for pages.",
        acts_with={"innodb_change_buffering": ("inserts", "deletes", "changes", "purges", "all")},
    ),
    Setting(
        name="innodb_stats_auto_recalc",
        topic=SettingTopic.OPTIMIZER,
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MARIADB), FlavourSupport(MYSQL, since=(5, 6, 6))),
        meanings={
            ON: "the statistics of a table are updated after a tenth of its rows have changed",
            OFF: "the statistics of a table are updated by ANALYZE TABLE only",
        },
        offered=(ON, OFF),
        risk="When off, the optimizer uses old statistics, and its plans may get worse.",
        counters=(Counter.POOL_READ_REQUESTS,),
    ),
)


MIB, GIB = 2**20, 2**30
_PERFORMANCE_READS = (Counter.POOL_READ_REQUESTS, Counter.POOL_READS)
_PERFORMANCE_FLUSHED = (Counter.POOL_PAGES_FLUSHED, Counter.DATA_WRITTEN)
_MOST = 2**63 - 1

ISOLATION_LEVELS = ("READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE")
YEAR_SECONDS = 365 * 24 * 3600

PERFORMANCE = (
    Setting(
        name=ServerVariable.BUFFER_POOL_SIZE,
        topic=SettingTopic.MEMORY,
        kind=ValueKind.SIZE,
        supported=(
            FlavourSupport(MARIADB, 5 * MIB, _MOST, dynamic_since=(10, 2, 2)),
            FlavourSupport(MYSQL, 5 * MIB, _MOST, dynamic_since=(5, 7, 5)),
        ),
        otherwise="{value} of pages kept in memory",
        offered=(str(128 * MIB), str(GIB), str(4 * GIB)),
        risk="If too large, the host swaps or kills the server; resizing may stall transactions for seconds.",
        roles=(SettingRole.REPORT,),
        memory=MemoryUse.ONCE,
        counters=_PERFORMANCE_READS,
        rounding="it is rounded to whole chunks of the buffer pool",
        rounding_step=8 * GIB,
        slow=True,
    ),
    Setting(
        name=ServerVariable.IO_CAPACITY,
        topic=SettingTopic.FLUSHING,
        supported=both(100, 2**32 - 1),
        otherwise="background flushing may use about {value} writes per second",
        offered=("200", "1000", "2000", "10000"),
        risk="If too low, dirty pages accumulate until flushing stalls everything; if too high, reads get "
        "too little of the disk.",
        counters=_PERFORMANCE_FLUSHED,
    ),
    Setting(
        name=ServerVariable.IO_CAPACITY_MAX,
        topic=SettingTopic.FLUSHING,
        supported=(
            FlavourSupport(MARIADB, 100, 2**32 - 1, since=(10,)),
            FlavourSupport(MYSQL, 100, 2**32 - 1, since=(5, 6)),
        ),
        otherwise="flushing that falls behind may use about {value} writes per second",
        offered=("2000", "4000", "20000"),
        risk="If too high, a burst of flushing slows all other disk access.",
        counters=_PERFORMANCE_FLUSHED,
    ),
    Setting(
        name=ServerVariable.TABLE_OPEN_CACHE,
        topic=SettingTopic.CACHES,
        supported=(FlavourSupport(MARIADB, 10, 2**20), FlavourSupport(MYSQL, 1, 2**19)),
        otherwise="up to {value} tables kept open",
        offered=("400", "2000", "4000", "10000"),
        risk="Open tables take memory and file descriptors; if too few, tables are opened again and again.",
        counters=(Counter.OPENED_TABLES, Counter.TABLE_CACHE_MISSES, Counter.TABLE_CACHE_OVERFLOWS),
    ),
    Setting(
        name="thread_cache_size",
        topic=SettingTopic.CACHES,
        supported=both(0, 16384),
        meanings={"0": "every connection gets a new thread"},
        otherwise="up to {value} threads kept for new connections",
        offered=("0", "16", "100", "256"),
        risk="Idle threads take memory; without them, every connection creates a new thread.",
        counters=(Counter.THREADS_CREATED, Counter.CONNECTIONS),
    ),
    Setting(
        name=ServerVariable.MAX_CONNECTIONS,
        topic=SettingTopic.THREADS,
        supported=(FlavourSupport(MARIADB, 10, 100_000), FlavourSupport(MYSQL, 1, 100_000)),
        otherwise="up to {value} clients at a time",
        offered=("151", "500", "1000", "5000"),
        risk="If too few, clients are refused, including tuibench; too many can use all memory.",
        needs=setting.CONNECTIONS,
        trial=TrialRule.NEVER,
        counters=(Counter.CONNECTIONS, Counter.ABORTED_CONNECTS),
    ),
    Setting(
        name=ServerVariable.LONG_QUERY_TIME,
        topic=SettingTopic.LOGGING,
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
    Setting(
        name=ServerVariable.SLOW_QUERY_LOG,
        topic=SettingTopic.LOGGING,
        kind=ValueKind.SWITCH,
        supported=both(),
        meanings={ON: "slow statements are written to a log", OFF: "slow statements are only counted"},
        offered=(OFF, ON),
        risk="The log grows on the server's disk, and each line costs time.",
        tried=(OFF,),
        counters=(Counter.SLOW_QUERIES,),
    ),
    Setting(
        name="innodb_redo_log_capacity",
        topic=SettingTopic.REDO,
        kind=ValueKind.SIZE,
        supported=(
            FlavourSupport(MYSQL, 8 * MIB, 128 * GIB, since=(8, 0, 30), until=(8, 0, 34)),
            FlavourSupport(MYSQL, 8 * MIB, 512 * GIB, since=(8, 0, 34)),
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
            FlavourSupport(MARIADB, 4 * MIB, 512 * GIB, dynamic_since=(10, 9)),
            FlavourSupport(MYSQL, 4 * MIB, 512 * GIB, until=(8, 0, 30), dynamic_since=NEVER),
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
    Setting(
        name="innodb_adaptive_hash_index",
        topic=SettingTopic.READING,
        kind=ValueKind.SWITCH,
        supported=both(),
        meanings={
            ON: "hot index pages are found through a hash table in memory",
            OFF: "index pages are found through the index alone",
        },
        offered=(OFF, ON),
        risk="When on, its latches can delay many writing threads; disabling it empties it under a lock.",
        counters=_PERFORMANCE_READS,
    ),
    Setting(
        name="innodb_flush_neighbors",
        topic=SettingTopic.FLUSHING,
        supported=both(0, 2),
        meanings={
            "0": "dirty pages are flushed one by one, suitable for an SSD",
            "1": "adjacent dirty pages are flushed together",
            "2": "all dirty pages of the same extent are flushed together",
        },
        offered=("0", "1", "2"),
        risk="On an SSD, flushing neighbours writes more than needed; on a rotating disk it saves seeks.",
        counters=_PERFORMANCE_FLUSHED,
    ),
    Setting(
        name="innodb_thread_concurrency",
        topic=SettingTopic.THREADS,
        supported=(FlavourSupport(MARIADB, 0, 1000, until=(10, 6)), FlavourSupport(MYSQL, 0, 1000)),
        meanings={"0": "no limit for threads inside InnoDB"},
        otherwise="up to {value} threads inside InnoDB at a time",
        offered=("0", "8", "32", "128"),
        risk="If too few, transactions wait to enter InnoDB while the host is idle.",
        counters=(Counter.ROW_LOCK_WAITS,),
    ),
    Setting(
        name="innodb_lock_wait_timeout",
        topic=SettingTopic.LOCKING,
        scope=SettingScope.DEFAULT,
        supported=(FlavourSupport(MARIADB, 0, 100_000_000), FlavourSupport(MYSQL, 1, 2**30)),
        meanings={"0": "statements do not wait for row locks"},
        otherwise="statements wait up to {value} s for a row lock",
        offered=("50", "10", "5", "1"),
        risk="With a low value, more transactions fail with error 1205.",
        trial=TrialRule.NEVER,
        counters=(Counter.ROW_LOCK_WAITS, Counter.ROW_LOCK_TIME),
    ),
    Setting(
        name=ServerVariable.ISOLATION,
        topic=SettingTopic.LOCKING,
        kind=ValueKind.CHOICE,
        scope=SettingScope.WORKLOAD,
        supported=both(values=ISOLATION_LEVELS),
        meanings={
            "READ-UNCOMMITTED": "the load reads uncommitted data",
            "READ-COMMITTED": "each statement of the load sees data committed before the statement",
            "REPEATABLE-READ": "each transaction of the load sees one consistent snapshot",
            "SERIALIZABLE": "reads of the load lock the rows that they read",
        },
        offered=("REPEATABLE-READ", "READ-COMMITTED", "READ-UNCOMMITTED", "SERIALIZABLE"),
        risk="Locks and results of the load differ; with statement-based binary logging, writes are refused "
        "below REPEATABLE-READ.",
        needs=setting.NONE_NEEDED,
        trial=TrialRule.RISKY,
        counters=(Counter.ROW_LOCK_WAITS, Counter.DEADLOCKS),
    ),
)
