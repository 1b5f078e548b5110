"""Overload: a burst of the rate, and whether the load recovers from it by itself."""

from tuibench.base.feature import Feature

FEATURE = Feature(
    "overload",
    actions="tuibench.features.overload.keys:ACTIONS",
    dialogs={"burst": "tuibench.features.overload.dialog:burst_dialog"},
    experiments=("tuibench.features.overload.burst:Burst",),
)
