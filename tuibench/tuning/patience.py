"""Trying again while the server is away: how long, how often, and what is said meanwhile."""

from collections.abc import Awaitable, Callable, Iterator

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.tuning.undo import Outcome, Restored

LONGEST_PAUSE_SECONDS = 5.0
TELL_EVERY_SECONDS = 5.0

Attempt = Callable[[], Awaitable[list[Restored]]]
Tell = Callable[[str], None]


def pauses() -> Iterator[float]:
    """Seconds between tries: 0.1, doubling up to 5."""
    pause = 0.1
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


async def patiently(attempt: Attempt, clock: Clock, seconds: float, tell: Tell) -> list[Restored]:
    """Tries until the server answers, or time is up; what came of it. Says now and then what it waits for."""
    begun_ns = clock.now_ns()
    done: dict[str, Restored] = {}
    told_at = -TELL_EVERY_SECONDS
    for pause in pauses():
        done |= {one.setting: one for one in await attempt()}
        waiting = [one for one in done.values() if one.outcome is Outcome.UNREACHABLE]
        waited = (clock.now_ns() - begun_ns) / NS_PER_SECOND
        if not waiting or waited + pause > seconds:
            break
        if waited - told_at >= TELL_EVERY_SECONDS:
            told_at = waited
            names = ", ".join(one.setting for one in waiting)
            tell(f"{names}: not put back yet, trying for another {seconds - waited:.0f} s")
        await clock.sleep(pause)
    return list(done.values())
