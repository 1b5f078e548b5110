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
        ),
    ),
    report="tuibench.features.probe.report:REPORT",
    tabs=("tuibench.features.probe.screen:TAB",),
    actions="tuibench.features.probe.keys:ACTIONS",
    dialogs={"probe": "tuibench.features.probe.dialog:probe_dialog"},
    experiments=("tuibench.features.probe.experiment:Probe",),
)
