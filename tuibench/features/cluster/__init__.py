"""Load from several hosts."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "cluster",
    commands=(
        CommandEntry(
            "cluster",
            CommandSection.LOAD,
            "tuibench.features.cluster.command",
            "Check the hosts of a load from several hosts, or install tuibench on them.",
            examples=(
                "check --cluster ssh:load1,load2 -h db1 -u app -p",
                "check --cluster 'ssh:load-{1..8}' --hosts-only",
                "install load1 load2 --archive=tuibench-0.1.0-linux-x86_64.tar.xz",
            ),
        ),
        CommandEntry(
            "agent",
            CommandSection.HIDDEN,
            "tuibench.features.cluster.command",
            "Run load on this host for a session on another host, which starts it.",
            examples=("",),
        ),
    ),
    load_hosts="tuibench.features.cluster.load:HOSTS",
)
