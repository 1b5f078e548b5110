"""Reports of sweeps and versions."""

import csv
import io
import json
import re
from statistics import geometric_mean

import msgspec
import pytest

from tests import sweeps, versions
from tests.unit.report.test_html import FETCHED, read
from tuibench.base.errors import UsageError
from tuibench.features.sweep.formats import (
    SweepExport,
    compare_sweeps,
    sweep_html,
    sweep_json,
    sweep_text,
    versions_html,
    versions_text,
)
from tuibench.features.sweep.planning import all_cells
from tuibench.features.sweep.tables import (
    differing_variables,
    shared_settings,
    sweep_answer,
    version_comparisons,
    versions_answer,
)
from tuibench.model.effect import Verdict
from tuibench.model.findings import Mean
from tuibench.model.sweep import Sweep, SweepVariant
from tuibench.report.html_chart import SMALL
from tuibench.report.html_plots import ThreadsLine, threads_chart

# The tables of a sweep, in golden text, and what programs read.


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
~ the 95 % intervals of both overlap: it could be start-to-start variation
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
        ["412", "µs", "–"]
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
    done = msgspec.structs.replace(done, figures=done.figures | {"headline": 530.0})
    text = sweep_text(msgspec.structs.replace(sweeps.sweep(), results=(done,)))
    assert ": tpmC by threads" in text
    assert "durable 1/1  530\n" in text
    assert "TPS                    20\n" in text


def test_one_row_a_run_with_what_else_moves_the_result() -> None:
    lines = sweep_text(sweeps.sweep(), "runs").splitlines()
    assert lines[0] == f"{RUN}    TPS    QPS  ERR  Latency"
    assert lines[1].split()[:3] == ["durable", "1/1", "1"]
    assert lines[1].endswith("  5.00 MiB      40 %   256 MiB     90    540    1  3.25 ms")
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


# A sweep as a page: its tables, its charts against threads, well-formed and by itself.


X = re.compile(r'cx="([0-9.]+)"')


def mean(value: float, half_width: float | None = None) -> Mean:
    return Mean(mean=value, half_width=half_width, count=2)


def test_the_page_is_well_formed_and_by_itself() -> None:
    page = sweep_text(sweeps.sweep(), form="html")
    reader = read(page)
    assert "oltp_write_only" in reader.headings
    assert "1,005 ± 64" in reader.text
    assert not FETCHED.search(page)


def test_the_page_begins_with_what_was_found() -> None:
    answer = "oltp_write_only: most TPS with unsafe 0/0 and 4 threads, 1,005 ± 64."
    assert answer in read(sweep_html(sweeps.sweep())).text
    assert sweep_answer(partial(sweeps.sweep(), 1)) == (
        "oltp_write_only: most TPS with durable 1/1 and 4 threads, 90.",
    )
    assert 'class="answer"' not in sweep_html(msgspec.structs.replace(sweeps.sweep(), results=(), data=()))


def test_a_comparison_begins_with_its_mean_over_all_tests() -> None:
    answer = "new against old: TPS −29 % (−40..−16 %), the geometric mean of 2 tests."
    assert answer in read(versions_html(versions.comparison())).text.replace("\N{NO-BREAK SPACE}", " ")
    assert versions_answer(versions.record()) == ()


def test_each_figure_has_a_chart_with_a_line_for_each_variant() -> None:
    page = sweep_html(sweeps.sweep())
    assert page.count("<svg") == 8
    assert page.count('class="s1"') == page.count('class="s2"') == 8


def test_a_sweep_of_which_nothing_is_known_is_a_page_too() -> None:
    nothing = msgspec.structs.replace(sweeps.sweep(), results=(), data=())
    assert "0 runs" in sweep_html(nothing)


def test_comparisons_have_no_page() -> None:
    with pytest.raises(UsageError, match="--show DIR --format html"):
        compare_sweeps([sweeps.sweep()], "html")


def test_threads_stand_at_equal_distances_and_higher_is_higher() -> None:
    line = ThreadsLine("durable", {1: mean(10), 8: mean(20), 64: mean(40)})
    picture = threads_chart("TPS", (1, 8, 64), (line,), width=SMALL)
    first, second, third = map(float, X.findall(picture))
    assert third - second == pytest.approx(second - first)
    heights = [float(y) for y in re.findall(r'cy="([0-9.]+)"', picture)]
    assert heights == sorted(heights, reverse=True)


def test_an_interval_is_drawn_and_one_that_reaches_below_zero_is_cut_there() -> None:
    wide = threads_chart("TPS", (1,), (ThreadsLine("durable", {1: mean(100, 1000)}),), width=SMALL)
    assert wide.count('d="M') == 1
    assert "durable, 1 thread: 100 ± 1,000" in wide
    assert ">200<" in wide
    assert ">1.5 k<" not in wide
    assert (
        threads_chart("TPS", (1,), (ThreadsLine("durable", {1: mean(100)}),), width=SMALL).count('d="M') == 0
    )


def test_a_gap_is_no_line() -> None:
    line = ThreadsLine("durable", {1: mean(10), 4: mean(20)})
    with_gap = threads_chart("TPS", (1, 2, 4), (line,), width=SMALL)
    without = threads_chart("TPS", (1, 4), (line,), width=SMALL)
    assert (with_gap.count("L"), without.count("L")) == (0, 1)


# What is told of server programs against each other.


TEXT = """\
relative to old (1, with its figure); 95 % intervals over 3 starts
test            threads            old                new
oltp_read_only        4  1 (1,000 TPS)  0.50 (0.48..0.52)
oltp_insert           4    1 (100 TPS)  1.01 (0.74..1.37) ~
geometric mean                       1  0.71 (0.60..0.84)
~ too noisy to tell: the interval includes 1, and more than ±5 %
"""


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_one_table_relative_to_the_first() -> None:
    assert lines(versions_text(versions.comparison())) == lines(TEXT)


def test_each_test_has_its_interval_and_verdict() -> None:
    by_key = {(one.case, one.build): one for one in version_comparisons(versions.comparison())}
    reads, inserts = by_key["oltp_read_only", "new"], by_key["oltp_insert", "new"]
    assert (reads.verdict, inserts.verdict) == (Verdict.LOWER, Verdict.CANNOT_TELL)
    assert reads.levels == (500.0, 510.0, 490.0)
    assert by_key["oltp_insert", "old"].relative == 1.0
    ratios = [one.relative for one in (reads, inserts) if one.relative is not None]
    assert by_key["", "new"].relative == pytest.approx(geometric_mean(ratios))


def test_a_mean_over_all_tests_takes_the_starts_that_have_all() -> None:
    whole = versions.comparison()
    part = msgspec.structs.replace(whole, results=whole.results[:-1])
    means = [one for one in version_comparisons(part) if not one.case]
    assert sorted(len(one.levels) for one in means) == [2, 3]


def test_a_single_start_has_ratios_and_no_verdicts() -> None:
    plan = msgspec.structs.replace(versions.PLAN, repeats=1)
    text = versions_text(versions.comparison(plan))
    assert "one start: no intervals" in text
    assert lines(text)[2] == ["oltp_read_only", "4", "1", "(1,000", "TPS)", "0.50"]
    assert "--starts=5" in text
    assert all(one.low is None for one in version_comparisons(versions.comparison(plan)))


def test_a_build_that_was_not_measured_yet_has_a_dash() -> None:
    whole = versions.comparison()
    early = msgspec.structs.replace(whole, results=whole.results[:2])
    assert lines(versions_text(early))[2] == ["oltp_read_only", "4", "1", "(1,000", "TPS)", "–"]


def test_csv_and_json_have_the_same() -> None:
    sweep = versions.comparison()
    header, *rows = versions_text(sweep, "csv").splitlines()
    assert header == "test,threads,build,headline_name,starts,mean,relative,low,high,verdict,caveat"
    assert rows[1].startswith("oltp_read_only,4,new,TPS,3,500.0,0.4999")
    assert rows[-1].startswith(",,new,,3,")
    told = json.loads(sweep_json(sweep))
    assert [one["build"] for one in told["starts"]] == ["old", "new", "new", "old", "old", "new"]
    assert told["comparisons"][1]["relative"] == pytest.approx(0.5, rel=0.01)


def test_many_tests_say_how_many_are_off_by_chance() -> None:
    names = [f"new{number}" for number in range(10)]
    builds = (versions.OLD, *(msgspec.structs.replace(versions.NEW, name=name) for name in names))
    whole = versions.comparison()
    new = [one for one in whole.results if one.cell.variant.name == "new"]
    copies = [
        msgspec.structs.replace(one, cell=msgspec.structs.replace(one.cell, variant=SweepVariant(name=name)))
        for name in names
        for one in new
    ]
    old = [one for one in whole.results if one.cell.variant.name == "old"]
    plan = msgspec.structs.replace(
        versions.PLAN, variants=tuple(SweepVariant(name=build.name) for build in builds)
    )
    setup = msgspec.structs.replace(versions.SETUP, builds=builds)
    sweep = msgspec.structs.replace(versions.record(plan, setup), results=(*old, *copies))
    assert "of 30 intervals about 2 exclude the true ratio by chance" in versions_text(sweep)


def test_settings_that_differ() -> None:
    assert differing_variables([versions.OLD, versions.NEW]) == [("innodb_io_capacity", "200", "10000")]


def test_the_page_has_the_table_its_picture_and_every_test() -> None:
    page = versions_html(versions.comparison())
    for words in (
        "old against new",
        "0.50 (0.48..0.52)",
        "new: 0.50 (0.48..0.52)",
        "<h2>oltp_insert</h2>",
        "Settings that differ",
        "3 of each, in alternating order",
    ):
        assert words in page
    assert "http" not in page.split("</style>")[1]
    ratios = re.findall(r'<svg class="(\w+)" viewBox="0 0 (\d+) \d+" role="img" aria-label="each test', page)
    assert ratios == [("wide", "1120"), ("slim", "490")]


def test_an_early_page_has_no_picture() -> None:
    assert "each test relative to" not in versions_html(versions.record())
