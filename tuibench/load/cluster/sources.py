"""Sources of the hosts of a plan: commands that reach them, and the workers of Dask schedulers.

Dask's package is imported only for a plan that names a scheduler.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tuibench.clock import Clock
from tuibench.errors import RunError
from tuibench.load.cluster.carrier import Carrier, carriers_of
from tuibench.model.cluster.places import DASK_SCHEMES
from tuibench.model.cluster.plan import ClusterPlan
from tuibench.units import pluralize

if TYPE_CHECKING:
    from tuibench.load.cluster.dask_carrier import DaskScheduler

ENOUGH_SECONDS = 30.0
"""Seconds that a scheduler may take to have the requested number of workers."""

POLL_SECONDS = 0.5
Discover = Callable[[], Awaitable[list[Carrier]]]
"""All present carriers."""


async def find_carriers(plan: ClusterPlan, clock: Clock) -> tuple[list[Carrier], Discover | None]:
    """The carriers of a plan, and the function that discovers later ones, None if there can be none.

    A scheduler may have more workers than `plan.hosts`, to replace those that do not answer. Raises RunError
    if a scheduler does not answer or has too few workers, UsageError for an address that is refused.
    """
    commands, schedulers = carriers_of(plan), _schedulers(plan)
    if not schedulers:
        return commands, None

    async def discover() -> list[Carrier]:
        workers = [carrier for scheduler in schedulers for carrier in await scheduler.carriers()]
        return [*commands, *workers]

    deadline_ns = clock.now_ns() + round(ENOUGH_SECONDS * 1e9)
    while len(found := await discover()) - len(commands) < (plan.hosts or 1):
        if clock.now_ns() > deadline_ns:
            raise _too_few(schedulers, len(found) - len(commands), plan.hosts or 1)
        await clock.sleep(POLL_SECONDS)
    return found, discover


def _schedulers(plan: ClusterPlan) -> "list[DaskScheduler]":
    places = [place for place in plan.places if place.startswith(DASK_SCHEMES)]
    if not places:
        return []
    from tuibench.load.cluster.dask_carrier import DaskScheduler

    return [DaskScheduler(place, plan) for place in places]


def _too_few(schedulers: "list[DaskScheduler]", found: int, wanted: int) -> RunError:
    where = ", ".join(scheduler.address for scheduler in schedulers)
    return RunError(
        f"{where} has {pluralize(found, 'worker')} after {ENOUGH_SECONDS:g} s, {wanted} are wanted",
        "start more Dask workers, or ask for fewer with --cluster-hosts",
    )
