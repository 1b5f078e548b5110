"""The settings that decide what survives a crash, and what replicas and backups get to see."""

from tuibench.model.server import Flavour
from tuibench.tuning import privileges
from tuibench.tuning.setting import OFF, ON, Form, Group, Kind, Scope, Setting

MARIADB, MYSQL = Flavour.MARIADB, Flavour.MYSQL
_FSYNCS = ("Innodb_os_log_fsyncs", "Innodb_data_fsyncs")
_BINLOG = ("Binlog_commits", "Binlog_group_commits")

DURABILITY = (
    Setting(
        name="innodb_flush_log_at_trx_commit",
        group=Group.DURABILITY,
        kind=Kind.INTEGER,
        forms=(Form(MARIADB, 0, 3), Form(MYSQL, 0, 2)),
        meanings={
            "0": "log flushed once a second: about 1 s of commits lost in any crash",
            "1": "log flushed to disk at every commit: no commit is lost",
            "2": "log left to the OS at commit: about 1 s of commits lost if the host crashes",
            "3": "log flushed to disk at prepare and at every commit: no commit is lost",
        },
        otherwise="a value this version of tuibench does not know",
        offered=("1", "2", "0"),
        safe=("1", "3"),
        risk="A crash can lose about the last second of committed transactions.",
        needs=privileges.GLOBAL,
        counters=(*_FSYNCS, "Innodb_os_log_written", "Innodb_log_writes"),
    ),
    Setting(
        name="sync_binlog",
        group=Group.DURABILITY,
        kind=Kind.INTEGER,
        forms=(Form(MARIADB, 0, 2**32 - 1), Form(MYSQL, 0, 2**32 - 1)),
        meanings={
            "0": "binlog left to the OS: its latest events lost if the host crashes",
            "1": "binlog flushed to disk at every commit: no event is lost",
        },
        otherwise="binlog flushed every {value} commits: up to that many lost if the host crashes",
        offered=("1", "100", "0"),
        safe=("1",),
        risk="A crash of the host can lose the latest of the binary log, and replicas then differ.",
        needs=privileges.BINARY_LOG,
        counters=_BINLOG,
    ),
    Setting(
        name="innodb_flush_log_at_timeout",
        group=Group.DURABILITY,
        kind=Kind.INTEGER,
        forms=(Form(MARIADB, 0, 2700, since=(10,)), Form(MYSQL, 0, 2700, since=(5, 6))),
        meanings={
            "0": "log flushed in the background as soon as can be",
            "1": "log flushed in the background every second",
        },
        otherwise="log flushed in the background every {value} s",
        offered=("1", "5", "30"),
        safe=("0", "1"),
        risk="With innodb_flush_log_at_trx_commit 0 or 2, a crash can lose that many seconds of commits.",
        needs=privileges.GLOBAL,
        counters=_FSYNCS,
    ),
    Setting(
        name="innodb_doublewrite",
        group=Group.DURABILITY,
        kind=Kind.CHOICE,
        forms=(
            Form(MARIADB, values=(ON, OFF, "FAST")),
            Form(MYSQL, values=(ON, "DETECT_ONLY"), dynamic_since=(8, 0, 30), stuck=(OFF,)),
        ),
        meanings={
            ON: "pages written twice: one torn by a crash is mended",
            "DETECT_ONLY": "only the fact of a write is noted: a page torn by a crash is found, not mended",
            OFF: "pages written once: one torn by a crash stays broken",
            "FAST": "pages written twice, the doublewrite buffer without a flush of its own",
        },
        otherwise="a value this version of tuibench does not know",
        offered=(ON, "DETECT_ONLY", OFF),
        safe=(ON, "DETECT_AND_RECOVER", "FAST"),
        risk="A page that a crash tears in the middle of its write cannot be mended: the table is damaged.",
        needs=privileges.GLOBAL,
        counters=("Innodb_dblwr_writes", "Innodb_data_written"),
        aliases={"DETECT_AND_RECOVER": ON, "1": ON, "TRUE": ON, "YES": ON},
    ),
    Setting(
        name="binlog_order_commits",
        group=Group.DURABILITY,
        kind=Kind.SWITCH,
        forms=(Form(MYSQL, since=(5, 6)),),
        meanings={
            ON: "transactions are committed in the order of the binary log",
            OFF: "transactions may be committed in another order than the binary log's",
        },
        otherwise="a value this version of tuibench does not know",
        offered=(ON, OFF),
        risk="A backup taken while it is off may not fit any position of the binary log.",
        needs=privileges.GLOBAL,
        counters=("Handler_commit",),
    ),
    Setting(
        name="sql_log_bin",
        group=Group.DURABILITY,
        kind=Kind.SWITCH,
        scope=Scope.WORKLOAD,
        forms=(Form(MARIADB), Form(MYSQL)),
        meanings={
            ON: "the workload is written to the binary log",
            OFF: "the workload is left out of the binary log: replicas do not get it",
        },
        otherwise="a value this version of tuibench does not know",
        offered=(ON, OFF),
        safe=(ON,),
        risk="Replicas and point-in-time recovery never see what the workload writes while it is off.",
        needs=privileges.SESSION_LOG_BIN,
        counters=(*_BINLOG, "Binlog_cache_use"),
    ),
    Setting(
        name="innodb_redo_log_enabled",
        group=Group.DURABILITY,
        kind=Kind.SWITCH,
        forms=(Form(MYSQL, since=(8, 0, 21)),),
        meanings={
            ON: "changes are written to the redo log: a crash is recovered from",
            OFF: "no redo log is written: after any crash the whole server is lost",
        },
        otherwise="a value this version of tuibench does not know",
        offered=(ON, OFF),
        safe=(ON,),
        risk="Very risky: a crash while it is off loses not the last second but every table, and the server "
        "does not start again; a restart leaves it off.",
        needs=privileges.REDO_LOG,
        counters=("Innodb_os_log_written", "Innodb_os_log_fsyncs"),
    ),
)
