"""The tab line shortens itself."""

import pytest

from tests.tui.support import script
from tuibench.tui.panels.bars.header import TabLabel, tab_line
from tuibench.tui.text.spans import TextLine, plain_text
from tuibench.tui.view import View, initial_view

TABS = (
    TabLabel("1", "live", "Live", "Live"),
    TabLabel("2", "latency", "Latency", "Lat"),
    TabLabel("8", "saturation", "Saturation", "Sat"),
)


def line_of(width: int, here: str = "latency") -> TextLine:
    def offered(_: View) -> tuple[TabLabel, ...]:
        return TABS

    return tab_line(offered, here, initial_view(script.hello(10)), width, 1)[0]


@pytest.mark.parametrize(
    ("width", "written"),
    [
        (40, " 1 Live   2 Latency   8 Saturation "),
        (34, "1 Live 2 Latency 8 Saturation"),
        (28, "1 Live 2 Lat 8 Sat"),
        (17, "1 2 Lat 8"),
    ],
)
def test_the_names_give_way_step_by_step(width: int, written: str) -> None:
    assert plain_text(line_of(width)) == f"{written:<{width}}"


def test_the_screen_that_is_shown_is_marked() -> None:
    assert [span.text for span in line_of(40, "live") if span.role == "here"] == [" 1 Live "]


def test_every_tab_can_be_clicked() -> None:
    actions = {span.action for span in line_of(40) if span.text.strip()}
    assert actions == {f"app.go('{tab.name}')" for tab in TABS}
