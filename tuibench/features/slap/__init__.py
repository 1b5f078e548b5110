"""mysqlslap's test."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "slap",
    commands=(
        CommandEntry(
            "slap",
            CommandSection.LOAD,
            "tuibench.features.slap.command",
            "Run mysqlslap's test: the time that concurrent clients take for a number of queries.",
        ),
    ),
    data_sets={"slap": "tuibench.features.slap.sql:SlapTable"},
)
