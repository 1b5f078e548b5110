"""Runs over a grid of threads and settings; comparison of server versions; bundles to publish."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "sweep",
    commands=(
        CommandEntry(
            "sweep",
            CommandSection.LOAD,
            "tuibench.features.sweep.command",
            "Run a load under every combination of threads and settings: one table.",
        ),
        CommandEntry(
            "versions",
            CommandSection.LOAD,
            "tuibench.features.sweep.execution",
            "Compare server programs on private servers: each test relative to the first.",
        ),
        CommandEntry(
            "bundle",
            CommandSection.RECORDS,
            "tuibench.features.sweep.reproduction",
            "Pack runs or a sweep into one file to publish, without logins and host names.",
        ),
        CommandEntry(
            "reproduce",
            CommandSection.RECORDS,
            "tuibench.features.sweep.reproduction",
            "Run the measurement of a bundle here, and compare each figure.",
        ),
    ),
    offers=(
        "execution",
        "planning",
        "tables",
        "versions",
    ),
    show_recorded="tuibench.features.sweep.execution:show_recorded",
    run_over_starts="tuibench.features.sweep.execution:ab_over_starts",
)
