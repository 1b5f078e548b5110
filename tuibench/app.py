"""The program as a table: the commands of the core, and the features.

A new feature is a folder of `features/` and a line here. `base/feature.py` says what a feature can bring.
"""

from tuibench.base.feature import CommandEntry, CommandSection
from tuibench.features import (
    ab,
    anomalies,
    blackbox,
    cluster,
    compare,
    crash,
    failover,
    flame,
    overload,
    prices,
    probe,
    scenes,
    slap,
    start,
    sweep,
    tune,
)

FEATURES = (
    scenes.FEATURE,
    start.FEATURE,
    ab.FEATURE,
    probe.FEATURE,
    tune.FEATURE,
    sweep.FEATURE,
    crash.FEATURE,
    failover.FEATURE,
    anomalies.FEATURE,
    slap.FEATURE,
    cluster.FEATURE,
    compare.FEATURE,
    flame.FEATURE,
    overload.FEATURE,
    prices.FEATURE,
    blackbox.FEATURE,
)
"""All features. Help lists their commands in this order."""

_LOAD, _TABLES, _SERVER = CommandSection.LOAD, CommandSection.TABLES, CommandSection.SERVER
_SESSIONS, _RECORDS = CommandSection.SESSIONS, CommandSection.RECORDS

# fmt: off
COMMANDS = (
    CommandEntry(
        "live", _LOAD, "tuibench.cli.run",
        "Open the live screen on a given server.",
        examples=(
            "oltp_read_write --tables=4 --table-size=100000 --threads=16 -h db1 -u app -p",
            "oltp_write_only --plan 8:30s,16:30s,64:1m -h db1 -u app -p",
        ),
    ),
    CommandEntry(
        "run", _LOAD, "tuibench.cli.run",
        "Run a load without a screen: interval lines, then the summary.",
        examples=(
            "oltp_read_write --tables=4 --table-size=100000 --threads=16 --time=60 -h db1 -u app -p",
            "oltp_read_write --rate=500 --time=60 --json=result.json --fail-if 'p95>50ms'",
            "oltp_write_only --threads=16 --ab innodb_flush_log_at_trx_commit=1,0",
            "oltp_write_only --ab log_bin=ON,OFF --server=mariadbd --threads=8",
            "--sql 'SELECT c FROM sbtest1 WHERE id=:id' --sql-param id=1..100000",
            "oltp_read_only --threads=512 --cluster ssh:load1,load2 -h db1 -u app -p",
        ),
    ),
    CommandEntry(
        "prepare", _TABLES, "tuibench.cli.tables",
        "Create the tables of a profile.",
        examples=(
            "oltp_read_write --tables=4 --table-size=100000 --create-database -h db1 -u app -p",
            "tpcc --warehouses=10 --threads=8",
        ),
    ),
    CommandEntry(
        "prewarm", _TABLES, "tuibench.cli.tables",
        "Read the tables of a profile into the server's buffer pool.",
        examples=(
            "oltp_read_write --tables=4 -h db1 -u app -p",
        ),
    ),
    CommandEntry(
        "check", _TABLES, "tuibench.cli.tables",
        "Check that the tables of a data set are consistent.",
        examples=(
            "tpcc",
            "sbtest --tables=4 --table-size=100000",
        ),
    ),
    CommandEntry(
        "cleanup", _TABLES, "tuibench.cli.tables",
        "Drop the tables of a profile.",
        examples=(
            "oltp_read_write --tables=4 -h db1 -u app -p",
            "tpcc",
        ),
    ),
    CommandEntry(
        "script", _TABLES, "tuibench.cli.tables",
        "Run a command that a Lua script has of its own.",
        examples=(
            "./my.lua makedb --threads=4 -h db1 -u app -p",
        ),
    ),
    CommandEntry(
        "profiles", _TABLES, "tuibench.cli.profiles",
        "List the profiles, show one, or check a file.",
        examples=(
            "",
            "show oltp_read_write",
            "check ./mine.toml",
            "from-slow-log /var/lib/mysql/slow.log --out mine.toml",
            "from-digest -D shop --seconds=60 --out mine.toml",
        ),
    ),
    CommandEntry(
        "watch", _SERVER, "tuibench.cli.server",
        "Watch a server under its own traffic and change its settings, without adding load.",
        examples=(
            "-h db1 -u app -p",
            "-h db1 -u app -p --time=60 --format=json",
            "-h db1 -u app -p --ab innodb_flush_log_at_trx_commit=1,2 --until ±5%",
        ),
    ),
    CommandEntry(
        "doctor", _SERVER, "tuibench.cli.run",
        "Check that server, host and data are ready for a load.",
        examples=(
            "oltp_read_write --tables=4 --table-size=100000 --threads=64 -h db1 -u app -p",
            "--disk",
        ),
    ),
    CommandEntry(
        "settings", _SERVER, "tuibench.cli.server",
        "List the settings that can be changed: value, meaning, risk, required privilege.",
        examples=(
            "list -h db1 -u app -p",
        ),
    ),
    CommandEntry(
        "restore", _SERVER, "tuibench.cli.server",
        "Restore the settings that a crashed session left changed.",
        examples=(
            "--dry-run",
            "-p",
        ),
    ),
    CommandEntry(
        "sessions", _SESSIONS, "tuibench.cli.sessions",
        "List the sessions that run on this machine.",
        examples=(
            "",
            "--format json",
        ),
    ),
    CommandEntry(
        "attach", _SESSIONS, "tuibench.cli.run",
        "Open the live screen on a running session.",
        examples=(
            "",
            "1132 --read-only",
        ),
    ),
    CommandEntry(
        "ctl", _SESSIONS, "tuibench.cli.sessions",
        "Control a running session: threads, rate, settings, pause, marks, stop.",
        examples=(
            "threads 64",
            "1132 set sync_binlog=0",
            "1132 mark 'backup begins'",
            "stop --wait --format json",
        ),
    ),
    CommandEntry(
        "web", _SESSIONS, "tuibench.cli.web",
        "Show a running session in the browser.",
        examples=(
            "",
            "1132 --port 8080",
        ),
    ),
    CommandEntry(
        "runs", _RECORDS, "tuibench.cli.records",
        "List recorded runs, show one, remove some.",
        examples=(
            "",
            "show latest",
            "remove 20261121-0912",
        ),
    ),
    CommandEntry(
        "report", _RECORDS, "tuibench.cli.records",
        "Print a recorded run: sysbench's text, JSON, CSV, Markdown, or a page with charts.",
        examples=(
            "latest",
            "latest --html run.html",
            "latest --markdown --csv=run.csv",
        ),
    ),
    CommandEntry(
        "replay", _RECORDS, "tuibench.cli.records",
        "Show a recorded run in the live screens, without a server.",
        examples=(
            "latest --speed 4",
        ),
    ),
)
# fmt: on
"""The commands of the core."""
