"""What the screen says of events and answers, and which keys it offers."""

import msgspec
import pytest

from tests.ticks import changed
from tests.tui.support import script
from tests.unit.tui.views import role_of, text
from tuibench.model.message import RunState, Status
from tuibench.tui.panels.bars.footer import footer, message_line
from tuibench.tui.panels.events import events_panel
from tuibench.tui.text.spans import TextSpan
from tuibench.tui.view import initial_view, next_view, with_note


def test_the_newest_event_is_first_and_carries_its_number() -> None:
    lines = events_panel(initial_view(script.hello()), 60, 3)
    assert text(lines) == (
        "3   01:06  preset unsafe                         TPS   +55 %\n"
        "▲   00:58  12 transactions failed with 1213 (deadlock) and…\n"
        "2   00:46  threads 32 → 64"
    )
    assert role_of(lines, "3") == "badge"


def test_no_events_are_said_to_be_none() -> None:
    assert text(events_panel(initial_view(script.hello(0, events=())), 60, 2)) == "No events yet."


def test_a_refusal_has_its_own_glyph() -> None:
    view = initial_view(script.hello(10))
    assert text(message_line(with_note(view, "threads 9", ok=True), 78, 1)) == "✓ threads 9"
    assert (
        text(message_line(with_note(view, "1227: access denied", ok=False), 78, 1)) == "✗ 1227: access denied"
    )
    hint = with_note(view, "no probe has run yet: P starts one", ok=True, is_hint=True)
    assert text(message_line(hint, 78, 1)) == "→ no probe has run yet: P starts one"


def test_stopping_outweighs_an_answer() -> None:
    view = with_note(initial_view(script.hello(10, script.status(RunState.STOPPING))), "threads 9", ok=True)
    assert (
        text(message_line(view, 78, 1)) == "■ stopping, writing the summary…   q again leaves without waiting"
    )


def test_a_stop_says_what_is_still_to_be_put_back() -> None:
    states = tuple(
        msgspec.structs.replace(state, changed_by="us")
        for state in script.status(durability=("0", "0")).settings
    )
    status = msgspec.structs.replace(script.status(RunState.STOPPING), settings=states)
    said = text(message_line(initial_view(script.hello(10, status)), 118, 1))
    assert said.startswith("■ stopping, restoring 2 settings…   q again leaves without waiting")
    assert said.endswith("innodb_flush_log_at_trx_commit, sync_binlog")


def test_a_warm_up_shows_how_far_it_is() -> None:
    hello = script.hello(0, script.status(RunState.WARMING))
    view = initial_view(
        msgspec.structs.replace(hello, plan=msgspec.structs.replace(hello.plan, warmup_seconds=10.0))
    )
    assert text(message_line(view, 78, 1)) == f"◐ warming up {'·' * 24} 00:10 left   q ends it"
    sample = changed(script.samples(1)[0], elapsed_seconds=-2.5)
    assert (
        text(message_line(next_view(view, sample), 78, 1))
        == f"◐ warming up {'█' * 18}{'·' * 6} 00:02 left   q ends it"
    )


def test_opening_connections_is_work_too() -> None:
    view = initial_view(script.hello(0, script.status(RunState.STARTING, threads=2000)))
    assert text(message_line(view, 78, 1)) == "○ opening 2,000 connections   q ends it"


def test_the_keys_fit_the_smallest_screen() -> None:
    lines = footer(initial_view(script.hello()), 78, 1)
    assert text(lines) == "+ − [ ] t threads  P probe  d durability  p pause  ? help  x leave  q stop"


def test_the_footer_is_never_cut_as_long_as_a_rare_key_can_go() -> None:
    view = initial_view(script.hello(10, script.status(weights={"old": 90, "new": 10}, plan=script.PLAN)))
    for width in range(78, 160):
        line = text(footer(view, width, 1))
        assert line.endswith("q stop"), width
        assert len(line) <= width


def test_the_footer_has_the_rare_keys_where_there_is_room() -> None:
    view = initial_view(script.hello(10, script.status(weights={"old": 90, "new": 10})))
    wide = text(footer(view, 118, 1))
    assert "r rate  w weights  n network  P probe  d durability" in wide
    plain = text(footer(initial_view(script.hello()), 118, 1))
    assert "w weights" not in plain
    assert plain.endswith("space mark  ^p menu  ? help  x leave  q stop")
    narrow = text(footer(view, 78, 1))
    assert "network" not in narrow
    assert narrow.endswith("? help  x leave  q stop")


@pytest.mark.parametrize(
    ("state", "key", "role"),
    [(RunState.RUNNING, "d", "key"), (RunState.STARTING, "d", "faint"), (RunState.STOPPING, "q", "key")],
)
def test_a_key_that_does_nothing_now_is_dim(state: RunState, key: str, role: str) -> None:
    line = footer(initial_view(script.hello(10, script.status(state))), 78, 1)[0]
    assert next(span.role for span in line if span.text == key) == role


def test_a_paused_run_offers_to_resume() -> None:
    paused: Status = script.status(RunState.PAUSED)
    assert "p resume" in text(footer(initial_view(script.hello(10, paused)), 78, 1))


def test_a_span_is_clickable() -> None:
    assert TextSpan("d", "key", "app.act('durability')") in footer(initial_view(script.hello()), 78, 1)[0]
