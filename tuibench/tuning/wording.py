"""What became of a setting that was to be put back, in words; what is to be done by hand, in SQL."""

from tuibench.errors import SQLError, TuibenchError
from tuibench.tuning.shares import Action, Decision
from tuibench.tuning.statements import by_hand


def restored(decision: Decision) -> str:
    why = f"as session {decision.heir} has it" if decision.heir else "as before"
    return f"{decision.setting} {decision.current} → {decision.original}, {why}"


def unchanged(decision: Decision) -> str:
    return f"{decision.setting} is {decision.current} already"


def handed(decision: Decision) -> str:
    return (
        f"{decision.setting} stays {decision.current}: session {decision.heir} has changed it, too, "
        f"and puts it back to {decision.original} when it ends"
    )


def left(decision: Decision) -> str:
    return (
        f"{decision.setting} is left at {decision.current}: tuibench had set it to {decision.last} "
        f"and somebody else changed it since; before tuibench it was {decision.original}"
    )


def refused(decision: Decision, error: TuibenchError) -> str:
    code = f" (error {error.code})" if isinstance(error, SQLError) else ""
    return (
        f"{decision.setting} stays {decision.current}, it was {decision.original}: {error.message}{code}"
        + _by_hand(decision.setting, decision.original)
    )


def without_effect(decision: Decision, value: str) -> str:
    return f"{decision.setting} was set back to {decision.original}, and the server says {value}" + _by_hand(
        decision.setting, decision.original
    )


def pending(name: str, original: str, error: TuibenchError) -> str:
    return f"{name} could not be put back to {original}: {error.message}" + _by_hand(name, original)


def not_noted(error: TuibenchError) -> str:
    """Added to what became of a setting."""
    return f"; it stays in the journal until the next tuibench restore: {error.message}"


def _by_hand(name: str, value: str) -> str:
    return f"; by hand: {by_hand(name, value)}"


def reset(decision: Decision) -> str:
    """After a restart of the server."""
    if decision.action is not Action.LEAVE:
        return f"{decision.setting} is back at {decision.current}, as before tuibench"
    return (
        f"{decision.setting} is {decision.current} now, as the server is configured; "
        f"before tuibench it was {decision.original}"
    )


def survived(decision: Decision) -> str:
    """After a restart of the server that did not reset the setting."""
    return f"{decision.setting} is still {decision.current}, and is put back in the end"
