"""Start a probe: objectives, if there are any."""

from tuibench.metrics.objectives import order_of
from tuibench.model.probe import ProbeOrder
from tuibench.tui import places
from tuibench.tui.actions import BY_NAME, key_of
from tuibench.tui.screens.ask import AskScreen
from tuibench.tui.view import View

_FACTS = (
    "Doubles the threads, step by step, until more gain no more, then looks around there; about 90 s. Type "
    "what must hold, if anything: p95<20ms errors<1%. With rate first it steps the rate instead. Enter "
    "starts it with nothing typed, too; {screen} shows it, {key} ends it, and the load is as before then."
)


def probe_screen(view: View) -> AskScreen[ProbeOrder]:
    """Asks for the objectives of a probe, which begins at once."""
    facts = _FACTS.format(
        key=key_of(BY_NAME["probe"], view), screen=places.key_of(places.BY_NAME["saturation"], view)
    )
    return AskScreen("Find the saturation point", facts, "p95<20ms", order_of, verb="starts")
