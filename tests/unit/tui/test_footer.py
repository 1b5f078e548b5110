"""What the screen says of events and answers, and which keys it offers."""

import msgspec
import pytest

from tests.tui import script
from tests.unit.tui.views import role_of, text
from tuibench.model.message import RunState, Status
from tuibench.tui.panels.events import events
from tuibench.tui.panels.footer import footer, note
from tuibench.tui.spans import Span
from tuibench.tui.view import after, begin, noted


def test_the_newest_event_is_first_and_carries_its_number() -> None:
    lines = events(begin(script.hello()), 60, 3)
    assert text(lines) == (
        "3   01:20  TPS +55 % (49..61 %), p95 −54 % (−57..−51 %), fs…\n"
        "3   01:06  preset unsafe: innodb_flush_log_at_trx_commit 1…\n"
        "▲   00:58  12 transactions failed with 1213 (deadlock) and…"
    )
    assert role_of(lines, "3") == "badge"


def test_no_events_are_said_to_be_none() -> None:
    assert text(events(begin(script.hello(0, events=())), 60, 2)) == "No events yet."


def test_a_refusal_is_told_apart_by_its_glyph() -> None:
    view = begin(script.hello(10))
    assert text(note(noted(view, "threads 9", ok=True), 78, 1)) == "✓ threads 9"
    assert text(note(noted(view, "1227: access denied", ok=False), 78, 1)) == "✗ 1227: access denied"


def test_stopping_outweighs_an_answer() -> None:
    view = noted(begin(script.hello(10, script.status(RunState.STOPPING))), "threads 9", ok=True)
    assert text(note(view, 78, 1)) == "■ stopping, writing the summary…   q again leaves without waiting"


def test_a_stop_says_what_is_still_to_be_put_back() -> None:
    states = tuple(
        msgspec.structs.replace(state, changed_by="us")
        for state in script.status(durability=("0", "0")).settings
    )
    status = msgspec.structs.replace(script.status(RunState.STOPPING), settings=states)
    said = text(note(begin(script.hello(10, status)), 118, 1))
    assert said.startswith("■ stopping, putting 2 settings back…   q again leaves without waiting")
    assert said.endswith("innodb_flush_log_at_trx_commit, sync_binlog")


def test_a_warm_up_shows_how_far_it_is() -> None:
    hello = script.hello(0, script.status(RunState.WARMING))
    view = begin(
        msgspec.structs.replace(hello, plan=msgspec.structs.replace(hello.plan, warmup_seconds=10.0))
    )
    assert text(note(view, 78, 1)) == f"◐ warming up {'·' * 24} 00:10 left   q ends it"
    sample = msgspec.structs.replace(script.samples(1)[0], elapsed_seconds=-2.5)
    assert (
        text(note(after(view, sample), 78, 1)) == f"◐ warming up {'█' * 18}{'·' * 6} 00:02 left   q ends it"
    )


def test_opening_connections_is_work_too() -> None:
    view = begin(script.hello(0, script.status(RunState.STARTING, threads=2000)))
    assert text(note(view, 78, 1)) == "○ opening 2,000 connections   q ends it"


def test_the_keys_fit_the_smallest_screen() -> None:
    lines = footer(begin(script.hello()), 78, 1)
    assert text(lines) == "+ − [ ] t threads  r rate  d durability  p pause  ? help  x leave  q stop"


def test_the_footer_is_never_cut_as_long_as_a_rare_key_can_go() -> None:
    view = begin(script.hello(10, script.status(weights={"old": 90, "new": 10}, plan=script.PLAN)))
    for width in range(78, 160):
        line = text(footer(view, width, 1))
        assert line.endswith("q stop"), width
        assert len(line) <= width


def test_the_footer_has_the_rare_keys_where_there_is_room() -> None:
    view = begin(script.hello(10, script.status(weights={"old": 90, "new": 10})))
    wide = text(footer(view, 118, 1))
    assert "r rate  w weights  n network  T plan  d durability" in wide
    plain = text(footer(begin(script.hello()), 118, 1))
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
    line = footer(begin(script.hello(10, script.status(state))), 78, 1)[0]
    assert next(span.role for span in line if span.text == key) == role


def test_a_paused_run_offers_to_resume() -> None:
    paused: Status = script.status(RunState.PAUSED)
    assert "p resume" in text(footer(begin(script.hello(10, paused)), 78, 1))


def test_a_span_is_clickable() -> None:
    assert Span("d", "key", "app.act('durability')") in footer(begin(script.hello()), 78, 1)[0]
