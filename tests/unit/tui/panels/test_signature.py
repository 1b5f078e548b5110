"""Means in the charts, the differences beside the markers, the fsyncs' line and the processor's chart."""

import msgspec
import pytest

from tests.ticks import changed
from tests.tui.support import script
from tests.unit.tui.views import role_of, text
from tuibench.model.event import Event, EventKind
from tuibench.model.experiments.effect import Effect, Verdict
from tuibench.tui.charts.history import ChartHistory, ChartPoint
from tuibench.tui.commands.chart_view import clear_marks, compare_effects, pin_effect, pin_previous_effect
from tuibench.tui.panels.effect import effect_card
from tuibench.tui.panels.events import events_panel, one_entry_a_probe
from tuibench.tui.panels.load.measures import FSYNCS, P95, QPS, TPS, commits_matter
from tuibench.tui.panels.plots.cpu_chart import cpu_chart, cpu_figure
from tuibench.tui.panels.plots.signature import MeanLine, signature_of
from tuibench.tui.panels.plots.time_chart import AXIS_WIDTH, time_chart
from tuibench.tui.view import View, initial_view, next_view

COLUMNS = 60
WIDTH = COLUMNS + AXIS_WIDTH


def unsure(effect: Effect) -> Effect:
    """The same change, with nothing known of what it did."""
    comparisons = tuple(
        msgspec.structs.replace(one, verdict=Verdict.CANNOT_TELL) for one in effect.comparisons
    )
    return msgspec.structs.replace(effect, comparisons=comparisons)


def second_effect() -> Effect:
    return msgspec.structs.replace(script.EFFECT, markers=(2,), change="threads 32 → 64", at_seconds=46.3)


def told(effect: Effect, elapsed: float) -> Event:
    return Event(
        at=script.START + elapsed,
        elapsed_seconds=elapsed,
        kind=EventKind.EFFECT,
        text="TPS higher",
        marker=effect.markers[-1],
        effect=effect,
    )


def with_effects(*effects: Effect) -> View:
    """The story up to its end, with these effects instead of its own."""
    events = [event for event in script.EVENTS if event.effect is None]
    events += [told(effect, 80.0 + number) for number, effect in enumerate(effects)]
    return initial_view(script.hello(events=tuple(events)))


def test_the_means_lie_beside_the_marker_and_end_where_the_windows_do() -> None:
    sign = signature_of(TPS, with_effects(script.EFFECT), COLUMNS)
    assert sign is not None
    before, after = sign.means
    assert (before.value, after.value) == (1560.0, 2412.0)
    assert (before.first, before.last) == (sign.marker - 12, sign.marker - 1)
    assert after.first == sign.marker + 2
    assert after.last - after.first == 11
    assert (sign.difference, sign.role) == ("+55 %", "ok")


def test_what_an_effect_does_not_compare_has_the_means_of_its_points() -> None:
    view = with_effects(script.EFFECT)
    sign = signature_of(QPS, view, COLUMNS)
    assert sign is not None
    assert sign.difference == ""
    tps = signature_of(TPS, view, COLUMNS)
    assert tps is not None
    for queries, transactions in zip(sign.means, tps.means, strict=True):
        assert queries.value == pytest.approx(20 * transactions.value, rel=0.1)


def test_a_difference_that_is_not_significant_is_grey() -> None:
    view = with_effects(unsure(script.EFFECT))
    lines = time_chart(TPS, view, WIDTH, 6, numbered=True)
    assert role_of(lines, "?") == "muted"
    roles = {span.role for line in lines for span in line}
    assert any(role.startswith("uncertain") for role in roles)
    assert not any(role.startswith("mean") for role in roles)


def test_the_values_stand_on_both_sides_of_the_marker() -> None:
    chart = text(time_chart(P95, with_effects(script.EFFECT), WIDTH, 6, numbered=False))
    assert " 58.4 ms │" in chart
    assert "│ 26.9 ms " in chart
    assert " −54 % " in chart.splitlines()[0]


def test_a_chart_of_one_row_has_the_values_and_no_rule() -> None:
    line = text(time_chart(FSYNCS, with_effects(script.EFFECT), WIDTH, 1, numbered=False))
    assert " 1.04 │ 0.020 " in line
    assert "─" not in line


@pytest.mark.parametrize(
    ("value", "place"), [(0.0, (0, "▁")), (0.5, (2, "▁")), (0.49, (1, "▔")), (1.0, (3, "▔")), (9.9, (3, "▔"))]
)
def test_a_mean_finds_its_row(value: float, place: tuple[int, str]) -> None:
    assert MeanLine(0, 1, value, "", is_before=True).place(1.0, 4) == place


def test_effects_are_pinned_from_the_newest_to_the_oldest_and_then_followed_again() -> None:
    view = with_effects(second_effect(), script.EFFECT)
    for pins in ((3,), (2,), ()):
        view = pin_previous_effect(view, COLUMNS)
        assert view.chart_state.pins == pins
    assert view.effect == script.EFFECT
    assert pin_effect(2)(view, COLUMNS).effect == second_effect()


def test_two_effects_are_compared_and_escape_ends_it() -> None:
    view = compare_effects(with_effects(second_effect(), script.EFFECT), COLUMNS)
    assert view.chart_state.pins == (3, 2)
    card = text(effect_card(view, 60, 5))
    assert card.startswith("EFFECTS of 3 preset unsafe")
    assert card.count("+55 %") == 2
    assert pin_previous_effect(view, COLUMNS).chart_state.pins == (3, 2)
    assert clear_marks(view, COLUMNS).chart_state.pins == ()


def test_without_a_second_effect_there_is_no_comparison() -> None:
    view = compare_effects(with_effects(script.EFFECT), COLUMNS)
    assert view.chart_state.pins == ()
    assert view.note is not None
    assert "needs two effects" in view.note.text
    assert pin_previous_effect(with_effects(), COLUMNS).chart_state.pins == ()


def test_a_change_and_its_effect_are_one_row() -> None:
    lines = events_panel(with_effects(second_effect(), script.EFFECT), 100, 8)
    rows = text(lines).splitlines()
    assert [row[0] for row in rows] == ["3", "▲", "2", "1", "·"]
    assert sum("+55 %" in row for row in rows) == 2
    assert role_of(lines, "+55 %") == "ok"


def test_a_pinned_effect_is_marked_in_the_list() -> None:
    view = pin_effect(2)(with_effects(second_effect(), script.EFFECT), COLUMNS)
    marked = [row for row in text(events_panel(view, 100, 8)).splitlines() if "▸" in row]
    assert len(marked) == 1
    assert "threads 32 → 64" in marked[0]


def test_fsyncs_are_a_subject_where_commits_are_flushed_or_no_longer() -> None:
    assert commits_matter(initial_view(script.hello(60)))
    assert commits_matter(initial_view(script.hello()))
    base = script.samples(1)[0]
    reads = changed(base, server=script.server_part(1, 1_100.0, 16, fsyncs=0.001))
    assert not commits_matter(next_view(initial_view(script.hello(0)), reads))


def test_the_processor_is_stacked_from_zero_to_all_of_it() -> None:
    view = initial_view(script.hello(60, events=()))
    lines = cpu_chart(view, WIDTH, 8)
    newest = [line[-1].role for line in lines]
    assert newest[-1] == "stack-server"
    assert any(role.startswith("stack-own") for role in newest)
    assert text(lines).splitlines()[0].startswith(" 100 %")
    assert "server    71" in text(cpu_figure(view, 18, 4)).replace("█ ", "")


def test_a_host_at_its_limit_looks_alarming() -> None:
    base = script.samples(1)[0]
    full = changed(base, host=script.host_part(cpu_total=100.0))
    assert role_of(cpu_figure(next_view(initial_view(script.hello(0)), full), 18, 4), "100 %") == "alarm"


def test_merged_points_keep_fsyncs_and_shares() -> None:
    points = [
        ChartPoint(
            n + 1.0, 10.0, 200.0, 5.0, slot=n + 1, seconds=1.0, fsyncs=float(n), cpu=(10.0 * n, 4.0, 2.0)
        )
        for n in range(2)
    ]
    merged = ChartHistory.of(points).window(2, 0, 1)[0]
    assert merged is not None
    assert (merged.fsyncs, merged.cpu) == (0.5, (5.0, 4.0, 2.0))


def step(elapsed: float, text: str, kind: EventKind = EventKind.PROBE) -> Event:
    return Event(at=script.START + elapsed, elapsed_seconds=elapsed, kind=kind, text=text, marker=1)


def test_the_steps_of_a_probe_are_one_entry() -> None:
    events = [
        step(1.0, "probe: 1 thread (up)"),
        step(5.0, "12 transactions failed", EventKind.ERRORS),
        step(6.0, "probe: 2 threads (up)"),
        step(9.0, "probe: Saturated at 2 threads", EventKind.PLAN),
        step(20.0, "probe: 1 thread (up)"),
    ]
    assert [event.text for event in one_entry_a_probe(events)] == [
        "12 transactions failed",
        "probe: 2 steps, the last at 2 threads (up)",
        "probe: Saturated at 2 threads",
        "probe: 1 thread (up)",
    ]
