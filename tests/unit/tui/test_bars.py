"""Header, tabs, verdict and footer."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import Golden
from tests.ticks import changed
from tests.tui.support import script
from tests.tui.support.probed import probed
from tests.unit.tui.views import role_of, text, without
from tuibench.features.probe.panel import probe_status
from tuibench.metrics.measurement_warnings import busy_text
from tuibench.model.effect import EffectProgress
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Hello, RunState, Status
from tuibench.model.schedule import PlanPhase
from tuibench.model.tick import Sample, Tick
from tuibench.tui.panels.bars import (
    RECENT_SAMPLES,
    TabLabel,
    fitting_clauses,
    footer,
    header,
    message_line,
    tab_line,
    verdict_line,
    verdicts,
)
from tuibench.tui.panels.effects import effect_card
from tuibench.tui.panels.lists import events_panel
from tuibench.tui.text import TextLine, TextSpan, plain_text
from tuibench.tui.view import View, initial_view, next_view, with_note

# What the head of the screen says, as text.


def test_the_head_names_server_and_run() -> None:
    assert text(header(initial_view(script.hello(seconds=600)), 118, 2)).replace("  ", "") == (
        " tuibench MariaDB 10.11.19 · socket /run/mysqld/mysqld.sock · up 3h 04m● running01:24 of 10:00\n"
        "oltp_read_write · 4 × 100,000 rows · 64 threads · 2 workers"
    ).replace("  ", "")


def test_a_server_that_does_not_answer_is_not_called_up() -> None:
    assert "mysqld.sock · no answer  " in text(header(without("server"), 118, 2))


CIPHER = "TLSv1.2 ECDHE-RSA-AES256-SHA384"


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (
            118,
            f"oltp_read_write · 4 × 100,000 rows · 64 threads · 2 asyncio workers · connections use {CIPHER}",
        ),
        (80, "oltp_read_write · 64 threads · 2 asyncio workers"),
        (60, "oltp_read_write · 64 threads · 2 asyncio workers"),
    ],
)
def test_the_head_names_engine_reason_and_tls(width: int, words: str) -> None:
    hello = msgspec.structs.replace(
        script.hello(),
        engine="asyncio",
        engine_reason=f"connections use {CIPHER}: it runs TLS 1.2 and 1.3 with AES-GCM and ChaCha20-Poly1305",
        server=msgspec.structs.replace(script.SERVER, is_encrypted=True, tls=CIPHER),
    )
    server, run = text(header(initial_view(hello), width, 2)).split("\n")
    assert run == words
    assert (" · TLS · up " in server) == (width == 80)
    assert (f" · {CIPHER} · up " in server) == (width > 80)


def test_a_simulated_delay_and_the_mix_stand_in_the_head() -> None:
    status = script.status(weights={"old": 90, "new": 10}, client_delay_ms=20)
    lines = header(initial_view(script.hello(10, status)), 118, 2)
    assert text(lines[1:]) == (
        "oltp_read_write · 4 × 100,000 rows · 64 threads · mix 90/10"
        " · simulated network delay 20ms · 2 workers"
    )
    assert role_of(lines, "simulated") == "warn"


def test_what_is_least_missed_gives_way_in_the_head() -> None:
    status = script.status(weights={"old": 90, "new": 10}, client_delay_ms=20)
    assert text(header(initial_view(script.hello(10, status)), 72, 2)[1:]) == (
        "oltp_read_write · 64 threads · mix 90/10 · simulated +20ms"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "64 threads · plan 2/3 → 64 threads, 00:23 · 2 workers"),
        ({"following": ""}, "plan 2/3 ends, 00:23"),
        ({"phase": PlanPhase.HELD, "due_seconds": None}, "plan 2/3 held (H), 00:41 left"),
        ({"phase": PlanPhase.PAUSED, "due_seconds": None}, "plan 2/3 paused, 00:41 left"),
        ({"phase": PlanPhase.WAITING, "due_seconds": None}, "plan 2/3 waits, 00:41 left"),
        ({"phase": PlanPhase.OVER, "due_seconds": None}, "64 threads · plan done · 2 workers"),
    ],
)
def test_the_head_says_what_comes_next_by_the_plan(changes: dict[str, object], words: str) -> None:
    plan = msgspec.structs.replace(script.PLAN, **changes)
    lines = header(initial_view(script.hello(10, script.status(plan=plan))), 118, 2)
    assert words in text(lines[1:])
    assert plan.phase is not PlanPhase.HELD or role_of(lines, "held") == "warn"


def test_there_is_room_for_plan_and_delay_on_a_small_screen() -> None:
    status = script.status(plan=script.PLAN, client_delay_ms=20)
    line = text(header(initial_view(script.hello(10, status)), 78, 2)[1:])
    assert line == "oltp_read_write · 64 threads · simulated +20ms · plan 2/3 → 64 threads, 00:23"


@pytest.mark.parametrize("state", RunState)
def test_every_state_is_a_word(state: RunState) -> None:
    view = initial_view(script.hello(10, script.status(state=state)))
    assert state.value in text(header(view, 78, 2))


# The tab line shortens itself.


TABS = (
    TabLabel("1", "live", "Live", "Live"),
    TabLabel("2", "latency", "Latency", "Lat"),
    TabLabel("7", "saturation", "Saturation", "Sat"),
)


def line_of(width: int, here: str = "latency") -> TextLine:
    def offered(_: View) -> tuple[TabLabel, ...]:
        return TABS

    return tab_line(offered, here, initial_view(script.hello(10)), width, 1)[0]


@pytest.mark.parametrize(
    ("width", "written"),
    [
        (40, " 1 Live   2 Latency   7 Saturation "),
        (34, "1 Live 2 Latency 7 Saturation"),
        (28, "1 Live 2 Latency 7 Sat"),
        (20, "1 Live 2 Lat 7 Sat"),
        (17, "1 Live 2 Lat 7"),
        (12, "1 2 Lat 7"),
    ],
)
def test_the_names_give_way_step_by_step(width: int, written: str) -> None:
    assert plain_text(line_of(width)) == f"{written:<{width}}"


def test_the_screen_that_is_shown_is_marked() -> None:
    assert [span.text for span in line_of(40, "live") if span.role == "here"] == [" 1 Live "]


def test_every_tab_can_be_clicked() -> None:
    actions = {span.action for span in line_of(40) if span.text.strip()}
    assert actions == {f"app.go('{tab.name}')" for tab in TABS}


# The verdict line and the coach line.


LIMITED = (
    "client-limited: this host has no CPU left, scheduling delay p99 19.7 ms of a worker; add a load host"
)


def busy(cpu_server: float | None = 9.0) -> Tick:
    """A host at its limit, of which other programs use what the server does not."""
    return script.host_part(cpu_total=99.0, cpu_server=cpu_server, cpu_tuibench=7.0)


def view_of(status: Status | None = None, **changes: Any) -> View:
    """A run whose last samples have these parts."""
    view = initial_view(msgspec.structs.replace(script.hello(60), status=status or script.status()))
    for sample in script.samples(60 + RECENT_SAMPLES)[-RECENT_SAMPLES:] if changes else ():
        view = next_view(view, changed(sample, **changes))
    return view


def line(view: View, width: int = 118) -> str:
    return text(verdict_line(view, width, 1))


def test_a_calm_run_has_no_verdict() -> None:
    assert verdict_line(view_of(), 118, 1) == []


def test_other_programs_that_use_up_the_host_outweigh_a_limited_client() -> None:
    view = view_of(script.status(warnings=(LIMITED,)), host=busy())
    told = "host busy: other programs use 83 % of CPU, which skews the results; stop them or use another host"
    assert line(view) == f"▲ {told}   1 more: ?"
    assert line(view, 78) == "▲ host busy: other programs use 83 % of CPU   1 more: ?"
    before = told.replace("83", "56")
    view = view_of(script.status(warnings=(before, LIMITED)), host=busy())
    assert [each.text for each in verdicts(view)] == [told, LIMITED], "once, with the number of now"


def test_a_server_that_is_not_seen_is_not_another_program() -> None:
    assert line(view_of(host=busy(cpu_server=None))) == ""


def test_the_server_and_tuibench_may_use_up_the_host() -> None:
    assert line(view_of(host=busy(cpu_server=83.0))) == ""


def test_a_late_tick_is_a_disturbance() -> None:
    assert line(view_of(late_ms=1200.0)).startswith(
        "▲ host disturbed: it was suspended, or tuibench got no CPU"
    )


def test_two_hosts_that_are_busy_are_both_told() -> None:
    view = view_of(script.status(warnings=tuple(busy_text(80.0, f"10.0.0.{number}") for number in (1, 2))))
    assert len(verdicts(view)) == 2


def test_a_limit_of_the_client_outweighs_other_warnings() -> None:
    view = view_of(script.status(warnings=(LIMITED, "incomplete: a worker process did not answer")))
    assert [each.text.partition(":")[0] for each in verdicts(view)] == ["client-limited", "incomplete"]


def test_a_paused_run_says_how_to_resume() -> None:
    assert line(view_of(script.status(RunState.PAUSED))) == "‖ paused: no load is running; p resumes it"


def test_a_probe_says_step_level_and_time_left() -> None:
    under_way = probed().under_way
    view = msgspec.structs.replace(view_of(), probe=under_way)
    assert line(view).startswith(f"◆ probe: step {len(under_way.steps) + 1} at ")
    between = msgspec.structs.replace(view, probe=msgspec.structs.replace(under_way, level=0.0))
    assert line(between).startswith(f"◆ probe: step {len(under_way.steps) + 1}, at most ")
    assert line(view).endswith(", at most 00:58 left")
    assert "at most 00:58 left" in text(probe_status(view, 118, 2)), "the same on its own screen"


def test_what_alternates_says_it_as_the_card_does() -> None:
    progress = EffectProgress(
        markers=(2,),
        change="threads 32 → 64",
        at_seconds=46.0,
        earliest_seconds=60.0,
        latest_seconds=99.5,
        alternates=True,
    )
    view = view_of(msgspec.structs.replace(script.status(), effect=progress))
    assert line(view) == "◆ both values alternate to decide the effect, at most 00:40 left"
    assert line(view).removeprefix("◆ ") in text(effect_card(view, 78, 5))


def test_a_plan_says_its_stage() -> None:
    view = initial_view(script.hello(10, script.status(plan=script.PLAN)))
    assert line(view) == "◆ plan: stage 2 of 3, 64 threads in 00:23; H holds it"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (118, LIMITED),
        (
            97,
            "client-limited: this host has no CPU left, scheduling delay p99 19.7 ms of a worker   ? for all",
        ),
        (78, "client-limited: this host has no CPU left   ? for all"),
        (40, "client-limited   ? for all"),
    ],
)
def test_a_verdict_ends_with_a_clause_and_is_never_cut(width: int, shown: str) -> None:
    assert line(view_of(script.status(warnings=(LIMITED,))), width) == f"▲ {shown}"


@given(st.text("ab ,;:", max_size=80), st.integers(40, 80))
def test_what_is_shown_is_whole_clauses_that_fit(words: str, room: int) -> None:
    shown = fitting_clauses(words, room)
    assert "…" not in shown
    assert shown == words or not words.startswith(shown) or words[len(shown)] in ",;:"


COACH = "Press d and choose unsafe: watch fsyncs fall and TPS rise"
FRESH: Hello = script.hello(40, events=())


def coached(hello: Hello = FRESH) -> View:
    return msgspec.structs.replace(initial_view(hello), coach=True)


def test_the_coach_says_what_to_try_first() -> None:
    assert text(message_line(coached(), 78, 1)) == COACH


@pytest.mark.parametrize(
    "view",
    [
        initial_view(FRESH),
        coached(script.hello(0, events=())),
        coached(script.hello(5, events=())),
        coached(script.hello(40, script.status(unavailable="no privilege"), events=())),
        msgspec.structs.replace(coached(), read_only=True),
    ],
    ids=[
        "without hints",
        "before the first sample",
        "before it has settled",
        "without the privilege",
        "read-only",
    ],
)
def test_the_coach_is_silent_where_it_does_not_apply(view: View) -> None:
    assert text(message_line(view, 78, 1)) == ""


@pytest.mark.parametrize(("kind", "shown"), [(EventKind.THREADS, ""), (EventKind.MARK, COACH)])
def test_the_coach_is_gone_after_the_first_change(kind: EventKind, shown: str) -> None:
    change = Event(at=0.0, elapsed_seconds=4.0, kind=kind, text="changed", marker=1)
    assert text(message_line(next_view(coached(), change), 78, 1)) == shown


def test_a_sample_after_the_disturbance_clears_it() -> None:
    view = view_of(late_ms=1200.0)
    samples: tuple[Sample, ...] = script.samples(60 + 2 * RECENT_SAMPLES)[-RECENT_SAMPLES:]
    for sample in samples:
        view = next_view(view, sample)
    assert line(view) == ""


# What the screen says of events and answers, and which keys it offers.


def test_the_newest_event_is_first_and_carries_its_number(golden: Golden) -> None:
    lines = events_panel(initial_view(script.hello()), 60, 3)
    assert text(lines) == golden
    assert role_of(lines, "3") == "badge"


@pytest.mark.parametrize("kind", [EventKind.WARNING, EventKind.MARK])
def test_a_long_event_is_cut_at_its_end_and_is_not_several_changes(kind: EventKind) -> None:
    words = "host busy: other programs use 54 % of CPU, which skews the results; stop them"
    view = initial_view(script.hello(9, events=(Event(at=0.0, elapsed_seconds=3.0, kind=kind, text=words),)))
    assert "host busy: other programs use" in text(events_panel(view, 60, 1))


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
        text(message_line(view, 78, 1))
        == "■ stopping, writing the summary …   q again leaves without waiting"
    )


def test_a_stop_says_what_is_still_to_be_put_back() -> None:
    states = tuple(
        msgspec.structs.replace(state, changed_by="us")
        for state in script.status(durability=("0", "0")).settings
    )
    status = msgspec.structs.replace(script.status(RunState.STOPPING), settings=states)
    wide, narrow = (
        text(message_line(initial_view(script.hello(10, status)), width, 1)) for width in (118, 78)
    )
    assert narrow == "■ stopping, restoring 2 settings …   q again leaves without waiting", (
        "no half of a name"
    )
    assert wide == f"{narrow}   innodb_flush_log_at_trx_commit, sync_binlog"


def test_a_warm_up_shows_how_far_it_is() -> None:
    hello = script.hello(0, script.status(RunState.WARMING))
    view = initial_view(
        msgspec.structs.replace(hello, plan=msgspec.structs.replace(hello.plan, warmup_seconds=10.0))
    )
    assert text(message_line(view, 78, 1)) == f"◐ warming up {'·' * 24} 00:10 left   q ends it"
    sample = changed(script.samples(1)[0], elapsed_seconds=-2.5)
    assert (
        text(message_line(next_view(view, sample), 78, 1))
        == f"◐ warming up {'█' * 18}{'·' * 6} 00:03 left   q ends it"
    )


def test_opening_connections_is_work_too() -> None:
    view = initial_view(script.hello(0, script.status(RunState.STARTING, threads=2000)))
    assert text(message_line(view, 78, 1)) == "○ opening 2,000 connections   q ends it"


def test_the_keys_fit_the_smallest_screen() -> None:
    lines = footer(initial_view(script.hello()), 78, 1)
    assert text(lines) == "d durability  t threads  A A/B  P probe  e effects  p pause  ? help  q stop"


def test_the_footer_is_never_cut_as_long_as_a_rare_key_can_go() -> None:
    view = initial_view(script.hello(10, script.status(weights={"old": 90, "new": 10}, plan=script.PLAN)))
    for width in range(78, 160):
        line = text(footer(view, width, 1))
        assert line.endswith("q stop"), width
        assert len(line) <= width


def test_the_footer_has_the_rare_keys_where_there_is_room() -> None:
    view = initial_view(script.hello(10, script.status(weights={"old": 90, "new": 10})))
    wide = text(footer(view, 175, 1))
    assert "U tune  u undo  p pause  r rate  w weights  n network  T plan  space mark" in wide
    plain = text(footer(initial_view(script.hello()), 128, 1))
    assert "w weights" not in plain
    assert plain.startswith("d durability  t + − [ ] threads  A A/B  P probe  e effects")
    assert plain.endswith("p pause  r rate  ^p menu  ? help  x leave  q stop")
    narrow = text(footer(view, 78, 1))
    assert "network" not in narrow
    assert narrow.endswith("p pause  ? help  q stop")


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
