"""The account of time: connections × seconds of a tick, divided into wait classes.

The server's side (`sampler`) knows for how long its threads waited for the next statement, the client's how
long its statements took: what a thread waited while a statement was in flight for the client was on the way.

    connection × time = in a statement (client's histograms) + between statements
                      = in the server (classes)              + waiting for the next statement

A statement is counted when it ends; what those in flight at the end of a tick have taken so far is added,
and subtracted from the next tick.
"""

from tuibench.model.tick import STATEMENT, Tick
from tuibench.waits.classes import TIME, WaitClass

US_PER_SECOND = 1e6


def account_sums(found: Tick, load: Tick) -> dict[str, float]:
    """The sums of a tick from those of the sampler and the load's; empty if either is missing."""
    seconds = found.sums.get(TIME + "seconds", 0.0)
    if not seconds or not load.seconds:
        return {}
    per_connection = seconds * US_PER_SECOND
    beside_us = load.levels.get("idle", 0.0) * per_connection
    whole_us = load.levels.get("connections", 0.0) * per_connection
    idle_us = max(0.0, found.sums[TIME + "idle_us"] - beside_us)
    statements_us = sum(each.sum_us for each in load.named(STATEMENT).values())
    in_statements_us = statements_us * seconds / load.seconds + found.sums[TIME + "flight_us"]
    client_us = min(max(0.0, whole_us - in_statements_us), idle_us)
    sums = {wait: found.sums.get(wait.key, 0.0) for wait in WaitClass}
    sums[WaitClass.CLIENT] += client_us
    sums[WaitClass.ON_THE_WAY] += idle_us - client_us
    sums[WaitClass.OTHER] += max(0.0, whole_us + beside_us - found.sums[TIME + "seen_us"])
    return {
        TIME + "seconds": seconds,
        TIME + "samples": found.sums[TIME + "samples"],
        TIME + "completed": load.sums["completed"] * seconds / load.seconds,
        TIME + "connections_us": whole_us,
        **{wait.key: us for wait, us in sums.items()},
    }
