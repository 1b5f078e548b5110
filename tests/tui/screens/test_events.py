"""The timeline: filtered, followed, told in full, and the way to its place on the charts. The big numbers."""

import msgspec

from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, Viewer, screen_text, viewer
from tuibench.model.event import Event, EventKind
from tuibench.tui.panels.lists import event_ids
from tuibench.tui.screens.lists import EventsScreen
from tuibench.tui.screens.monitor import BigScreen, LiveScreen
from tuibench.tui.widgets import Panel


def listed(it: Viewer) -> list[str]:
    return it.app.screen.query_one("#timeline", Panel).text().splitlines()


def details(it: Viewer) -> str:
    return it.app.screen.query_one("#event", Panel).text()


def mark(elapsed: float, number: int, text: str = "mark") -> Event:
    return Event(
        at=script.START + elapsed, elapsed_seconds=elapsed, kind=EventKind.MARK, text=text, marker=number
    )


async def test_the_newest_event_is_first_and_a_change_has_the_card_of_what_it_did() -> None:
    async with viewer(script.hello()) as it:
        await it.press("6")
        assert [line[2:4].strip() for line in listed(it)] == ["3", "3", "▲", "2", "1", "·"]
        assert listed(it)[0].startswith("▸ 3   01:20     effect")
        for words in ("EFFECT of 3", "1,560 → 2,412", "+55 % (49..61 %)", "12 s before, 12 s after"):
            assert words in details(it)
        await it.press("down")
        assert "+55 % (49..61 %)" in details(it)
        await it.press("down", "down")
        assert "threads 32 → 64" in details(it)
        assert "not measured yet" in details(it)
        await it.press("up")
        assert "12 transactions failed with 1213" in details(it)
        assert "00:58 into the run" in details(it)


async def test_kinds_can_be_looked_at_by_themselves() -> None:
    async with viewer(script.hello()) as it:
        await it.press("6", "f")
        assert len(listed(it)) == 3
        await it.press("f")
        assert len(listed(it)) == 1
        await it.press("f", "f")
        assert listed(it) == ["No marks yet: space adds one."]
        await it.press("enter", "down")
        assert isinstance(it.app.screen, EventsScreen)
        await it.press("f", "F", "F")
        assert len(listed(it)) == 1
        assert "deadlock" in listed(it)[0]


async def test_it_follows_the_newest_until_one_is_chosen() -> None:
    async with viewer(script.hello()) as it:
        await it.press("6")
        await it.hear(mark(84.0, 4))
        assert listed(it)[0].startswith("▸ 4   01:24     mark")
        await it.press("down", "down")
        assert "preset unsafe" in details(it)
        await it.hear(mark(84.5, 5, "second"))
        assert listed(it)[0].startswith("  5")
        assert "preset unsafe" in details(it)
        await it.press("home")
        await it.hear(mark(84.8, 6, "third"))
        assert "third" in details(it)


async def test_enter_leads_to_its_place_on_the_charts() -> None:
    async with viewer(script.hello()) as it:
        await it.press("6", "down", "down", "down", "enter")
        assert isinstance(it.app.screen, LiveScreen)
        assert it.app.view is not None
        assert it.app.view.chart_state.points_at(46.4)
        await it.press("escape", "6", "end", "enter")
        assert it.app.view.chart_state.cursor is not None


async def test_a_moment_that_is_not_shown_zooms_out() -> None:
    async with viewer(script.hello(84)) as it:
        await it.press("6", "end", "up", "enter")
        assert it.app.view is not None
        assert it.app.view.chart_state.points_at(24.3)
        assert it.app.view.chart_state.zoom > 0


async def test_a_click_chooses() -> None:
    async with viewer(script.hello()) as it:
        await it.press("6")
        await it.pilot.click("#timeline", offset=(12, 2))
        await it.settle()
        assert "12 transactions failed" in details(it)
        await it.pilot.click("#filters", offset=(10, 0))
        await it.settle()
        assert len(listed(it)) == 3


async def test_many_events_scroll() -> None:
    events = tuple(mark(float(n) / 10, n + 1, f"number {n}") for n in range(400))
    async with viewer(script.hello(84, events=events), SMALL) as it:
        await it.press("6", "end")
        assert "number 0" in listed(it)[-1]
        await it.press("pageup")
        assert "number 10" in details(it)


def test_events_of_one_moment_are_distinguished() -> None:
    same = [mark(1.0, 1), mark(1.0, 2), mark(1.0, 3)]
    assert len(set(event_ids(same))) == 3


async def test_big_numbers_for_the_back_of_the_room() -> None:
    async with viewer(script.hello()) as it:
        await it.press("b")
        assert isinstance(it.app.screen, BigScreen)
        for words in ("TPS transactions/s", "p95 latency", "(was 1)", "preset unsafe", "1,560 → 2,412"):
            assert words in screen_text(it)
        assert "e another effect" in screen_text(it)
        await it.press("b")
        assert isinstance(it.app.screen, LiveScreen)


async def test_the_big_view_fits_every_terminal() -> None:
    async with viewer(script.hello()) as it:
        await it.press("b")
        painted = it.app.screen.query_one("#big", Panel)
        for size in (LARGE, SMALL, (200, 60), (81, 50), (200, 24)):
            await it.pilot.resize_terminal(*size)
            await it.settle()
            lines = painted.text().splitlines()
            assert any("−54 % (−57..−51 %)" in line for line in lines), size
            assert len(lines) <= painted.size.height, size


async def test_before_the_first_change_and_without_figures_there_are_words() -> None:
    status = msgspec.structs.replace(script.status(), settings=())
    async with viewer(script.hello(0, status, events=()), SMALL) as it:
        await it.press("b")
        assert "No change yet" in screen_text(it)
        assert "unknown" in screen_text(it)
        assert "another effect" not in screen_text(it)
