"""The demonstration on a private server, and its scenes: scripts of a viewer."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "scenes",
    commands=(
        CommandEntry(
            "demo",
            CommandSection.LOAD,
            "tuibench.features.scenes.demo",
            "Start a private server, load small data, open the live screen.",
        ),
    ),
)
