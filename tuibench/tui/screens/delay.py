"""Type a delay: how much longer the network is to look than it is."""

from tuibench.errors import UsageError
from tuibench.model.duration import delay_ms_in, delay_text
from tuibench.model.limits import MAX_CLIENT_DELAY_MS
from tuibench.tui.screens.ask import AskScreen
from tuibench.tui.view import View

LONGEST = 12


def delay_screen(view: View) -> AskScreen[float]:
    """Asks for milliseconds on each round trip; 0 takes the delay off."""
    now = delay_text(view.status.client_delay_ms)
    facts = (
        f"{now} now. The answer to each statement, BEGIN and COMMIT too, is handed on so much later: what a "
        "client far away would get. 0 takes it off."
    )
    return AskScreen("Simulated network delay", facts, now, checked, max_length=LONGEST)


def checked(text: str) -> float:
    """Milliseconds. Raises UsageError with the reason why a text will not do."""
    delay_ms = delay_ms_in(text)
    if delay_ms > MAX_CLIENT_DELAY_MS:
        raise UsageError(f"at most {delay_text(MAX_CLIENT_DELAY_MS)}")
    return delay_ms
