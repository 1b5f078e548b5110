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
            examples=("20261121-0720 20261121-0815 --fail-if 'tps<-5%'",),
        ),
        CommandEntry(
            "history",
            CommandSection.RECORDS,
            "tuibench.features.compare.command",
            "Show the recorded runs of one plan over time, and where their level changed.",
            examples=(
                "oltp_read_write",
                "oltp_read_write --since 20261121-0720",
                "oltp_read_write --chart history.svg",
            ),
        ),
    ),
    offers=(
        "audit",
        "comparison",
    ),
)
