"""Whether the prepared statements of a run fit into the server."""

import pytest

from tests.unit.tuning.preflight.examples import client, facts
from tuibench.model.measurements.finding import Finding, Severity
from tuibench.model.plan import RunPlan
from tuibench.tuning.preflight.facts import count_prepared_statements, load_requirements, statement_kinds
from tuibench.tuning.preflight.limit_checks import LARGEST_PREPARED_LIMIT, check_connections
from tuibench.tuning.preflight.limit_checks import check_prepared_statements as room
from tuibench.workload import library


def found(limit: int, in_use: int, threads: int, statements: int) -> Finding:
    return room(
        facts(
            variables={"max_prepared_stmt_count": str(limit)},
            server={"status": {"Prepared_stmt_count": in_use}},
            requirements={"threads": threads, "statements": statements},
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


OWN_LIMIT = "ALTER USER `app`@`localhost` WITH MAX_USER_CONNECTIONS"
OF_EACH = "SET GLOBAL max_user_connections ="


@pytest.mark.parametrize(
    ("most", "of_each", "others", "severity", "words", "remedy"),
    [
        (None, 0, 0, Severity.OK, "the server accepts 151", ""),
        (0, 0, 9, Severity.OK, "the server accepts 151", ""),
        (-1, -1, 9, Severity.OK, "the server accepts 151", ""),
        (20, 0, 0, Severity.OK, "the server accepts 151", ""),
        (152, 0, 0, Severity.OK, "the server accepts 151", ""),
        (19, 0, 0, Severity.WARNING, "may have 19 (its MAX_USER_CONNECTIONS): up to 1", f"{OWN_LIMIT} 20"),
        (20, 0, 3, Severity.WARNING, "plus 3 of the same user, the account may have 20", f"{OWN_LIMIT} 23"),
        (9, 9, 0, Severity.WARNING, "have 9 (max_user_connections): up to 11 will be", f"{OF_EACH} 20"),
        (3, 0, 0, Severity.WARNING, "up to 17 will be refused", f"{OWN_LIMIT} 20"),
        (2, 0, 0, Severity.STOP, "a run takes 2 connections in addition to its load", f"{OWN_LIMIT} 20"),
        (1, 1, 0, Severity.STOP, "the account may have 1 (max_user_connections)", f"{OF_EACH} 20"),
    ],
)
def test_the_accounts_own_limit(
    most: int | None, of_each: int, others: int, severity: Severity, words: str, remedy: str
) -> None:
    """16 threads and 4 connections of tuibench; the server accepts 151."""
    clients = [client(id=number, user="app") for number in range(others)]
    finding = check_connections(
        facts(
            variables={"max_user_connections": str(of_each)},
            server={"user": "app", "user_connections": most, "clients": (*clients, client())},
        )
    )
    assert (finding.id, finding.severity, finding.remedy) == ("max_connections", severity, remedy)
    assert words in finding.found


def test_where_the_server_takes_too_few_the_lower_limit_counts() -> None:
    def found(in_all: int, most: int) -> str:
        return check_connections(
            facts(variables={"max_connections": str(in_all)}, server={"user_connections": most})
        ).found

    assert "the server accepts 10: 12 will be refused" in found(10, 15)
    assert "the account may have 9" in found(10, 9)


def test_what_a_connection_prepares() -> None:
    assert count_prepared_statements(library.load_program("oltp_point_select", {})) == 1
    assert count_prepared_statements(library.load_program("oltp_read_write", {})) >= 9


@pytest.mark.parametrize(
    ("profile", "wanted"),
    [
        ("oltp_point_select", ("SELECT",)),
        ("oltp_read_write", ("SELECT", "INSERT", "UPDATE", "DELETE")),
        ("oltp_insert", ("INSERT",)),
    ],
)
def test_the_privileges_that_a_profile_takes(profile: str, wanted: tuple[str, ...]) -> None:
    assert statement_kinds(library.load_program(profile, {})) == wanted


@pytest.mark.parametrize("profile", ["oltp_read_write", "bulk_insert"])
def test_the_requirements_of_a_plan(profile: str) -> None:
    program = library.load_program(profile, {"threads": 8})
    requirements = load_requirements(RunPlan(profile=profile, threads=8, prepared=False), program, 72)
    assert (requirements.threads, requirements.open_files, requirements.statements) == (8, 72, 0)
    assert requirements.stems == ("sbtest",)
    assert (requirements.data_bytes > 1_000_000) == (profile == "oltp_read_write")
