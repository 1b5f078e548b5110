"""What the panels of server and host say on the live screen, as text."""

from typing import Any

import msgspec
import pytest

from tests.ticks import changed, server_tick
from tests.tui.support import script
from tests.unit.tui.views import text, with_host, with_server, without
from tuibench.model.counters import Counter
from tuibench.tui.panels.host import host_panel, host_strip
from tuibench.tui.panels.server.figures import server_panel, server_strip
from tuibench.tui.view import initial_view, next_view

GROWN = {Counter.QUESTIONS: 22_004, Counter.POOL_READS: 0}

# server


def test_the_servers_figures() -> None:
    assert text(server_panel(initial_view(script.hello()), 35, 10)) == (
        "SERVER              now       total\n"
        "Questions/s      48,994   6,982,000\n"
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
    assert text(server_strip(initial_view(script.hello()), 78, 2)) == (
        "Questions/s 48,994  Slow       0 of 12  Tables   214/2,000  Threads   61/66/2k\n"
        "Fsyncs/trx    0.02  Pool hit   99.98 %  Lock waits/s   3.1  Commits/s    2,450"
    )


def test_a_first_tick_says_when_rates_come() -> None:
    view = with_server(growth={}, completed=None)
    lines = text(server_panel(view, 50, 10)).splitlines()
    assert lines[7].split() == ["Log", "fsyncs/trx", "–", "next", "sample"]
    assert lines[3].split()[2:] == ["–", "12"]


@pytest.mark.parametrize(
    ("changes", "row", "reason"),
    [
        ({"completed": 0}, "Log fsyncs/trx", "no commits"),
        ({"growth": GROWN | {Counter.POOL_READ_REQUESTS: 0}}, "Buffer pool hit", "no reads"),
        ({"growth": GROWN}, "Row lock waits/s", "not counted"),
    ],
)
def test_a_dash_has_its_reason_beside_it(changes: dict[str, Any], row: str, reason: str) -> None:
    lines = text(server_panel(with_server(**changes), 50, 10)).splitlines()
    line = next(line for line in lines if line.startswith(row))
    assert "–" in line
    assert line.endswith(reason)


def test_figures_that_another_make_of_server_lacks_are_dashes() -> None:
    view = with_server(
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
    view = with_server(growth=GROWN | {Counter.POOL_READ_REQUESTS: 100_000})
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


def test_the_hosts_figures() -> None:
    assert text(host_panel(initial_view(script.hello()), 35, 9)) == (
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
    assert text(host_strip(initial_view(script.hello()), 78, 1)) == (
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
    assert "not measured in this sample" in text(host_panel(without("host"), 35, 12))
    assert "not measured in this sample" in text(host_strip(without("host"), 78, 1))


def test_a_remote_servers_host_is_not_shown_as_its_own() -> None:
    remote = msgspec.structs.replace(script.SERVER, is_local=False)
    assert "HOST of the client" in text(host_panel(initial_view(script.hello(10, server=remote)), 35, 12))
