"""The probe: saturation point and bottleneck of a load."""

from tuibench.base.feature import CommandEntry, CommandSection, Feature

FEATURE = Feature(
    "probe",
    commands=(
        CommandEntry(
            "probe",
            CommandSection.LOAD,
            "tuibench.features.probe.command",
            "Find the saturation point and the bottleneck.",
            examples=(
                "oltp_read_write --slo 'p95<20ms' -h db1 -u app -p",
                "oltp_read_only --by rate --threads=64",
            ),
        ),
    ),
    report="tuibench.features.probe.report:REPORT",
    tabs=("tuibench.features.probe.screen:TAB",),
    actions="tuibench.features.probe.keys:ACTIONS",
    dialogs={"probe": "tuibench.features.probe.dialog:probe_dialog"},
    experiments=("tuibench.features.probe.experiment:Probe",),
)
