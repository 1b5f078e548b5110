"""What isolation does not prevent: lost updates, skews, phantoms, dirty reads, counted under load."""

from tuibench.base.feature import Feature

FEATURE = Feature("anomalies", data_sets={"anomalies": "tuibench.features.anomalies.tables:AnomalyTables"})
