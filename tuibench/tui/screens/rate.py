"""Type a rate: how many transactions are to start a second."""

from tuibench.model.limits import MAX_RATE
from tuibench.tui.screens.number import NumberScreen
from tuibench.tui.view import View


def rate_screen(view: View) -> NumberScreen:
    """Asks for transactions per second; 0 goes back to as many as the connections can do."""
    now = view.status.rate
    facts = (
        f"{f'{now:,g} a second now' if now else 'No rate now: as many as the connections can do'}. "
        "What is due and not started waits as backlog; 0 takes the rate off."
    )
    return NumberScreen("Rate: transactions per second", facts, f"{now:g}", _reason, whole=False)


def _reason(number: float) -> str:
    return f"at most {MAX_RATE:,} a second" if number > MAX_RATE else ""
