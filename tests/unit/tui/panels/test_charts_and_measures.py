"""What charts and large figures say, as text."""

import msgspec
import pytest

from tests.ticks import changed
from tests.tui.support import script
from tests.unit.tui.views import role_of, short_story, text, with_load
from tuibench.model.event import Event, EventKind
from tuibench.model.measurements.headline import Headline
from tuibench.tui.panels.load.measures import P95, QPS, TPS, big_figure, big_latency, big_rate, measures_of
from tuibench.tui.panels.plots.time_chart import time_chart
from tuibench.tui.view import initial_view, next_view

# charts


def test_a_chart_is_a_rule_at_the_maximum_and_bars_from_zero() -> None:
    view = short_story(500, 1000, None, 2000)
    assert text(time_chart(TPS, view, 7 + 6, 3, numbered=False)) == (
        "   2 k ──────\n            █\n     0   ▄█ █"
    )


def test_a_change_is_a_line_through_all_charts_with_its_number_on_the_first() -> None:
    view = next_view(short_story(1000, 1000, 1000), script.EVENTS[0])
    view = next_view(view, Event(at=0, elapsed_seconds=1.5, kind=EventKind.MARK, text="", marker=3))
    assert text(time_chart(TPS, view, 7 + 4, 2, numbered=True)) == "   1 k ──3─\n     0  █│█"
    assert text(time_chart(QPS, view, 7 + 4, 2, numbered=False)) == "  20 k ──┼─\n     0  █│█"


def test_a_chart_has_one_style_a_row() -> None:
    quiet = initial_view(script.hello(events=()))
    for line in time_chart(TPS, quiet, 80, 8, numbered=True)[1:]:
        assert len([span for span in line if span.role.startswith("shade")]) == 1


def test_a_chart_without_data_names_no_maximum() -> None:
    assert (
        text(time_chart(TPS, initial_view(script.hello(0)), 12, 2, numbered=True)) == "       ─────\n     0"
    )


# figures


def test_a_figure_is_title_digits_and_details() -> None:
    lines = big_figure(TPS, short_story(2412), 18, 7)
    assert text(lines) == (
        "TPS transactions/s\n"
        "▀▀█   █ █ ▀█  ▀▀█\n"
        "█▀▀   ▀▀█  █  █▀▀\n"
        "▀▀▀ █   ▀ ▀▀▀ ▀▀▀\n"
        "errors/s         0\n"
        "clients     4 of 4"
    )


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
    [(None, ("–", "")), (0.42, ("0.42", "ms")), (26.4, ("26.4", "ms")), (999.7, ("1.00", "s"))],
)
def test_latencies_keep_three_digits(value: float | None, written: tuple[str, str]) -> None:
    assert big_latency(value) == written
