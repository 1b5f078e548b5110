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
            examples=(
                "-a --auto-generate-sql-add-autoincrement --concurrency=16,32 --number-of-queries=10000",
            ),
        ),
    ),
    data_sets={"slap": "tuibench.features.slap.sql:SlapTable"},
)
