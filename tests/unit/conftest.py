"""Which unit tests `make check` leaves to `make test`, and the program in this process."""

from pathlib import Path

import pytest

from tests.golden import Golden, TextFile
from tests.unit.cli.program import Program

HERE = Path(__file__).parent
LONG = (
    "features/cluster/test_command", "cli/test_main", "cli/test_output", "cli/test_published_command_lines",
    "cli/test_runs", "cli/test_web", "hostile/test_files", "hostile/test_records", "hostile/test_socket",
    "load/test_asyncio_engine", "load/test_connection_load", "load/test_fleet", "load/test_messages",
    "load/test_native_engine", "load/test_pacing", "load/test_password", "load/test_recorder",
    "load/test_workers", "metrics/test_ab_analysis", "metrics/test_control", "metrics/test_effect_detector",
    "metrics/test_effects", "metrics/test_inference", "report/test_effect_sentences", "model/test_tick",
    "mysql/test_questions", "mysql/test_responses", "mysql/test_tls", "features/probe/test_experiment",
    "features/probe/test_runs", "test_setup_script", "tui/test_terminal", "tuning/test_chaos",
    "tuning/test_guardian", "tuning/test_other_sessions", "tuning/test_unconfirmed_changes",
    "metrics/test_wait_changes", "observe/test_cpu_profile", "observe/test_waits",
    "workload/test_distributions", "workload/test_tpcc",
)  # fmt: skip
"""Modules of random inputs, simulations and processes that take most of the processor time of all."""
CHOSEN = frozenset(HERE / f"{name}.py" for name in LONG)
NOT_LONG = "not long"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Does not import what the markers of the command line leave out anyway."""
    return True if NOT_LONG in config.option.markexpr and collection_path in CHOSEN else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path in CHOSEN:
            item.add_marker(pytest.mark.long)


@pytest.fixture
def tuibench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


@pytest.fixture
def golden(snapshot: Golden) -> Golden:
    """What the file of this test says."""
    return snapshot.use_extension(TextFile)
