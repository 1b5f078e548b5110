"""Crashes of a private server under load: what they lose."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "crash",
    commands=(
        CommandEntry(
            "crash",
            CommandSection.LOAD,
            "tuibench.features.crash.command",
            "Kill a private server under load: what each setting gains, and which commits it loses.",
            examples=(
                "oltp_write_only --tables=4 --table-size=100000",
                "oltp_read_write --setting sync_binlog=1,0 --repeat=10 --server=/usr/sbin/mysqld",
                "oltp_write_only --power",
                "tpcc --warehouses=2 --threads=16 --format=html --out=crash.html",
            ),
        ),
    ),
    offers=("runner", "text"),
    report="tuibench.features.crash.report:REPORT",
    actions="tuibench.features.crash.keys:ACTIONS",
    dialogs={"crash": "tuibench.features.crash.dialog:crash_dialog"},
    experiments=("tuibench.features.crash.experiment:CrashOnStage",),
)
