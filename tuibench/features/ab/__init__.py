"""A/B tests: two values alternate until the effect of one against the other is known."""

from tuibench.base.feature import Feature

FEATURE = Feature(
    "ab",
    actions="tuibench.features.ab.keys:ACTIONS",
    dialogs={"ab_test": "tuibench.features.ab.dialog:AbTestDialog"},
    experiments=("tuibench.features.ab.experiment:AbTest",),
    resolver="tuibench.features.ab.experiment:resolution",
)
