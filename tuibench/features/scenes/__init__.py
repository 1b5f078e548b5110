"""Scenes: scripts of a demonstration."""

from tuibench.base.feature import Feature

FEATURE = Feature(
    "scenes",
)
