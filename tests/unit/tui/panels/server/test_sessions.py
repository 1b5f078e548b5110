"""The lines of the sessions screen, and which of them is chosen while the list changes."""

from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tests.tui.support.sessions import ACTIVITY, session
from tuibench.model.measurements.activity import Activity
from tuibench.tui.panels.selection import Selection, first_visible
from tuibench.tui.panels.server import sessions as panels
from tuibench.tui.text.spans import TextLine, plain_text

EMPTY = Activity(sessions=(), others=0, own=())
BLIND = Activity(
    sessions=(),
    others=0,
    own=(),
    gaps=("lock waits: no PROCESS", "open transactions: no PROCESS", "the last deadlock: no PROCESS"),
)


def text(lines: Sequence[TextLine]) -> str:
    return "\n".join(plain_text(line).rstrip() for line in lines)


def test_who_waits_for_whom() -> None:
    assert text(panels.lock_waits(ACTIVITY, 92, 3)) == (
        "LOCK WAITS  2\n"
        "  00:03 214 (tuibench) waits for 90 (idle)       sbtest.sbtest2  UPDATE sbtest2 SET k=k+? W…\n"
        "  00:01 230 (tuibench) waits for 214 (tuibench)  sbtest.sbtest2  UPDATE sbtest2 SET k=k+? W…"
    )


def test_who_is_there_on_a_narrow_screen() -> None:
    lines = panels.session_list(ACTIVITY, Selection(90, 3), 78, 12)
    assert text(lines) == (
        "SESSIONS  66 tuibench sessions, 5 others\n"
        "      id    time  in trx  user@host           statement\n"
        "      88   12:34   12:34  report@bi2          SELECT customer, SUM(amount) FR…\n"
        "      91   00:02          shop@10.0.3.17      SELECT name FROM products WHERE…\n"
        "      93   00:00          exporter@localhost  SHOW GLOBAL STATUS\n"
        "      90   01:03   01:05  ann@pc7             Sleep\n"
        "      64   00:12          shop@10.0.3.17      Sleep\n"
        "           00:03          tuibench × 41       Execute, Updating\n"
        "           00:00          tuibench × 24       Sleep\n"
        "           00:00          tuibench × 1        Query, Filling schema table"
    )
    assert {span.role for span in lines[5]} == {"selected"}
    assert all(span.role != "selected" for line in (*lines[:5], *lines[6:]) for span in line)


def test_a_wide_screen_has_database_and_state() -> None:
    wide = text(panels.session_list(ACTIVITY, Selection(), 118, 12))
    assert "report@bi2          shop              Sending data      SELECT customer" in wide
    heading, own = (
        next(row for row in wide.splitlines() if word in row) for word in ("id ", "tuibench × 41")
    )
    assert own.index("Execute, Updating") == heading.index("state ")


def test_the_last_deadlock() -> None:
    assert text(panels.last_deadlock(ACTIVITY, 78, 3)) == (
        "LAST DEADLOCK  2026-03-01 11:58:07  on sbtest.sbtest2\n"
        "     212  continued    UPDATE sbtest2 SET k=k+? WHERE id=?\n"
        "     219  rolled back  DELETE FROM sbtest2 WHERE id=?"
    )


DENIED = "Access denied; you need (at least one of) the PROCESS privilege(s) for this operation"
REFUSED = msgspec.structs.replace(BLIND, gaps=tuple(gap.replace("no PROCESS", DENIED) for gap in BLIND.gaps))
HIDDEN = "others hidden from this login"


@pytest.mark.parametrize(
    ("activity", "waits", "opened", "deadlock", "others"),
    [
        (EMPTY, "no session waits for a row lock", "none", "none since the server started", "no others"),
        (BLIND, *("not visible: no PROCESS",) * 3, HIDDEN),
        (REFUSED, *("not visible: requires the PROCESS privilege",) * 3, HIDDEN),
    ],
    ids=["empty", "blind", "refused"],
)
def test_nothing_to_show_says_why(
    activity: Activity, waits: str, opened: str, deadlock: str, others: str
) -> None:
    assert waits in text(panels.lock_waits(activity, 78, 1))
    assert text(panels.open_transactions(activity, 78, 1)) == f"OPEN TRANSACTIONS  {opened}"
    assert f"0 tuibench sessions, {others}" in text(panels.session_list(activity, Selection(), 78, 1))
    assert deadlock in text(panels.last_deadlock(activity, 78, 3))


def test_the_oldest_transaction_says_what_it_holds() -> None:
    assert text(panels.open_transactions(ACTIVITY, 92, 1)) == (
        "OPEN TRANSACTIONS  43  the oldest 12:34 by 88: 0 rows locked, 0 changed"
    )
    one = msgspec.structs.replace(ACTIVITY.transactions[0], rows_locked=1)
    of_one = msgspec.structs.replace(ACTIVITY, transactions=(one,))
    assert ": 1 row locked, 0 changed" in text(panels.open_transactions(of_one, 92, 1))
    left = msgspec.structs.replace(ACTIVITY.transactions[1], connection=0)
    orphaned = msgspec.structs.replace(ACTIVITY, transactions=(left,))
    assert "by no connection (XA): 3 rows locked, 1 changed" in text(
        panels.open_transactions(orphaned, 92, 1)
    )


def test_a_session_that_sleeps_in_a_transaction_is_highlighted() -> None:
    (line,) = [
        line
        for line in panels.session_list(ACTIVITY, Selection(), 92, 12)
        if plain_text(line).startswith("      90")
    ]
    assert [span.role for span in line[:3]] == ["muted", "warn", "muted"]


def test_the_heading_counts_sessions_that_are_not_shown() -> None:
    crowded = msgspec.structs.replace(ACTIVITY, others=4711)
    assert "66 tuibench sessions, 4,711 others, 5 shown" in text(
        panels.session_list(crowded, Selection(), 78, 12)
    )


def test_before_the_first_answer() -> None:
    assert "reading the sessions" in text(panels.session_list(None, Selection(), 78, 12))
    assert text(panels.lock_waits(None, 78, 3)) == "LOCK WAITS"
    assert text(panels.open_transactions(None, 78, 1)) == "OPEN TRANSACTIONS"
    assert panels.last_deadlock(None, 78, 3) == []


@for_each("height", range(1, 16))
@for_each("draw", [panels.lock_waits, panels.open_transactions, panels.last_deadlock])
def test_no_panel_is_higher_than_it_may(
    draw: Callable[[Activity | None, int, int], list[TextLine]], height: int
) -> None:
    assert len(draw(ACTIVITY, 78, height)) <= height
    assert len(panels.session_list(ACTIVITY, Selection(64, 4), 78, height)) <= height


def test_the_chosen_one_is_always_in_sight() -> None:
    many = msgspec.structs.replace(EMPTY, sessions=tuple(session(id) for id in range(200)), others=200)
    for place in (0, 1, 57, 198, 199):
        lines = panels.session_list(many, Selection(place, place), 78, 12)
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
