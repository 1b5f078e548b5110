"""Prices: what one more millisecond of a service costs, and what a faster one would bring."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "prices",
    commands=(
        CommandEntry(
            "prices",
            CommandSection.LOAD,
            "tuibench.features.prices.command",
            "What a millisecond of fsync, page read or round trip costs, and what a faster disk would bring.",
            examples=(
                "oltp_read_write --threads=8",
                "oltp_write_only --disk fsync=2ms --cycles=20",
                "tpcc --warehouses=2 --server=/usr/sbin/mysqld --format=json",
            ),
        ),
    ),
    experiments=("tuibench.features.prices.experiment:PriceExperiment",),
    report="tuibench.features.prices.report:REPORT",
)
