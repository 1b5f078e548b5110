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
            examples=(
                "",
                "--scene durability --by-space",
                "--profile tpcc --warehouses=2",
                "--headless --time=10",
                "--ramp 1..64/60s",
                "--server=/usr/sbin/mysqld",
                "--headless --cpus=1 --memory=1G",
            ),
        ),
    ),
)
