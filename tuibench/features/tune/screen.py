"""The screen Tune: the running screening of settings, or the last one."""

from collections.abc import Sequence

from textual.app import ComposeResult

from tuibench.features.tune.panel import tune_panel, winner_lines
from tuibench.tui.screens.base import MainScreen
from tuibench.tui.screens.tab import ScreenTab
from tuibench.tui.view import View


class TuneScreen(MainScreen):
    """Running screening of settings, or the last one."""

    KEYS = (("U", "end the screening, or start one"),)

    def keys_now(self, view: View) -> Sequence[tuple[str, str]]:
        if view.tune is not None and view.tune.is_over:
            is_winner = bool(winner_lines(view.tune))
            return (*(("y", "copy the lines for my.cnf"),) * is_winner, ("U", "another screening"))
        return (("U", "end the screening"),)

    def body(self) -> ComposeResult:
        yield self.panel(tune_panel, id="tune")

    def copied(self, view: View) -> str:
        """The lines of the best settings for my.cnf, if there are any, otherwise the figures."""
        lines = winner_lines(view.tune) if view.tune is not None else []
        return "\n".join(lines) + "\n" if lines else super().copied(view)


TAB = ScreenTab(
    "9",
    "tune",
    "Tune",
    "Tune",
    "settings that matter",
    TuneScreen,
    offered=lambda view: view.tune is not None,
    absent="no screening has run yet: U starts one",
    within="events",
    result_of="screening",
    after="settings",
)
