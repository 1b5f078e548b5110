"""Effect card: what a change did, how sure that is, and what is still being measured."""

import msgspec
import pytest

from tests.tui.support import script
from tests.unit.tui.views import role_of, text
from tuibench.model.event import Event, EventKind
from tuibench.model.experiments.effect import (
    Comparison,
    EffectFigure,
    EffectProgress,
    LevelMovement,
    MovementKind,
    Verdict,
)
from tuibench.tui.panels.big_numbers import big_numbers
from tuibench.tui.panels.effect import effect_card
from tuibench.tui.panels.events import event_detail, events_panel
from tuibench.tui.view import View, initial_view, next_view

LENGTH = 70
"""Seconds of the story, four of them since the preset was applied."""

PROGRESS = EffectProgress(
    markers=(3,), change="preset unsafe", at_seconds=66.2, earliest_seconds=80.0, latest_seconds=110.0
)
NOT_MEASURED = Event(
    at=script.START + 67,
    elapsed_seconds=67.0,
    kind=EventKind.EFFECT,
    text="effect of preset unsafe not measured: the load was not steady for 3 s before it",
    marker=3,
    not_measured="the load was not steady for 3 s before it",
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
        "TPS        1,560 → 2,412       higher: +55 % (49..61 %)",
        "p95        58.4 ms → 26.9 ms   lower: −54 % (−57..−51 %)",
        "fsyncs/trx 1.04 → 0.020        lower: −98 % (−98..−98 %)",
        "12 s before, 12 s after, 2 s to settle",
    ]


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


def test_a_difference_within_the_noise_is_shown_as_cannot_tell() -> None:
    same = msgspec.structs.replace(script.EFFECT.comparisons[1], verdict=Verdict.CANNOT_TELL)
    event = msgspec.structs.replace(
        script.EVENTS[-1], effect=msgspec.structs.replace(script.EFFECT, comparisons=(same,))
    )
    card = effect_card(next_view(initial_view(script.hello()), event), 61, 5)
    assert text(card).splitlines()[1] == "p95        58.4 ms → 26.9 ms   cannot tell (−57..−51 %)"


def test_a_difference_that_cannot_be_attributed_says_how_the_level_moved() -> None:
    falling = LevelMovement(kind=MovementKind.TREND, percent=-3.0)
    moved = msgspec.structs.replace(
        script.EFFECT.comparisons[0], verdict=Verdict.CANNOT_TELL, movement=falling
    )
    event = msgspec.structs.replace(
        script.EVENTS[-1], effect=msgspec.structs.replace(script.EFFECT, comparisons=(moved,))
    )
    card = text(effect_card(next_view(initial_view(script.hello()), event), 61, 5))
    whole = "cannot be attributed: TPS was falling by 3 %/s before the change (A: A/B test)"
    assert whole in " ".join(card.splitlines())


def test_before_the_first_effect_there_is_no_card() -> None:
    assert effect_card(initial_view(script.hello(60)), 61, 5) == []


@pytest.mark.parametrize(
    ("height", "words"),
    [
        (5, "TPS was falling by 3 %/s before (A: A/B test)"),
        (6, "cannot be attributed: TPS was falling by 3 %/s before the change (A: A/B test)"),
    ],
)
def test_the_reason_is_never_cut(height: int, words: str) -> None:
    falling = LevelMovement(kind=MovementKind.TREND, percent=-3.0)
    moved = [
        msgspec.structs.replace(one, verdict=Verdict.CANNOT_TELL, movement=falling)
        for one in script.EFFECT.comparisons
    ]
    card = text(effect_card(compared(*moved), 61, height)).splitlines()
    assert len(card) <= height
    assert " ".join(card[4:]).startswith(words)


def test_the_big_numbers_say_why_a_difference_is_not_attributed() -> None:
    falling = LevelMovement(kind=MovementKind.TREND, percent=-3.0)
    moved = msgspec.structs.replace(
        script.EFFECT.comparisons[0], verdict=Verdict.CANNOT_TELL, movement=falling
    )
    shown = text(big_numbers(compared(moved), 120, 36))
    assert "not attributed: TPS was falling by 3 %/s before the change" in shown
    assert "not attributed" not in text(big_numbers(initial_view(script.hello()), 120, 36))


def test_a_level_watched_too_briefly_is_said_to_be_so() -> None:
    unknown = LevelMovement(kind=MovementKind.UNKNOWN, percent=0.0, seconds=7.0)
    moved = msgspec.structs.replace(
        script.EFFECT.comparisons[0], verdict=Verdict.CANNOT_TELL, movement=unknown
    )
    assert "TPS was watched for only 7 s before" in text(effect_card(compared(moved), 61, 5))


def test_while_an_effect_is_measured_the_card_counts_down() -> None:
    assert text(effect_card(with_progress(), 57, 5)).splitlines() == [
        "EFFECT of 3  preset unsafe",
        "measuring, 10 s to go",
    ]
    late = with_progress(msgspec.structs.replace(PROGRESS, earliest_seconds=69.0))
    assert "waiting until throughput and p95 are steady, at most 40 s" in text(effect_card(late, 57, 5))


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
    assert "effect: measuring, 10 s to go" in shown
    assert "No change yet" not in shown


def test_an_effect_that_was_not_measured_has_its_reason_on_the_card_and_in_the_row() -> None:
    view = next_view(initial_view(script.hello(LENGTH)), NOT_MEASURED)
    card = text(effect_card(view, 61, 5)).splitlines()
    assert card[0].startswith("EFFECT of 3  preset unsafe")
    assert " ".join(card[1:]).startswith("not measured: the load was not steady for 3 s before it")
    rows = text(events_panel(view, 78, 3)).splitlines()
    assert rows[0].startswith("3")
    assert rows[0].endswith("not measured")
    change = next(event for event in view.events if event.kind is EventKind.SETTING)
    assert NOT_MEASURED.not_measured in text(event_detail(change, view.events, 100, 8))


def test_a_session_without_load_lists_the_effects_on_queries_and_fsyncs_per_second() -> None:
    figures = {
        EffectFigure.TPS: EffectFigure.QPS,
        EffectFigure.P95: EffectFigure.P95,
        EffectFigure.FSYNCS: EffectFigure.FSYNC_RATE,
    }
    comparisons = [
        msgspec.structs.replace(one, figure=figures[one.figure]) for one in script.EFFECT.comparisons
    ]
    row = text(events_panel(compared(*comparisons), 120, 1))
    assert "QPS   +55 %" in row
    assert "fsyncs/s   −98 %" in row


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
    assert row == "fsyncs/trx 0.008 → 0.55        higher: ×84 (37..>100)"
    assert "×84" in text(events_panel(compared(large), 120, 1))
    assert "?" not in text(big_numbers(compared(large), 120, 36))
    huge = msgspec.structs.replace(large, percent=25_000.0)
    assert "×>100" in text(events_panel(compared(huge), 120, 1))
    assert big_numbers(compared(huge), 120, 36)
