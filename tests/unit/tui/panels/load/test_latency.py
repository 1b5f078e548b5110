"""The latency screen: heat map, table, captions."""

from typing import Any

import msgspec

from tests.ticks import changed
from tests.tui.support import script
from tests.unit.tui.views import text
from tuibench.model.histogram import UPPER_US, Histogram, Latency, coarse_bucket
from tuibench.model.tick import RESPONSE, STATEMENT
from tuibench.tui.commands.chart_view import move_cursor
from tuibench.tui.panels.load.latency_table import latency_table, latency_table_height
from tuibench.tui.panels.load.measures import PERCENTILES, small_figure
from tuibench.tui.panels.plots.heat_map import heat_map, heat_map_legend
from tuibench.tui.panels.plots.time_chart import AXIS_WIDTH
from tuibench.tui.text.spans import line_width
from tuibench.tui.view import View, initial_view, next_view


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
    rows = [line[AXIS_WIDTH:] for line in text(heat_map(view, AXIS_WIDTH + 3, 4)).splitlines()]
    assert rows == ["░ ·", "▓", "█", "▓ █"]


def test_rows_are_labelled_by_their_upper_end() -> None:
    view = run_of(shape(coarse_bucket(1_000), 10, 80, 9, 1))
    assert [line[:AXIS_WIDTH].strip() for line in text(heat_map(view, 20, 4)).splitlines()] == [
        "2.4 ms",
        "",
        "1.3 ms",
        "",
    ]


def test_a_label_has_the_unit_that_fits() -> None:
    assert text(heat_map(run_of(shape(5, 1)), 20, 4)).startswith(" 56 µs ")
    assert text(heat_map(run_of(shape(47, 1)), 20, 4)).startswith("  10 s ")


def test_the_map_fits_its_height_whatever_was_measured() -> None:
    wide = run_of(shape(0, *[1] * 48))
    for height in (2, 5, 9, 48, 60):
        lines = heat_map(wide, 40, height)
        assert 0 < len(lines) <= height
        assert all(line_width(line) == 40 for line in lines)


def test_the_cursor_goes_through_the_map() -> None:
    view = run_of(shape(10, 5), shape(10, 5))
    assert "┃" in text(heat_map(move_cursor(-1)(view, 20), AXIS_WIDTH + 20, 3))


def test_before_the_first_latency_the_map_says_so() -> None:
    assert "no latencies yet" in text(heat_map(initial_view(script.hello(0)), 40, 5))
    assert text(heat_map_legend(initial_view(script.hello(0)), 18, 3)).splitlines()[0] == "HEAT MAP"


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
    assert text(latency_table(initial_view(script.hello(60)), 78, 4)).splitlines()[-1] == "… and 4 more"


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
