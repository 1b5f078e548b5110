"""Settings of the redo log and the binary log: what survives a crash, and the rest.

Group commit: transactions that commit while another one flushes are flushed together. A delay before the
flush lets more of them gather. Nothing is lost by it: each commit still returns after its flush.
"""

from functools import partial

from tuibench.model.counters import BINLOG_SYNCS, LOG_FSYNCS, Counter
from tuibench.model.settings import (
    COMMIT_ROLES,
    CostFigure,
    ServerVariable,
    SettingGroup,
    SettingRole,
    SettingTopic,
)
from tuibench.tuning.setting import (
    BINARY_LOG,
    GLOBAL_VARIABLE,
    NEVER,
    OFF,
    ON,
    REDO_LOG,
    REPLICA,
    SESSION_LOG_BIN,
    MemoryUse,
    Setting,
    SettingScope,
    TrialRule,
    ValueKind,
    both,
    mariadb,
    mysql,
)

_BINLOG = (Counter.BINLOG_COMMITS, Counter.BINLOG_GROUP_COMMITS)

_durability = partial(Setting, group=SettingGroup.DURABILITY, topic=SettingTopic.DURABILITY)

DURABILITY = (
    _durability(
        name=ServerVariable.FLUSH_LOG,
        supported=(mariadb(0, 3), mysql(0, 2)),
        meanings={
            "0": "log flushed once a second: about 1 s of commits lost in any crash",
            "1": "log flushed to disk at every commit: no commit is lost",
            "2": "log left to the OS at commit: about 1 s of commits lost if the host crashes",
            "3": "log flushed to disk at prepare and at every commit: no commit is lost",
        },
        offered=("1", "2", "0"),
        safe=("1", "3"),
        risk="A crash can lose about the last second of committed transactions.",
        counters=(*LOG_FSYNCS, Counter.OS_LOG_WRITTEN, Counter.LOG_WRITES),
        roles=COMMIT_ROLES,
        at_commit=True,
        cost=CostFigure.REDO_LOG,
        short_name="flush_log",
    ),
    _durability(
        name=ServerVariable.SYNC_BINLOG,
        supported=both(0, 2**32 - 1),
        meanings={
            "0": "binlog left to the OS: its latest events lost if the host crashes",
            "1": "binlog flushed to disk at every commit: no event is lost",
        },
        otherwise="binlog flushed every {value} commits: "
        "up to {value} of its commits lost if the host crashes",
        offered=("1", "100", "0"),
        safe=("1",),
        risk="A crash of the host can lose the end of the binary log, and replicas then differ.",
        needs=BINARY_LOG,
        counters=_BINLOG,
        acts_with={ServerVariable.LOG_BIN: (ON,)},
        roles=COMMIT_ROLES,
        at_commit=True,
        cost=CostFigure.BINARY_LOG,
    ),
    _durability(
        name="innodb_flush_log_at_timeout",
        supported=(mariadb(0, 2700, since=(10,)), mysql(0, 2700, since=(5, 6))),
        meanings={
            "0": "log flushed in the background as soon as possible",
            "1": "log flushed in the background every second",
        },
        otherwise="log flushed in the background every {value} s",
        offered=("1", "5", "30"),
        safe=("0", "1"),
        risk="With innodb_flush_log_at_trx_commit 0 or 2, a crash can lose the commits of that many seconds.",
        counters=LOG_FSYNCS,
        acts_with={ServerVariable.FLUSH_LOG: ("0", "2")},
    ),
    _durability(
        name="innodb_doublewrite",
        supported=(
            mariadb(values=(ON, OFF), until=(11, 0, 6), dynamic_since=NEVER),
            mariadb(values=(ON, OFF, "FAST"), since=(11, 0, 6)),
            mysql(values=(ON, "DETECT_ONLY"), dynamic_since=(8, 0, 30), stuck=(OFF,)),
        ),
        meanings={
            ON: "pages written twice: a page torn by a crash is repaired",
            "DETECT_ONLY": "only writes are noted: a page torn by a crash is detected, not repaired",
            OFF: "pages written once: a page torn by a crash stays damaged",
            "FAST": "pages written twice, without an extra flush of the doublewrite buffer",
        },
        offered=(ON, "DETECT_ONLY", OFF),
        safe=(ON, "DETECT_AND_RECOVER", "FAST"),
        risk="A page that a crash tears in the middle of its write cannot be repaired: the table is damaged.",
        counters=(Counter.DBLWR_WRITES, Counter.DATA_WRITTEN),
        roles=(SettingRole.REPORT,),
        aliases={"DETECT_AND_RECOVER": ON, "1": ON, "TRUE": ON, "YES": ON},
    ),
    _durability(
        name="binlog_order_commits",
        supported=(mysql(since=(5, 6)),),
        meanings={
            ON: "transactions are committed in the order of the binary log",
            OFF: "transactions may be committed in a different order than in the binary log",
        },
        risk="A backup taken while it is off may not match any position of the binary log.",
        counters=(Counter.HANDLER_COMMIT,),
        at_commit=True,
        trial=TrialRule.RISKY,
        acts_with={ServerVariable.LOG_BIN: (ON,)},
    ),
    _durability(
        name=ServerVariable.SQL_LOG_BIN,
        scope=SettingScope.WORKLOAD,
        meanings={
            ON: "the load is written to the binary log",
            OFF: "the load is not written to the binary log: replicas do not get it",
        },
        safe=(ON,),
        risk="Replicas and point-in-time recovery never get what the load writes while it is off.",
        needs=SESSION_LOG_BIN,
        counters=(*_BINLOG, Counter.BINLOG_CACHE_USE),
        acts_with={ServerVariable.LOG_BIN: (ON,)},
    ),
    _durability(
        name=ServerVariable.REDO_LOG_ENABLED,
        supported=(mysql(since=(8, 0, 21)),),
        meanings={
            ON: "changes are written to the redo log: a crash is recovered from",
            OFF: "no redo log is written: after any crash the whole server is lost",
        },
        safe=(ON,),
        risk="Very risky: a crash while it is off loses every table, and the server does not start again; "
        "a restart does not enable it.",
        needs=REDO_LOG,
        counters=(Counter.OS_LOG_WRITTEN, Counter.OS_LOG_FSYNCS),
        trial=TrialRule.NEVER,
        survives_restart=True,
    ),
)


KIB, MIB, GIB = 2**10, 2**20, 2**30
_WORD = 2**32 - 1
_LOG = (Counter.LOG_WRITES, *LOG_FSYNCS, Counter.LOG_WAITS)
_BINLOG_BYTES = (Counter.BINLOG_BYTES_WRITTEN, Counter.PERFORMANCE_BINLOG_BYTES)

_redo = partial(Setting, topic=SettingTopic.REDO)
_binlog = partial(
    Setting,
    topic=SettingTopic.BINLOG,
    needs=BINARY_LOG,
    acts_with={"log_bin": (ON,)},
    counters=_BINLOG_BYTES,
)

GROUP_COMMIT = (
    _binlog(
        name="binlog_group_commit_sync_delay",
        supported=(mysql(0, 1_000_000, since=(5, 7, 5)),),
        meanings={"0": "the binary log is flushed without a delay"},
        otherwise="the binary log waits {value} µs for more commits before it is flushed",
        offered=("0", "500", "2000"),
        risk="Each commit may take that much longer, and holds its locks meanwhile.",
        counters=BINLOG_SYNCS,
        at_commit=True,
    ),
    _binlog(
        name="binlog_group_commit_sync_no_delay_count",
        supported=(mysql(0, 100_000, since=(5, 7, 5)),),
        meanings={"0": "the delay of group commit is never cut short"},
        otherwise="the delay of group commit ends when {value} transactions wait",
        offered=("0", "8", "32"),
        risk="A low value ends the delay early, and fewer commits share a flush.",
        counters=BINLOG_SYNCS,
        at_commit=True,
    ),
    _binlog(
        name="binlog_commit_wait_count",
        supported=(mariadb(0, _WORD),),
        meanings={"0": "the binary log is flushed without a delay"},
        otherwise="the binary log waits for {value} commits before it is flushed",
        offered=("0", "4", "16"),
        risk="Each commit may take up to binlog_commit_wait_usec longer, and holds its locks meanwhile.",
        counters=BINLOG_SYNCS,
        at_commit=True,
    ),
    _binlog(
        name="binlog_commit_wait_usec",
        supported=(mariadb(0, _WORD),),
        otherwise="the binary log waits at most {value} µs for binlog_commit_wait_count commits",
        offered=("100000", "500", "2000"),
        risk="With few clients each commit takes that much longer.",
        counters=BINLOG_SYNCS,
        at_commit=True,
        acts_with={},
        trial=TrialRule.NEVER,
    ),
)

BINLOG = (
    *GROUP_COMMIT,
    _binlog(
        name=ServerVariable.LOG_BIN,
        supported=both(dynamic_since=NEVER),
        meanings={
            ON: "changes are written to a binary log: for replicas and point-in-time recovery",
            OFF: "there is no binary log: no replica, no point-in-time recovery",
        },
        risk="Without a binary log there are no replicas, and no recovery beyond the last backup.",
        counters=_BINLOG,
        trial=TrialRule.RISKY,
        acts_with={},
        start_options={ON: "--log-bin=binlog", OFF: "--skip-log-bin"},
    ),
    _binlog(
        name="binlog_row_image",
        scope=SettingScope.DEFAULT,
        supported=(
            mariadb(values=("FULL", "MINIMAL", "NOBLOB")),
            mysql(values=("FULL", "MINIMAL", "NOBLOB"), since=(5, 6, 2)),
        ),
        meanings={
            "FULL": "the binary log has all columns of a changed row, before and after",
            "MINIMAL": "the binary log has the columns that identify a row, and those that changed",
            "NOBLOB": "the binary log has all columns but BLOBs and TEXTs that did not change",
        },
        risk="Programs that read the binary log may need the missing columns.",
        trial=TrialRule.RISKY,
    ),
    _binlog(
        name="binlog_checksum",
        needs=GLOBAL_VARIABLE,
        supported=(mariadb(values=("CRC32", "NONE")), mysql(values=("CRC32", "NONE"), since=(5, 6, 2))),
        meanings={
            "CRC32": "each event of the binary log has a checksum",
            "NONE": "events of the binary log have no checksum",
        },
        risk="Without checksums a damaged binary log is replicated; a change starts a new binary log.",
        trial=TrialRule.RISKY,
    ),
    _binlog(
        name="binlog_transaction_compression",
        scope=SettingScope.DEFAULT,
        supported=(mysql(since=(8, 0, 20)),),
        meanings={
            OFF: "transactions are not compressed in the binary log",
            ON: "transactions are compressed in the binary log",
        },
        risk="Compression takes CPU time in each commit; old programs cannot read its events.",
    ),
    _binlog(
        name="binlog_transaction_compression_level_zstd",
        scope=SettingScope.DEFAULT,
        supported=(mysql(1, 22, since=(8, 0, 20)),),
        otherwise="the binary log is compressed at zstd's level {value}",
        offered=("3", "1", "9"),
        risk="High levels take much CPU time in each commit.",
        acts_with={"log_bin": (ON,), "binlog_transaction_compression": (ON,)},
    ),
    _binlog(
        name="log_bin_compress",
        supported=(mariadb(since=(10, 2, 3)),),
        meanings={
            OFF: "events are not compressed in the binary log",
            ON: "large events are compressed in the binary log",
        },
        risk="Compression takes CPU time in each commit; old programs cannot read its events.",
    ),
    _binlog(
        name="log_bin_compress_min_len",
        supported=(mariadb(10, 1024, since=(10, 2, 3)),),
        otherwise="events of {value} bytes and more are compressed",
        offered=("256", "64", "1024"),
        risk="Compressing small events takes CPU time and saves little.",
        acts_with={"log_bin": (ON,), "log_bin_compress": (ON,)},
    ),
    _binlog(
        name="binlog_cache_size",
        kind=ValueKind.SIZE,
        supported=both(4 * KIB, 64 * GIB),
        otherwise="{value} of a transaction is kept in memory before it is written to the binary log",
        offered=(str(32 * KIB), str(256 * KIB), str(MIB)),
        risk="Each connection allocates it; larger transactions use a temporary file.",
        counters=(Counter.BINLOG_CACHE_DISK_USE, Counter.BINLOG_CACHE_USE),
        rounding="it is rounded to whole blocks of 4 KiB",
        rounding_step=4 * KIB,
        memory=MemoryUse.PER_CONNECTION,
    ),
    _binlog(
        name="max_binlog_size",
        kind=ValueKind.SIZE,
        supported=both(4 * KIB, GIB),
        otherwise="a new binary log begins after {value}",
        offered=(str(128 * MIB), str(512 * MIB), str(GIB)),
        risk="Starting a new binary log delays commits; large logs are kept and copied as a whole.",
        rounding="it is rounded to whole blocks of 4 KiB",
        rounding_step=4 * KIB,
    ),
    Setting(
        name="sync_relay_log",
        topic=SettingTopic.BINLOG,
        supported=both(0, _WORD),
        meanings={
            "0": "a replica's relay log is left to the operating system",
            "1": "a replica's relay log is flushed after every event",
        },
        otherwise="a replica's relay log is flushed after every {value} events",
        offered=("10000", "1", "0"),
        needs=REPLICA,
        risk="After a crash of the host a replica may have to fetch its relay log again.",
        counters=(Counter.HANDLER_COMMIT,),
        trial=TrialRule.NEVER,
    ),
)

REDO = (
    _redo(
        name="innodb_log_buffer_size",
        kind=ValueKind.SIZE,
        supported=(
            mariadb(2 * MIB, 2 * GIB - 4 * KIB, dynamic_since=NEVER),
            mysql(256 * KIB, 4 * GIB - 1, dynamic_since=(8, 0, 11)),
        ),
        otherwise="{value} of redo kept in memory before it is written",
        offered=(str(16 * MIB), str(64 * MIB), str(256 * MIB)),
        risk="If too small, transactions wait until the log is written; a change delays all commits.",
        counters=(Counter.LOG_WAITS, Counter.LOG_WRITES),
        rounding="it is rounded to whole KiB",
        rounding_step=KIB,
        memory=MemoryUse.ONCE,
    ),
    _redo(
        name=ServerVariable.LOG_FILES,
        supported=(
            mariadb(1, 100, until=(10, 5), dynamic_since=NEVER),
            mysql(2, 100, until=(8, 0, 30), dynamic_since=NEVER),
        ),
        otherwise="the redo log has {value} files of innodb_log_file_size",
        offered=("2", "4", "8"),
        risk="Many large files take disk space and slow recovery.",
        counters=_LOG,
        memory=MemoryUse.DISK,
        trial=TrialRule.NEVER,
    ),
    _redo(
        name="innodb_log_file_buffering",
        supported=(mariadb(since=(10, 8, 4), dynamic_since=NEVER),),
        at_start="a running server may ignore the way back to OFF",
        meanings={
            OFF: "the redo log is written past the page cache of the kernel",
            ON: "the redo log is written through the page cache of the kernel",
        },
        risk="No risk for data: the log is flushed either way.",
        counters=_LOG,
    ),
    _redo(
        name="innodb_log_writer_threads",
        supported=(mysql(since=(8, 0, 22)),),
        meanings={
            OFF: "each connection writes the redo log itself: for few connections",
            ON: "dedicated threads write the redo log: for many connections",
        },
        risk="When on, each commit waits for another thread; when off, many connections block each other.",
        counters=_LOG,
    ),
    _redo(
        name="innodb_log_write_ahead_size",
        kind=ValueKind.SIZE,
        supported=(mariadb(512, 4 * KIB, dynamic_since=NEVER), mysql(512, 16 * KIB, dynamic_since=(5, 7, 4))),
        otherwise="the redo log is written in blocks of {value}",
        offered=("512", "4096", "8192"),
        risk="If smaller than a block of the file system, the system reads the block before each write.",
        counters=(Counter.OS_LOG_WRITTEN, *_LOG),
        rounding="it is rounded to a power of two",
        rounding_step=8 * KIB,
    ),
    _redo(
        name="innodb_log_wait_for_flush_spin_hwm",
        supported=(mysql(0, _WORD, since=(8, 0, 11)),),
        meanings={"0": "commits never spin while they wait for the redo log"},
        otherwise="commits spin for the redo log while a flush takes less than {value} µs on average",
        offered=("400", "0", "2000"),
        risk="Spinning takes CPU time from other threads.",
        counters=_LOG,
    ),
    _redo(
        name="innodb_log_spin_cpu_abs_lwm",
        supported=(mysql(0, _WORD, since=(8, 0, 11)),),
        otherwise="nothing spins for the redo log below {value} % of one core",
        offered=("80", "0", "400"),
        risk="Spinning takes CPU time from other threads.",
        counters=_LOG,
    ),
    _redo(
        name="innodb_log_spin_cpu_pct_hwm",
        supported=(mysql(0, 100, since=(8, 0, 11)),),
        otherwise="nothing spins for the redo log above {value} % of all cores",
        offered=("50", "0", "90"),
        risk="Spinning takes CPU time from other threads.",
        counters=_LOG,
    ),
)
