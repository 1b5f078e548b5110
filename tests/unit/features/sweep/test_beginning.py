"""The known beginning of a cell: its readings, and what is said when it cannot be had."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tests import sweeps, versions
from tuibench.base.errors import UsageError
from tuibench.cli.options import StartOptions
from tuibench.features.sweep.beginning import beginning_line, beyond, readings, rows_before, shortcomings
from tuibench.features.sweep.planning import cells_by_start
from tuibench.model.sweep import Start

from .test_versions import Stage

MIB = 2**20
POOL = {"Innodb_buffer_pool_pages_total": 8000, "Innodb_page_size": 16384}
MARIADB = {
    **POOL,
    "Innodb_buffer_pool_bytes_dirty": 25 * MIB,
    "Innodb_history_list_length": 1001,
    "Innodb_checkpoint_age": 9 * MIB,
    "Innodb_checkpoint_max_age": 100 * MIB,
}
MYSQL = {
    **POOL,
    "Innodb_buffer_pool_bytes_dirty": MIB,
    "innodb_metrics.history_list_length": 12,
    "Innodb_redo_log_current_lsn": 512 * MIB,
    "Innodb_redo_log_checkpoint_lsn": 501 * MIB,
    "Innodb_redo_log_capacity_resized": 100 * MIB,
}


def test_readings_of_both_flavours() -> None:
    found = readings(MARIADB)
    assert found == pytest.approx(
        {"dirty_percent": 20.0, "history_list": 1001, "checkpoint_age_percent": 9.0}
    )
    assert beyond(found) == ("dirty_percent", "history_list")
    assert beyond(readings(MYSQL)) == ("checkpoint_age_percent",)


def test_what_cannot_be_had_is_said() -> None:
    found = {**readings(MARIADB), "waited_seconds": 120.2, "rows": 990.0}
    assert shortcomings(found, 1000.0) == (
        "beginning not reached: dirty pages 20 %, history list 1,001 after 120 s",
        "other data: 990 rows, 1,000 before the first cell",
    )
    assert shortcomings(readings({"Innodb_history_list_length": 3}), None) == (
        "beginning not known: the server does not tell dirty pages, checkpoint age",
    )
    assert shortcomings({**readings(MYSQL), "checkpoint_age_percent": 10.0, "rows": 7.0}, 7.0) == ()


def test_the_first_cell_on_the_tables_says_what_the_data_are() -> None:
    sweep = sweeps.sweep(msgspec.structs.replace(sweeps.PLAN, start=Start.WARM))
    assert beginning_line(sweep) == ""
    results = tuple(
        msgspec.structs.replace(one, beginning={"rows": rows, "history_list": rows, "waited_seconds": 0.5})
        for rows, one in enumerate(sweep.results, 40)
    )
    sweep = msgspec.structs.replace(sweep, results=results)
    assert rows_before(sweep, sweeps.CASE) == 40
    other = msgspec.structs.replace(sweeps.CASE, data="other tables")
    assert rows_before(sweep, other) is None
    assert beginning_line(sweep) == ("each cell began warm, with at most history list 47; waited up to 0.5 s")


def test_a_cold_buffer_pool_needs_a_server_that_may_be_restarted() -> None:
    assert StartOptions("cold").applied(sweeps.PLAN, is_private=True).start is Start.COLD
    assert StartOptions("warm").applied(sweeps.PLAN, is_private=False).start is Start.WARM
    for word, text in (("cold", "needs a restart of the server"), ("hot", "--start")):
        with pytest.raises(UsageError, match=text):
            StartOptions(word).applied(sweeps.PLAN, is_private=False)


@pytest.mark.parametrize(
    ("start", "restarts"),
    [
        (Start.AS_IS, ([], [])),
        (Start.WARM, (["save old"], ["restore old"])),
        (Start.COLD, (["save old", "restore old cold"], ["restore old cold"])),
    ],
)
def test_each_cell_on_a_private_server_gets_the_first_ones_data(
    tmp_path: Path, start: Start, restarts: tuple[list[str], list[str]]
) -> None:
    stage = Stage(start)
    first, second = cells_by_start(versions.PLAN)[:2]
    assert (first.variant, first.repeat) == (second.variant, second.repeat)
    asyncio.run(stage.ready(first, second, second))
    begun = ["start old", "make make 2 tables on /old"]
    assert stage.log == [*begun, *restarts[0], *restarts[1], *restarts[1]]
