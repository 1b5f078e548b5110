"""The health of a watched server: pressures, their trends, and the line that says how it is."""

import msgspec
import pytest

from tests.examples import sample
from tests.ticks import server_tick
from tests.tui.support import script
from tests.unit.tui.views import text
from tuibench.model.counters import Counter
from tuibench.model.event import Event, EventKind
from tuibench.model.findings import Culprit
from tuibench.model.server import Flavour
from tuibench.tui.panels.bars import verdict_line
from tuibench.tui.panels.health import health_panel, health_summary, latency_needs, readings, trend
from tuibench.tui.view import View, initial_view

MIB = 2**20


def watched(
    *redo_mib: float, connected: int = 9, interval: float = 1.0, events: tuple[Event, ...] = ()
) -> View:
    """A server whose checkpoint age in MiB is this, one sample after the other; the redo log has 100 MiB."""
    samples = tuple(
        sample(
            number,
            elapsed_seconds=number * interval,
            server=server_tick(
                threads_connected=connected,
                max_connections=100,
                gauges={Counter.CHECKPOINT_AGE: round(age * MIB), Counter.CHECKPOINT_MAX_AGE: 100 * MIB},
            ),
        )
        for number, age in enumerate(redo_mib, 1)
    )
    return initial_view(msgspec.structs.replace(script.hello(60), samples=samples, events=events))


def row(view: View, name: str) -> str:
    lines = text(health_panel(view, 100, 20)).splitlines()
    return next(line for line in lines if line.startswith(name)).rstrip()


@pytest.mark.parametrize("interval", [0.5, 1.0, 3.0])
def test_a_limit_that_the_trend_reaches_has_its_time(interval: float) -> None:
    view = watched(*(50.0 + number / 2 + 0.1 * (number % 2) for number in range(40)), interval=interval)
    redo = next(one for one in readings(view) if one.pressure.name == "Redo log age")
    assert redo.per_second == pytest.approx(MIB / 2 / interval, rel=0.02)
    left = (100 - 69.6) / 0.5 * interval
    assert redo.full_in_seconds == pytest.approx(left, rel=0.03)
    assert "69.6 MiB" in row(view, "Redo log age")
    assert "100 MiB  ███████···" in row(view, "Redo log age")
    assert text(health_panel(view, 100, 3)).startswith("HEALTH ▲ no stall in ")
    assert "redo log age full in 0" in text(health_panel(view, 100, 1))


@pytest.mark.parametrize(
    "course",
    [
        [60.0 + (7 * number % 5) for number in range(40)],
        [40.0] * 40,
        [90.0 - number for number in range(40)],
        [10.0, 11.0, 12.0],
    ],
)
def test_noise_a_level_and_a_fall_have_no_time_until_full(course: list[float]) -> None:
    view = watched(*course)
    redo = next(one for one in readings(view) if one.pressure.name == "Redo log age")
    assert redo.full_in_seconds is None
    assert text(health_panel(view, 100, 1)).startswith("HEALTH ● no stall in ")


def test_a_log_that_is_nearly_empty_is_no_alarm_although_it_fills() -> None:
    view = watched(*(number / 4 for number in range(40)))
    assert row(view, "Redo log age")[-2:].isdigit()
    assert text(health_panel(view, 100, 1)).startswith("HEALTH ● ")


def test_what_is_nearly_full_needs_attention() -> None:
    assert "connections at 95 %" in text(health_panel(watched(*[5.0] * 12, connected=95), 100, 1))


def test_a_stall_counts_for_ten_minutes() -> None:
    stall = Event(
        at=0.0,
        elapsed_seconds=5.0,
        kind=EventKind.WARNING,
        text="stall of 4.2 s at 00:01: checkpoint age 90 %",
    )
    line = text(health_panel(watched(*[5.0] * 12, events=(stall,)), 100, 1))
    assert line.startswith("HEALTH ▲ stall of 4.2 s: checkpoint age 90 % ·")
    late = watched(*[5.0] * 12, interval=60.0, events=(stall,))
    assert text(health_panel(late, 100, 1)).startswith("HEALTH ● no stall in 10m")


def test_a_row_without_a_value_is_left_out_and_a_limit_without_one_is_a_dash() -> None:
    lines = text(health_panel(watched(*[5.0] * 12), 100, 20)).splitlines()
    names = [line[:15].rstrip() for line in lines[2:]]
    assert "Redo log age" in names
    assert "Replica lag" not in names


def test_a_certain_slope_is_a_trend() -> None:
    assert trend([(time, 2.0 * time) for time in range(20)]) == pytest.approx(2.0)
    assert trend([(time, float(time % 2)) for time in range(20)]) is None
    assert trend([(1.0, 5.0)] * 20) is None


@pytest.mark.parametrize(
    ("flavour", "words"),
    [(Flavour.MARIADB, "query_response_time_stats = ON"), (Flavour.MYSQL, "performance_schema")],
)
def test_what_a_latency_needs_has_the_commands_and_their_cost(flavour: Flavour, words: str) -> None:
    view = watched(5.0)
    told = latency_needs(
        msgspec.structs.replace(view, server_info=msgspec.structs.replace(view.server_info, flavour=flavour))
    )
    assert words in told
    assert "restart" in told


def test_who_blocks_now_comes_first() -> None:
    """On the line of health, and above the tabs of every screen with where to end it."""
    view = watched(50.0, 50.0)
    culprit = Culprit(connection=41, doing="idle in transaction", lock="row lock", blocked=10)
    last = msgspec.structs.replace(view.recent[-1], culprit=culprit)
    blocked = msgspec.structs.replace(view, recent=(view.recent[0], last))
    words = "session 41 (idle in transaction) blocks 10 sessions"
    assert text(health_summary(blocked, 100, 1)).startswith(f"HEALTH ▲ {words}")
    told = "▲ session 41 (idle in transaction) blocks 10; K on Sessions closes it"
    assert text(verdict_line(blocked, 78, 1)).startswith(told)
    assert "blocks" not in text(verdict_line(view, 120, 1))
