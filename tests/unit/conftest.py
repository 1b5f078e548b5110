"""Which unit tests `make check` leaves to `make test`."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONG = (
    "hostile/test_files", "hostile/test_records", "load/test_connection_load", "load/test_fleet",
    "load/test_native_engine", "load/test_pacing", "metrics/test_ab_tests", "metrics/test_effects",
    "session/test_probe", "session/test_probe_runs", "tuning/test_unconfirmed_changes", "cli/test_output",
    "cli/test_web", "workload/test_distributions", "workload/test_tpcc",
)  # fmt: skip
"""Modules of random inputs, simulations and processes that take half of the processor time of all."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    chosen = {HERE / f"{name}.py" for name in LONG}
    for item in items:
        if item.path in chosen:
            item.add_marker(pytest.mark.long)
