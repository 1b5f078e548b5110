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
            examples=(
                "oltp_write_only --threads=4,8,16,32 --preset=durable,unsafe --repeat=3 --time=30",
                "oltp_read_only --threads=8,64 --range-size=10,1000 --format=html --out=sweep.html",
                "oltp_read_write --server=mariadbd --cpus=1,2 --memory=1G,4G --threads=4,16",
                "oltp_write_only --server=mariadbd --setting innodb_flush_method=fsync,O_DIRECT --repeat=5",
                "--show DIR --format=markdown",
            ),
        ),
        CommandEntry(
            "versions",
            CommandSection.LOAD,
            "tuibench.features.sweep.execution",
            "Compare server programs on private servers: each test relative to the first.",
            examples=(
                "mariadb:/usr/sbin/mariadbd mysql:/usr/local/mysql/bin/mysqld --starts=5",
                "old:/opt/8.0/bin/mysqld new:/opt/8.4/bin/mysqld --profile=tpcc --warehouses=2 --threads=1,8",
                "/opt/8.0.{30..45}/bin/mysqld --bisect --first-bad --profile=oltp_point_select",
                "--show DIR --format=markdown",
            ),
        ),
        CommandEntry(
            "bundle",
            CommandSection.RECORDS,
            "tuibench.features.sweep.reproduction",
            "Pack runs or a sweep into one file to publish, without logins and host names.",
            examples=(
                "latest -o run.tar.gz",
                "20261121-1101-oltp_read_write -o sweep.tar.gz",
            ),
        ),
        CommandEntry(
            "reproduce",
            CommandSection.RECORDS,
            "tuibench.features.sweep.reproduction",
            "Run the measurement of a bundle here, and compare each figure.",
            examples=(
                "sweep.tar.gz",
                "run.tar.gz --server=/opt/mysql/bin/mysqld --starts=5",
            ),
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
