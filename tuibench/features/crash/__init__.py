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
        ),
    ),
    report="tuibench.features.crash.report:REPORT",
    actions="tuibench.features.crash.keys:ACTIONS",
    dialogs={"crash": "tuibench.features.crash.dialog:crash_dialog"},
    experiments=("tuibench.features.crash.experiment:CrashOnStage",),
)
