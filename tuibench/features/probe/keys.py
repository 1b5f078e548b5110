"""The key of probes: ends the probe, otherwise opens the dialog."""

from tuibench.model.message import StopExperiment
from tuibench.tui.action import on_load

ACTIONS = (
    on_load(
        "probe",
        "P",
        "P",
        "probe",
        "Probe: saturation point",
        command=lambda view: StopExperiment("probe") if view.is_probing else None,
        after="ab_test",
    ),
)
