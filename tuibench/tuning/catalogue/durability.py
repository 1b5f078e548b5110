"""The settings that decide what survives a crash, and what replicas and backups get to see."""

from tuibench.model.counters import LOG_FSYNCS, Counter
from tuibench.model.server import Flavour
from tuibench.model.settings import COMMIT_ROLES, CostFigure, ServerVariable, SettingGroup, SettingRole
from tuibench.tuning.catalogue import privileges
from tuibench.tuning.catalogue.setting import (
    OFF,
    ON,
    FlavourSupport,
    Setting,
    SettingScope,
    ValueKind,
)

MARIADB, MYSQL = Flavour.MARIADB, Flavour.MYSQL
_BINLOG = (Counter.BINLOG_COMMITS, Counter.BINLOG_GROUP_COMMITS)

DURABILITY = (
    Setting(
        name=ServerVariable.FLUSH_LOG,
        group=SettingGroup.DURABILITY,
        kind=ValueKind.INTEGER,
        supported=(FlavourSupport(MARIADB, 0, 3), FlavourSupport(MYSQL, 0, 2)),
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
        needs=privileges.GLOBAL_VARIABLE,
        counters=(*LOG_FSYNCS, Counter.OS_LOG_WRITTEN, Counter.LOG_WRITES),
        roles=COMMIT_ROLES,
        cost=CostFigure.REDO_LOG,
        short_name="flush_log",
    ),
    Setting(
        name=ServerVariable.SYNC_BINLOG,
        group=SettingGroup.DURABILITY,
        kind=ValueKind.INTEGER,
        supported=(FlavourSupport(MARIADB, 0, 2**32 - 1), FlavourSupport(MYSQL, 0, 2**32 - 1)),
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
        roles=COMMIT_ROLES,
        cost=CostFigure.BINARY_LOG,
    ),
    Setting(
        name="innodb_flush_log_at_timeout",
        group=SettingGroup.DURABILITY,
        kind=ValueKind.INTEGER,
        supported=(
            FlavourSupport(MARIADB, 0, 2700, since=(10,)),
            FlavourSupport(MYSQL, 0, 2700, since=(5, 6)),
        ),
        meanings={
            "0": "log flushed in the background as soon as can be",
            "1": "log flushed in the background every second",
        },
        otherwise="log flushed in the background every {value} s",
        offered=("1", "5", "30"),
        safe=("0", "1"),
        risk="With innodb_flush_log_at_trx_commit 0 or 2, a crash can lose that many seconds of commits.",
        needs=privileges.GLOBAL_VARIABLE,
        counters=LOG_FSYNCS,
    ),
    Setting(
        name="innodb_doublewrite",
        group=SettingGroup.DURABILITY,
        kind=ValueKind.CHOICE,
        supported=(
            FlavourSupport(MARIADB, values=(ON, OFF, "FAST")),
            FlavourSupport(MYSQL, values=(ON, "DETECT_ONLY"), dynamic_since=(8, 0, 30), stuck=(OFF,)),
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
        needs=privileges.GLOBAL_VARIABLE,
        counters=(Counter.DBLWR_WRITES, Counter.DATA_WRITTEN),
        roles=(SettingRole.REPORT,),
        aliases={"DETECT_AND_RECOVER": ON, "1": ON, "TRUE": ON, "YES": ON},
    ),
    Setting(
        name="binlog_order_commits",
        group=SettingGroup.DURABILITY,
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MYSQL, since=(5, 6)),),
        meanings={
            ON: "transactions are committed in the order of the binary log",
            OFF: "transactions may be committed in another order than the binary log's",
        },
        otherwise="a value this version of tuibench does not know",
        offered=(ON, OFF),
        risk="A backup taken while it is off may not fit any position of the binary log.",
        needs=privileges.GLOBAL_VARIABLE,
        counters=(Counter.HANDLER_COMMIT,),
    ),
    Setting(
        name=ServerVariable.SQL_LOG_BIN,
        group=SettingGroup.DURABILITY,
        kind=ValueKind.SWITCH,
        scope=SettingScope.WORKLOAD,
        supported=(FlavourSupport(MARIADB), FlavourSupport(MYSQL)),
        meanings={
            ON: "the workload is written to the binary log",
            OFF: "the workload is left out of the binary log: replicas do not get it",
        },
        otherwise="a value this version of tuibench does not know",
        offered=(ON, OFF),
        safe=(ON,),
        risk="Replicas and point-in-time recovery never see what the workload writes while it is off.",
        needs=privileges.SESSION_LOG_BIN,
        counters=(*_BINLOG, Counter.BINLOG_CACHE_USE),
    ),
    Setting(
        name=ServerVariable.REDO_LOG_ENABLED,
        group=SettingGroup.DURABILITY,
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MYSQL, since=(8, 0, 21)),),
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
        counters=(Counter.OS_LOG_WRITTEN, Counter.OS_LOG_FSYNCS),
    ),
)
