"""The options of a planned load: `--plan`, and its short forms `--ramp` and `--ramp-rate`."""

from tuibench.errors import UsageError
from tuibench.model.schedule import Quantity, Ramp, Schedule, first_level, total_seconds
from tuibench.model.schedule_text import schedule_in

PLAN_HELP = "Stages of THREADS:TIME, FIRST..LAST/TIME or rate N:TIME: 8:30s,16..64/1m. Instead of --threads."
RAMP_HELP = "More and more threads: 1..128/60s, or '1..128/60s doubling'."
RAMP_RATE_HELP = "A rate that rises: 100..2000/60s."


def schedule_of(plan: str, ramp: str, ramp_rate: str) -> Schedule:
    """The schedule meant; empty without one. Raises UsageError for several, or one that means nothing."""
    given = {"--plan": plan, "--ramp": ramp, "--ramp-rate": ramp_rate}
    named = [name for name, text in given.items() if text]
    if not named:
        return ()
    if len(named) > 1:
        raise UsageError(
            f"{' and '.join(named)}: one plan at a time", "--plan takes any sequence: 1..64/1m,64:2m"
        )
    return _read(named[0], given[named[0]])


def seconds_of(schedule: Schedule, given: float | None, default: float) -> float | None:
    """How long to run, None for no limit: where there is a limit, as long as the plan unless `given`."""
    if given is not None:
        return given or None
    return total_seconds(schedule) if schedule and default else default or None


def first_threads(schedule: Schedule, threads: int | None) -> int:
    """The threads to begin with: the plan's, if it is about them."""
    return int(first_level(schedule, Quantity.THREADS) or threads or 1)


def unused_threads(schedule: Schedule, threads: int | None) -> str:
    """A note that the plan's threads count and not the ones given; empty if there is no such doubt."""
    planned = first_level(schedule, Quantity.THREADS)
    if not planned or threads is None or threads == planned:
        return ""
    return f"--threads={threads} is not used: the plan begins with {planned:g} threads"


def first_rate(schedule: Schedule, rate: float) -> float:
    """The rate to begin with: the plan's, if it begins with one."""
    begins_with_rate = schedule and schedule[0].quantity is Quantity.RATE
    return first_level(schedule, Quantity.RATE) or 0.0 if begins_with_rate else rate


def _read(name: str, text: str) -> Schedule:
    try:
        schedule = schedule_in(text, Quantity.RATE if name == "--ramp-rate" else Quantity.THREADS)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint) from error
    if name != "--plan" and not (len(schedule) == 1 and isinstance(schedule[0], Ramp)):
        raise UsageError(f"{name} takes one ramp, not '{text}'", "FIRST..LAST/TIME, such as 1..128/60s")
    return schedule
