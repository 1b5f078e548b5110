"""The start form: server and load of a run."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "start",
    commands=(
        CommandEntry(
            "start",
            CommandSection.LOAD,
            "tuibench.features.start.command",
            "Choose server and load on a form, then open the live screen.",
        ),
    ),
)
