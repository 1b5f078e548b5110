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
        ),
    ),
    report="tuibench.features.tune.report:REPORT",
    tabs=("tuibench.features.tune.screen:TAB",),
    actions="tuibench.features.tune.keys:ACTIONS",
    dialogs={"screening": "tuibench.features.tune.dialog:tune_dialog"},
    experiments=("tuibench.features.tune.experiment:TuneRun",),
)
