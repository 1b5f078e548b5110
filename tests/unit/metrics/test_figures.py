"""The table of figures: each has a name, a meaning and a unit, and is read from a tick."""

import random
import re

import pytest
from msgspec.structs import replace

from tests import figure_reference
from tests.paths import ROOT
from tests.tables import for_each
from tests.ticks import GAUGE_NAMES
from tests.unit.record.hours import GROWING, Busy
from tests.unit.record.snapshots import MOMENT
from tuibench.base.errors import UsageError
from tuibench.metrics.figures import (
    ANOMALY_KINDS,
    FIGURES,
    MAIN_FIGURES,
    OTHER_FIGURES,
    Count,
    Figure,
    FigureUnit,
    FirstKnown,
    Level,
    Peak,
    Quantile,
    all_values,
    figure_named,
)
from tuibench.metrics.inference import FIGURES as SWEEP_FIGURES
from tuibench.metrics.inference import compare_figure
from tuibench.metrics.thresholds import parse_threshold
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.counters import CUMULATIVE_NAMES
from tuibench.model.tick import Histogram, Sample, Tick, total_tick
from tuibench.record.prometheus import metric_families
from tuibench.tui.figures import CHARTED_FIGURES as CHARTED
from tuibench.tui.figures import SOURCES, figure_value, read_figures


def rich_tick() -> Tick:
    """A tick in which everything was measured."""
    tick = Busy("tpcc", 200).tick(1).tick
    seen = random.Random(3)
    counters = {name: float(seen.randrange(1, 10**6)) for name in sorted(CUMULATIVE_NAMES)}
    gauges = {name: float(seen.randrange(1, 10**6)) for name in sorted(GAUGE_NAMES)}
    counts = ("good", "late", "resent", "failed", "abandoned", "retries", "reconnects", "unknown_commits",
              "error.1213", "headline", "rollbacks", "timed", "statement_ms", "logins", "missed_logins",
              "error.1020", "error.1205",
              "tally.missing_commits", *(f"anomaly.{kind}" for kind in ANOMALY_KINDS))  # fmt: skip
    host = ("reads", "read_ms", "writes", "write_ms", "read_bytes", "written_bytes", "received_bytes",
            "sent_bytes")  # fmt: skip
    whole = {"host.seconds": 3.0, "host.core_seconds": 12.0, "host.total": 12.0, "host.busy": 9.0,
             "host.server_cpu": 5.0, "host.tuibench_cpu": 1.0, "host.steal": 0.5,
             "host.throttled": 0.3}  # fmt: skip
    levels = {"backlog": 4, "threads": 8, "connections": 7, "rate": 200, "idle": 3, "users": 20, "waiting": 6}
    latencies = Histogram.of([900, 5_000, 70_000])
    return replace(
        tick,
        sums={
            **tick.sums,
            **counters,
            **dict.fromkeys(counts, 9.0),
            **{f"host.{name}": 50.0 for name in host},
            **whole,
            **{wait.key: 4e5 for wait in WaitClass},
            "time.completed": 40.0,
            "tally.updates": 700.0,
            "Innodb_buffer_pool_read_requests": 2e6,
        },
        levels={
            **tick.levels,
            **gauges,
            **levels,
            "host.memory_server": 2.0**30,
            "host.memory_used": 2.0**31,
            "host.memory_total": 2.0**33,
            "host.swap_used": 2.0**20,
            "Innodb_buffer_pool_pages_total": 8_192.0,
            "Innodb_buffer_pool_pages_free": 2_048.0,
            "Threads_connected": 12.0,
        },
        peaks={**tick.peaks, "lag_seconds": 2.5, "outage_seconds": 5.5, "worker_cpu": 0.4, "lag_p99_ms": 0.2},
        hists={**tick.hists, "service": latencies, "login": latencies, "wait": latencies},
    )


TICK = rich_tick()


def test_names_are_unique() -> None:
    counters = [name.lower() for name in CUMULATIVE_NAMES | GAUGE_NAMES]
    names = [figure.name for figure in (*MAIN_FIGURES, *OTHER_FIGURES)] + counters
    assert sorted(names) == sorted(FIGURES)
    assert all(name == figure.name == name.lower() for name, figure in FIGURES.items())


@for_each("figure", FIGURES.values())
def test_each_says_what_it_is(figure: Figure) -> None:
    assert figure.title
    assert figure.meaning
    assert not figure.meaning.endswith(".")
    assert figure.unit in FigureUnit
    assert figure.share == "" or FIGURES[figure.share].unit is FigureUnit.PERCENT
    assert figure.heading.startswith(figure.title)


@for_each("figure", FIGURES.values())
def test_each_is_read_from_a_tick_and_none_from_nothing(figure: Figure) -> None:
    value = figure.value(TICK)
    assert value is not None
    assert value > 0
    assert figure.value(Tick(end=1.0, seconds=1.0)) is None
    assert figure.text(value)
    assert figure.text(None) == "–"


def test_titles_of_rows_differ() -> None:
    headings = [figure.heading for figure in FIGURES.values()]
    assert sorted(headings) == sorted(set(headings))


def test_all_values_are_those_that_were_measured() -> None:
    assert all_values(TICK).keys() == FIGURES.keys()
    assert all_values(Tick()) == {}
    assert {name.lower() for name in GROWING} < all_values(Busy("tpcc", 20).tick(1).tick).keys()


@for_each("figure", FIGURES.values())
def test_parts_make_the_value(figure: Figure) -> None:
    parts = figure.parts(TICK)
    is_sum = not isinstance(figure.source, Count | Quantile | Level | Peak | FirstKnown)
    assert (parts is not None) == (is_sum and figure.name not in ("cpu_rest", "pool_used", "commits"))
    if parts is not None:
        assert parts[0] / parts[1] == pytest.approx(figure.value(TICK))


def test_what_a_load_leaves_out_is_zero_and_what_nobody_measured_is_not() -> None:
    calm = Tick(end=3.0, seconds=3.0, sums={"completed": 60, "queries": 0})
    assert FIGURES["tps"].value(calm) == 20
    assert FIGURES["qps"].value(calm) == 0
    assert FIGURES["errors"].value(calm) == FIGURES["errors_percent"].value(calm) == 0
    assert FIGURES["errors"].value(Tick(end=3.0, seconds=3.0, sums={"Questions": 3})) is None
    assert FIGURES["fsyncs"].value(calm) is None
    assert FIGURES["p95"].value(calm) is None


@for_each("figure", FIGURES.values())
def test_a_threshold_can_be_set_on_each(figure: Figure) -> None:
    threshold = parse_threshold(f"{figure.name} > 12.5")
    assert (threshold.figure, threshold.limit, threshold.unit) == (figure.name, 12.5, figure.unit)
    assert threshold.holds(replace(TICK, hists={}, levels={}, peaks={}, sums={})) is None
    assert threshold.value(TICK) == figure.value(TICK)


@pytest.mark.parametrize(("name", "title", "share"), [("p99.5", "p99.5", 0.995), ("P75_ms", "p75", 0.75)])
def test_any_percentile_is_a_figure(name: str, title: str, share: float) -> None:
    figure = figure_named(name)
    assert (figure.name, figure.source) == (title, Quantile("response", share))
    assert figure_named("p95_ms") is FIGURES["p95"]


@pytest.mark.parametrize(
    ("name", "near"),
    [("tsp", "tps"), ("fsync", "fsyncs"), ("comm_commit", "com_commit"), ("error_percent", "errors_percent")],
)
def test_an_unknown_name_gets_near_ones(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"there is no figure '{name}'") as told:
        figure_named(name)
    assert near in told.value.hint


def test_a_name_that_is_near_to_none_gets_examples() -> None:
    with pytest.raises(UsageError) as told:
        figure_named("zzzzzzzzzz")
    assert "tps" in told.value.hint


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("open_files", 2.0, "2"),
        ("open_tables", 1234.0, "1,234"),
        ("threads_running", 2.5, "2.50"),
        ("retries", 3.0, "3"),
        ("fsyncs", 2.0, "2.00"),
        ("questions", 2.0, "2.00"),
    ],
)
def test_a_number_of_things_has_no_decimals(name: str, value: float, text: str) -> None:
    assert FIGURES[name].text(value) == text


def test_a_rate_in_a_column_has_three_digits() -> None:
    texts = [FIGURES["questions"].text(value, in_column=True) for value in (0.025, 9.5, 16.52, 18_588.04)]
    assert texts == ["0.025", "9.50", "16.5", "18,588"]


@pytest.mark.parametrize(("name", "of_traffic"), [("p50", "half of the statements are slower"), ("tps", "")])
def test_latencies_of_traffic_are_those_of_statements(name: str, of_traffic: str) -> None:
    figure = FIGURES[name]
    assert figure.meaning_of(is_traffic=True) == (of_traffic or figure.meaning)
    assert figure.meaning_of(is_traffic=False) == figure.meaning


def test_the_reference_of_the_figures_is_of_today() -> None:
    """`.venv/bin/python -m tests.figure_reference` writes it."""
    assert figure_reference.PAGE.read_text(encoding="utf-8") == figure_reference.reference()


def test_the_page_names_only_figures() -> None:
    page = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    table = page.partition("\n| figures | of |\n|---|---|\n")[2].partition("\n\n")[0]
    named = [name for row in table.splitlines() for name in re.findall(r"`([\w.]+)`", row.split(" | ")[0])]
    assert len(named) > 30
    assert not [name for name in named if figure_named(name).name != name]


@for_each("figure", [*MAIN_FIGURES, *OTHER_FIGURES])
def test_a_figure_is_in_run_compare_sweep_history_report_prometheus_and_on_the_screen(
    figure: Figure,
) -> None:
    ticks = [replace(TICK, end=float(number)) for number in range(1, 4)]
    whole = figure.value(total_tick(ticks))
    summary_figures = all_values(total_tick(ticks))
    assert parse_threshold(f"{figure.name}>0").value(total_tick(ticks)) == whole
    assert summary_figures[figure.name] == whole
    assert compare_figure(figure, ticks, ticks).value == pytest.approx(whole, rel=1e-3)
    assert {figure.name, f"{figure.name}_ms", f"{figure.name}_bytes"} & set(SWEEP_FIGURES)
    assert figure_named(figure.name) is figure
    sample = Sample(number=1, at=1.7e9, late_ms=0.0, tick=TICK)
    (exported,) = [
        each.value
        for family in metric_families(replace(MOMENT, sample=sample))
        for each in family.samples
        if each.labels.get("figure") == figure.name
    ]
    assert exported == figure.value(TICK)
    keys = [each.key for each, (_, row) in zip(CHARTED, SOURCES, strict=True) if row.figure == figure.name]
    assert keys
    of_server = [key for key in keys if not key.startswith("CLIENT/")]
    shown = figure_value(of_server[0], read_figures(sample), {})
    assert shown == pytest.approx(figure.value(TICK), rel=1e-6)
