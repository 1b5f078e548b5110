"""Panels of the load: latency, slowest statements, hosts, trends."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.golden import Golden
from tests.ticks import changed
from tests.tui.support import script
from tests.unit.tui.views import role_of, short_story, text, with_load
from tuibench.model.cluster import HostState, LoadHost
from tuibench.model.event import Event, EventKind
from tuibench.model.findings import Headline
from tuibench.model.tick import RESPONSE, STATEMENT, UPPER_US, Histogram, Latency, coarse_bucket
from tuibench.tui.panels.lists import ListMarks, TrendRow, TrendSection, listed_keys, stack_sections
from tuibench.tui.panels.load import (
    P95,
    PERCENTILES,
    QPS,
    TPS,
    big_figure,
    big_latency,
    big_rate,
    error_rate_label,
    latency_table,
    latency_table_height,
    measures_of,
    side_statements,
    slowest_panel,
    small_figure,
)
from tuibench.tui.panels.load_hosts import load_hosts, load_hosts_height
from tuibench.tui.panels.time_chart import AXIS_WIDTH, heat_map, heat_map_legend, time_chart
from tuibench.tui.steering import move_cursor
from tuibench.tui.text import TextLine, line_width, plain_text
from tuibench.tui.view import View, initial_view, next_view

# The latency screen: heat map, table, captions.


def shape(lowest: int, *counts: int) -> Histogram:
    """So many latencies in each of the coarse buckets from the lowest one."""
    within = [int(0.9 * UPPER_US[bucket]) for bucket in range(lowest, lowest + len(counts))]
    return Histogram.of([us for us, times in zip(within, counts, strict=True) for _ in range(times)])


def run_of(*shapes: Histogram | None, **load: Any) -> View:
    """One sample a second with these latencies; None is a second that was not measured."""
    view, base = initial_view(script.hello(0)), script.samples(1)[0]
    for number, each in enumerate(shapes, 1):
        part = script.load_part(1_180.0, 17.4, 16, **load)
        part = msgspec.structs.replace(part, hists=part.hists | {RESPONSE: each or Histogram()})
        view = next_view(view, changed(base, elapsed_seconds=float(number), load=each and part))
    return view


def statements_of(view: View) -> dict[str, Latency]:
    assert view.load is not None
    found = {name: each.latency() for name, each in view.load.named(STATEMENT).items()}
    return {name: latency for name, latency in found.items() if latency is not None}


def test_the_slowest_are_on_top_and_a_larger_share_is_denser() -> None:
    low = coarse_bucket(1_000)
    view = run_of(shape(low, 10, 80, 9, 1), None, shape(low, 1000, 0, 0, 1))
    rows = [line[AXIS_WIDTH:] for line in text(heat_map(view, AXIS_WIDTH + 3, 8)).splitlines()]
    assert rows == ["░ ·", "▓", "█", "▓ █"]


def test_rows_are_labelled_by_their_upper_end() -> None:
    view = run_of(shape(coarse_bucket(1_000), 10, 80, 9, 1))
    assert [line[:AXIS_WIDTH].strip() for line in text(heat_map(view, 20, 8)).splitlines()] == [
        "2.4 ms",
        "",
        "1.3 ms",
        "",
    ]


def test_a_label_has_the_unit_that_fits() -> None:
    assert text(heat_map(run_of(shape(5, 1)), 20, 8)).startswith(" 56 µs ")
    assert text(heat_map(run_of(shape(47, 1)), 20, 8)).startswith("  10 s ")


def test_the_map_fits_its_height_whatever_was_measured() -> None:
    wide = run_of(shape(0, *[1] * 48))
    assert heat_map(wide, 40, 7) == heat_map_legend(wide, 18, 7) == []
    for height in (8, 9, 48, 60):
        lines = heat_map(wide, 40, height)
        assert 0 < len(lines) <= height
        assert all(line_width(line) == 40 for line in lines)


def test_the_cursor_goes_through_the_map() -> None:
    view = run_of(shape(10, 5), shape(10, 5))
    assert "┃" in text(heat_map(move_cursor(-1)(view, 20), AXIS_WIDTH + 20, 8))


def test_before_the_first_latency_the_map_says_so() -> None:
    assert "no latencies yet" in text(heat_map(initial_view(script.hello(0)), 40, 8))
    assert text(heat_map_legend(initial_view(script.hello(0)), 18, 8)).splitlines()[0] == "HEAT MAP"


def test_the_table_has_all_then_kinds_then_commit_then_the_other_statements() -> None:
    kinds = {"payment": script.latency(9.0, 430), "new order": script.latency(20.0, 450)}
    view = run_of(shape(10, 5), by_transaction=kinds)
    names = [line[:22].strip() for line in text(latency_table(view, 120, 12)).splitlines()]
    assert names[:4] == ["LATENCIES", "all transactions", "transaction new order", "transaction payment"]
    assert names[4:] == ["commit", "range select", "select by key", "update", "begin"]


def test_rows_keep_their_order_whatever_their_shares_are() -> None:
    view = initial_view(script.hello(60))
    assert view.sample is not None
    assert view.load is not None
    seldom = {name: script.latency(1.0, 1) for name in reversed(statements_of(view))}
    load = script.load_part(1_500.0, 57.0, 64, statements={**seldom, "update": script.latency(90.0)})
    after = next_view(view, changed(view.sample, elapsed_seconds=61.0, load=load))
    before_names, after_names = (
        [line[:22].strip() for line in text(latency_table(each, 120, 12)).splitlines()]
        for each in (view, after)
    )
    assert before_names == after_names


def test_commit_is_visible_where_there_is_room_for_little() -> None:
    assert "\ncommit " in text(latency_table(initial_view(script.hello(60)), 78, 4))


def test_a_row_tells_rate_share_and_percentiles() -> None:
    view = initial_view(script.hello(60))
    row = next(line for line in text(latency_table(view, 120, 12)).splitlines() if line.startswith("commit"))
    assert view.load is not None
    spent = {name: latency.count * latency.avg for name, latency in statements_of(view).items()}
    share = 100 * spent["commit"] / sum(spent.values())
    assert row.split()[:4] == ["commit", "2,000", f"{share:.1f}", "%"]
    assert f"{statements_of(view)['commit'].p99:.1f} ms" in row


def test_what_has_no_room_is_counted() -> None:
    assert text(latency_table(initial_view(script.hello(60)), 78, 4)).splitlines()[-1] == "and 4 more"


def test_what_did_not_come_this_second_is_a_dash() -> None:
    view = initial_view(script.hello(60))
    assert view.sample is not None
    assert view.load is not None
    seldom: dict[str, Latency] = {**statements_of(view)}
    del seldom["commit"]
    load = script.load_part(1_500.0, 57.0, 64, statements=seldom)
    view = next_view(view, changed(view.sample, elapsed_seconds=61.0, load=load))
    row = next(line for line in text(latency_table(view, 120, 12)).splitlines() if line.startswith("commit"))
    assert row.split()[1:7] == ["–"] * 6
    assert row.endswith("ms")


def test_before_the_first_sample_the_table_says_so() -> None:
    assert "waiting for the first sample" in text(latency_table(initial_view(script.hello(0)), 80, 4))


def test_a_caption_is_name_value_and_meaning() -> None:
    lines = text(small_figure(PERCENTILES[0], initial_view(script.hello(60)), 18, 2)).splitlines()
    assert lines[0].startswith("p50")
    assert lines[0].endswith("ms")
    assert lines[1] == "half are slower"


def test_in_its_height_the_table_is_complete() -> None:
    view = initial_view(script.hello(60))
    height = latency_table_height(view)
    assert "more" not in text(latency_table(view, 100, height))
    assert len(latency_table(view, 100, height + 5)) == height
    assert "more" in text(latency_table(view, 100, height - 1))


# Statements by their share of the time, and the slowest transaction, beside the charts and on Latency.


def slowest_text(lines: list[TextLine]) -> list[str]:
    return ["".join(span.text for span in line).rstrip() for line in lines]


def view(length: int = 60) -> View:
    return initial_view(script.hello(length))


def test_statements_are_listed_by_their_share_of_the_time() -> None:
    lines = slowest_text(side_statements(view(), 35, 20))
    assert lines[0].split() == ["STATEMENTS", "p95", "of", "time"]
    shares = [int(line.split()[-2]) for line in lines[1 : lines.index("")]]
    assert shares == sorted(shares, reverse=True)
    assert 98 <= sum(shares) <= 102
    assert lines[lines.index("") + 1].startswith("SLOWEST of 1 min")
    assert all(len(line) <= 35 for line in lines)


def test_the_slowest_transaction_says_where_its_time_went() -> None:
    (line,) = slowest_text(slowest_panel(view(), 80, 1))
    assert line.startswith("SLOWEST  ")
    assert "commit" in line
    assert len(slowest_text(slowest_panel(view(), 80, 2))) == 2
    cut = slowest_text(slowest_panel(view(), 60, 2))[-1]
    assert cut.rstrip().endswith("…"), "and no comma"
    assert "…" not in "".join(slowest_text(slowest_panel(view(), 60, 3)))


def test_without_a_sample_or_in_a_session_without_load_there_is_nothing() -> None:
    empty = msgspec.structs.replace(view(), recent=())
    assert slowest_panel(empty, 80, 2) == []
    assert side_statements(empty, 35, 20) == []


def test_a_time_is_not_separated_from_its_unit() -> None:
    lines = slowest_text(side_statements(view(), 35, 20))
    below = lines[lines.index("") + 2 :]
    assert len(below) > 2
    assert not any(line.startswith("ms") for line in below)
    assert "(longest" in " ".join(below)


# The hosts of a load on the Host screen.


EAST = LoadHost(
    name="east",
    connections=128,
    transactions_per_second=4321.5,
    p95_ms=12.3,
    workers=8,
    worker_cpu=0.91,
    lag_p99_ms=0.4,
    cores=8,
    cpu_total=92.0,
    cpu_others=1.0,
    cpu_steal=0.0,
    cpu_throttled=7.0,
    clock_offset_ms=-3.25,
    clock_error_ms=0.3,
    round_trip_ms=0.6,
)
WEST = LoadHost(name="west", state=HostState.SILENT)
SOUTH = LoadHost(name="south", state=HostState.LOST)


def seen(*hosts: LoadHost) -> View:
    return with_load(hosts=hosts)


def texts(view: View, width: int = 78, height: int = 10) -> list[str]:
    return [plain_text(line).rstrip() for line in load_hosts(view, width, height)]


def test_a_load_from_this_host_alone_has_no_such_table() -> None:
    assert texts(seen()) == []
    assert load_hosts_height(seen(), 30) == 0


def test_each_host_has_a_line_of_figures_or_says_why_not() -> None:
    assert texts(seen(EAST, WEST, SOUTH)) == [
        "LOAD HOSTS          TPS      p95  conns    CPU     late  steal           clock",
        "east              4,322  12.3 ms    128  ▲92 %   0.4 ms   ▲7 %    −3.2 ±0.3 ms",
        "west          silent: its figures are missing until it answers",
        "south         lost: its work after its last report is not counted",
    ]
    assert load_hosts_height(seen(EAST, WEST, SOUTH), 30) == 5


def test_a_wide_screen_has_the_busiest_worker_and_the_round_trip() -> None:
    heading, line = texts(seen(EAST), width=110)
    assert "worker" in heading
    assert "91 %" in line
    assert "0.6 ms" in line


def test_too_little_space_shows_hosts_with_problems_first_and_counts_the_rest() -> None:
    many = [replace(EAST, name=f"load{number}") for number in range(40)]
    lines = texts(seen(*many, SOUTH), height=4)
    assert lines[1].startswith("south         lost")
    assert lines[2].startswith("load0 ")
    assert lines[-1] == "and 39 more hosts"
    assert load_hosts_height(seen(*many), 30) == 10


def test_what_is_too_much_is_written_loud_and_marked() -> None:
    (_, line) = load_hosts(seen(EAST), 110, 5)
    loud = [span.text.strip() for span in line if span.role == "warn"]
    assert loud == ["▲92 %", "▲91 %", "▲7 %"]


def test_a_host_that_has_not_reported_yet() -> None:
    assert texts(seen(LoadHost(name="north")))[1] == "north         – has not reported yet"


# Trends of a figure: from zero, or between the least and the greatest where none comes near zero.


WIDTH = 60
CELLS = "▁▂▃▄▅▆▇█"


def drawn(values: Sequence[float | None]) -> str:
    """The trend of a row."""
    lines = stack_sections([TrendSection("T", [TrendRow("name", "1", values=values)])], WIDTH, 2)
    return "".join(span.text for span in lines[1]).removeprefix("name").rsplit("1", 1)[0].strip()


def test_values_near_zero_stand_on_zero() -> None:
    assert drawn([0.0, 50.0, 100.0]) == "▁▄▇"
    assert drawn([10.0, 100.0]) == "▁▇"


def test_values_far_from_zero_show_how_they_differ() -> None:
    low, middle, high = (CELLS.index(cell) for cell in drawn([90.0, 95.0, 100.0]))
    assert 0 < low < middle < high


def test_a_level_that_hardly_moves_is_not_blown_up() -> None:
    assert len(set(drawn([1000.0, 1001.0, 1000.0, 1002.0]))) == 1


def test_a_gap_stays_one() -> None:
    assert drawn([90.0, None, 100.0])[1] == " "


@pytest.mark.parametrize("values", [[], [None], [5.0], [0.0, 0.0]])
def test_few_values(values: list[float | None]) -> None:
    assert len(drawn(values)) == sum(value is not None for value in values)


def test_what_is_always_the_same_is_half_a_row_high() -> None:
    assert drawn([214.0] * 3) == "▄▄▄"
    assert drawn([0.0] * 3) == "▁▁▁"


ROWS = [TrendRow(f"row {number}", str(number), key=f"k{number}") for number in range(9)]


def listed(height: int, marks: ListMarks) -> list[str]:
    lines = stack_sections([TrendSection("T", ROWS)], WIDTH, height, marks=marks)
    return [plain_text(line) for line in lines]


def test_the_chosen_row_is_always_among_the_lines_that_fit() -> None:
    for row in ROWS:
        shown = listed(4, ListMarks(row.key))
        assert len(shown) == 4
        assert any(line.startswith(row.name) for line in shown)
    assert listed(4, ListMarks())[0].startswith("T ")


def test_a_row_on_the_charts_is_marked_and_keeps_its_width() -> None:
    lines = stack_sections([TrendSection("T", ROWS)], 37, 10, marks=ListMarks("k1", ("k2",)))
    assert all(line_width(line) == 37 for line in lines)
    assert [plain_text(line).split()[:3] for line in lines[2:4]] == [["row", "1", "1"], ["row", "2", "●"]]
    assert lines[2][0].role == "selected"


def test_the_keys_of_a_list_are_those_of_its_rows_that_fit() -> None:
    seldom = [row._replace(rare=True) for row in ROWS[1:3]]
    rare = [
        TrendSection("T", [ROWS[0], seldom[0], TrendRow("no figure", "–")]),
        TrendSection("U", seldom[1:]),
    ]
    assert listed_keys(rare, 6) == ["k0", "k1", "k2"]
    assert listed_keys(rare, 5) == ["k0", "k1"], "the last one first"
    assert listed_keys(rare, 4) == listed_keys(rare, 1) == ["k0"]


def test_sections_are_further_apart_than_their_rows() -> None:
    two = [TrendSection(title, ROWS[:2]) for title in ("ONE", "TWO")]
    for height in (8, 20):
        lines = [plain_text(line).split(" ")[0] for line in stack_sections(two, WIDTH, height)]
        named = [place for place, word in enumerate(lines) if word]
        between_rows, between_sections = named[2] - named[1], named[3] - named[2]
        assert between_sections > between_rows


def test_a_missing_value_is_a_dash_before_its_reason() -> None:
    lines = stack_sections([TrendSection("T", [TrendRow("name", "–", "not counted here")])], WIDTH, 2)
    assert plain_text(lines[1]).rstrip().endswith("– not counted here")


# What charts and large figures say, as text.


# charts


def test_a_chart_is_a_rule_at_the_maximum_and_bars_from_zero() -> None:
    view = short_story(500, 1000, None, 2000)
    assert text(time_chart(TPS, view, 7 + 6, 3, numbered=False)) == (
        "   2 k ──────\n            █\n     0   ▄█ █"
    )


def test_a_change_is_a_line_above_the_bars_with_its_number_on_the_first() -> None:
    view = next_view(short_story(1000, 500, 1000), script.EVENTS[0])
    view = next_view(view, Event(at=0, elapsed_seconds=1.5, kind=EventKind.MARK, text="", marker=3))
    assert text(time_chart(TPS, view, 7 + 4, 3, numbered=True)) == "   1 k ──3─\n        █│█\n     0  ███"
    assert text(time_chart(QPS, view, 7 + 4, 2, numbered=False)) == "  20 k ──┼─\n     0  █▄█"


def test_an_experiment_is_a_band_on_the_rule_with_its_name() -> None:
    view = short_story(*[1000] * 14)

    def step(at: float, marker: int | None = None, kind: EventKind = EventKind.PROBE) -> Event:
        return Event(at=0, elapsed_seconds=at, kind=kind, text="", marker=marker, experiment="probe")

    for event in (step(0.5, 3), step(4.5), step(9.5, kind=EventKind.PLAN)):
        view = next_view(view, event)
    assert text(time_chart(TPS, view, 7 + 15, 2, numbered=True)).splitlines()[0] == "   1 k ─3 probe━━┥────"
    assert text(time_chart(QPS, view, 7 + 15, 2, numbered=False)).splitlines()[0] == "  20 k ─┼────────┼────"


def test_a_chart_has_one_style_a_row() -> None:
    quiet = initial_view(script.hello(events=()))
    for line in time_chart(TPS, quiet, 80, 8, numbered=True)[1:]:
        assert len([span for span in line if span.role.startswith("shade")]) == 1


def test_a_chart_without_data_names_no_maximum() -> None:
    assert (
        text(time_chart(TPS, initial_view(script.hello(0)), 12, 2, numbered=True)) == "       ─────\n     0"
    )


# figures


def test_a_figure_is_title_digits_and_details(golden: Golden) -> None:
    lines = big_figure(TPS, short_story(2412), 18, 7)
    assert text(lines) == golden


def test_a_missing_figure_is_a_dash_and_not_a_zero() -> None:
    lines = big_figure(P95, short_story(100, None), 18, 4)
    assert text(lines) == "p95 latency\n\n▀▀▀\n"


def test_errors_stand_out() -> None:
    lines = big_figure(TPS, with_load(seconds=3.0, errors_by_code={"1213": 5, "1205": 1}), 18, 7)
    assert role_of(lines, "errors/s") == "warn"
    assert "errors/s       2.0" in text(lines)


def test_errors_of_one_kind_are_called_by_their_name() -> None:
    lines = big_figure(TPS, with_load(seconds=0.5, errors_by_code={"1213": 2}), 18, 7)
    assert role_of(lines, "deadlocks/s") == "warn"


def test_a_headline_takes_the_place_of_tps() -> None:
    headline = Headline(title="tpmC", transaction="new_order", note="not audited")
    hello = msgspec.structs.replace(script.hello(1), headline=headline)
    base = script.samples(1)[0]
    load = script.load_part(50.0, 10.0, 4, seconds=0.5, headline=1350.0)
    view = next_view(initial_view(hello), changed(base, elapsed_seconds=2.0, load=load))
    first, *others = measures_of(view.headline)
    lines = text(big_figure(first, view, 18, 8)).splitlines()
    assert lines[0] == "tpmC (not audited)"
    assert lines[4:6] == ["TPS           50.0", "errors/s         0"]
    assert first.value(view.points[-1]) == 1350.0
    assert "1.5 k" in text(time_chart(first, view, 40, 6, numbered=True))
    assert (others, measures_of(None)) == ([QPS, P95], (TPS, QPS, P95))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, ("–", "")),
        (0.0, ("0", "")),
        (8.4, ("8.40", "")),
        (163, ("163", "")),
        (2412, ("2,412", "")),
        (9_999.6, ("10.0", "k")),
        (48_240, ("48.2", "k")),
        (999_600, ("1.00", "M")),
    ],
)
def test_rates_keep_three_digits(value: float | None, written: tuple[str, str]) -> None:
    assert big_rate(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, ("–", "")), (0.4216, ("0.422", "ms")), (26.4, ("26.4", "ms")), (999.7, ("1.00", "s"))],
)
def test_latencies_keep_three_digits(value: float | None, written: tuple[str, str]) -> None:
    assert big_latency(value) == written


@pytest.mark.parametrize(
    ("codes", "label"),
    [
        (["1213"], "deadlocks/s"),
        (["1020"], "conflicts/s"),
        (["1213", "1205"], "errors/s"),
        (["1062"], "errors/s"),
        ([], "errors/s"),
    ],
)
def test_a_rate_of_one_kind_has_its_name(codes: list[str], label: str) -> None:
    assert error_rate_label(codes) == label


def test_a_load_that_counts_anomalies_shows_the_share_of_lost_updates() -> None:
    part = script.load_part(1_180.0, 17.4, 16)
    counted = {"anomaly.lost_updates": 30.0, "anomaly.write_skews": 6.0, "tally.updates": 400.0}
    details = {
        each.name: (each.value, each.alarm)
        for each in TPS.details(replace(part, seconds=2.0, sums=part.sums | counted))
    }
    assert details["lost updates"] == ("7.5 %", True)
    assert details["anomalies/s"][1]
    without = {each.name for each in TPS.details(part)}
    assert not without & {"lost updates", "anomalies/s"}
