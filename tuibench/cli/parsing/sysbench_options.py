"""Tests and options of sysbench 0.4 to 1.0: the equivalent of each, or the reason why there is none."""

from tuibench.model.sysbench import SYSBENCH_TESTS

PROFILES = {
    **{name: name for name in SYSBENCH_TESTS},
    "delete": "oltp_delete",
    "insert": "oltp_insert",
    "oltp": "oltp_read_write",
    "oltp_common": "oltp_read_write",
    "oltp_simple": "oltp_point_select",
    "parallel_prepare": "oltp_read_write",
    "select": "oltp_point_select",
    "tpcc": "tpcc",
    "update_index": "oltp_update_index",
    "update_non_index": "oltp_update_non_index",
}
"""Profile of each test, by the name of its script, including those of 0.4 and 0.5."""

TABLES_ONLY = "oltp_common"
"""A script that creates and drops tables, without transactions."""
PARALLEL_PREPARE = "parallel_prepare"
"""In 0.5, `run` of this script is equivalent to `prepare --threads` in 1.0."""

OTHER_TESTS = {
    "cpu": "the processor",
    "fileio": "files",
    "memory": "memory",
    "mutex": "mutexes",
    "threads": "the scheduler",
}
"""Tests of sysbench without a database, and their subject."""

RENAMED_OPTIONS = {
    "--create-table-options": "--mysql-table-options",
    "--max-requests": "--events",
    "--max-time": "--time",
    "--mysql-ssl-ca": "--ssl-ca",
    "--mysql-ssl-cert": "--ssl-cert",
    "--mysql-ssl-key": "--ssl-key",
    "--mysql-table-engine": "--mysql-storage-engine",
    "--num-threads": "--threads",
    "--oltp-auto-inc": "--auto-inc",
    "--oltp-delete-inserts": "--delete-inserts",
    "--oltp-dist-iter": "--rand-spec-iter",
    "--oltp-dist-pct": "--rand-spec-pct",
    "--oltp-dist-res": "--rand-spec-res",
    "--oltp-dist-type": "--rand-type",
    "--oltp-distinct-ranges": "--distinct-ranges",
    "--oltp-index-updates": "--index-updates",
    "--oltp-non-index-updates": "--non-index-updates",
    "--oltp-order-ranges": "--order-ranges",
    "--oltp-point-selects": "--point-selects",
    "--oltp-range-selects": "--range-selects",
    "--oltp-range-size": "--range-size",
    "--oltp-secondary": "--secondary",
    "--oltp-simple-ranges": "--simple-ranges",
    "--oltp-skip-trx": "--skip-trx",
    "--oltp-sum-ranges": "--sum-ranges",
    "--oltp-table-size": "--table-size",
    "--oltp-tables-count": "--tables",
    "--seed-rng": "--rand-seed",
    "--tx-rate": "--rate",
}

OLD_OPTIONS = frozenset(RENAMED_OPTIONS) - {
    "--create-table-options",
    "--mysql-ssl-ca",
    "--mysql-ssl-cert",
    "--mysql-ssl-key",
}
"""Options that 1.0 has under another name."""

TPCC_OPTIONS = {"--scale": "--warehouses", "--trx-level": "--isolation"}
"""Options of Percona's tpcc.lua."""
TPCC_LEVELS = {"RR": "repeatable-read", "RC": "read-committed", "SER": "serializable"}

TEST_MODES = {"complex": "", "simple": "oltp_point_select"}
NONTRX_MODES = {
    "delete": "oltp_delete",
    "insert": "oltp_insert",
    "select": "oltp_point_select",
    "update_key": "oltp_update_index",
    "update_nokey": "oltp_update_non_index",
}
"""Profiles of 0.4's `--oltp-test-mode`, and for `nontrx` those of `--oltp-nontrx-mode`."""

SWITCHED_PROFILES = {"--oltp-read-only": "oltp_read_only", "--oltp-write-only": "oltp_write_only"}
"""Switches of 0.4 and 0.5 that correspond to profiles."""

ANY = "*"
RECONNECT_HINT = "--reconnect=N logs in again after N transactions"
IGNORED_OPTIONS = {
    "--batch": ("off", "no report is left out", "leave it out"),
    "--batch-delay": (ANY, "", ""),
    "--db-driver": ("mysql", "only MySQL and MariaDB are supported", "leave it out"),
    "--db-debug": ("off", "the driver has no trace", "leave it out"),
    "--debug": ("off", "there is no such output", "--verbosity=5 prints the most"),
    "--force-pk": (ANY, "", ""),
    "--init-rng": (ANY, "", ""),
    "--luajit-cmd": ("off", "Lua is not supported", "leave it out"),
    "--myisam-max-rows": (ANY, "", ""),
    "--mysql-debug": ("off", "the driver has no trace", "leave it out"),
    "--mysql-dry-run": ("off", "statements are always sent", "tuibench profiles show NAME lists them"),
    "--mysql-engine-trx": ("auto,yes,no", "it is auto, yes or no", "leave it out"),
    "--mysql-ssl-cipher": ("", "the cipher cannot be chosen", "--ssl-mode=required encrypts"),
    "--oltp-connect-delay": (
        "0,10000",
        "connections do not wait after they open",
        "--client-delay delays each round trip",
    ),
    "--oltp-reconnect": (
        "off",
        "connections stay open",
        RECONNECT_HINT,
    ),
    "--oltp-reconnect-mode": (
        "session",
        "connections stay open",
        RECONNECT_HINT,
    ),
    "--oltp-sp-name": ("", "no profile calls a procedure", "--sql 'CALL name(:id)' does"),
    "--oltp-table-name": ("sbtest", "the tables are called sbtest1, sbtest2, …", "leave it out"),
    "--oltp-user-delay-max": ("0", "transactions follow without think time", "--rate sets the pace"),
    "--oltp-user-delay-min": ("0", "transactions follow without think time", "--rate sets the pace"),
    "--rand-init": (ANY, "", ""),
    "--thread-stack-size": (ANY, "", ""),
    "--use-fk": ("0,off", "the tables of tpcc have no foreign keys", "leave it out"),
    "--validate": ("off", "results are not validated", "tuibench check PROFILE validates the tables"),
}
"""Options without an equivalent: accepted values (`*`: all), reason for refusal, alternative."""

FORCED_SHUTDOWN = "--forced-shutdown"
FORCED_SHUTDOWN_NOTE = (
    "--forced-shutdown has no effect: a run stops at --time, and waits for the transactions in progress"
)

RUN_ONLY_OPTIONS = frozenset(
    {
        "--db-ps-mode",
        "--events",
        "--histogram",
        "--isolation",
        "--mysql-ignore-errors",
        "--percentile",
        "--rand-seed",
        "--rate",
        "--reconnect",
        "--report-checkpoints",
        "--report-interval",
        "--thread-init-timeout",
        "--time",
        "--verbosity",
        "--warmup-time",
    }
)
"""Options of `run` that sysbench's other commands accept and ignore."""
