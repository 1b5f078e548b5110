"""The tables of a sweep, in golden text, and what programs read."""

import csv
import io

import msgspec
import pytest

from tests import sweeps
from tuibench.errors import UsageError
from tuibench.model.results.sweep import Sweep
from tuibench.record.sweep.formats import SweepExport, compare_sweeps, sweep_text
from tuibench.record.sweep.tables import shared_settings
from tuibench.session.sweep.matrix import all_cells

HEADLINE = """\
oltp_write_only (2 × 10,000 rows): TPS by threads, mean ± 95 % interval; 2 runs of 5 s
threads                            4        8
durable 1/1                100 ± 127  190 ± 0
unsafe 0/0                1,005 ± 64  380 ± 0
unsafe 0/0 : durable 1/1       10.05     2.00

oltp_write_only, durable 1/1
threads                 4        8
QPS                   600    1,140
latency avg (ms)     1.50     1.50
latency p95 (ms)     3.25     3.25
errors                  1        1
slow queries            2        2
open tables            25       25
Questions/s           603    1,143
CPU server (%)         40       40
CPU tuibench (%)       10       10
memory server     256 MiB  256 MiB
"""

RUN = (
    "Settings     Run  CPU    Mem     Ping  Binlog  Threads       Table Size  Files Size  CPU Used  Mem Used"
)

RELATIVE = """\
relative to MariaDB 10.11.19
case             settings     threads  MariaDB 10.11.19  MariaDB 11.4.2
oltp_write_only  durable 1/1  4                    1.00           0.53~
oltp_write_only  durable 1/1  8                    1.00            0.53
oltp_write_only  unsafe 0/0   4                    1.00            0.53
oltp_write_only  unsafe 0/0   8                    1.00            0.53
~ the 95 % intervals of both overlap: the difference may be chance
"""


def partial(sweep: Sweep, cells: int) -> Sweep:
    return msgspec.structs.replace(sweep, results=sweep.results[:cells])


def test_the_summary_has_threads_across_and_variants_down() -> None:
    assert sweep_text(sweeps.sweep()).startswith(HEADLINE)


def test_the_cost_of_a_transaction_has_a_row_for_each_resource_that_is_known() -> None:
    whole = sweeps.sweep()
    first, *rest = whole.results
    costs = sweeps.costing(first, server_cpu_us=412.5, redo_bytes=6200.0)
    found = msgspec.structs.replace(whole, results=(costs, *rest))
    text = sweep_text(found)
    assert [line.split()[-3:] for line in text.splitlines() if line.startswith("server CPU/trx")] == [
        ["412.50", "µs", "–"]
    ]
    assert "redo/trx" in text
    assert "binlog/trx" not in text
    table = list(csv.DictReader(io.StringIO(sweep_text(found, "runs", "csv"))))
    assert table[0]["server_cpu_us_per_transaction"] == "412.5"
    assert table[0]["server_cpu_us_per_query"] == "20.625"
    assert table[0]["binlog_bytes_per_transaction"] == ""
    assert table[1]["server_cpu_us_per_transaction"] == ""


def test_what_is_not_measured_yet_is_a_dash_or_has_no_place() -> None:
    lines = sweep_text(partial(sweeps.sweep(), 6)).splitlines()
    assert lines[3].split() == ["unsafe", "0/0", "1,005", "±", "64", "–"]
    assert lines[4].split() == ["unsafe", "0/0", ":", "durable", "1/1", "10.05", "–"]
    one_column = sweep_text(partial(sweeps.sweep(), 1)).splitlines()
    assert one_column[1].split() == ["threads", "4"]
    assert one_column[2].split() == ["durable", "1/1", "90"]
    assert one_column[3] == ""


def test_settings_that_all_variants_share_stand_in_the_title() -> None:
    variants = tuple(
        msgspec.structs.replace(one, settings={"long_query_time": "0.1"}) for one in sweeps.PLAN.variants
    )
    text = sweep_text(sweeps.sweep(msgspec.structs.replace(sweeps.PLAN, variants=variants)))
    assert text.startswith("oltp_write_only (2 × 10,000 rows; long_query_time=0.1): TPS by threads")
    named = (msgspec.structs.replace(variants[0], name="long_query_time=0.1"),)
    assert shared_settings(named) == []
    assert shared_settings(variants) == ["long_query_time=0.1"]


def test_a_client_limited_point_is_marked_and_explained() -> None:
    whole = sweeps.sweep()
    limited = msgspec.structs.replace(whole.results[0], limited=True)
    sweep = msgspec.structs.replace(whole, results=(limited, *whole.results[1:]))
    text = sweep_text(sweep)
    assert "100 ± 127*  190 ± 0\n" in text
    assert "* client-limited" in text
    assert "client-limited" not in sweep_text(whole)


def test_a_profiles_own_headline_is_shown_with_tps_beside_it() -> None:
    cell = all_cells(sweeps.PLAN)[0]
    done = sweeps.result(cell, 20.0, headline="tpmC")
    assert done.figures is not None
    done = msgspec.structs.replace(done, figures=msgspec.structs.replace(done.figures, headline=530.0))
    text = sweep_text(msgspec.structs.replace(sweeps.sweep(), results=(done,)))
    assert ": tpmC by threads" in text
    assert "durable 1/1  530\n" in text
    assert "TPS                    20\n" in text


def test_one_row_a_run_with_what_else_moves_the_result() -> None:
    lines = sweep_text(sweeps.sweep(), "runs").splitlines()
    assert lines[0] == f"{RUN}    TPS    QPS  ERR  Latency"
    assert lines[1].split()[:3] == ["durable", "1/1", "1"]
    assert lines[1].endswith("  5 MiB      40 %   256 MiB     90    540    1  3.25 ms")
    assert len(lines) == 1 + 8 + 1


def test_a_load_without_binary_log_says_so() -> None:
    off = msgspec.structs.replace(sweeps.DURABLE, settings={"sql_log_bin": "OFF"})
    plan = msgspec.structs.replace(sweeps.PLAN, variants=(off,))
    sweep = Sweep(record=sweeps.record(plan), results=(sweeps.result(all_cells(plan)[0]),))
    (row,) = csv.DictReader(io.StringIO(sweep_text(sweep, "runs", "csv")))
    assert row["binlog"] == "off"


def test_versions_are_relative_to_the_first() -> None:
    both = [sweeps.sweep(), sweeps.sweep(factor=0.53, version="11.4.2")]
    assert compare_sweeps(both) == RELATIVE


def test_equal_servers_are_numbered_and_differing_plans_are_reported() -> None:
    longer = msgspec.structs.replace(sweeps.PLAN, base=msgspec.structs.replace(sweeps.PLAN.base, seconds=9.0))
    text = compare_sweeps([sweeps.sweep(), sweeps.sweep(longer)])
    assert "MariaDB 10.11.19 (1)  MariaDB 10.11.19 (2)" in text
    assert "sweep 2 differs from the first: base.seconds: 5.0 there, 9.0 here" in text


def test_variants_are_relative_to_the_first() -> None:
    lines = sweep_text(sweeps.sweep(), "relative").splitlines()
    assert lines[0] == "relative to durable 1/1"
    assert lines[2].split() == ["oltp_write_only", "4", "1.00", "10.05"]


def test_csv_has_a_row_a_combination_in_plain_numbers() -> None:
    first, *others = csv.DictReader(io.StringIO(sweep_text(sweeps.sweep(), "summary", "csv")))
    assert (first["settings"], first["threads"], first["runs"]) == ("durable 1/1", "4", "2")
    assert float(first["headline"]) == 100.0
    assert float(first["headline_ci95"]) == pytest.approx(127.06, abs=0.01)
    assert first["memory_server_bytes"] == str(float(256 * 2**20))
    assert first["memory_used_bytes"] == ""
    assert len(others) == 3


def test_json_holds_everything() -> None:
    sweep = sweeps.sweep()
    export = msgspec.json.decode(sweep_text(sweep, form="json"), type=SweepExport)
    assert (export.record, export.results) == (sweep.record, sweep.results)
    assert len(export.points) == 4
    assert len(msgspec.json.decode(compare_sweeps([sweep, sweep], "json"))) == 2


@pytest.mark.parametrize(("table", "form"), [("sumary", "text"), ("runs", "cvs")])
def test_unknown_words_get_the_nearest(table: str, form: str) -> None:
    with pytest.raises(UsageError, match=r"did you mean|is unknown"):
        sweep_text(sweeps.sweep(), table, form)
