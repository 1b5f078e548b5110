"""The black box: what the server did in the minute before something went wrong."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "blackbox",
    commands=(
        CommandEntry(
            "blackbox",
            CommandSection.RECORDS,
            "tuibench.features.blackbox.command",
            "Show what held a server up, and what changed first: the minute before a stall.",
            examples=("latest", "latest --event 2 --html stall.html", "latest --list"),
        ),
    ),
    instrument="tuibench.features.blackbox.instrument:BlackBoxInstrument",
    actions="tuibench.features.blackbox.keys:ACTIONS",
)
