"""InnoDB settings of flushing, purge and read-ahead."""

from functools import partial

from tuibench.model.counters import HISTORY_LIST_LENGTH, Counter
from tuibench.model.server import Flavour
from tuibench.model.settings import SettingTopic
from tuibench.tuning.catalogue.setting import NEVER, OFF, ON, FlavourSupport, Setting, TrialRule, ValueKind

MARIADB, MYSQL = Flavour.MARIADB, Flavour.MYSQL
_WORD = 2**32 - 1
_BOTH = (FlavourSupport(MARIADB), FlavourSupport(MYSQL))
_FLUSHED = (Counter.POOL_PAGES_FLUSHED, Counter.POOL_BYTES_DIRTY, Counter.POOL_WAIT_FREE)
_READS = (Counter.POOL_READS, Counter.READ_AHEAD, Counter.DATA_READ)

_flushing = partial(Setting, topic=SettingTopic.FLUSHING, counters=_FLUSHED)
_purge = partial(Setting, topic=SettingTopic.PURGE, counters=HISTORY_LIST_LENGTH)
_reading = partial(Setting, topic=SettingTopic.READING, counters=_READS)

FLUSHING = (
    _flushing(
        name="innodb_max_dirty_pages_pct",
        kind=ValueKind.PERCENT,
        supported=(FlavourSupport(MARIADB, 0, 99), FlavourSupport(MYSQL, 0, 99)),
        meanings={"0.000000": "dirty pages are flushed as soon as possible"},
        otherwise="flushing keeps dirty pages below {value} % of the buffer pool",
        offered=("90", "75", "50"),
        risk="A low value writes the same page more often; a high one lengthens recovery after a crash.",
    ),
    _flushing(
        name="innodb_max_dirty_pages_pct_lwm",
        kind=ValueKind.PERCENT,
        supported=(FlavourSupport(MARIADB, 0, 99), FlavourSupport(MYSQL, 0, 99)),
        meanings={"0.000000": "no flushing ahead of innodb_max_dirty_pages_pct"},
        otherwise="flushing ahead begins at {value} % dirty pages",
        offered=("0", "10", "50"),
        risk="Early flushing writes more pages in total; without it, flushing comes in bursts.",
    ),
    _flushing(
        name="innodb_adaptive_flushing",
        kind=ValueKind.SWITCH,
        supported=_BOTH,
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
        supported=(FlavourSupport(MARIADB, 1, 1000), FlavourSupport(MYSQL, 1, 1000)),
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
        supported=(FlavourSupport(MARIADB, 100, _WORD), FlavourSupport(MYSQL, 100, _WORD)),
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
        supported=(FlavourSupport(MARIADB, 1, 5000), FlavourSupport(MYSQL, 1, 5000)),
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
        supported=(FlavourSupport(MARIADB, 1, 128), FlavourSupport(MYSQL, 1, 128)),
        otherwise="undo space is freed after every {value} rounds of purge",
        offered=("128", "32"),
        risk="A low value frees undo space earlier, and costs time.",
    ),
    _purge(
        name="innodb_max_purge_lag",
        supported=(FlavourSupport(MARIADB, 0, _WORD), FlavourSupport(MYSQL, 0, _WORD)),
        meanings={"0": "writes are not delayed for purge"},
        otherwise="writes are delayed while more than {value} transactions wait for purge",
        offered=("0", "100000", "1000000"),
        risk="A low value slows every write down while purge is behind.",
        trial=TrialRule.RISKY,
    ),
    _purge(
        name="innodb_max_purge_lag_delay",
        supported=(FlavourSupport(MARIADB, 0, 10_000_000), FlavourSupport(MYSQL, 0, 10_000_000)),
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
        supported=(FlavourSupport(MARIADB, 0, 64), FlavourSupport(MYSQL, 0, 64)),
        meanings={"0": "no read-ahead of the next extent"},
        otherwise="the next extent is read ahead after {value} of its 64 pages were read in order",
        offered=("56", "0", "16"),
        risk="Early read-ahead fills the buffer pool with pages that may never be read.",
    ),
    _reading(
        name="innodb_random_read_ahead",
        kind=ValueKind.SWITCH,
        supported=_BOTH,
        meanings={
            ON: "the rest of an extent is read when 13 of its pages are in the buffer pool",
            OFF: "no read-ahead for pages that are read in random order",
        },
        offered=(OFF, ON),
        risk="When on, speculative reads compete with others for the disk.",
    ),
    _reading(
        name="innodb_old_blocks_pct",
        supported=(FlavourSupport(MARIADB, 5, 95), FlavourSupport(MYSQL, 5, 95)),
        otherwise="{value} % of the buffer pool is for pages that were read once",
        offered=("37", "20", "60"),
        rounding="it is kept as a fraction of 1024 pages",
        rounding_step=1,
        risk="If too high, a scan displaces pages that are used often.",
    ),
    _reading(
        name="innodb_old_blocks_time",
        supported=(FlavourSupport(MARIADB, 0, _WORD), FlavourSupport(MYSQL, 0, _WORD)),
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
