"""A sweep as a page: its tables, its charts against threads, well-formed and by itself."""

import re

import msgspec
import pytest

from tests import sweeps
from tests.unit.record.html.test_page import FETCHED, read
from tuibench.errors import UsageError
from tuibench.model.results.sweep import Mean
from tuibench.record.html.threads_chart import ThreadsLine, threads_chart
from tuibench.record.sweep.formats import compare_sweeps, sweep_text
from tuibench.record.sweep.html_page import sweep_html

X = re.compile(r'cx="([0-9.]+)"')


def mean(value: float, half_width: float | None = None) -> Mean:
    return Mean(mean=value, half_width=half_width, count=2)


def test_the_page_is_well_formed_and_by_itself() -> None:
    page = sweep_text(sweeps.sweep(), form="html")
    reader = read(page)
    assert "oltp_write_only" in reader.headings
    assert "1,005 ± 64" in reader.text
    assert not FETCHED.search(page)


def test_each_figure_has_a_chart_with_a_line_for_each_variant() -> None:
    page = sweep_html(sweeps.sweep())
    assert page.count("<svg") == 7
    assert page.count('class="s1"') == page.count('class="s2"') == 7


def test_a_sweep_of_which_nothing_is_known_is_a_page_too() -> None:
    nothing = msgspec.structs.replace(sweeps.sweep(), results=(), data=())
    assert "0 runs" in sweep_html(nothing)


def test_comparisons_have_no_page() -> None:
    with pytest.raises(UsageError, match="--show DIR --format html"):
        compare_sweeps([sweeps.sweep()], "html")


def test_threads_stand_at_equal_distances_and_higher_is_higher() -> None:
    line = ThreadsLine("durable", {1: mean(10), 8: mean(20), 64: mean(40)})
    picture = threads_chart("TPS", (1, 8, 64), (line,))
    first, second, third = map(float, X.findall(picture))
    assert third - second == pytest.approx(second - first)
    heights = [float(y) for y in re.findall(r'cy="([0-9.]+)"', picture)]
    assert heights == sorted(heights, reverse=True)


def test_an_interval_is_drawn_and_one_that_reaches_below_zero_is_cut_there() -> None:
    wide = threads_chart("TPS", (1,), (ThreadsLine("durable", {1: mean(100, 1000)}),))
    assert wide.count('d="M') == 1
    assert "100 ± 1000" in wide
    assert ">200<" in wide
    assert ">1.5 k<" not in wide
    assert threads_chart("TPS", (1,), (ThreadsLine("durable", {1: mean(100)}),)).count('d="M') == 0


def test_a_gap_is_no_line() -> None:
    line = ThreadsLine("durable", {1: mean(10), 4: mean(20)})
    with_gap = threads_chart("TPS", (1, 2, 4), (line,))
    without = threads_chart("TPS", (1, 4), (line,))
    assert (with_gap.count("L"), without.count("L")) == (0, 1)
