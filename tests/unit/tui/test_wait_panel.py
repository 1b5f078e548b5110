"""The screen Time: the stack over the run, the table, and what it says of missing samples."""

import msgspec
import pytest
from msgspec.structs import replace

from tests.fakes import FakeClock
from tests.tui.support import script
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.effect import Comparison
from tuibench.model.server import Flavour, HotRow, TimePart, TimeReport
from tuibench.observe.lock_watch import LockWatch
from tuibench.observe.wait_detail import NOT_READ, SEVERAL, Detail
from tuibench.report.effects import hot_rows_line
from tuibench.tui.charts import ChartState, merge_points
from tuibench.tui.panels.time_chart import AXIS_WIDTH
from tuibench.tui.panels.waits import (
    LOOKS,
    PLACES,
    ROWS,
    time_figure,
    time_stack,
    time_table,
    time_table_height,
    waiting_detail,
)
from tuibench.tui.text import TextLine, plain_text
from tuibench.tui.view import View, initial_view, next_view

WIDTH = 100


def text(lines: list[TextLine]) -> list[str]:
    return [plain_text(line).rstrip() for line in lines]


def told(*ticks: tuple[float, float, dict[str, float]], interval: float = 1.0) -> View:
    """A run of ticks: seconds of the account, TPS, mean connections by class; none without an account."""
    view, base = initial_view(script.hello(0, events=())), script.samples(1)[0]
    view = replace(view, plan=replace(view.plan, interval_seconds=interval))
    for number, (seconds, tps, connections) in enumerate(ticks, 1):
        sums = {"completed": tps * interval}
        if connections:
            sums |= {wait.key: 1e6 * seconds * connections.get(wait, 0.0) for wait in WaitClass}
            sums |= {
                TIME + "seconds": seconds,
                TIME + "samples": 2 * seconds,
                TIME + "completed": tps * seconds,
            }
        tick = replace(base.tick, end=number * interval, seconds=interval, sums=sums, missing={})
        view = next_view(view, replace(base, number=number, tick=tick))
    return view


def test_the_table_has_a_row_for_each_class_from_the_top_of_the_stack_and_its_parts_add_up() -> None:
    view = told(
        (1.0, 100.0, {"cpu": 1.0, "commit": 6.0, "client": 3.0}), (0.5, 500.0, {"cpu": 1.5, "commit": 2.0})
    )
    lines = text(time_table(view, WIDTH, 20))
    assert [line.split()[1:7] for line in lines[1:3]] == [
        ["commit", "4.7", "20.00", "ms", "60", "%"],
        ["CPU", "1.2", "5.00", "ms", "15", "%"],
    ]
    assert lines[3].split()[:3] == ["client", "2.0", "8.57"]
    assert lines[4].startswith("sampling 2.0×/s to limit overhead")
    assert len(lines) == time_table_height(view, WIDTH)
    assert text(time_figure(view, 18, 5))[1:3] == ["5.8 active", "of 7.8"]


def test_the_cursor_and_two_spans_are_compared() -> None:
    view = told((1.0, 100.0, {"commit": 6.0}), (3.0, 200.0, {"commit": 2.0}), (1.0, 400.0, {"commit": 2.0}))
    at = replace(view, chart_state=ChartState(cursor=(0.0, 1.0)))
    heading, commit = text(time_table(at, WIDTH, 20))[:2]
    assert heading.split()[4:] == ["00:00–00:01", "last", "3", "s", "change"]
    assert commit.split()[2:] == ["60.00", "ms", "12.73", "ms", "−47.27", "ms"]
    spans = replace(view, chart_state=ChartState(marks=((1.0, 2.0), (1.0, 2.0), (2.0, 3.0), (2.0, 3.0))))
    heading, commit = text(time_table(spans, WIDTH, 20))[:2]
    assert "  A 00:01–00:02  B 00:02–00:03  " in heading
    assert commit.split()[2:] == ["10.00", "ms", "5.00", "ms", "−5.00", "ms"]
    assert len(commit) == len(heading)


@pytest.mark.parametrize("interval", [0.5, 1.0, 3.0])
def test_an_account_counts_for_as_long_as_it_lasted(interval: float) -> None:
    """On a busy host a tick has no sample, and the next one the time of both."""
    view = told(
        (0.0, 9.0, {}),
        (2 * interval, 50.0, {"commit": 6.0}),
        (interval, 200.0, {"commit": 3.0}),
        interval=interval,
    )
    assert text(time_table(view, WIDTH, 20))[1].split()[1:5] == ["commit", "5.0", "50.00", "ms"]
    first, second, third = view.points
    for merged in (merge_points(view.points), merge_points((merge_points((first, second)), third))):
        assert merged.account is not None
        assert merged.account.spent[PLACES[WaitClass.COMMIT]] == pytest.approx(15 * interval)
        assert merged.account[:2] == pytest.approx((3 * interval, 300 * interval))


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_stack_has_a_column_a_tick_and_a_tick_without_samples_is_as_the_next(ascii_only: bool) -> None:
    view = told(
        (1.0, 9.0, {"cpu": 2.0, "client": 90.0}), (1.0, 9.0, {}), (2.0, 9.0, {"cpu": 1.0, "row_lock": 1.0})
    )
    lines = time_stack(view, AXIS_WIDTH + 6, 5, ascii_only=ascii_only)
    cells = [plain_text(line)[AXIS_WIDTH:] for line in lines]
    assert plain_text(lines[0]).split()[0] == "2"
    if ascii_only:
        assert cells[1:] == ["CCRRRR", "CCRRRR", "CCCCCC", "CCCCCC"]
    else:
        roles = [[span.role for span in line[1:]] for line in lines[1:]]
        assert roles == [["tps", "risk"], ["tps", "risk"], ["tps"], ["tps"]]


def test_every_class_but_the_clients_has_a_look_of_its_own_in_the_order_of_the_counts() -> None:
    assert [PLACES[wait] for wait in LOOKS] == list(range(len(LOOKS)))
    assert set(ROWS) == set(WaitClass)
    letters, roles = zip(*LOOKS.values(), strict=True)
    assert len(set(letters)) == len(set(roles)) == len(LOOKS)


def test_the_notes_say_why_it_changed_and_what_is_missing() -> None:
    gap = {TIME + "row_lock_us": "row locks need the PROCESS privilege"}
    moved = Comparison(figure="time_commit", before=5.1, after=2.1, delta=-3.0, low=-3.2, high=-2.8)
    effect = replace(script.EFFECT, because=(moved,))
    events = (*script.EVENTS[:-1], replace(script.EVENTS[-1], effect=effect))
    view = initial_view(script.hello(events=events))
    last = view.recent[-1]
    view = replace(view, recent=(replace(last, tick=replace(last.tick, missing=gap)),))
    lines = " ".join(text(time_table(view, WIDTH, 30)))
    assert "because: commit −3.0 ms (−3.2..−2.8) of 5.1" in lines
    assert "row locks need the PROCESS privilege." in lines
    nothing = initial_view(script.hello(0, events=()))
    assert "No account" in text(time_table(nothing, WIDTH, 9))[0]
    narrow = text(time_table(nothing, 40, 9))
    assert narrow[-1].endswith("watched one."), "no half of a sentence"
    assert len(narrow) == time_table_height(nothing, 40)


def test_who_waits_in_a_class_and_what_is_not_known() -> None:
    def part(kind: str, name: str, connections: float, wait: str = "row_lock") -> TimePart:
        return TimePart(wait=wait, kind=kind, name=name, connections=connections)

    report = TimeReport(
        samples=30,
        parts=(
            part("statement", "UPDATE t SET a=?", 3.25),
            part("object", "shop.t, held by 41", 3.0),
            *(part("connection", str(number), 0.5) for number in range(20, 32)),
            part("transaction", "payment", 3.25),
            part("statement", "SELECT ?", 1.5, "cpu"),
        ),
        gaps={"cpu": "statements that can run"},
    )
    view = msgspec.structs.replace(initial_view(script.hello()), waiting=report)
    lines = text(waiting_detail(WaitClass.ROW_LOCK, view, 60, 12))
    assert lines[2:6] == [
        "for what",
        "   3.00  shop.t, held by 41",
        "statements",
        "   3.25  UPDATE t SET a=?",
    ]
    assert (lines[6], len(lines)) == ("connections", 12)
    assert "transactions of the load" not in lines
    assert text(waiting_detail(WaitClass.RUN_QUEUE, view, 60, 12))[-2:] == [
        "   1.50  SELECT ?",
        "Statements that can run.",
    ]
    assert "None in the last 30 samples." in text(waiting_detail(WaitClass.MUTEX, view, 60, 12))
    assert "sees nothing" in " ".join(text(waiting_detail(WaitClass.ON_THE_WAY, view, 60, 12)))


def test_who_waits_is_counted_while_a_viewer_asks() -> None:
    detail = Detail(Flavour.MARIADB, LockWatch(Flavour.MARIADB, FakeClock()))
    detail.transactions = {"COMMIT": ("a", "b"), "SELECT ?": ("a",)}
    assert (detail.is_read, detail.report()) == (False, None)
    detail.renew(0)
    for texts in ({7: "SELECT 1", 8: "COMMIT"}, {7: "SELECT 2"}, {8: ""}):
        detail.count_sample()
        for id, sql in texts.items():
            detail.add(id, sql, "io/file/t.ibd", [(WaitClass.PAGE_READ, 0.75), (WaitClass.CPU, 0.25)])
    detail.end_tick(1)
    found = detail.report()
    assert found is not None
    reads = {(part.kind, part.name): part.connections for part in found.parts if part.wait == "page_read"}
    assert reads == pytest.approx(
        {
            ("object", "io/file/t.ibd"): 1.0,
            ("statement", "SELECT ?"): 0.5,
            ("connection", "7"): 0.5,
            ("connection", "8"): 0.5,
            ("transaction", "a"): 0.5,
            ("transaction", SEVERAL): 0.25,
            ("statement", "COMMIT"): 0.25,
            ("statement", NOT_READ): 0.25,
        }
    )
    detail.end_tick(10**10)
    assert (detail.is_read, detail.report()) == (False, None)


HOT = (
    HotRow(table="shop.orders", index="PRIMARY", key="17", share=0.62, holder="UPDATE orders SET paid=?"),
    HotRow(table="shop.orders", index="by_day", key="'\x1b[2J', 2", share=0.3),
    HotRow(table="shop.orders", index="PRIMARY", key="18", share=0.001),
)


@pytest.mark.parametrize("width", [58, 98, 178])
def test_hot_rows_are_below_the_row_lock_only(width: int) -> None:
    view = msgspec.structs.replace(
        initial_view(script.hello(10)), waiting=TimeReport(samples=30, parts=(), hot_rows=HOT)
    )
    words = "\n".join(text(waiting_detail(WaitClass.ROW_LOCK, view, width, 20)))
    assert "62 %  shop.orders PRIMARY = 17" in words
    assert "held: UPDATE orders" in words or width < 60
    assert "= 18" not in words
    assert "\x1b" not in words
    assert all(len(line) <= width for line in words.splitlines())
    assert len(waiting_detail(WaitClass.ROW_LOCK, view, width, 6)) <= 6
    assert "shop.orders" not in "\n".join(text(waiting_detail(WaitClass.MUTEX, view, width, 20)))


def test_hot_rows_in_the_summary() -> None:
    assert hot_rows_line(HOT) == (
        "row lock wait by key: 62 % shop.orders PRIMARY = 17 held by UPDATE orders SET paid=?; "
        "30 % shop.orders by_day = '\x1b[2J', 2"
    )
    assert hot_rows_line(()) == ""
