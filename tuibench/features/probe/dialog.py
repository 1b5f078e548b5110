"""The dialog that starts a probe."""

from tuibench.base.units import milliseconds
from tuibench.metrics.thresholds import parse_probe_text
from tuibench.model.message import StartProbe
from tuibench.tui.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.screens.dialogs import InputDialog
from tuibench.tui.screens.tab import tab_key
from tuibench.tui.screens.tabs import TABS_BY_NAME
from tuibench.tui.view import View

_PROBE_FACTS = (
    "Doubles the threads, or the rate, until throughput stops growing, then refines: about a minute, at most "
    "three. Objectives can be typed: p95<20ms errors<1%. Screen {screen} shows the probe and its answer; "
    "{key} ends it. The previous load is then restored."
)
_TIGHT, _WIDE = 2, 5
"""Factors of the current p95 that are offered as objectives."""


def probe_dialog(view: View) -> InputDialog:
    """Asks for the objectives of a probe, which starts at once."""
    facts = _PROBE_FACTS.format(
        key=action_key(ACTIONS_BY_NAME["probe"], view),
        screen=tab_key(TABS_BY_NAME["saturation"], view),
    )
    offers = {"": "threads, until throughput stops growing"}
    p95_ms = view.points[-1].p95_ms if view.points else None
    for times in (_TIGHT, _WIDE) if p95_ms else ():
        limit = f"{float(f'{(p95_ms or 0.0) * times:.1g}'):g}"
        offers[f"p95<{limit}ms"] = f"the most threads with p95 below {limit} ms, now {milliseconds(p95_ms)}"
    offers["errors<1%"] = "the most threads with fewer than 1 % errors"
    offers["rate"] = "transactions per second instead of threads"
    if view.status.callers.deadline_ms:
        offers["rate recover"] = "and the highest rate that recovers from a burst by itself"
    return InputDialog(
        "Probe: find the saturation point", facts, "for example p95<20ms",
        lambda text: StartProbe(parse_probe_text(text)), verb="starts", offers=offers, empty="no objective",
    )  # fmt: skip
