"""The screen of the statements."""

import pytest

from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, viewer
from tests.tui.support.statements import REPORT
from tuibench.model.message import Watch
from tuibench.model.server import StatementReport


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_statements_by_time_with_the_span_before(size: tuple[int, int]) -> None:
    async with viewer(script.hello(20), size=size) as screen:
        await screen.press("s")
        assert Watch("statements") in screen.client.submitted
        assert "reading the statements" in screen.shown("statements")
        await screen.hear(REPORT)
        shown = screen.shown("statements")
        assert "5 s since preset unsafe" in shown
        assert "COMMIT" in shown
        assert "1.82 ms" in shown
        assert "· digests that begin with EXECUTE" in shown
        assert ("22.9 ms" in shown) == (size == LARGE)
        await screen.hear(StatementReport(seconds=1.0, rows=(), gaps=("performance_schema is OFF",)))
        shown = screen.shown("statements")
        assert "no statements in this span yet" in shown
        assert "performance_schema is OFF" in shown
        await screen.press("s")
        assert "TPS" in screen.shown("figure-tps")
