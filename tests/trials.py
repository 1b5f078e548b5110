"""Real trials whose outcome noise may turn: repeated, and judged by how many hold."""

from collections.abc import Awaitable, Callable
from math import comb

FALSE_ALARM = 1e-4
"""The chance that a program that is as good as it says fails such a test."""


def least_holding(trials: int, chance: float, false_alarm: float = FALSE_ALARM) -> int:
    """The most trials of so many that may be asked to hold, where each holds with `chance`.

    The binomial distribution: fewer than this hold with a probability of at most `false_alarm`.
    """
    below, least = 0.0, 0
    while least < trials:
        below += comb(trials, least) * chance**least * (1 - chance) ** (trials - least)
        if below > false_alarm:
            break
        least += 1
    return least


async def assert_holds(trial: Callable[[], Awaitable[None]], *, trials: int, chance: float) -> None:
    """Runs a trial, which fails by an assertion, until enough of them hold or too many do not.

    `chance` is how often a trial should hold.
    """
    least = least_holding(trials, chance)
    assert least > 0, "such a test cannot fail: more trials"
    held, wrong = 0, list[str]()
    while held < least and len(wrong) <= trials - least:
        try:
            await trial()
            held += 1
        except AssertionError as error:
            wrong.append(str(error))
    assert held >= least, f"{held} of {held + len(wrong)} held, at least {least} of {trials} should: {wrong}"
