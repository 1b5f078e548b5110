"""The live screen: three charts on one time axis, server and host beside them, durability, events, keys.

There are two arrangements. The full one puts server and host in a column beside the charts; the compact one,
made for 80×24, gives the charts the whole width and the figures a line each. Below that there is a notice.
"""

from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Static

from tuibench.tui.panels.durability import durability
from tuibench.tui.panels.effect import effect_card
from tuibench.tui.panels.events import events
from tuibench.tui.panels.figure import figure
from tuibench.tui.panels.footer import footer, note
from tuibench.tui.panels.head import head
from tuibench.tui.panels.host import host_panel, host_strip
from tuibench.tui.panels.measures import MEASURES, Measure
from tuibench.tui.panels.plot import axis
from tuibench.tui.panels.server import server_panel, server_strip
from tuibench.tui.spans import Line
from tuibench.tui.view import View
from tuibench.tui.widgets.chart import Chart
from tuibench.tui.widgets.panel import Palette, Panel

SMALLEST = (80, 24)
FULL = (110, 32)
"""From this size on the full arrangement fits."""
TALL = 48
"""From this height on there is room for more events."""


def arrangement(width: int, height: int) -> str:
    """The class that the screen wears at this size: -full, -compact or -small."""
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return "-small"
    return "-full" if width >= FULL[0] and height >= FULL[1] else "-compact"


def too_small(width: int, height: int, profile: str) -> str:
    """What stands on a terminal that is too small."""
    return (
        f"tuibench needs {SMALLEST[0]}×{SMALLEST[1]} characters, this terminal has {width}×{height}.\n\n"
        "The run goes on. Enlarge the window, or leave with q and run without a screen:\n\n"
        f"tuibench run {profile}"
    )


class LiveScreen(Screen[None]):
    """Shows a View; knows nothing of sessions and commands."""

    def __init__(self, view: View, *, ascii_only: bool = False) -> None:
        super().__init__()
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (TALL, "-tall")]
        self._view = view
        self._ascii_only = ascii_only

    def compose(self) -> ComposeResult:
        panel = partial(Panel, ascii_only=self._ascii_only)
        yield Palette()
        yield Static(id="too-small")
        with Vertical(id="live"):
            yield panel(head, id="head")
            with Horizontal(id="body"):
                with Vertical(id="charts"):
                    for measure in MEASURES:
                        yield from self._band(measure)
                    with Horizontal(id="axis-band"):
                        yield panel(_axis_lines, id="axis")
                with Vertical(id="side"):
                    yield panel(server_panel, id="server-panel")
                    yield panel(host_panel, id="host-panel")
            yield panel(server_strip, id="server-strip")
            yield panel(host_strip, id="host-strip")
            yield panel(durability, id="durability")
            with Horizontal(id="happened"):
                yield panel(events, id="events")
                yield panel(effect_card, id="effect")
            yield panel(note, id="note")
            yield panel(footer, id="footer")

    def on_mount(self) -> None:
        self.show(self._view)

    def on_resize(self, event: Resize) -> None:
        width, height = event.size
        chosen = arrangement(width, height)
        for name in ("-full", "-compact", "-small"):
            self.set_class(name == chosen, name)
        self.query_one("#too-small", Static).update(too_small(width, height, self._view.plan.profile))

    def show(self, view: View) -> None:
        """Paint everything that changed with this view."""
        self._view = view
        with self.app.batch_update():
            self.query_one("#durability").set_class(view.at_risk, "-at-risk")
            self.query_one("#happened").set_class(view.effect is not None, "-compared")
            for panel in self.query(Panel):
                panel.show(view)

    def _band(self, measure: Measure) -> ComposeResult:
        with Horizontal(classes="band"):
            yield Panel(
                partial(figure, measure, ascii_only=self._ascii_only),
                ascii_only=self._ascii_only,
                id=f"figure-{measure.role}",
                classes="figure",
            )
            yield Chart(measure, numbered=measure is MEASURES[0], ascii_only=self._ascii_only)


def _axis_lines(view: View, width: int, height: int) -> list[Line]:
    return [axis(view, width)][:height]
