"""Start a probe: objectives, if there are any."""

from tuibench.metrics.objectives import order_of
from tuibench.model.probe import ProbeOrder
from tuibench.tui.screens.ask import AskScreen
from tuibench.tui.view import View

FACTS = (
    "Doubles the threads, step by step, until more gain no more, then looks around there; about 90 s. Type "
    "what must hold, if anything: p95<20ms errors<1%. With rate first it steps the rate instead. Enter "
    "starts it with nothing typed, too; 8 shows it, P ends it, and the load goes back to what it is now."
)


def probe_screen(view: View) -> AskScreen[ProbeOrder]:
    """Asks for the objectives of a probe, which begins at once."""
    return AskScreen("Find the saturation point", FACTS, "p95<20ms", order_of)
