"""Failovers of a private source to its replica under load: what each mode of replication loses."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "failover",
    commands=(
        CommandEntry(
            "failover",
            CommandSection.LOAD,
            "tuibench.features.failover.command",
            "Kill a private source under load and promote its replica: what each mode of replication loses.",
            examples=(
                "oltp_write_only --tables=4 --table-size=100000",
                "oltp_write_only --mode async,semisync --lag=0.2 --replicas=2 --repeat=10",
                "oltp_write_only --mode semisync,group --server=/usr/local/mysql/bin/mysqld",
            ),
        ),
    ),
)
