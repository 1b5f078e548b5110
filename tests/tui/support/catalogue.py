"""The whole catalogue as MariaDB has it: two settings changed by us, one by others, some fixed."""

import msgspec

from tests.tui.support import script
from tuibench.model.message import Status
from tuibench.model.settings import SettingState
from tuibench.tuning import catalogue

VALUES = {
    "innodb_doublewrite": "ON",
    "innodb_flush_log_at_trx_commit": "0",
    "sync_binlog": "0",
    "innodb_flush_log_at_timeout": "1",
    "sql_log_bin": "ON",
    "innodb_buffer_pool_size": "268435456",
    "innodb_io_capacity": "200",
    "innodb_io_capacity_max": "2000",
    "table_open_cache": "2000",
    "thread_cache_size": "151",
    "max_connections": "500",
    "long_query_time": "10.000000",
    "slow_query_log": "OFF",
    "innodb_log_file_size": "134217728",
    "innodb_adaptive_hash_index": "OFF",
    "innodb_flush_neighbors": "1",
    "innodb_lock_wait_timeout": "50",
    "transaction_isolation": "REPEATABLE-READ",
}
OURS = {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1"}
OTHERS = {"max_connections": "151"}
DENIED = {
    "innodb_doublewrite": "it is read-only on this server: changing it requires a restart",
    "table_open_cache": "this login cannot change it: it needs the privilege SUPER",
}


def state(setting: catalogue.Setting) -> SettingState:
    name = setting.name
    value = VALUES.get(name, "")
    absence = catalogue.unsupported_reason(setting, script.SERVER)
    return catalogue.setting_state(
        setting,
        script.SERVER,
        value,
        OURS.get(name, value),
        absence or DENIED.get(name, ""),
        began=OURS.get(name, OTHERS.get(name, value)),
        changed_by="us" if name in OURS else "others" if name in OTHERS else "",
    )


STATES = tuple(state(setting) for setting in catalogue.SETTINGS)


def status() -> Status:
    """As after the preset unsafe, with the whole catalogue."""
    return msgspec.structs.replace(script.status(), settings=STATES)
