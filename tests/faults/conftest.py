"""The fault suite: the servers of tests/integration, and a table of how long each recovery took.

`make test` runs the quick half, `make faults` also the tests marked `whole`. What each recovery took is
printed at the end, and written to a file with `--recoveries=FILE` (JSON lines: fault, where, seconds).
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.load import Report
from tests.integration.conftest import (
    any_binary,
    any_restartable,
    any_server,
    any_tables,
    base,
    binary,
    mariadb_binary,
    mark_items,
    restartable,
    restartable_servers,
    server,
    server_binaries,
    shared_servers,
    start,
    tables,
    templates,
    visits,
)

__all__ = [
    "any_binary",
    "any_restartable",
    "any_server",
    "any_tables",
    "base",
    "binary",
    "mariadb_binary",
    "restartable",
    "restartable_servers",
    "server",
    "server_binaries",
    "shared_servers",
    "start",
    "tables",
    "templates",
    "visits",
]

HERE = Path(__file__).parent
RECOVERY = "recovery"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--recoveries", metavar="FILE", help="append the measured recoveries to this file")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_items(items, HERE)


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """Takes the recovery of a fault for the table at the end."""
    callspec = getattr(request.node, "callspec", None)
    where = callspec.id if callspec is not None else ""

    def take(fault: str, seconds: float) -> None:
        request.node.user_properties.append((RECOVERY, (fault, where, round(seconds, 2))))

    return take


def _recoveries(reporter: pytest.TerminalReporter) -> Iterator[tuple[str, str, float]]:
    for outcome in ("passed", "failed"):
        for each in reporter.stats.get(outcome, []):
            yield from (
                tuple(value)
                for name, value in getattr(each, "user_properties", ())
                if name == RECOVERY and each.when == "call"
            )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = sorted(_recoveries(terminalreporter))
    if not found:
        return
    terminalreporter.section("recoveries, in seconds after healing")
    for fault, where, seconds in found:
        terminalreporter.write_line(f"{seconds:8.2f}  {fault} ({where})")
    if path := config.getoption("--recoveries"):
        with Path(path).open("a") as file:
            file.writelines(json.dumps(each) + "\n" for each in found)
