"""Panels of effects and experiments."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.ticks import changed
from tests.tui.support import script
from tests.tui.support.probed import probed
from tests.unit.tui.views import role_of, text
from tuibench.features.probe import panel
from tuibench.features.probe.text import probe_lines
from tuibench.model.effect import (
    AbTestResult,
    Comparison,
    Effect,
    EffectProgress,
    LevelMovement,
    MovementKind,
    Verdict,
)
from tuibench.model.event import Event, EventKind
from tuibench.model.probe import ProbeState
from tuibench.tui.charts import ChartHistory, ChartPoint
from tuibench.tui.figures import CHARTED_FIGURES, PLACES, UNKNOWN
from tuibench.tui.panels import time_chart as plots
from tuibench.tui.panels.effects import MeanLine, effect_card, signature_of
from tuibench.tui.panels.lists import event_detail, events_panel
from tuibench.tui.panels.load import FSYNCS, GOODPUT, P95, QPS, TPS, commits_matter
from tuibench.tui.panels.numbers import big_numbers
from tuibench.tui.panels.time_chart import AXIS_WIDTH, cpu_chart, cpu_figure, time_chart
from tuibench.tui.steering import clear_marks, compare_effects, pin_effects, pin_previous_effect
from tuibench.tui.text import plain_text
from tuibench.tui.view import View, initial_view, next_view

# Effect card: what a change did, how sure that is, and what is still being measured.


LENGTH = 70
"""Seconds of the story, four of them since the preset was applied."""

PROGRESS = EffectProgress(
    markers=(3,), change="preset unsafe", at_seconds=66.2, earliest_seconds=80.0, latest_seconds=110.0
)
NOT_MEASURED = Event(
    at=script.START + 67,
    elapsed_seconds=67.0,
    kind=EventKind.EFFECT,
    text="effect of preset unsafe not measured: TPS varied too much in the 3 s before the change",
    marker=3,
    not_measured="TPS varied too much in the 3 s before the change",
)


def with_progress(progress: EffectProgress | None = PROGRESS, length: int = LENGTH) -> View:
    view = initial_view(script.hello(length))
    return next_view(view, msgspec.structs.replace(view.status, effect=progress))


def compared(*comparisons: Comparison) -> View:
    """The story with these figures in its last effect."""
    effect = msgspec.structs.replace(script.EFFECT, comparisons=comparisons)
    return next_view(initial_view(script.hello()), msgspec.structs.replace(script.EVENTS[-1], effect=effect))


def test_the_card_says_before_after_and_how_sure() -> None:
    assert text(effect_card(initial_view(script.hello()), 65, 5)).splitlines() == [
        "EFFECT of 3  preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0",
        "TPS        1,560 → 2,412       +55 % (49..61 %)",
        "p95        58.4 ms → 26.9 ms   −54 % (−57..−51 %)",
        "fsyncs/trx 1.04 → 0.020        ÷53 (42..63)",
        "12 s before, 12 s after, 2 s to settle",
    ]


def test_the_card_says_because_of_what() -> None:
    commit = Comparison(
        figure="time_commit_per_transaction", before=5.1, after=2.1, delta=-3.0, low=-3.2, high=-2.8
    )
    queue = msgspec.structs.replace(commit, figure="time_run_queue_per_transaction", delta=0.4)
    because = msgspec.structs.replace(script.EFFECT, because=(commit, queue))
    view = next_view(initial_view(script.hello()), msgspec.structs.replace(script.EVENTS[-1], effect=because))
    cause, both = "because: commit −3.0 ms (−3.2..−2.8) of 5.1", "; run queue +0.4 ms"
    for width, height, line, told in ((65, 6, 4, cause + both), (50, 5, 4, cause), (50, 4, 3, cause)):
        lines = text(effect_card(view, width, height)).splitlines()
        assert lines[line].rstrip() == told, "on a small screen in the place of the last figure"
        assert lines[line - 1].startswith("fsyncs" if height > 4 else "p95")


def test_a_difference_that_the_levels_do_not_give_says_how_it_was_found() -> None:
    commit = Comparison(
        figure="time_commit_per_transaction", before=5.1, after=2.1, delta=-3.0, low=-3.2, high=-2.8
    )
    beside = msgspec.structs.replace(script.EFFECT.comparisons[0], others_percent=-25.0)
    effect = msgspec.structs.replace(
        script.EFFECT, comparisons=(beside, *script.EFFECT.comparisons[1:]), because=(commit,)
    )
    view = next_view(initial_view(script.hello()), msgspec.structs.replace(script.EVENTS[-1], effect=effect))
    found = "by COMMIT beside the other statements, which took 25 % less"
    for height, line in ((3, 2), (5, 3), (7, 4)):
        lines = text(effect_card(view, 65, height)).splitlines()
        assert lines[line].startswith(found), "even on a small screen"
        assert any(each.startswith("because") for each in lines) is (height > 3)


def test_a_difference_that_is_derived_says_so_beside_one_that_is_not_only_by_the_change() -> None:
    falling = LevelMovement(kind=MovementKind.TREND, percent=-3.0)
    tps, p95, *others = script.EFFECT.comparisons
    beside = msgspec.structs.replace(tps, others_percent=-25.0)
    moved = msgspec.structs.replace(p95, verdict=Verdict.NOT_ONLY, movement=falling)
    for height, figures in ((4, 1), (5, 2)):
        lines = text(effect_card(compared(beside, moved, *others), 65, height)).splitlines()[1:]
        assert [line.split()[0] for line in lines] == [*["TPS", "p95"][:figures], "by", "p95"]


def test_a_trend_that_is_taken_out_is_said_beside_the_levels() -> None:
    steeper = msgspec.structs.replace(script.EFFECT.comparisons[0], percent=9.0)
    assert "corrected for the trend of TPS before the change" in text(effect_card(compared(steeper), 65, 5))
    assert "trend" not in text(effect_card(initial_view(script.hello()), 65, 5))
    pairs = msgspec.structs.replace(script.EFFECT, comparisons=(steeper,), alternated_seconds=16.0)
    view = next_view(initial_view(script.hello()), msgspec.structs.replace(script.EVENTS[-1], effect=pairs))
    assert "trend" not in text(effect_card(view, 65, 5)), "of values that alternated, nothing is taken out"


def test_a_gain_and_a_loss_look_different() -> None:
    worse = msgspec.structs.replace(script.EFFECT.comparisons[0], delta=-1.0)
    event = msgspec.structs.replace(
        script.EVENTS[-1],
        effect=msgspec.structs.replace(script.EFFECT, comparisons=(worse,), settled=False, markers=(4, 5)),
    )
    view = next_view(initial_view(script.hello()), event)
    card = effect_card(view, 57, 5)
    assert role_of(effect_card(initial_view(script.hello()), 57, 5), "+55 %") == "ok"
    assert role_of(card, "+55 %") == "warn"
    assert text(card).startswith("EFFECT of 4–5  ")
    assert text(card).endswith("and still moving")


def test_a_difference_within_the_noise_is_too_noisy_to_tell() -> None:
    same = msgspec.structs.replace(script.EFFECT.comparisons[1], verdict=Verdict.CANNOT_TELL)
    event = msgspec.structs.replace(
        script.EVENTS[-1], effect=msgspec.structs.replace(script.EFFECT, comparisons=(same,))
    )
    card = effect_card(next_view(initial_view(script.hello()), event), 61, 5)
    assert text(card).splitlines()[1] == "p95        58.4 ms → 26.9 ms   too noisy to tell (−57..−51 %)"


def test_a_difference_that_cannot_be_attributed_says_how_the_level_moved() -> None:
    falling = LevelMovement(kind=MovementKind.TREND, percent=-3.0)
    moved = msgspec.structs.replace(script.EFFECT.comparisons[0], verdict=Verdict.NOT_ONLY, movement=falling)
    event = msgspec.structs.replace(
        script.EVENTS[-1], effect=msgspec.structs.replace(script.EFFECT, comparisons=(moved,))
    )
    card = text(effect_card(next_view(initial_view(script.hello()), event), 61, 5))
    whole = "TPS was falling by 3 %/s before the change (enter: A/B test"
    assert whole in " ".join(card.splitlines())


def test_before_the_first_effect_there_is_no_card() -> None:
    assert effect_card(initial_view(script.hello(60)), 61, 5) == []


@pytest.mark.parametrize(
    ("height", "words"),
    [
        (5, "TPS was falling by 3 %/s before the change (enter: A/B test)"),
        (6, "TPS was falling by 3 %/s before the change (enter: A/B test of both values, about 40s)"),
    ],
)
def test_the_reason_is_never_cut(height: int, words: str) -> None:
    falling = LevelMovement(kind=MovementKind.TREND, percent=-3.0)
    moved = [
        msgspec.structs.replace(one, verdict=Verdict.NOT_ONLY, movement=falling)
        for one in script.EFFECT.comparisons
    ]
    card = text(effect_card(compared(*moved), 61, height)).splitlines()
    assert len(card) <= height
    assert " ".join(card[4:]).startswith(words)


def test_the_big_numbers_say_why_a_difference_is_not_attributed() -> None:
    falling = LevelMovement(kind=MovementKind.TREND, percent=-3.0)
    moved = msgspec.structs.replace(script.EFFECT.comparisons[0], verdict=Verdict.NOT_ONLY, movement=falling)
    shown = text(big_numbers(compared(moved), 120, 36))
    assert "TPS was falling by 3 %/s before the change" in shown
    assert "+55 %" in shown.replace("█", ""), "the difference is real"
    assert "falling" not in text(big_numbers(initial_view(script.hello()), 120, 36))


def test_a_level_watched_too_briefly_is_said_to_be_so() -> None:
    unknown = LevelMovement(kind=MovementKind.UNKNOWN, percent=0.0, seconds=7.0)
    moved = msgspec.structs.replace(
        script.EFFECT.comparisons[0], verdict=Verdict.CANNOT_TELL, movement=unknown
    )
    assert "TPS was watched for only 7 s before" in text(effect_card(compared(moved), 61, 5))


def test_while_an_effect_is_measured_the_card_counts_down() -> None:
    assert text(effect_card(with_progress(), 57, 5)).splitlines() == [
        "EFFECT of 3  preset unsafe   measuring, 00:10 left",
    ]
    late = with_progress(msgspec.structs.replace(PROGRESS, earliest_seconds=69.0))
    assert "waiting until TPS and p95 are steady, at most 00:40 left" in text(effect_card(late, 57, 5))


def so_far(percent: float, low: float, high: float, **fields: Any) -> Comparison:
    verdict = Verdict.HIGHER if low > 0 else Verdict.LOWER if high < 0 else Verdict.CANNOT_TELL
    known = Comparison(
        figure="tps",
        verdict=verdict,
        percent=percent,
        percent_low=low,
        percent_high=high,
        before=85.0,
        after=237.0,
        delta=0.85 * percent,
        low=0.85 * low,
        high=0.85 * high,
    )
    return msgspec.structs.replace(known, **fields)


GROWING = msgspec.structs.replace(
    PROGRESS,
    alternates=True,
    holds="durable",
    turn=4,
    turns=16,
    comparisons=(so_far(180.0, 40.0, 330.0), so_far(-20.0, -60.0, 60.0, figure="p95_ms", after=70.0)),
    time_before={"commit": 3.2, "cpu": 1.0, "sleep": 0.001},
    time_after={"commit": 0.2, "cpu": 0.9},
)


def test_the_card_grows_from_the_first_second_on() -> None:
    lines = text(effect_card(with_progress(GROWING), 117, 5)).splitlines()
    assert lines[0] == "EFFECT of 3  preset unsafe   " + (
        "TESTING: now durable, turn 4 of 16 · your choice returns at the end"
    )
    assert lines[1].startswith("TPS        85 → 237            −80 % ·")
    assert lines[1].endswith("+400 %   likely faster")
    assert lines[2].endswith("+400 %   no answer yet")
    assert lines[3] == "time/trx   4.2 ms → 1.1 ms   commit 3.2 ms → 0.2 ms   CPU 1 ms → 0.9 ms"
    drawn, unsure = (line.partition("−80 % ")[2] for line in lines[1:3])
    middle = drawn.index("│")
    assert middle < drawn.index("┣") < drawn.index("●") < drawn.index("┫")
    assert unsure.index("┣") < unsure.index("●") < unsure.index("┿") == middle < unsure.index("┫")


def test_no_early_look_has_the_colour_of_a_verdict() -> None:
    card = effect_card(with_progress(GROWING), 117, 5)
    assert role_of(card, "likely faster") == "strong"
    assert role_of(card, "no answer yet") == "muted"
    assert role_of(card, "TESTING") == "warn"


@pytest.mark.parametrize("width", [65, 78, 117])
def test_the_interval_shrinks_on_a_scale_that_stays(width: int) -> None:
    drawn = []
    for low, high in ((-100.0, 1e8), (-60.0, 300.0), (-20.0, 90.0), (10.0, 40.0)):
        progress = msgspec.structs.replace(GROWING, comparisons=(so_far(25.0, low, high),))
        (row,) = [
            line for line in text(effect_card(with_progress(progress), width, 5)).splitlines() if "●" in line
        ]
        drawn.append(row)
    sizes = [sum(row.count(glyph) for glyph in "━┿●┣┫◂▸") for row in drawn]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)
    assert len({row.index("●") for row in drawn}) == 1
    assert "◂" in drawn[0]
    assert "▸" in drawn[0]


@pytest.mark.parametrize("percent", [-99.9, 5000.0])
def test_what_is_beyond_the_scale_ends_with_an_arrow(percent: float) -> None:
    one = so_far(percent, 0.9 * percent if percent > 0 else -100.0, max(1.1 * percent, -99.0))
    (_, row, *_) = text(
        effect_card(with_progress(msgspec.structs.replace(GROWING, comparisons=(one,))), 117, 5)
    ).splitlines()
    assert ("▸" if percent > 0 else "◂") in row
    assert "●" not in row


def test_in_little_room_the_test_is_told_in_the_place_of_the_change() -> None:
    holds = msgspec.structs.replace(
        GROWING, holds="innodb_flush_log_at_trx_commit 1", comparisons=(*GROWING.comparisons,) * 2
    )
    lines = text(effect_card(with_progress(holds), 78, 4)).splitlines()
    assert lines[0].rstrip() == "3  TESTING: now flush_log 1, turn 4 of 16 · your choice returns at the end"
    assert len(lines) == 4


def test_the_big_numbers_grow_too() -> None:
    shown = text(big_numbers(with_progress(GROWING), 120, 36))
    assert "TESTING: now durable, turn 4 of 16" in shown
    assert "likely faster" in shown


def test_the_row_of_the_change_says_that_its_effect_is_measured() -> None:
    row = text(events_panel(with_progress(), 78, 1))
    assert row.startswith("3")
    assert row.endswith("measuring")


def test_a_newer_change_replaces_the_card_of_the_last_effect_unless_that_is_pinned() -> None:
    view = with_progress(length=script.LENGTH)
    assert "waiting until" in text(effect_card(view, 57, 5))
    pinned = msgspec.structs.replace(view, chart_state=msgspec.structs.replace(view.chart_state, pins=(3,)))
    assert "1,560 → 2,412" in text(effect_card(pinned, 57, 5))


def test_the_big_numbers_say_that_the_effect_is_measured() -> None:
    shown = text(big_numbers(with_progress(), 120, 36))
    assert "effect: measuring, 00:10 left" in shown
    assert "No change yet" not in shown


def with_ab_test(result: AbTestResult) -> View:
    view = initial_view(script.hello(60))
    return next_view(view, replace(view.status, ab=result))


def test_the_big_numbers_are_those_of_the_ab_test() -> None:
    shown = text(big_numbers(with_ab_test(script.AB_TEST), 120, 36))
    assert " A/B  sync_binlog 1 → 0   4 of at most 60 cycles" in shown
    assert "+55 % (49..61 %)" in shown
    assert "No change yet" not in shown
    begun = replace(script.AB_TEST, comparisons=(), pairs=(), sentence="0 of at most 60 cycles")
    assert "0 of at most 60 cycles" in text(big_numbers(with_ab_test(begun), 120, 36))


@pytest.mark.parametrize("height", [18, 23, 26, 40])
def test_the_parts_of_the_big_numbers_stand_apart(height: int) -> None:
    lines = text(big_numbers(initial_view(script.hello()), 118, height)).splitlines()
    change = next(number for number, line in enumerate(lines) if "preset unsafe" in line)
    word = next(number for number, line in enumerate(lines) if line.endswith("÷53 (42..63)")) + 1
    assert lines[change - 1] == lines[word] == ""


def test_without_big_letters_a_difference_is_told_once() -> None:
    view = initial_view(script.hello())
    for width, height in ((78, 12), (118, 20)):
        shown = text(big_numbers(view, width, height, ascii_only=True))
        assert "+55 % (49..61 %)" in shown
        assert "+55%" not in shown
    # Where there is room for letters, they are drawn above it.
    large = text(big_numbers(view, 198, 40, ascii_only=True)).splitlines()
    (levels,) = [number for number, line in enumerate(large) if "1,560" in line]
    assert "##" in large[levels - 2]


def test_the_big_numbers_name_no_key_that_is_refused() -> None:
    view = initial_view(script.hello(60))
    assert "No change yet: d changes durability" in text(big_numbers(view, 120, 36))
    shown = text(big_numbers(replace(view, read_only=True), 120, 36))
    assert "No change yet." in shown
    assert "changes durability" not in shown


def test_the_big_numbers_say_why_an_effect_was_not_measured() -> None:
    shown = text(big_numbers(next_view(initial_view(script.hello(LENGTH)), NOT_MEASURED), 120, 36))
    assert " 3  preset unsafe" in shown
    assert "effect: not measured, TPS varied too much in the 3 s before the change" in shown


def test_an_effect_that_was_not_measured_has_its_reason_on_the_card_and_in_the_row() -> None:
    view = next_view(initial_view(script.hello(LENGTH)), NOT_MEASURED)
    card = text(effect_card(view, 61, 5)).splitlines()
    assert card[0].startswith("EFFECT of 3  preset unsafe")
    assert " ".join(card[1:]).startswith("not measured: TPS varied too much in the 3 s before the change")
    rows = text(events_panel(view, 78, 3)).splitlines()
    assert rows[0].startswith("3")
    assert rows[0].endswith("not measured")
    change = next(event for event in view.events if event.kind is EventKind.SETTING)
    assert NOT_MEASURED.not_measured in text(event_detail(change, view.events, 100, 8))


def test_a_session_without_load_lists_the_effects_on_queries_and_fsyncs_per_second() -> None:
    figures = {
        "tps": "qps",
        "p95_ms": "p95_ms",
        "fsyncs_per_transaction": "fsyncs_per_second",
    }
    comparisons = [
        msgspec.structs.replace(one, figure=figures[one.figure]) for one in script.EFFECT.comparisons
    ]
    row = text(events_panel(compared(*comparisons), 120, 1))
    assert "QPS   +55 %" in row
    assert "fsyncs/s     ÷53" in row


def test_a_large_difference_is_a_factor_that_fits() -> None:
    large = msgspec.structs.replace(
        script.EFFECT.comparisons[2],
        before=0.008,
        after=0.55,
        delta=0.6,
        verdict=Verdict.HIGHER,
        percent=8343.0,
        percent_low=3616.0,
        percent_high=25_000.0,
    )
    row = text(effect_card(compared(large), 61, 5)).splitlines()[1]
    assert row == "fsyncs/trx 0.008 → 0.55        ×84 (37..251)"
    assert "×84" in text(events_panel(compared(large), 120, 1))
    assert "?" not in text(big_numbers(compared(large), 120, 36))
    huge = msgspec.structs.replace(large, percent=25_000.0)
    assert "×251" in text(events_panel(compared(huge), 120, 1))
    assert big_numbers(compared(huge), 120, 36)


# Means in the charts, the differences beside the markers, the fsyncs' line and the processor's chart.


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


@pytest.mark.parametrize(
    ("zoom", "width", "end"),
    [
        (0, 61, "─2───────────────────3── +55 % ────────"),
        (1, 61, "─1──2───3──"),
        (1, 200, "─2── +55 % 3────────"),
    ],
)
def test_the_difference_covers_no_number_of_another_change(zoom: int, width: int, end: str) -> None:
    view = with_effects(script.EFFECT)
    zoomed = replace(view, chart_state=replace(view.chart_state, zoom=zoom))
    rule = text(time_chart(TPS, zoomed, width, 6, numbered=True)).splitlines()[0]
    assert rule.endswith(end)


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
    assert pin_effects((2,))(view, COLUMNS).effect == second_effect()


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
    view = pin_effects((2,))(with_effects(second_effect(), script.EFFECT), COLUMNS)
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


# The charts of a probe as text: where dots, knee, objective and curve stand.


def seen(probe: ProbeState | None) -> View:
    return initial_view(replace(script.hello(60), probe=probe))


def rows(figure: plots.ProbeFigure, probe: ProbeState, width: int = 90, height: int = 12) -> list[str]:
    lines = [plain_text(line) for line in plots.probe_chart(figure, seen(probe), width, height)]
    assert len(lines) == height
    assert {len(line) for line in lines} == {width}
    return lines


def test_every_step_is_a_dot_and_a_repeated_one_a_ring() -> None:
    over = probed().over
    drawn = "".join(rows(plots.LATENCY, over)[1:])
    measured = {step.level for step in over.steps}
    again = {step.level for step in over.steps if step.purpose == "confirm"}
    assert drawn.count("●") >= len(measured - again)
    assert len(measured) <= drawn.count("●") + drawn.count("○") <= len(over.steps)
    assert drawn.count("○") >= len(again)
    assert "○ again" in rows(plots.THROUGHPUT, over)[0]
    assert rows(plots.THROUGHPUT, probed().under_way)[0].rstrip().endswith("TPS · + now")


def test_the_knee_runs_through_both_charts_at_the_same_column() -> None:
    over = probed().over
    both = (*rows(plots.THROUGHPUT, over)[1:], *rows(plots.LATENCY, over)[1:])
    columns = {row.index("│") for row in both if "│" in row}
    assert len(columns) == 1


def test_an_objective_lies_across_its_own_chart_only() -> None:
    over = probed().over
    assert any("────" in row for row in rows(plots.LATENCY, over))
    assert not any("────" in row for row in rows(plots.THROUGHPUT, over))
    assert "─ p95<40ms" in rows(plots.LATENCY, over)[0]


def test_the_curve_is_drawn_with_throughput_only() -> None:
    over = probed().over
    assert "USL σ 0.0500 κ 0.0005, peak at 44" in rows(plots.THROUGHPUT, over)[0]
    assert "USL" not in rows(plots.LATENCY, over)[0]


def test_the_step_under_way_is_a_plus() -> None:
    assert sum(row.count("+") for row in rows(plots.THROUGHPUT, probed().under_way)[1:]) == 1
    assert not any("+" in row for row in rows(plots.THROUGHPUT, probed().over)[1:])


def test_where_the_client_was_the_limit_no_knee_is_drawn() -> None:
    over = probed().over
    assert over.result is not None
    blamed = replace(over, result=replace(over.result, knee=None, client_limited=True))
    assert not any("│" in row for row in rows(plots.THROUGHPUT, blamed))


def test_levels_are_written_below_where_there_is_room() -> None:
    (line,) = plots.level_axis(seen(probed().under_way), 80, 1)
    assert plain_text(line).split() == ["threads", "1", "2", "4", "8", "16", "32"]
    (line,) = plots.level_axis(seen(probed().over), 30, 1)
    assert plain_text(line).split()[0:2] == ["threads", "1"]


def test_before_anything_was_measured() -> None:
    assert "P starts one" in plain_text(panel.probe_status(seen(None), 80, 2)[0])
    began = ProbeState(order=probed().under_way.order)
    assert rows(plots.THROUGHPUT, began)
    assert plain_text(panel.probe_result(seen(began), 80, 3)[0]).strip() == "No step has finished yet."


def braille_cells(rows: list[str]) -> int:
    return sum("\u2800" < cell <= "\u28ff" for row in rows for cell in row)


def test_a_fine_line_runs_through_both_charts() -> None:
    for figure in (plots.THROUGHPUT, plots.LATENCY):
        assert braille_cells(rows(figure, probed().over)[1:]) > 30


def test_a_step_that_is_known_badly_has_a_long_bar() -> None:
    over = probed().over
    steps = tuple(replace(step, half_width=0.5) for step in over.steps if step.level == 16)
    drawn = rows(plots.THROUGHPUT, replace(over, fit=None, steps=steps[:1]), height=16)[1:]
    assert braille_cells(drawn) >= 4


def test_an_objective_that_some_level_keeps_is_found() -> None:
    view = seen(probed().over)
    assert "the objective is met" in plain_text(panel.probe_status(view, 120, 1)[0])
    answer = panel.probe_answer(view, 100, 2)
    assert plain_text(answer[0]).startswith("p95<40ms: met up to 45 threads")
    assert answer[0][0].role == "good"


def test_with_low_confidence_there_is_no_saturation_point() -> None:
    over = probed().over
    assert over.result is not None
    assert over.result.knee is not None
    found = replace(over.result, confidence="low", objective=None, knee_low=1.0, knee_high=256.0)
    unsure = replace(over, result=replace(found, lines=probe_lines(found)))
    answer = panel.probe_answer(seen(unsure), 120, 1)
    assert "Inconclusive: throughput stops growing somewhere from 1 to 256 threads" in plain_text(answer[0])
    assert answer[0][0].role == "warn"
    assert f"knee {over.result.knee.level:g}?" in rows(plots.THROUGHPUT, unsure)[0]


def test_the_formal_run_and_the_durability_are_on_the_screen_however_low_it_is() -> None:
    over = probed().over
    assert over.result is not None
    found = replace(
        over.result,
        commands={"mysql": "SET GLOBAL sync_binlog = 0;", "tuibench": "tuibench run oltp_read_write"},
        durability={"sync_binlog": "0"},
    )
    told = replace(over, result=replace(found, lines=probe_lines(found)))
    text = "\n".join(plain_text(line) for line in panel.probe_result(seen(told), 80, 5))
    assert "SET GLOBAL sync_binlog = 0;" in text
    assert "tuibench run oltp_read_write" in text
    assert "Measured with sync_binlog=0." in probe_lines(found)


def test_in_a_wide_terminal_the_steps_are_beside_the_result() -> None:
    over = probed().over
    assert over.result is not None
    assert over.result.knee is not None
    narrow, wide = (
        "\n".join(plain_text(line) for line in panel.probe_result(seen(over), width, height))
        for width, height in ((120, 16), (198, len(over.steps) + 1))
    )
    assert "more lines: enter hides the charts" in narrow
    assert wide.count(" TPS ±") == len(over.steps)
    assert "…" not in wide
    for sentence in (f"Saturated at {over.result.knee.level:g} threads", "Confidence: high"):
        assert sentence in narrow
        assert sentence in wide


def test_a_busy_host_leaves_room_for_what_a_probe_waits_for() -> None:
    busy = "other programs use 86 % of CPU, which skews the results; stop them or use another host"
    state = replace(probed().under_way, busy=busy, waiting="settled samples: 2 of 5")
    view = next_view(initial_view(script.hello(60)), state)
    clause = "measured on a busy host: other programs use 86 % of CPU"
    assert text(panel.probe_status(view, 100, 2)).splitlines()[1].strip() == (
        f"{clause} · waiting for settled samples: 2 of 5"
    )
    assert busy in text(panel.probe_status(view, 200, 2))
    narrow = replace(state, waiting="a throughput known to ±3.0 %: now ±14.1 %")
    view = next_view(initial_view(script.hello(60)), narrow)
    for width, told in ((98, "measured on a busy host"), (78, "busy host")):
        line = text(panel.probe_status(view, width, 2)).splitlines()[1].strip()
        assert line == f"{told} · waiting for a throughput known to ±3.0 %: now ±14.1 %"


# What came too late, in the bars of TPS


def tps_rows(*values: tuple[float, float | None], ascii_only: bool = False) -> list[str]:
    """The bars of ticks with a throughput and a goodput (None without a deadline), 4 rows high."""
    points = []
    for number, (tps, goodput) in enumerate(values, 1):
        figures = [UNKNOWN] * len(CHARTED_FIGURES)
        figures[PLACES[GOODPUT]] = UNKNOWN if goodput is None else goodput
        point = ChartPoint(float(number), tps, None, None, slot=number, seconds=1.0, figures=figures)
        points.append(point)
    view = replace(initial_view(script.hello(60)), history=ChartHistory.of(points))
    lines = time_chart(TPS, view, AXIS_WIDTH + len(values), 5, numbered=False, ascii_only=ascii_only)
    return [plain_text(line)[AXIS_WIDTH:] for line in lines[1:]]


def test_what_came_too_late_is_hatched() -> None:
    values = ((400.0, 400.0), (400.0, 200.0), (400.0, 0.0), (200.0, 190.0), (400.0, None), (20.0, 0.0))
    assert tps_rows(*values) == ["█░░ █ ", "█░░ █ ", "██░██ ", "██░██▂"]
    assert tps_rows(*values, ascii_only=True) == ["#:: # ", "#:: # ", "##:## ", "##:##."]


def test_without_a_deadline_nothing_is_hatched() -> None:
    assert "░" not in "".join(tps_rows((400.0, None), (100.0, None)))
