"""Settings of locks, the optimizer and logs."""

from functools import partial

from tuibench.model.counters import DEADLOCKS, Counter
from tuibench.model.server import Flavour
from tuibench.model.settings import SettingTopic
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
_WORD = 2**32 - 1
_BOTH = (FlavourSupport(MARIADB), FlavourSupport(MYSQL))

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
        supported=(FlavourSupport(MARIADB, 0, 62), FlavourSupport(MYSQL, 0, 62)),
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
        supported=_BOTH,
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
        supported=(FlavourSupport(MARIADB, 0, _WORD), FlavourSupport(MYSQL, 0, _WORD)),
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
        supported=_BOTH,
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
