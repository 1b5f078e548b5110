"""Settings of performance; none of their values loses a committed transaction."""

from tuibench.model.counters import Counter
from tuibench.model.server import Flavour
from tuibench.model.settings import ServerVariable, SettingRole, SettingTopic
from tuibench.tuning.catalogue import privileges
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
)

MARIADB, MYSQL = Flavour.MARIADB, Flavour.MYSQL
MIB, GIB = 2**20, 2**30
_READS = (Counter.POOL_READ_REQUESTS, Counter.POOL_READS)
_FLUSHED = (Counter.POOL_PAGES_FLUSHED, Counter.DATA_WRITTEN)
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
        counters=_READS,
        rounding="it is rounded to whole chunks of the buffer pool",
        rounding_step=8 * GIB,
        slow=True,
    ),
    Setting(
        name=ServerVariable.IO_CAPACITY,
        topic=SettingTopic.FLUSHING,
        supported=(FlavourSupport(MARIADB, 100, 2**32 - 1), FlavourSupport(MYSQL, 100, 2**32 - 1)),
        otherwise="background flushing may use about {value} writes per second",
        offered=("200", "1000", "2000", "10000"),
        risk="If too low, dirty pages accumulate until flushing stalls everything; if too high, reads get "
        "too little of the disk.",
        counters=_FLUSHED,
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
        counters=_FLUSHED,
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
        supported=(FlavourSupport(MARIADB, 0, 16384), FlavourSupport(MYSQL, 0, 16384)),
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
        needs=privileges.CONNECTIONS,
        trial=TrialRule.NEVER,
        counters=(Counter.CONNECTIONS, Counter.ABORTED_CONNECTS),
    ),
    Setting(
        name=ServerVariable.LONG_QUERY_TIME,
        topic=SettingTopic.LOGGING,
        kind=ValueKind.DECIMAL,
        scope=SettingScope.DEFAULT,
        supported=(FlavourSupport(MARIADB, 0, YEAR_SECONDS), FlavourSupport(MYSQL, 0, YEAR_SECONDS)),
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
        supported=(FlavourSupport(MARIADB), FlavourSupport(MYSQL)),
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
        supported=(FlavourSupport(MARIADB), FlavourSupport(MYSQL)),
        meanings={
            ON: "hot index pages are found through a hash table in memory",
            OFF: "index pages are found through the index alone",
        },
        offered=(OFF, ON),
        risk="When on, its latches can delay many writing threads; disabling it empties it under a lock.",
        counters=_READS,
    ),
    Setting(
        name="innodb_flush_neighbors",
        topic=SettingTopic.FLUSHING,
        supported=(FlavourSupport(MARIADB, 0, 2), FlavourSupport(MYSQL, 0, 2)),
        meanings={
            "0": "dirty pages are flushed one by one, suitable for an SSD",
            "1": "adjacent dirty pages are flushed together",
            "2": "all dirty pages of the same extent are flushed together",
        },
        offered=("0", "1", "2"),
        risk="On an SSD, flushing neighbours writes more than needed; on a rotating disk it saves seeks.",
        counters=_FLUSHED,
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
        supported=(
            FlavourSupport(MARIADB, values=ISOLATION_LEVELS),
            FlavourSupport(MYSQL, values=ISOLATION_LEVELS),
        ),
        meanings={
            "READ-UNCOMMITTED": "the load reads uncommitted data",
            "READ-COMMITTED": "each statement of the load sees data committed before the statement",
            "REPEATABLE-READ": "each transaction of the load sees one consistent snapshot",
            "SERIALIZABLE": "reads of the load lock the rows that they read",
        },
        offered=("REPEATABLE-READ", "READ-COMMITTED", "READ-UNCOMMITTED", "SERIALIZABLE"),
        risk="Locks and results of the load differ; with statement-based binary logging, writes are refused "
        "below REPEATABLE-READ.",
        needs=privileges.NONE_NEEDED,
        trial=TrialRule.RISKY,
        counters=(Counter.ROW_LOCK_WAITS, Counter.DEADLOCKS),
    ),
)
