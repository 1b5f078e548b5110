"""Whether the prepared statements of a run fit into the server."""

import pytest

from tests.unit.tuning.preflight.examples import facts
from tuibench.model.finding import Finding, Severity
from tuibench.model.plan import Plan
from tuibench.tuning.preflight.demand import demand_of, kinds, prepared_statements
from tuibench.tuning.preflight.limits import LARGEST_PREPARED_LIMIT
from tuibench.tuning.preflight.limits import prepared_statements as room
from tuibench.workload import library


def found(limit: int, in_use: int, threads: int, statements: int) -> Finding:
    return room(
        facts(
            variables={"max_prepared_stmt_count": str(limit)},
            server={"status": {"Prepared_stmt_count": in_use}},
            demand={"threads": threads, "statements": statements},
        )
    )


@pytest.mark.parametrize(
    ("limit", "in_use", "fits"),
    [(160, 0, True), (161, 1, True), (160, 1, False), (0, 0, False), (10, 12, False)],
)
def test_the_last_statement_decides(limit: int, in_use: int, fits: bool) -> None:
    assert (found(limit, in_use, 16, 10).severity is Severity.OK) == fits


def test_the_warning_has_the_figures_and_the_remedy() -> None:
    finding = found(16_382, 2, 2000, 9)
    assert (
        "2,000 connections × 9 prepared statements are 18,000, the server keeps 16,382, 2 are in use"
        in finding.found
    )
    assert finding.remedy == "SET GLOBAL max_prepared_stmt_count=18002, or run with --db-ps-mode=disable"


def test_a_limit_that_cannot_be_raised_is_not_advised() -> None:
    assert found(16_382, 0, LARGEST_PREPARED_LIMIT, 2).remedy == "run with --db-ps-mode=disable"


def test_what_a_connection_prepares() -> None:
    assert prepared_statements(library.program("oltp_point_select", {})) == 1
    assert prepared_statements(library.program("oltp_read_write", {})) >= 9


@pytest.mark.parametrize(
    ("profile", "wanted"),
    [
        ("oltp_point_select", ("SELECT",)),
        ("oltp_read_write", ("SELECT", "INSERT", "UPDATE", "DELETE")),
        ("oltp_insert", ("INSERT",)),
    ],
)
def test_the_privileges_that_a_profile_takes(profile: str, wanted: tuple[str, ...]) -> None:
    assert kinds(library.program(profile, {})) == wanted


@pytest.mark.parametrize("profile", ["oltp_read_write", "bulk_insert"])
def test_the_demand_of_a_plan(profile: str) -> None:
    program = library.program(profile, {"threads": 8})
    demand = demand_of(Plan(profile=profile, threads=8, prepared=False), program, 2)
    assert (demand.threads, demand.workers, demand.statements) == (8, 2, 0)
    assert demand.stems == ("sbtest",)
    assert (demand.data_bytes > 1_000_000) == (profile == "oltp_read_write")
