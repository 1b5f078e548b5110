"""Screening of settings: A/B tests that rank them by effect."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "tune",
    commands=(
        CommandEntry(
            "tune",
            CommandSection.LOAD,
            "tuibench.features.tune.command",
            "Test settings on the running server by A/B tests, and rank them by effect.",
            examples=(
                "oltp_write_only --threads=8 --budget 30m -h db1 -u app -p",
                "oltp_read_write --only durability,flushing --allow-risk --slo 'p95<20ms'",
            ),
        ),
    ),
    report="tuibench.features.tune.report:REPORT",
    tabs=("tuibench.features.tune.screen:TAB",),
    actions="tuibench.features.tune.keys:ACTIONS",
    dialogs={"screening": "tuibench.features.tune.dialog:tune_dialog"},
    experiments=("tuibench.features.tune.experiment:TuneRun",),
)
