"""CPU profiles of recorded runs."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "flame",
    commands=(
        CommandEntry(
            "flame",
            CommandSection.RECORDS,
            "tuibench.features.flame.command",
            "Show which functions of the server used the processor, before and after a change.",
            examples=(
                "latest",
                "latest --effect 1",
                "latest --effect 1 --format html",
            ),
        ),
    ),
)
