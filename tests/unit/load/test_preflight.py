"""Whether the prepared statements of a run fit into the server."""

import pytest

from tuibench.load.preflight import LARGEST_LIMIT, PreparedRoom, prepared_statements, prepared_warning
from tuibench.workload import library


@pytest.mark.parametrize(
    ("limit", "in_use", "fits"), [(160, 0, True), (161, 1, True), (160, 1, False), (0, 0, False)]
)
def test_the_last_statement_decides(limit: int, in_use: int, fits: bool) -> None:
    assert (prepared_warning(PreparedRoom(limit, in_use), 16, 10) == "") == fits


def test_the_warning_has_the_figures_and_the_remedy() -> None:
    said = prepared_warning(PreparedRoom(16_382, 2), 2000, 9)
    assert (
        "2,000 connections × 9 prepared statements are 18,000, the server keeps 16,382, 2 are in use" in said
    )
    assert "SET GLOBAL max_prepared_stmt_count=18002" in said
    assert "--db-ps-mode=disable" in said


def test_a_limit_that_cannot_be_raised_is_not_advised() -> None:
    said = prepared_warning(PreparedRoom(16_382, 0), LARGEST_LIMIT, 2)
    assert "SET GLOBAL" not in said
    assert "--db-ps-mode=disable" in said


def test_a_server_that_is_over_its_limit_has_no_room() -> None:
    assert PreparedRoom(10, 12).free == 0


def test_what_a_connection_prepares() -> None:
    assert prepared_statements(library.program("oltp_point_select", {})) == 1
    assert prepared_statements(library.program("oltp_read_write", {})) >= 9
