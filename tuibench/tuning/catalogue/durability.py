"""Settings that decide what survives a crash, and what replicas and backups receive."""

from functools import partial

from tuibench.model.counters import LOG_FSYNCS, Counter
from tuibench.model.server import Flavour
from tuibench.model.settings import (
    COMMIT_ROLES,
    CostFigure,
    ServerVariable,
    SettingGroup,
    SettingRole,
    SettingTopic,
)
from tuibench.tuning.catalogue import privileges
from tuibench.tuning.catalogue.setting import (
    OFF,
    ON,
    FlavourSupport,
    Setting,
    SettingScope,
    TrialRule,
    ValueKind,
)

MARIADB, MYSQL = Flavour.MARIADB, Flavour.MYSQL
_BINLOG = (Counter.BINLOG_COMMITS, Counter.BINLOG_GROUP_COMMITS)

_durability = partial(Setting, group=SettingGroup.DURABILITY, topic=SettingTopic.DURABILITY)

DURABILITY = (
    _durability(
        name=ServerVariable.FLUSH_LOG,
        supported=(FlavourSupport(MARIADB, 0, 3), FlavourSupport(MYSQL, 0, 2)),
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
        cost=CostFigure.REDO_LOG,
        short_name="flush_log",
    ),
    _durability(
        name=ServerVariable.SYNC_BINLOG,
        supported=(FlavourSupport(MARIADB, 0, 2**32 - 1), FlavourSupport(MYSQL, 0, 2**32 - 1)),
        meanings={
            "0": "binlog left to the OS: its latest events lost if the host crashes",
            "1": "binlog flushed to disk at every commit: no event is lost",
        },
        otherwise="binlog flushed every {value} commits: up to that many lost if the host crashes",
        offered=("1", "100", "0"),
        safe=("1",),
        risk="A crash of the host can lose the end of the binary log, and replicas then differ.",
        needs=privileges.BINARY_LOG,
        counters=_BINLOG,
        acts_with={ServerVariable.LOG_BIN: (ON,)},
        roles=COMMIT_ROLES,
        cost=CostFigure.BINARY_LOG,
    ),
    _durability(
        name="innodb_flush_log_at_timeout",
        supported=(
            FlavourSupport(MARIADB, 0, 2700, since=(10,)),
            FlavourSupport(MYSQL, 0, 2700, since=(5, 6)),
        ),
        meanings={
            "0": "log flushed in the background as soon as possible",
            "1": "log flushed in the background every second",
        },
        otherwise="log flushed in the background every {value} s",
        offered=("1", "5", "30"),
        safe=("0", "1"),
        risk="With innodb_flush_log_at_trx_commit 0 or 2, a crash can lose that many seconds of commits.",
        counters=LOG_FSYNCS,
        acts_with={ServerVariable.FLUSH_LOG: ("0", "2")},
    ),
    _durability(
        name="innodb_doublewrite",
        kind=ValueKind.CHOICE,
        supported=(
            FlavourSupport(MARIADB, values=(ON, OFF, "FAST")),
            FlavourSupport(MYSQL, values=(ON, "DETECT_ONLY"), dynamic_since=(8, 0, 30), stuck=(OFF,)),
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
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MYSQL, since=(5, 6)),),
        meanings={
            ON: "transactions are committed in the order of the binary log",
            OFF: "transactions may be committed in a different order than in the binary log",
        },
        offered=(ON, OFF),
        risk="A backup taken while it is off may not match any position of the binary log.",
        counters=(Counter.HANDLER_COMMIT,),
        trial=TrialRule.RISKY,
        acts_with={ServerVariable.LOG_BIN: (ON,)},
    ),
    _durability(
        name=ServerVariable.SQL_LOG_BIN,
        kind=ValueKind.SWITCH,
        scope=SettingScope.WORKLOAD,
        supported=(FlavourSupport(MARIADB), FlavourSupport(MYSQL)),
        meanings={
            ON: "the load is written to the binary log",
            OFF: "the load is not written to the binary log: replicas do not get it",
        },
        offered=(ON, OFF),
        safe=(ON,),
        risk="Replicas and point-in-time recovery never get what the load writes while it is off.",
        needs=privileges.SESSION_LOG_BIN,
        counters=(*_BINLOG, Counter.BINLOG_CACHE_USE),
        acts_with={ServerVariable.LOG_BIN: (ON,)},
    ),
    _durability(
        name=ServerVariable.REDO_LOG_ENABLED,
        kind=ValueKind.SWITCH,
        supported=(FlavourSupport(MYSQL, since=(8, 0, 21)),),
        meanings={
            ON: "changes are written to the redo log: a crash is recovered from",
            OFF: "no redo log is written: after any crash the whole server is lost",
        },
        offered=(ON, OFF),
        safe=(ON,),
        risk="Very risky: a crash while it is off loses every table, and the server does not start again; "
        "a restart does not enable it.",
        needs=privileges.REDO_LOG,
        counters=(Counter.OS_LOG_WRITTEN, Counter.OS_LOG_FSYNCS),
        trial=TrialRule.NEVER,
    ),
)
