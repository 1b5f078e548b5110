"""Settings of statement memory, caches and threads."""

from functools import partial

from tuibench.model.counters import Counter
from tuibench.model.server import Flavour
from tuibench.model.settings import SettingTopic
from tuibench.tuning.catalogue import privileges
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
    needs=privileges.CONNECTIONS,
    counters=(Counter.THREADPOOL_THREADS, Counter.THREADS_RUNNING),
    acts_with=_POOLED,
)

MEMORY = (
    _buffer(
        name="tmp_table_size",
        supported=(FlavourSupport(MARIADB, KIB, 64 * GIB), FlavourSupport(MYSQL, KIB, 64 * GIB)),
        otherwise="an internal temporary table of more than {value} goes to disk",
        offered=(str(16 * MIB), str(64 * MIB), str(256 * MIB)),
        risk="Each statement may take that much memory.",
        counters=_TEMPORARY,
        rounding="it is rounded to whole blocks",
        rounding_step=16 * KIB,
    ),
    _buffer(
        name="max_heap_table_size",
        supported=(FlavourSupport(MARIADB, 16 * KIB, 64 * GIB), FlavourSupport(MYSQL, 16 * KIB, 64 * GIB)),
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
        supported=(FlavourSupport(MARIADB, 128, 4 * GIB), FlavourSupport(MYSQL, 128, 4 * GIB)),
        otherwise="a join without an index takes up to {value} of memory",
        offered=(str(256 * KIB), str(MIB), str(4 * MIB)),
        risk="Each such join may take that much memory.",
        counters=(Counter.SELECT_FULL_JOIN, Counter.SELECT_SCAN),
        rounding="it is rounded to whole blocks of 128 bytes",
        rounding_step=128,
    ),
    _buffer(
        name="read_buffer_size",
        supported=(
            FlavourSupport(MARIADB, 8 * KIB, 2 * GIB - 4 * KIB),
            FlavourSupport(MYSQL, 8 * KIB, 2 * GIB - 4 * KIB),
        ),
        otherwise="a scan of a temporary table reads {value} at a time",
        offered=(str(128 * KIB), str(MIB)),
        risk="Each scan may take that much memory; InnoDB's own reads do not use it.",
        counters=(Counter.HANDLER_READ_RND_NEXT,),
        rounding="it is rounded to whole blocks of 4 KiB",
        rounding_step=4 * KIB,
    ),
    _buffer(
        name="read_rnd_buffer_size",
        supported=(FlavourSupport(MARIADB, 1, 2 * GIB - 1), FlavourSupport(MYSQL, 1, 2 * GIB - 1)),
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
        supported=(FlavourSupport(MARIADB, 0, _WORD), FlavourSupport(MYSQL, 0, _WORD)),
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
