"""Type the mix: how often each of the profile's transactions is drawn."""

from functools import partial

from tuibench.errors import UsageError
from tuibench.model.weights import weights_in, weights_text
from tuibench.tui.screens.ask import AskScreen
from tuibench.tui.view import View


def weights_screen(view: View) -> AskScreen[dict[str, float]]:
    """Asks for a weight for each transaction, in their order, or for some by name."""
    weights = view.status.weights
    now = weights_text(weights)
    facts = (
        f"{', '.join(f'{name} {weight:g}' for name, weight in weights.items())} now. Type all of them, in "
        f"this order, {now}, or some by name, {next(iter(weights))}=50. With 0 a transaction is not drawn."
    )
    return AskScreen("Weights of the transactions", facts, now, partial(checked, names=tuple(weights)))


def checked(text: str, names: tuple[str, ...]) -> dict[str, float]:
    """The weights. Raises UsageError with the reason why a text will not do."""
    weights = weights_in(text, names)
    if set(weights) == set(names) and not any(weights.values()):
        raise UsageError("at least one transaction needs a weight above 0")
    return weights
