"""Panels of the server and its host."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.golden import Golden
from tests.tables import for_each
from tests.ticks import changed, server_tick
from tests.tui.support import script
from tests.tui.support.sessions import ACTIVITY, session
from tests.unit.tui import views
from tests.unit.tui.views import role_of, text, with_host, without
from tuibench.model.counters import Counter as ServerCounter
from tuibench.model.effect import CommitCosts
from tuibench.model.server import Activity
from tuibench.model.settings import SettingState
from tuibench.model.tick import Sample
from tuibench.tui import figures as server_figures
from tuibench.tui.figures import (
    BINARY_LOG,
    COMMANDS,
    CONNECTIONS,
    GROUP_HEADING,
    INNODB,
    LEFT_TABLES,
    RIGHT_TABLES,
    ROWS,
    FigureRow,
)
from tuibench.tui.panels import settings as settings_panel
from tuibench.tui.panels.lists import Selection, TrendRow, TrendSection, first_visible, stack_sections
from tuibench.tui.panels.locks import lock_panel
from tuibench.tui.panels.numbers import core_bars, core_bars_height, host_panel, host_sections, host_strip
from tuibench.tui.panels.server import (
    durability_panel,
    durability_panel_height,
    server_panel,
    server_sections,
    server_strip,
    table_row,
)
from tuibench.tui.panels.time_chart import cpu_chart
from tuibench.tui.text import TextLine, line_width, plain_text
from tuibench.tui.view import View, initial_view, next_view

# The server screen: what a figure is made of on each flavour, and why one is missing.


SAMPLES = script.samples(60)


def item(name: str) -> FigureRow:
    every = (*COMMANDS, *CONNECTIONS, *server_figures.TABLES, *ROWS, *INNODB, *BINARY_LOG)
    return next(each for each in every if each.name == name)


def with_server(sample: Sample, **changes: Any) -> Sample:
    return changed(sample, server=script.server_part(60, 1_510.0, 64, 1.04, **changes))


def counting(*grown: Mapping[str, int], seconds: float = 1.0) -> list[Sample]:
    """Samples, so many seconds apart, in which counters grew by these numbers."""
    counters: Counter[str] = Counter()
    samples = []
    for number, growth in enumerate(grown, 1):
        counters.update(growth)
        part = server_tick(seconds=seconds, counters=counters, growth=growth)
        samples.append(changed(SAMPLES[0], elapsed_seconds=number * seconds, server=part))
    return samples


@pytest.mark.parametrize(("seconds", "rate"), [(0.5, "300"), (1.0, "150"), (3.0, "50.0")])
def test_a_rate_is_over_the_time_that_passed(seconds: float, rate: str) -> None:
    samples = counting({"Com_select": 100}, {"Com_select": 150}, seconds=seconds)
    assert table_row(item("SELECT"), samples)[:3] == ("SELECT", rate, "250")


def test_a_counter_whose_growth_is_not_known_is_a_gap_and_not_a_rate() -> None:
    samples = counting({"Com_select": 100}, {}, {"Com_select": 10})
    assert list(table_row(item("SELECT"), samples).values) == [100.0, None, 10.0]


def test_one_sample_with_growth_is_enough() -> None:
    assert table_row(item("SELECT"), counting({"Com_select": 150}))[1:3] == ("150", "150")


def test_a_missed_second_is_a_gap() -> None:
    first, silent = counting({"Com_select": 1}, {"Com_select": 8})
    (next_one,) = counting({})
    samples = [first, script.without(silent, "server"), with_server(next_one, growth={})]
    assert table_row(item("SELECT"), samples)[1:3] == ("–", "next sample")
    assert list(table_row(item("SELECT"), samples).values) == [1.0, None, None]


def test_without_an_answer_the_reason_replaces_the_value() -> None:
    silent = script.without(SAMPLES[-1], "server")
    assert table_row(item("SELECT"), [silent])[1:3] == ("–", "no answer")
    assert table_row(item("Threads running"), [silent])[1:3] == ("–", "no answer")
    assert table_row(item("SELECT"), [])[1:3] == ("–", "no sample yet")
    assert table_row(item("ROLLBACK"), [silent]).rare


def test_what_a_flavour_does_not_count_says_so() -> None:
    assert table_row(item("Log fsyncs"), SAMPLES)[1:3] == ("–", "part of data fsyncs")


@pytest.mark.parametrize(
    ("counters", "written", "forced"),
    [
        (
            {"Binlog_bytes_written": 2048, "Binlog_group_commits": 7},
            ("Written", "2.00 KiB/s"),
            ("group commits", "7.0"),
        ),
        (
            {"performance_schema.binlog_bytes": 2048, "performance_schema.binlog_syncs": 7},
            ("Written", "2.00 KiB/s"),
            ("syncs", "7.0"),
        ),
        ({}, ("Written", "–"), ("syncs", "–")),
    ],
    ids=["mariadb", "mysql", "none"],
)
def test_the_binary_log_of_both_flavours(
    counters: dict[str, int], written: tuple[str, str], forced: tuple[str, str]
) -> None:
    samples = counting(dict.fromkeys(counters, 512), counters)
    assert table_row(item("Written"), samples)[:2] == written
    assert table_row(item("syncs"), samples)[:2] == forced


def test_a_missing_privilege_is_named() -> None:
    refused = {"innodb_metrics.history_list_length": "needs the PROCESS privilege"}
    sample = with_server(SAMPLES[-1], gauges={}, unavailable=refused)
    assert table_row(item("History list"), [sample])[1:3] == ("–", "needs the PROCESS privilege")


@pytest.mark.parametrize(
    ("gauges", "counters", "shown"),
    [
        (
            {"Innodb_checkpoint_age": 1 << 20, "Innodb_checkpoint_max_age": 1 << 26},
            {},
            ("1.00 MiB", "of 64 MiB"),
        ),
        (
            {"Innodb_redo_log_checkpoint_lsn": 1000, "Innodb_redo_log_capacity_resized": 1 << 27},
            {"Innodb_redo_log_current_lsn": 1000 + (1 << 20)},
            ("1.00 MiB", "of 108 MiB"),
        ),
        ({}, {}, ("–", "not reported here")),
    ],
)
def test_the_checkpoint_age_of_both_flavours(
    gauges: dict[str, int], counters: dict[str, int], shown: tuple[str, str]
) -> None:
    sample = with_server(SAMPLES[-1], gauges=gauges, counters=counters)
    assert table_row(item("checkpoint age"), [sample])[1:3] == shown


def test_aborted_connections_stand_out_once_there_are_new_ones() -> None:
    calm = counting({"Aborted_clients": 3}, {"Aborted_clients": 0})
    loud = [*calm, *counting({"Aborted_clients": 1})]
    assert not table_row(item("Aborted clients"), calm).alarm
    assert table_row(item("Aborted clients"), loud).alarm


@pytest.mark.parametrize(("width", "height"), [(37, 20), (57, 29), (97, 50)])
@pytest.mark.parametrize("side", [LEFT_TABLES, RIGHT_TABLES], ids=["left", "right"])
def test_every_figure_has_its_row_at_every_size(
    side: tuple[tuple[str, tuple[FigureRow, ...]], ...], width: int, height: int
) -> None:
    lines = stack_sections(server_sections(initial_view(script.hello(60)), side), width, height)
    assert len(lines) <= height
    assert all(line_width(line) == width for line in lines)
    shown = text(lines)
    for title, items in side:
        for each in items if title != GROUP_HEADING else ():
            names = (each.name, getattr(each, "called", "") or each.name)
            assert any(name in shown for name in names) or getattr(each, "rare", False), each.name


def test_a_row_is_name_trend_now_and_total() -> None:
    rows = [TrendRow("Questions", "48,214", "6.12 M", [0.0, 10.0, None, 20.0])]
    (heading, line) = text(stack_sections([TrendSection("COMMANDS", rows, "total")], 60, 2)).splitlines()
    assert heading.split() == ["COMMANDS", "now", "total"]
    assert line.split() == ["Questions", "▁▄", "▇", "48,214", "6.12", "M"]


def test_with_room_to_spare_a_trend_has_two_lines_and_a_blank_before_its_value() -> None:
    rows = [TrendRow("Redo written", "14.3 MiB/s", "1.66 GiB", [0.0, 5.0, 20.0, 20.0])]
    narrow = text(stack_sections([TrendSection("INNODB", rows)], 97, 2)).splitlines()
    high = text(stack_sections([TrendSection("INNODB", rows)], 97, 3)).splitlines()
    assert narrow[1].endswith("▁▂▇▇ 14.3 MiB/s    1.66 GiB")
    assert high[1].endswith("▆▆")
    assert high[2].endswith("▁▄██ 14.3 MiB/s    1.66 GiB")
    assert high[1].index("▆") == high[2].index("█")


def test_two_columns_have_trends_of_as_many_lines_and_none_without_a_trend() -> None:
    short = [TrendSection("LOCKS", [TrendRow("Waits", "1", "", [1.0, 2.0])])]
    long = [TrendSection("INNODB", [TrendRow(f"row {number}", "1", "", [1.0]) for number in range(9)])]
    assert len(stack_sections(short, 97, 12)) == 3
    assert len(stack_sections(short, 97, 12, beside=long)) == 2
    assert len(stack_sections(short, 97, 19, beside=long)) == 3
    assert len(stack_sections(short, 37, 12)) == 2


def test_a_trend_gives_way_to_the_name_where_there_is_no_room() -> None:
    rows = [TrendRow("Threads running", "61", "of 2,000", [1.0] * 60)]
    line = text(stack_sections([TrendSection("C", rows)], 37, 2)).splitlines()[1]
    assert line.split() == ["Threads", "running", "61", "of", "2,000"]


def test_the_queues_of_a_group_are_listed_on_a_member_only() -> None:
    view = initial_view(script.hello(60))
    assert GROUP_HEADING not in [section.title for section in server_sections(view, LEFT_TABLES)]
    gauges = {"performance_schema.group_queue": 3, "performance_schema.group_applier_queue": 41}
    view = next_view(view, with_server(SAMPLES[-1], gauges=gauges))
    queues = next(each for each in server_sections(view, LEFT_TABLES) if each.title == GROUP_HEADING)
    assert [(row.name, row.now) for row in queues.rows] == [("Certification", "3"), ("Applier", "41")]


# The lines of the sessions screen, and which of them is chosen while the list changes.


EMPTY = Activity(sessions=(), others=0, own=())
BLIND = Activity(
    sessions=(),
    others=0,
    own=(),
    gaps=("lock waits: no PROCESS", "open transactions: no PROCESS", "the last deadlock: no PROCESS"),
)


def test_who_is_there_on_a_narrow_screen(golden: Golden) -> None:
    lines = settings_panel.session_list(ACTIVITY, Selection(90, 3), 78, 12)
    assert text(lines) == golden
    assert {span.role for span in lines[5]} == {"selected"}
    assert all(span.role != "selected" for line in (*lines[:5], *lines[6:]) for span in line)


def test_a_wide_screen_has_database_and_state() -> None:
    wide = text(settings_panel.session_list(ACTIVITY, Selection(), 118, 12))
    assert "report@bi2          shop              Sending data      SELECT customer" in wide
    heading, own = (
        next(row for row in wide.splitlines() if word in row) for word in ("id ", "tuibench × 41")
    )
    assert own.index("Execute, Updating") == heading.index("state ")


def test_the_last_deadlock(golden: Golden) -> None:
    assert text(settings_panel.last_deadlock(ACTIVITY, 78, 3)) == golden


DENIED = "Access denied; you need (at least one of) the PROCESS privilege(s) for this operation"
REFUSED = msgspec.structs.replace(BLIND, gaps=tuple(gap.replace("no PROCESS", DENIED) for gap in BLIND.gaps))
HIDDEN = "others hidden from this login"


@pytest.mark.parametrize(
    ("activity", "waits", "opened", "deadlock", "others"),
    [
        (EMPTY, "no session waits for a lock", "none", "none since the server started", "no others"),
        (BLIND, *("not visible: no PROCESS",) * 3, HIDDEN),
        (REFUSED, *("not visible: requires the PROCESS privilege",) * 3, HIDDEN),
    ],
    ids=["empty", "blind", "refused"],
)
def test_nothing_to_show_says_why(
    activity: Activity, waits: str, opened: str, deadlock: str, others: str
) -> None:
    assert waits in text(lock_panel(replace(initial_view(script.hello(10)), activity=activity), None, 78, 1))
    assert text(settings_panel.open_transactions(activity, 78, 1)) == f"OPEN TRANSACTIONS  {opened}"
    assert f"0 tuibench sessions, {others}" in text(settings_panel.session_list(activity, Selection(), 78, 1))
    assert deadlock in text(settings_panel.last_deadlock(activity, 78, 3))


def test_the_oldest_transaction_says_what_it_holds() -> None:
    assert text(settings_panel.open_transactions(ACTIVITY, 92, 1)) == (
        "OPEN TRANSACTIONS  43  oldest 12:34 by 88: 0 rows locked, 0 changed"
    )
    one = msgspec.structs.replace(ACTIVITY.transactions[0], rows_locked=1)
    of_one = msgspec.structs.replace(ACTIVITY, transactions=(one,))
    assert ": 1 row locked, 0 changed" in text(settings_panel.open_transactions(of_one, 92, 1))
    left = msgspec.structs.replace(ACTIVITY.transactions[1], connection=0)
    orphaned = msgspec.structs.replace(ACTIVITY, transactions=(left,))
    assert "by no connection (XA): 3 rows locked, 1 changed" in text(
        settings_panel.open_transactions(orphaned, 92, 1)
    )


def test_a_session_that_sleeps_in_a_transaction_is_highlighted() -> None:
    (line,) = [
        line
        for line in settings_panel.session_list(ACTIVITY, Selection(), 92, 12)
        if plain_text(line).startswith("      90")
    ]
    assert [span.role for span in line[:3]] == ["muted", "warn", "muted"]


def test_the_heading_counts_sessions_that_are_not_shown() -> None:
    crowded = msgspec.structs.replace(ACTIVITY, others=4711)
    assert "66 tuibench sessions, 4,711 others, 5 shown" in text(
        settings_panel.session_list(crowded, Selection(), 78, 12)
    )


def test_before_the_first_answer() -> None:
    assert "reading the sessions" in text(settings_panel.session_list(None, Selection(), 78, 12))
    assert text(lock_panel(initial_view(script.hello(10)), None, 78, 3)) == "LOCK WAITS"
    assert text(settings_panel.open_transactions(None, 78, 1)) == "OPEN TRANSACTIONS"
    assert settings_panel.last_deadlock(None, 78, 3) == []


@for_each("height", range(1, 16))
@for_each("draw", [settings_panel.open_transactions, settings_panel.last_deadlock])
def test_no_panel_is_higher_than_it_may(
    draw: Callable[[Activity | None, int, int], list[TextLine]], height: int
) -> None:
    assert len(draw(ACTIVITY, 78, height)) <= height
    assert len(settings_panel.session_list(ACTIVITY, Selection(64, 4), 78, height)) <= height


def test_the_chosen_one_is_always_in_sight() -> None:
    many = msgspec.structs.replace(EMPTY, sessions=tuple(session(id) for id in range(200)), others=200)
    for place in (0, 1, 57, 198, 199):
        lines = settings_panel.session_list(many, Selection(place, place), 78, 12)
        chosen = [plain_text(line) for line in lines if line[0].role == "selected"]
        assert [int(line.split()[0]) for line in chosen] == [place]
        assert len(lines) == 12


# The choice


def test_the_choice_stays_on_its_session_wherever_it_goes() -> None:
    assert Selection(7, 0).settled([3, 5, 7]) == Selection(7, 2)


@pytest.mark.parametrize(
    ("place", "ids", "expected"),
    [(1, [3, 5, 8], Selection(5, 1)), (2, [3], Selection(3, 0)), (0, [], Selection(None, 0))],
)
def test_whoever_takes_the_place_of_one_that_left_is_chosen(
    place: int, ids: list[int], expected: Selection
) -> None:
    assert Selection(99, place).settled(ids) == expected


@given(st.lists(st.integers(), unique=True), st.integers(-300, 300), st.integers(0, 300))
def test_moving_never_leaves_the_list(ids: list[int], by: int, place: int) -> None:
    moved = Selection(None, place).moved(ids, by)
    assert moved == Selection() if not ids else moved.id == ids[moved.place]


@given(st.integers(1, 300), st.integers(1, 60), st.data())
def test_the_window_holds_the_chosen_line(count: int, height: int, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(0, count - 1))
    first = first_visible(chosen, count, height)
    assert 0 <= first <= chosen < first + height
    assert first + min(height, count) <= count


# What the screen says of durability and of its costs.


def test_durable_is_said_in_words(golden: Golden) -> None:
    assert text(durability_panel(without_costs(60), 118, 2)) == golden


def without_costs(seconds: int = script.LENGTH) -> View:
    return initial_view(msgspec.structs.replace(script.hello(seconds), costs=()))


def test_the_cost_of_a_commit_is_shown_beside_the_value() -> None:
    rows = text(durability_panel(initial_view(script.hello(60)), 118, 2)).splitlines()
    assert rows[0].endswith(f" 1  no commit is lost{' ' * 38}mean 1.04 fsyncs/trx, 6.09 KiB redo")
    assert rows[1].endswith("  mean 0.97 syncs/trx, 2.83 KiB binlog")
    wide = text(durability_panel(initial_view(script.hello(60)), 130, 2)).splitlines()
    assert wide[1].split(" 1  ")[1] == (
        "binlog flushed to disk at every commit: no event is lost"
        f"{' ' * 10}mean 0.97 syncs/trx, 2.83 KiB binlog"
    )


def test_a_changed_value_is_set_beside_what_it_was() -> None:
    rows = text(durability_panel(initial_view(script.hello()), 118, 2)).splitlines()
    assert rows[0].endswith(
        "about 1 s of commits lost in any crash            mean 0.020 fsyncs/trx (at 1: 1.04)"
    )
    assert rows[1].endswith("mean 0 syncs/trx (at 1: 0.97)")


def test_an_uncounted_cost_takes_no_space() -> None:
    bare = tuple(msgspec.structs.replace(cost, binlog_syncs=None) for cost in script.COSTS)
    view = initial_view(msgspec.structs.replace(script.hello(60), costs=bare))
    assert "syncs/trx" not in text(durability_panel(view, 118, 2)).splitlines()[1]
    assert "/trx" not in text(durability_panel(view, 78, 2))


def test_costs_as_they_come() -> None:
    view = next_view(without_costs(), CommitCosts(script.COSTS))
    assert view.costs == script.COSTS


def test_at_risk_looks_different_and_says_what_was_before() -> None:
    lines = durability_panel(without_costs(), 118, 2)
    assert text(lines).splitlines() == [
        " DURABILITY  flush_log   0 was 1  log flushed once a second: about 1 s of commits lost in any crash",
        " ▲ AT RISK   sync_binlog 0 was 1  binlog left to the OS: its latest events lost if the host crashes",
    ]
    assert role_of(lines, "AT RISK") == "alarm"


def test_a_change_that_allows_anomalies_has_a_band_of_its_own() -> None:
    view = without_costs()
    isolation = SettingState(
        name="transaction_isolation",
        value="READ-COMMITTED",
        original="REPEATABLE-READ",
        meaning="",
        at_risk=False,
        allows="fuzzy reads, lost updates",
    )
    same = replace(isolation, value="REPEATABLE-READ")
    for setting, height in ((same, 2), (isolation, 3)):
        shown = next_view(view, replace(view.status, settings=(*view.status.settings, setting)))
        assert durability_panel_height(shown) == height
        lines = durability_panel(shown, 118, height)
        assert len(lines) == height
    assert text(lines).splitlines()[2] == " ▲ ANOMALIES transaction_isolation READ-COMMITTED " + (
        "was REPEATABLE-READ allows fuzzy reads, lost updates"
    )
    assert role_of(lines, "ANOMALIES") == "alarm"


def test_with_little_room_the_consequence_stays() -> None:
    assert (
        text(durability_panel(initial_view(script.hello()), 78, 2))
        .splitlines()[0]
        .endswith("0 was 1  about 1 s of commits lost in any crash")
    )


def test_settings_without_any_value_are_not_called_durable() -> None:
    view = initial_view(script.hello())
    unknown = tuple(
        msgspec.structs.replace(setting, value="", original="", at_risk=False)
        for setting in view.status.settings
    )
    view = next_view(view, msgspec.structs.replace(view.status, settings=unknown))
    assert view.durability == ()
    shown = text(durability_panel(view, 78, 2))
    assert "DURABLE" not in shown
    assert "– unknown" in shown
    assert "– unknown to this server" in shown


def test_unknown_settings_are_not_called_durable() -> None:
    status = msgspec.structs.replace(script.status(), settings=())
    lines = durability_panel(initial_view(script.hello(10, status)), 118, 2)
    assert "– unknown" in text(lines)
    assert text(lines).count("– unknown to this server") == 1
    assert "DURABLE" not in text(lines)


# What the panels of server and host say on the live screen, as text.


GROWN = {ServerCounter.QUESTIONS: 22_004, ServerCounter.POOL_READS: 0}

# server


def test_the_servers_figures(golden: Golden) -> None:
    assert text(server_panel(initial_view(script.hello()), 35, 10)) == golden


def test_the_same_in_two_lines(golden: Golden) -> None:
    assert text(server_strip(initial_view(script.hello()), 78, 2)) == golden


def test_a_first_tick_says_when_rates_come() -> None:
    view = views.with_server(growth={}, completed=None)
    lines = text(server_panel(view, 50, 10)).splitlines()
    assert lines[7].split() == ["Log", "fsyncs/trx", "–", "next", "sample"]
    assert lines[3].split()[2:] == ["–", "12"]


@pytest.mark.parametrize(
    ("changes", "row", "reason"),
    [
        ({"completed": 0}, "Log fsyncs/trx", "no commits"),
        ({"growth": GROWN | {ServerCounter.POOL_READ_REQUESTS: 0}}, "Buffer pool hit", "no reads"),
        ({"growth": GROWN}, "Row lock waits/s", "not counted"),
    ],
)
def test_a_dash_has_its_reason_beside_it(changes: dict[str, Any], row: str, reason: str) -> None:
    lines = text(server_panel(views.with_server(**changes), 50, 10)).splitlines()
    line = next(line for line in lines if line.startswith(row))
    assert "–" in line
    assert line.endswith(reason)


def test_figures_that_another_make_of_server_lacks_are_dashes() -> None:
    view = views.with_server(
        threads_running=None,
        threads_connected=None,
        max_connections=0,
        open_tables=None,
        table_open_cache=0,
        questions_total=None,
        slow_queries_total=None,
        counters={},
        growth={},
    )
    lines = text(server_panel(view, 50, 10)).splitlines()
    rows = {line[:18].strip(): line[18:].split() for line in lines[1:7]}
    assert rows == {
        "Questions/s": ["–", "–"],
        "Commits/s": ["–", "not", "counted"],
        "Slow queries": ["–", "–"],
        "Open tables": ["–"],
        "Threads running": ["–"],
        "Threads connected": ["–"],
    }
    strip = text(server_strip(view, 78, 2))
    assert "–/–/–" in strip
    assert "–/–" in strip
    assert "None" not in strip


def test_a_full_hundred_needs_no_digits() -> None:
    view = views.with_server(growth=GROWN | {ServerCounter.POOL_READ_REQUESTS: 100_000})
    assert "Buffer pool hit   100 %" in text(server_panel(view, 35, 10))


def test_a_silent_server_says_so() -> None:
    assert "no answer from the server" in text(server_panel(without("server"), 50, 10))
    assert "no answer from the server" in text(server_strip(without("server"), 78, 2))


def test_server_part_has_no_figure_that_the_panel_could_show_as_zero() -> None:
    bare = server_tick(
        uptime_seconds=1,
        threads_running=1,
        threads_connected=1,
        max_connections=10,
        open_tables=5,
        table_open_cache=9,
        questions_total=7,
        slow_queries_total=3,
    )
    view = initial_view(script.hello(10))
    assert view.sample is not None
    view = next_view(view, changed(view.sample, server=bare))
    assert " 0" not in text(server_panel(view, 40, 10))


# host


def test_memory_in_two_units_leaves_its_bar_less_room() -> None:
    view = with_host(memory_used_bytes=945 * 2**20)
    assert "Memory ········ 945 MiB of 24 GiB" in text(host_panel(view, 33, 9)).splitlines()


def test_the_hosts_figures(golden: Golden) -> None:
    assert text(host_panel(initial_view(script.hello()), 35, 9)) == golden


def test_the_same_in_one_line() -> None:
    assert text(host_strip(initial_view(script.hello()), 78, 1)) == (
        "CPU ██████▓·  93 % server 71 tuibench 18 rest 4  Mem 38 %  Disk r/w 305K/11.8M"
    )


def test_its_bar_gives_way_to_long_figures() -> None:
    view = with_host(cpu_total=100.0, cpu_server=38.0, disk_read_bytes_per_second=4270.0)
    line = text(host_strip(view, 78, 1))
    assert " rest 44 Mem 38 %  Disk r/w 4.17K/11.8M" in line
    assert len(line) == 78


def test_a_server_that_was_not_found_says_why() -> None:
    view = with_host(cpu_server=None, note="the server's process belongs to another user")
    panel = text(host_panel(view, 35, 12))
    assert "server –" in panel
    assert "the server's process belongs to" in panel


def test_a_disk_that_cannot_be_read_is_no_zero() -> None:
    panel = text(host_panel(with_host(disk_read_bytes_per_second=None), 35, 12))
    assert "not readable here  –" in panel


def test_a_missing_host_says_so() -> None:
    assert "not measured in this sample" in text(host_panel(without("host"), 35, 12))
    assert "not measured in this sample" in text(host_strip(without("host"), 78, 1))


def test_a_remote_servers_host_is_not_shown_as_its_own() -> None:
    remote = msgspec.structs.replace(script.SERVER, is_local=False)
    assert "HOST of the client" in text(host_panel(initial_view(script.hello(10, server=remote)), 35, 12))


# The host screen: each core, who uses them, and what cannot be read.


def host_tables_with_host(**changes: Any) -> View:
    view = initial_view(script.hello(20))
    assert view.sample is not None
    host = script.host_part(**changes)
    return next_view(view, changed(view.sample, elapsed_seconds=21.0, host=host))


def row(view: View, name: str) -> TrendRow:
    return next(row for section in host_sections(view) for row in section.rows if row.name == name)


def test_every_core_has_its_bar() -> None:
    view = host_tables_with_host(cpu_by_core=tuple(float(n) for n in range(64)), cores=64)
    lines = core_bars(view, 118, core_bars_height(view, 118))
    assert all(line_width(line) == 118 for line in lines)
    assert "CPU of 64 cores" in text(lines)
    assert core_bars_height(view, 118) == 1 + 8
    eight = host_tables_with_host()
    assert text(core_bars(eight, 118, core_bars_height(eight, 118))).count(" %") == 8


def test_a_server_elsewhere_is_named_in_the_title() -> None:
    remote = msgspec.structs.replace(script.SERVER, is_local=False)
    assert "of the client" in text(core_bars(initial_view(script.hello(20, server=remote)), 118, 5))


def test_a_host_that_was_not_measured_says_so() -> None:
    view = initial_view(script.hello(20))
    assert view.sample is not None
    view = next_view(view, script.without(view.sample, "host"))
    assert "not measured in this sample" in text(core_bars(view, 118, 5))
    assert core_bars_height(view, 118) == 1
    assert row(view, "Write")[1:3] == ("–", "no answer")
    assert row(initial_view(script.hello(0, events=())), "Write")[1:3] == ("–", "no sample yet")


def test_memory_swap_and_disks_are_shown_with_their_limits() -> None:
    view = host_tables_with_host()
    assert row(view, "Used")[1:3] == ("9.10 GiB", "of 24 GiB")
    assert row(view, "Swap")[1:3] == ("0 B", "of 2 GiB")
    assert row(view, "a write takes").now == "1.34 ms"
    assert row(host_tables_with_host(swap_total_bytes=0), "Swap")[1:3] == ("0 B", "no swap")


def test_what_cannot_be_read_is_a_dash_with_a_reason() -> None:
    view = host_tables_with_host(disk_read_bytes_per_second=None, disk_read_ms=None, cpu_server=None)
    assert row(view, "Read")[1:3] == ("–", "not readable here")
    assert row(view, "a read takes")[1:3] == ("–", "no reads")
    assert row(view, "Server")[1:3] == ("–", "see above")


def test_the_processor_is_stacked_by_who_used_it() -> None:
    view = host_tables_with_host(cpu_server=50.0, cpu_tuibench=25.0, cpu_total=75.0)
    rows = cpu_chart(view, 7 + 61, 4)
    assert plain_text(rows[0]).lstrip().startswith("100 %")
    assert [plain_text(row)[-1] for row in rows] == [" ", "█", "█", "█"]
    assert [row[-1].role for row in rows[1:]] == ["stack-own", "stack-server", "stack-server"]


def test_the_processor_is_told_by_glyphs_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    view = host_tables_with_host(cpu_server=50.0, cpu_tuibench=25.0, cpu_total=100.0)
    rows = cpu_chart(view, 7 + 61, 4)
    assert [plain_text(row)[-1] for row in rows] == ["▒", "▓", "█", "█"]


def test_the_numbers_of_changes_stand_above_the_processor() -> None:
    view = host_tables_with_host(cpu_server=50.0, cpu_tuibench=25.0, cpu_total=100.0)
    rows = cpu_chart(view, 7 + 61, 5, numbered=True)
    assert set(plain_text(rows[0])[7:]) <= set("─0123456789")
    assert [plain_text(row)[-1] for row in rows[1:]] == ["█", "█", "█", "█"]
    assert len(rows) == 5


def test_both_columns_fit_their_width() -> None:
    for lines in (
        stack_sections(host_sections(host_tables_with_host())[:2], 37, 11),
        stack_sections(host_sections(host_tables_with_host())[2:], 57, 11),
    ):
        assert all(line_width(line) in (37, 57) for line in lines)
