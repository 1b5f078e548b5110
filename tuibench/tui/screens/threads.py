"""Type a number of threads."""

from functools import partial

from tuibench.model.limits import MAX_THREADS
from tuibench.tui.actions import BY_NAME, key_of
from tuibench.tui.screens.number import NumberScreen
from tuibench.tui.view import View


def threads_screen(view: View) -> NumberScreen:
    """Asks for a number of threads that a run can have."""
    reason = partial(_reason, key_of(BY_NAME["pause"], view))
    return NumberScreen("Threads", _facts(view), str(view.status.threads), reason, whole=True)


def _reason(pause: str, number: float) -> str:
    if number < 1:
        return f"a run has at least 1 thread; {pause} pauses it"
    return f"at most {MAX_THREADS:,} threads" if number > MAX_THREADS else ""


def _facts(view: View) -> str:
    """What to know before choosing a number."""
    now = f"{view.status.threads:,} now."
    if view.server is None:
        return now
    return (
        f"{now} The server has {view.server.threads_connected:,} connections"
        f" and allows {view.server.max_connections:,}."
    )
