"""What each part of the screen says, as text."""

import msgspec
import pytest

from tests.tui import script
from tuibench.model.cost import Costs
from tuibench.model.event import Event, EventKind
from tuibench.model.headline import Headline
from tuibench.model.message import RunState, Status
from tuibench.model.progress import PlanPhase
from tuibench.model.sample import ServerPart
from tuibench.tui.panels.durability import durability
from tuibench.tui.panels.effect import effect_card
from tuibench.tui.panels.events import events
from tuibench.tui.panels.figure import figure
from tuibench.tui.panels.footer import footer, note
from tuibench.tui.panels.head import head
from tuibench.tui.panels.host import host_panel, host_strip
from tuibench.tui.panels.measures import P95, QPS, TPS, big_latency, big_rate, measures_of
from tuibench.tui.panels.plot import plot
from tuibench.tui.panels.server import server_panel, server_strip
from tuibench.tui.spans import Line, Span, plain, width_of
from tuibench.tui.view import View, after, begin, noted


def text(lines: list[Line]) -> str:
    return "\n".join(plain(line).rstrip() for line in lines)


def role_of(lines: list[Line], part: str) -> str:
    return next(span.role for line in lines for span in line if part in span.text)


def short_story(*tps: float | None) -> View:
    """One sample a second with these rates."""
    base = script.samples(1)[0]
    view = begin(script.hello(0))
    for number, value in enumerate(tps, 1):
        load = None if value is None else script.load_part(value, 10.0, 4)
        view = after(view, msgspec.structs.replace(base, elapsed_seconds=float(number), load=load))
    return view


def with_server(**changes: object) -> View:
    view = begin(script.hello(10))
    assert view.sample is not None
    assert view.server is not None
    part = msgspec.structs.replace(view.server, **changes)
    return after(view, msgspec.structs.replace(view.sample, server=part))


def with_host(**changes: object) -> View:
    view = begin(script.hello(10))
    assert view.sample is not None
    host = msgspec.structs.replace(script.HOST, **changes)
    return after(view, msgspec.structs.replace(view.sample, host=host))


def without(*parts: str) -> View:
    view = begin(script.hello(10))
    assert view.sample is not None
    return after(view, script.without(view.sample, *parts))


# charts


def test_a_chart_is_a_rule_at_the_maximum_and_bars_from_zero() -> None:
    view = short_story(500, 1000, None, 2000)
    assert text(plot(TPS, view, 7 + 6, 3, numbered=False)) == ("   2 k ──────\n            █\n     0   ▄█ █")


def test_a_change_is_one_line_through_all_charts_and_its_number_stands_on_the_first() -> None:
    view = after(short_story(1000, 1000, 1000), script.EVENTS[0])
    view = after(view, Event(at=0, elapsed_seconds=1.5, kind=EventKind.MARK, text="", marker=3))
    assert text(plot(TPS, view, 7 + 4, 2, numbered=True)) == "   1 k ──3─\n     0  █│█"
    assert text(plot(QPS, view, 7 + 4, 2, numbered=False)) == "  20 k ──┼─\n     0  █│█"


def test_a_chart_has_one_style_a_row() -> None:
    for line in plot(TPS, begin(script.hello()), 80, 8, numbered=True)[1:]:
        assert len([span for span in line if span.role.startswith("shade")]) == 1


def test_a_chart_without_data_names_no_maximum() -> None:
    assert text(plot(TPS, begin(script.hello(0)), 12, 2, numbered=True)) == "       ─────\n     0"


# figures


def test_a_figure_is_title_digits_and_details() -> None:
    lines = figure(TPS, short_story(2412), 18, 7)
    assert text(lines) == (
        "TPS transactions/s\n"
        "▀▀█   █ █ ▀█  ▀▀█\n"
        "█▀▀   ▀▀█  █  █▀▀\n"
        "▀▀▀ █   ▀ ▀▀▀ ▀▀▀\n"
        "errors/s         0\n"
        "clients     4 of 4"
    )


def test_a_missing_figure_is_a_dash_and_not_a_zero() -> None:
    lines = figure(P95, short_story(100, None), 18, 4)
    assert text(lines) == "p95 latency\n\n▀▀▀\n"


def test_errors_stand_out() -> None:
    view = short_story(100)
    assert view.sample is not None
    assert view.load is not None
    load = msgspec.structs.replace(view.load, errors_per_second=2.0)
    lines = figure(TPS, after(view, msgspec.structs.replace(view.sample, load=load)), 18, 7)
    assert role_of(lines, "errors/s") == "warn"


def test_a_headline_takes_the_place_of_tps() -> None:
    headline = Headline(title="tpmC", transaction="new_order", note="not audited")
    hello = msgspec.structs.replace(script.hello(1), headline=headline)
    base = script.samples(1)[0]
    load = msgspec.structs.replace(script.load_part(50.0, 10.0, 4), headline=1350.0)
    view = after(begin(hello), msgspec.structs.replace(base, elapsed_seconds=2.0, load=load))
    first, *others = measures_of(view.headline)
    lines = text(figure(first, view, 18, 8)).splitlines()
    assert lines[0] == "tpmC (not audited)"
    assert lines[4:6] == ["TPS           50.0", "errors/s         0"]
    assert first.value(view.points[-1]) == 1350.0
    assert "1.5 k" in text(plot(first, view, 40, 6, numbered=True))
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


# head


def test_the_head_names_server_and_run() -> None:
    assert text(head(begin(script.hello(seconds=600)), 118, 2)).replace("  ", "") == (
        " tuibench MariaDB 10.11.19 · socket /run/mysqld/mysqld.sock · up 3h 04m● running01:24 of 10:00\n"
        "oltp_read_write · 4 × 100,000 rows · 64 threads · 2 workers"
    ).replace("  ", "")


def test_a_server_that_does_not_answer_is_not_called_up() -> None:
    assert "mysqld.sock · no answer  " in text(head(without("server"), 118, 2))


def test_a_simulated_delay_and_the_mix_stand_in_the_head() -> None:
    status = script.status(weights={"old": 90, "new": 10}, client_delay_ms=20)
    lines = head(begin(script.hello(10, status)), 118, 2)
    assert text(lines[1:]) == (
        "oltp_read_write · 4 × 100,000 rows · 64 threads · mix 90/10"
        " · simulated network delay 20ms · 2 workers"
    )
    assert role_of(lines, "simulated") == "warn"


def test_what_is_least_missed_gives_way_in_the_head() -> None:
    status = script.status(
        weights={"old": 90, "new": 10}, client_delay_ms=20, warnings=("client-limited: " + "why " * 40,)
    )
    assert text(head(begin(script.hello(10, status)), 78, 2)[1:]) == (
        "oltp_read_write · 64 threads · simulated +20ms       ▲ client-limited (? help)"
    )


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("client-limited: a worker is full", "▲ client-limited (? help)"),
        ("data: none", "▲ data: none (? help)"),
        ("a warning that has no name at all", "▲ warning (? help)"),
    ],
)
def test_where_the_words_of_a_warning_say_nothing_its_name_does(words: str, shown: str) -> None:
    status = script.status(warnings=(words,))
    line = text(head(begin(script.hello(10, status)), 78, 2)[1:])
    assert line.startswith("oltp_read_write · 4 × 100,000 rows · 64 threads  ")
    assert line.endswith(f"  {shown}")


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
    lines = head(begin(script.hello(10, script.status(plan=plan))), 118, 2)
    assert words in text(lines[1:])
    assert plan.phase is not PlanPhase.HELD or role_of(lines, "held") == "warn"


def test_there_is_room_for_plan_and_delay_on_a_small_screen() -> None:
    status = script.status(plan=script.PLAN, client_delay_ms=20)
    line = text(head(begin(script.hello(10, status)), 78, 2)[1:])
    assert line == "oltp_read_write · 64 threads · simulated +20ms · plan 2/3 → 64 threads, 00:23"


@pytest.mark.parametrize("state", RunState)
def test_every_state_is_a_word(state: RunState) -> None:
    view = begin(script.hello(10, script.status(state=state)))
    assert state.value in text(head(view, 78, 2))


def test_a_warning_stands_in_the_head_and_points_to_the_rest() -> None:
    view = begin(script.hello(10, script.status(warnings=("late ticks", "client-limited: a worker is full"))))
    lines = head(view, 118, 2)
    assert text(lines).endswith("▲ client-limited: a worker is full +1 (? help)")
    assert role_of(lines, "client-limited") == "warn"


def test_a_warning_is_seen_even_where_there_is_no_room_for_it() -> None:
    view = begin(script.hello(10, script.status(warnings=("client-limited " * 9,))))
    assert "▲ " in text(head(view, 78, 2))
    assert all(width_of(line) == 78 for line in head(view, 78, 2))


# server


def test_the_servers_figures() -> None:
    assert text(server_panel(begin(script.hello()), 35, 10)) == (
        "SERVER              now       total\n"
        "Questions/s      48,994   6,724,480\n"
        "Commits/s         2,450\n"
        "Slow queries          0          12\n"
        "Open tables         214    of 2,000\n"
        "Threads running      61\n"
        "Threads connected    66    of 2,000\n"
        "Log fsyncs/trx     0.02      49.0/s\n"
        "Buffer pool hit 99.98 %\n"
        "Row lock waits/s    3.1"
    )


def test_the_same_in_two_lines() -> None:
    assert text(server_strip(begin(script.hello()), 78, 2)) == (
        "Questions/s 48,994  Slow       0 of 12  Tables   214/2,000  Threads   61/66/2k\n"
        "Fsyncs/trx    0.02  Pool hit   99.98 %  Lock waits/s   3.1  Commits/s    2,450"
    )


def test_a_first_tick_says_when_rates_come() -> None:
    view = with_server(questions_per_second=None, log_fsyncs_per_transaction=None, slow_queries=None)
    lines = text(server_panel(view, 50, 10)).splitlines()
    assert lines[7].split() == ["Log", "fsyncs/trx", "–", "next", "tick"]
    assert lines[3].split()[2:] == ["–", "12"]


@pytest.mark.parametrize(
    ("field", "row", "reason"),
    [
        ("log_fsyncs_per_transaction", "Log fsyncs/trx", "no commits"),
        ("buffer_pool_hit", "Buffer pool hit", "no reads"),
        ("row_lock_waits_per_second", "Row lock waits/s", "not counted"),
    ],
)
def test_a_dash_has_its_reason_beside_it(field: str, row: str, reason: str) -> None:
    lines = text(server_panel(with_server(**{field: None}), 50, 10)).splitlines()
    line = next(line for line in lines if line.startswith(row))
    assert "–" in line
    assert line.endswith(reason)


def test_a_full_hundred_needs_no_digits() -> None:
    assert "Buffer pool hit   100 %" in text(server_panel(with_server(buffer_pool_hit=100.0), 35, 10))


def test_a_silent_server_says_so() -> None:
    assert "no answer from the server this second" in text(server_panel(without("server"), 50, 10))
    assert "no answer from the server this second" in text(server_strip(without("server"), 78, 2))


def test_server_part_has_no_figure_that_the_panel_could_show_as_zero() -> None:
    bare = ServerPart(
        uptime_seconds=1,
        threads_running=1,
        threads_connected=1,
        max_connections=10,
        open_tables=5,
        table_open_cache=9,
        questions_total=7,
        slow_queries_total=3,
    )
    view = begin(script.hello(10))
    assert view.sample is not None
    view = after(view, msgspec.structs.replace(view.sample, server=bare))
    assert " 0" not in text(server_panel(view, 40, 10))


# host


def test_memory_in_two_units_leaves_its_bar_less_room() -> None:
    view = begin(script.hello())
    assert view.sample is not None
    assert view.host is not None
    little = msgspec.structs.replace(view.host, memory_used_bytes=945 * 2**20)
    view = after(view, msgspec.structs.replace(view.sample, host=little))
    assert "Memory ········ 945 MiB of 24 GiB" in text(host_panel(view, 33, 9)).splitlines()


def test_the_hosts_figures() -> None:
    assert text(host_panel(begin(script.hello()), 35, 9)) == (
        "HOST                        8 cores\n"
        "CPU    ████████████████▓▓▓▓··  93 %\n"
        "█ server 71 ▓ tuibench 18 ▒ rest 4\n"
        "Memory ████·······    9.1 of 24 GiB\n"
        "Disk read                 305 KiB/s\n"
        "Disk write               11.8 MiB/s\n"
        "Network in                 40 KiB/s\n"
        "Network out              56.6 KiB/s"
    )


def test_the_same_in_one_line() -> None:
    assert text(host_strip(begin(script.hello()), 78, 1)) == (
        "CPU ██████▓·  93 % server 71 tuibench 18 rest 4  Mem 38 %  Disk r/w 305K/11.8M"
    )


def test_a_server_that_was_not_found_says_why() -> None:
    view = with_host(cpu_server=None, note="the server's process belongs to another user")
    panel = text(host_panel(view, 35, 12))
    assert "server –" in panel
    assert "the server's process belongs to" in panel


def test_a_disk_that_cannot_be_read_is_no_zero() -> None:
    panel = text(host_panel(with_host(disk_read_bytes_per_second=None), 35, 12))
    assert "not readable here  –" in panel


def test_a_missing_host_says_so() -> None:
    assert "could not be measured" in text(host_panel(without("host"), 35, 12))
    assert "could not be measured" in text(host_strip(without("host"), 78, 1))


def test_a_remote_servers_host_is_not_shown_as_its_own() -> None:
    remote = msgspec.structs.replace(script.SERVER, is_local=False)
    assert "HOST of the client" in text(host_panel(begin(script.hello(10, server=remote)), 35, 12))


# durability


def test_durable_is_said_in_words() -> None:
    assert text(durability(without_costs(60), 118, 2)) == (
        " DURABILITY  flush_log   1  log flushed to disk at every commit: no commit is lost\n"
        " ● DURABLE   sync_binlog 1  binlog flushed to disk at every commit: no event is lost"
    )


def without_costs(seconds: int = script.LENGTH) -> View:
    return begin(msgspec.structs.replace(script.hello(seconds), costs=()))


def test_beside_a_value_stands_what_a_commit_costs() -> None:
    rows = text(durability(begin(script.hello(60)), 118, 2)).splitlines()
    assert rows[0].endswith("no commit is lost      1.04 fsyncs/trx, 6.09 KiB redo")
    assert rows[1].endswith("0.97 syncs/trx, 2.83 KiB binlog")


def test_a_changed_value_is_set_beside_what_it_was() -> None:
    rows = text(durability(begin(script.hello()), 118, 2)).splitlines()
    assert rows[0].endswith(
        "about 1 s of commits lost in any crash                 0.003 fsyncs/trx (at 1: 1.04)"
    )
    assert rows[1].endswith("0 syncs/trx (at 1: 0.97)")


def test_a_cost_that_nobody_counts_takes_no_room() -> None:
    bare = tuple(msgspec.structs.replace(cost, binlog_syncs=None) for cost in script.COSTS)
    view = begin(msgspec.structs.replace(script.hello(60), costs=bare))
    assert "syncs/trx" not in text(durability(view, 118, 2)).splitlines()[1]
    assert "/trx" not in text(durability(view, 78, 2))


# the effect card


def test_the_card_says_before_after_and_how_sure() -> None:
    assert text(effect_card(begin(script.hello()), 57, 5)).splitlines() == [
        "EFFECT of 3  preset unsafe: 1·1 → 0·0",
        "TPS        1,560 → 2,412       +55 % (49..61 %)",
        "p95        58.4 ms → 26.9 ms   −54 % (−57..−51 %)",
        "fsyncs/trx 1.04 → 0.020        −98 % (−98..−98 %)",
        "12 s before, 12 s after, 2 s to settle",
    ]


def test_a_gain_and_a_loss_look_different() -> None:
    worse = msgspec.structs.replace(script.EFFECT.comparisons[0], delta=-1.0)
    event = msgspec.structs.replace(
        script.EVENTS[-1],
        effect=msgspec.structs.replace(script.EFFECT, comparisons=(worse,), settled=False, markers=(4, 5)),
    )
    view = after(begin(script.hello()), event)
    card = effect_card(view, 57, 5)
    assert role_of(effect_card(begin(script.hello()), 57, 5), "+55 %") == "ok"
    assert role_of(card, "+55 %") == "warn"
    assert text(card).startswith("EFFECT of 4–5  ")
    assert text(card).endswith("and still moving")


def test_what_cannot_be_told_from_noise_is_said_to_be_none() -> None:
    same = msgspec.structs.replace(script.EFFECT.comparisons[1], differs=False)
    event = msgspec.structs.replace(
        script.EVENTS[-1], effect=msgspec.structs.replace(script.EFFECT, comparisons=(same,))
    )
    card = effect_card(after(begin(script.hello()), event), 57, 5)
    assert text(card).splitlines()[1] == "p95        58.4 ms → 26.9 ms   no difference"


def test_before_the_first_effect_there_is_no_card() -> None:
    assert effect_card(begin(script.hello(60)), 57, 5) == []


def test_costs_as_they_come() -> None:
    view = after(without_costs(), Costs(script.COSTS))
    assert view.costs == script.COSTS


def test_at_risk_looks_different_and_says_what_was_before() -> None:
    lines = durability(without_costs(), 118, 2)
    assert text(lines).splitlines() == [
        " DURABILITY  flush_log   0 was 1  log flushed once a second: about 1 s of commits lost in any crash",
        " ▲ AT RISK   sync_binlog 0 was 1  binlog left to the OS: its latest events lost if the host crashes",
    ]
    assert role_of(lines, "AT RISK") == "alarm"


def test_with_little_room_the_consequence_stays() -> None:
    assert (
        text(durability(begin(script.hello()), 78, 2))
        .splitlines()[0]
        .endswith("0 was 1  about 1 s of commits lost in any crash")
    )


def test_unknown_settings_are_not_called_durable() -> None:
    status = msgspec.structs.replace(script.status(), settings=())
    lines = durability(begin(script.hello(10, status)), 118, 2)
    assert "– unknown" in text(lines)
    assert "– not known to this server" in text(lines)
    assert "DURABLE" not in text(lines)


# events, answers, keys


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
