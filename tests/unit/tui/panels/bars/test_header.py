"""What the head of the screen says, as text."""

import msgspec
import pytest

from tests.tui.support import script
from tests.unit.tui.views import role_of, text, without
from tuibench.model.message import RunState
from tuibench.model.schedule import PlanPhase
from tuibench.tui.panels.bars.header import header
from tuibench.tui.view import initial_view


def test_the_head_names_server_and_run() -> None:
    assert text(header(initial_view(script.hello(seconds=600)), 118, 2)).replace("  ", "") == (
        " tuibench MariaDB 10.11.19 · socket /run/mysqld/mysqld.sock · up 3h 04m● running01:24 of 10:00\n"
        "oltp_read_write · 4 × 100,000 rows · 64 threads · 2 workers"
    ).replace("  ", "")


def test_a_server_that_does_not_answer_is_not_called_up() -> None:
    assert "mysqld.sock · no answer  " in text(header(without("server"), 118, 2))


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (118, "oltp_read_write · 4 × 100,000 rows · 64 threads · 2 asyncio workers · connections use TLS"),
        (80, "oltp_read_write · 64 threads · 2 asyncio workers · connections use TLS"),
        (60, "oltp_read_write · 64 threads · 2 asyncio workers"),
    ],
)
def test_the_head_names_engine_reason_and_tls(width: int, words: str) -> None:
    hello = msgspec.structs.replace(
        script.hello(),
        engine="asyncio",
        engine_reason="connections use TLS: --ssl-mode=disabled turns it off",
        server=msgspec.structs.replace(script.SERVER, is_encrypted=True),
    )
    server, run = text(header(initial_view(hello), width, 2)).split("\n")
    assert run == words
    assert (" · TLS · up " in server) == (width >= 80)


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
