"""The culprit in its box with the remedy, and those that wait below it."""

import msgspec
import pytest

from tests.tui.support import script
from tests.tui.support.sessions import ACTIVITY, BLOCKER, wait
from tests.unit.tui.views import role_of, text
from tuibench.model.server import Activity, LockKind, SessionDetail
from tuibench.tui.panels.locks import lock_panel, lock_panel_height, session_detail
from tuibench.tui.view import View, initial_view, next_view

replace = msgspec.structs.replace


def shown(activity: Activity) -> View:
    return next_view(initial_view(script.hello(10)), activity)


def panel(activity: Activity, width: int = 118, height: int = 20, chosen: int | None = None) -> str:
    return text(lock_panel(shown(activity), chosen, width, height))


def test_the_culprit_comes_first_with_its_remedy() -> None:
    head, top, who, remedy, bottom, names, first, second = panel(ACTIVITY).splitlines()
    assert head.startswith("LOCK WAITS  2 of 71 sessions blocked")
    assert top.startswith("┌ ROOT BLOCKER ─")
    assert "90 ann@pc7   IDLE IN TRANSACTION 01:05   10,139 rows locked   last: UPDATE sbtest2 SET" in who
    assert remedy.startswith("│ K close connection: rolls back 10,001 rows, frees 2 sessions")
    assert bottom.startswith("└─")
    assert names.split() == ["waits", "id", "table", "statement"]
    assert first.split()[:4] == ["00:03", "└─", "214", "(tuibench)"]
    assert second.split()[:4] == ["00:01", "└─", "230", "(tuibench)"]
    assert second.index("└─") == first.index("└─") + 3


def test_a_query_that_runs_may_be_ended_first() -> None:
    running = replace(BLOCKER, command="Query", statement="DELETE FROM sbtest2", open_seconds=9)
    words = panel(replace(ACTIVITY, blockers=(running,)))
    assert "EXECUTING 00:09" in words
    assert "k end query   K close connection" in words
    assert "runs: DELETE" in words


def test_an_inferred_culprit_is_called_probable() -> None:
    waits = tuple(
        replace(each, is_probable=True, kind=LockKind.METADATA, table="t") for each in ACTIVITY.waits
    )
    words = panel(replace(ACTIVITY, waits=waits))
    assert "PROBABLE ROOT BLOCKER" in words
    assert "metadata lock t" in words
    assert "inferred from the list of sessions" in words


def test_own_load_is_not_offered_to_be_closed() -> None:
    waits = (wait(230, 214, 1, blocking_is_ours=True),)
    words = panel(replace(ACTIVITY, waits=waits, blockers=()))
    assert "214 (tuibench)" in words
    assert "K close" not in words


def test_a_prepared_transaction_has_no_connection() -> None:
    words = panel(replace(ACTIVITY, waits=(wait(230, 0, 1),), blockers=()))
    assert "a prepared XA transaction" in words
    assert "XA RECOVER" in words


def test_several_roots_are_listed_and_the_chosen_one_is_in_the_box() -> None:
    activity = replace(
        ACTIVITY, waits=(*ACTIVITY.waits, wait(300, 91, 1), wait(301, 91, 1), wait(302, 91, 1))
    )
    words = panel(activity)
    assert "ROOT BLOCKER 1 of 2" in words
    assert "│ 91" in words
    chosen = panel(activity, chosen=230)
    assert "ROOT BLOCKER 2 of 2" in chosen
    assert "│ 90 ann@pc7" in chosen
    lines = lock_panel(shown(activity), 230, 118, 20)
    assert role_of(lines, "230 (tuibench)") == "selected"


@pytest.mark.parametrize("width", [78, 118, 198])
@pytest.mark.parametrize("most", [5, 9, 20, 60])
def test_the_height_that_it_asks_for_is_the_height_that_it_has(width: int, most: int) -> None:
    many = tuple(wait(300 + number, 90, number) for number in range(40))
    for activity in (ACTIVITY, replace(ACTIVITY, waits=many), replace(ACTIVITY, waits=())):
        height = lock_panel_height(shown(activity), width, most)
        lines = lock_panel(shown(activity), None, width, height)
        assert len(lines) == height
        assert all(len(line) <= width for line in text(lines).splitlines())


def test_the_chosen_one_is_in_sight_of_a_long_queue() -> None:
    many = replace(ACTIVITY, waits=tuple(wait(300 + number, 90, 100 - number) for number in range(60)))
    assert "358" not in panel(many, height=12)
    assert "358" in panel(many, height=12, chosen=358)


def test_ascii() -> None:
    lines = lock_panel(shown(ACTIVITY), None, 100, 20, ascii_only=True)
    assert "`- 214" in text(lines)


def test_a_hostile_statement_cannot_reach_the_terminal() -> None:
    bad = replace(BLOCKER, user="a\x1b[31mb", statement="UPDATE \x1b]0;x\x07 t")
    assert "\x1b" not in panel(replace(ACTIVITY, blockers=(bad,)))


def test_a_statement_in_full_with_its_plan() -> None:
    statement = "SELECT a FROM t WHERE b = ? " + "AND c = ? " * 30
    detail = SessionDetail(id=88, statement=statement, plan=(("table", "key"), ("t", "PRIMARY")))
    words = text(session_detail(replace(ACTIVITY, details=(detail,)), 88, 60, 30))
    assert words.count("AND c = ?") + words.count("AND\n") == 30
    assert "table  key" in words
    assert "t      PRIMARY" in words
    assert "reading" in text(session_detail(ACTIVITY, 88, 60, 30))
