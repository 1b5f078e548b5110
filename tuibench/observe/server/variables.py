"""Changes of global variables between two readings, apart from variables that always change."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

VOLATILE_VARIABLES = (
    "error_count",
    "external_user",
    "gtid_*_pos",
    "gtid_*_state",
    "gtid_executed",
    "gtid_owned",
    "gtid_purged",
    "gtid_seq_no",
    "identity",
    "in_transaction",
    "innodb_thread_sleep_delay",
    "insert_id",
    "last_*",
    "proxy_user",
    "pseudo_thread_id",
    "rand_seed*",
    "timestamp",
    "warning_count",
    "wsrep_last_*",
)
"""Patterns of variables that report the server's activity, not its configuration."""

ALIASES = {
    "log_slow_min_examined_row_limit": "min_examined_row_limit",
    "log_slow_query": "slow_query_log",
    "log_slow_query_file": "slow_query_log_file",
    "log_slow_query_time": "long_query_time",
    "tmp_memory_table_size": "tmp_table_size",
    "tx_isolation": "transaction_isolation",
    "tx_read_only": "transaction_read_only",
}
"""Second names that some servers list beside the first: a change is reported once, under the first name."""


class VariableChange(NamedTuple):
    """A variable with a changed value."""

    name: str
    before: str
    after: str


def variable_changes(
    before: Mapping[str, str], after: Mapping[str, str], ours: Mapping[str, str] | None = None
) -> tuple[VariableChange, ...]:
    """The settings that differ, by name. A variable that was added or removed (a plugin) is ignored.

    `ours` holds values that we set meanwhile, as the server reads them back: they are not reported.
    """
    known = ours or {}
    return tuple(
        VariableChange(name, before[name], value)
        for name, value in sorted(after.items())
        if before.get(name, value) != value
        and known.get(name) != value
        and not is_volatile(name)
        and ALIASES.get(name) not in after
    )


def is_volatile(name: str) -> bool:
    """True for a variable that changes by itself."""
    return any(fnmatchcase(name, pattern) for pattern in VOLATILE_VARIABLES)
