"""Comparison of recorded runs, and their history."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "compare",
    commands=(
        CommandEntry(
            "compare",
            CommandSection.RECORDS,
            "tuibench.features.compare.command",
            "Compare recorded runs: what differs, each figure with its interval and a verdict.",
        ),
        CommandEntry(
            "history",
            CommandSection.RECORDS,
            "tuibench.features.compare.command",
            "Show the recorded runs of one plan over time, and where their level changed.",
        ),
    ),
    offers=(
        "audit",
        "comparison",
    ),
)
