"""What isolation does not prevent: lost updates, skews, phantoms, dirty reads, counted under load."""

from tuibench.base.feature import Feature

FEATURE = Feature("anomalies")
