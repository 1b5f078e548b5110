"""How the figures of a run begin anew while it goes on: both sides count from the same transaction."""

from tuibench.errors import UsageError
from tuibench.model.plan import Plan
from tuibench.session.loading import Load
from tuibench.session.observer import Observer


def demand_possible(plan: Plan, *, is_over: bool) -> None:
    """Raises UsageError when the run is limited by its figures, or ends."""
    if plan.events is not None:
        raise UsageError("a run of so many transactions cannot begin to count anew")
    if is_over:
        raise UsageError("the run is ending; nothing can be changed any more")


async def begin_anew(load: Load, observer: Observer, own_statements: int, drain_seconds: float) -> None:
    """Holds the load until nothing is in flight, reads both sides, and leaves it held."""
    await load.drain(drain_seconds)
    await observer.begin_anew(own_statements, load.accounting.transactions_total)
    await load.begin_anew()
