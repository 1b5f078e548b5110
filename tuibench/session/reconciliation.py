"""Reconciliation: the client's statements compared with those that the server counted."""

from msgspec.structs import replace

from tuibench.model.counters import Counter
from tuibench.model.summary import Reconciliation
from tuibench.observe.status import ServerObservation

Reading = ServerObservation | None
"""The server's counters at one moment. `own_statements` counts the session's statements up to then."""


def counter_deltas(before: Reading, after: Reading) -> dict[str, int] | None:
    """How much each counter grew; None if a reading is missing or the counters were reset in between."""
    if before is None or after is None or (after.uptime_seconds or 0) < (before.uptime_seconds or 0):
        return None
    grown = {
        name: value - before.counters[name]
        for name, value in after.counters.items()
        if name in before.counters
    }
    return None if grown.get(Counter.QUESTIONS, 0) < 0 else grown


def reconcile(
    client: Reconciliation, before: Reading, after: Reading, *, is_complete: bool = True
) -> Reconciliation:
    """Compares the client's statements with the server's. The difference was sent by others, if the client's
    figures are complete.
    """
    grown = counter_deltas(before, after)
    own = after.own_statements - before.own_statements if before and after else 0
    questions = grown.get(Counter.QUESTIONS) if grown is not None else None
    return replace(
        client,
        questions_server=questions,
        own=own,
        foreign=questions - own - client.questions_client if questions is not None and is_complete else None,
        commits_server=grown.get(Counter.COM_COMMIT) if grown is not None else None,
    )
