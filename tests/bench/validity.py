"""How often each verdict is false, and how often it finds what is there: `python -m tests.bench.validity`.

All of it is simulated, with fixed seeds. A verdict that claims a difference where there is none is false; so
is "equal" where the difference is larger than the tolerance. `--repeats` is the number of trials per row;
2,000 take about ten minutes. `--held-out` takes noises by which nothing was tuned.
"""

import argparse
import math
import random
from collections.abc import Callable, Iterator
from statistics import fmean, median
from typing import NamedTuple

from tests.unit.metrics import noises, planted, simulated
from tests.unit.metrics import warm_ups as simulated_warm_ups
from tests.unit.metrics.noises import autoregressive
from tests.unit.metrics.simulated import share
from tuibench.metrics import ab_analysis as analysis
from tuibench.metrics.control import Controlled
from tuibench.model.effect import Verdict

ALLOWED = 0.05
SEED = 2021

Rows = Iterator["Row"]


class Row(NamedTuple):
    """A line of the table: what was simulated, the false rate if there is one, and the rest in words."""

    case: str
    false: float | None
    text: str = ""


_HELD_OUT = [False]


def noises_now() -> dict[str, noises.Noise]:
    """Those that were asked for."""
    return noises.HELD_OUT if _HELD_OUT[0] else noises.NOISES


def watched_without_difference(repeats: int) -> Rows:
    """A/A, watched after each of 40 cycles and stopped at the first verdict of any of three figures."""
    for name, noise in noises_now().items():
        rng = random.Random(SEED)
        yield Row(name, share(simulated.any_figure_is_false(noise, rng) for _ in range(repeats)))


def watched_equal(repeats: int) -> Rows:
    """ "Equal within ±2 %" where B is 2.5 % better, within 40 cycles."""
    for name, noise in noises_now().items():
        rng = random.Random(SEED)
        trials = [
            simulated.watched_trial(noise, rng, size=0.03, effect=math.log(1.025), tolerance=0.02)
            for _ in range(repeats)
        ]
        wrong = share(trial.verdict in (Verdict.EQUAL, Verdict.LOWER) for trial in trials)
        yield Row(name, wrong)


def watched_power(repeats: int) -> Rows:
    """A true +20 %, and A/A with a tolerance of ±2 % (noise of 3 %), stopped at the first verdict."""
    for name, noise in noises_now().items():
        rng = random.Random(SEED)
        large = [simulated.watched_trial(noise, rng, effect=math.log(1.2)) for _ in range(repeats)]
        same = [simulated.watched_trial(noise, rng, size=0.03, tolerance=0.02) for _ in range(repeats)]
        within = share(trial.verdict is Verdict.HIGHER and trial.seconds <= 60 for trial in large)
        equal = share(trial.verdict is Verdict.EQUAL for trial in same)
        yield Row(
            name,
            None,
            f"+20 % found within 60 s: {within:.0%} (mean {fmean(t.seconds for t in large):.0f} s); "
            f"equal: {equal:.0%} (median {median(t.seconds for t in same):.0f} s)",
        )


def watched_against_fixed(repeats: int) -> Rows:
    """A true +5 %, in noise where the fixed plan (5 cycles of 2 × 10 s) finds it in 90 % of the trials."""
    fixed_seconds = 2 * simulated.FIXED_WINDOW * simulated.FIXED_CYCLES
    for phi in (0.0, 0.35, 0.6, 0.9):
        noise, rng = autoregressive(phi), random.Random(SEED)
        size = simulated.noise_with_power(noise, math.log(1.05), 0.9, simulated.FIXED_CYCLES, 400)
        trials = [
            simulated.watched_trial(noise, rng, size=size, effect=math.log(1.05)) for _ in range(repeats)
        ]
        found = share(trial.verdict is Verdict.HIGHER for trial in trials)
        mean = fmean(trial.seconds for trial in trials)
        yield Row(
            f"AR {phi:g}, {size:.1%} noise",
            None,
            f"found: {found:.0%}, mean {mean:.0f} s = {mean / fixed_seconds:.0%} of the fixed plan, "
            f"median {median(trial.seconds for trial in trials):.0f} s",
        )


def resolutions(repeats: int) -> Rows:
    """Doubtful effects on a private server: no effect, and +42 %, in noise of 6 and 15 % a second."""
    for name, noise in noises_now().items():
        for size in (0.06, 0.15):
            rng = random.Random(SEED)
            none = [simulated.resolution(noise, rng, size=size) for _ in range(repeats)]
            large = [
                simulated.resolution(noise, rng, size=size, effect=math.log(1.42)) for _ in range(repeats)
            ]
            found = [one.seconds for one in large if one.verdict is Verdict.HIGHER]
            yield Row(
                f"{name}, noise of {size:.0%}",
                share(one.verdict in (Verdict.HIGHER, Verdict.LOWER) for one in none),
                f"+42 % found: {len(found) / repeats:.1%}, in {fmean(found):.0f} s; lower: "
                f"{share(one.verdict is Verdict.LOWER for one in large):.1%}",
            )


def looked_at_each_second(repeats: int) -> Rows:
    """The difference so far on the card, looked at each second: no effect, and +42 %; 42 s after a change
    with 40 s before it; in a tenth of the trials, with 120 and 20 s, and beside an alternation of 64 s.
    """
    for name, noise in noises_now().items():
        for before, alternates in ((40, False), (120, False), (20, False), (40, True)):
            rng, trials = (
                random.Random(SEED),
                repeats if before == simulated.CALM and not alternates else max(20, repeats // 10),
            )
            none = [
                simulated.looked_at(noise, rng, before=before, alternates=alternates) for _ in range(trials)
            ]
            large = [
                simulated.looked_at(noise, rng, before=before, alternates=alternates, effect=math.log(1.42))
                for _ in range(max(20, trials // 10))
            ]
            found = [seconds for seconds in large if seconds is not None]
            middle = f"{median(found):.0f} s" if found else "–"
            yield Row(
                f"{name}, {before} s before{', alternation' * alternates}",
                share(seconds is not None for seconds in none),
                f"+42 % found: {len(found) / len(large):.0%}, in {middle}",
            )


def commits_beside_others(repeats: int) -> Rows:
    """A change at commit without effect, of +20 and of +42 %, 40 s into the run, 6 s after it; noise that all
    statements share, of which COMMIT follows all, or 40 %.
    """
    shared = noises.HELD_OUT if _HELD_OUT[0] else noises.SHARED
    for name, noise in shared.items():
        for follows in (1.0, 0.4):
            rng = random.Random(SEED)
            rows = {
                effect: [
                    simulated.commit_change(noise, rng, effect=math.log(effect), follows=follows)
                    for _ in range(repeats)
                ]
                for effect in (1.0, 1.2, 1.42)
            }
            sure = {
                effect: share(is_plain or _is_known(found) for is_plain, found, _ in row)
                for effect, row in rows.items()
            }
            plain = [share(is_plain for is_plain, *_ in rows[effect]) for effect in (1.2, 1.42)]
            every = [(found, true) for row in rows.values() for _, found, true in row if found is not None]
            yield Row(
                f"{name}, COMMIT follows {follows:.0%}",
                share(_is_known(found) for _, found, _ in rows[1.0]),
                f"with TPS alone {sure[1.0]:.1%}; +20 % found: {sure[1.2]:.0%} (TPS alone {plain[0]:.0%}), "
                f"+42 %: {sure[1.42]:.0%} ({plain[1]:.0%}); intervals with the truth: "
                f"{share(one.interval.low <= true <= one.interval.high for one, true in every):.1%}",
            )


def _is_known(found: Controlled | None) -> bool:
    return found is not None and not found.interval.low <= 0 <= found.interval.high


def before_and_after(repeats: int) -> Rows:
    """A change without effect, and one of +20 %, 120 s and 60 s into the run."""
    for before in (120, 60):
        for name, noise in noises_now().items():
            rng = random.Random(SEED)
            none = [simulated.change(noise, rng, before=before) for _ in range(repeats)]
            large = [
                simulated.change(noise, rng, effect=math.log(1.2), before=before) for _ in range(repeats)
            ]
            false = share(one.verdict in (Verdict.HIGHER, Verdict.LOWER) for one in none)
            found = share(one.verdict is Verdict.HIGHER for one in large)
            unattributed = share(one.movement is not None for one in large)
            yield Row(
                f"{name}, {before} s before",
                false,
                f"+20 % found: {found:.0%}, not only the change: {unattributed:.0%}",
            )


UP, DOWN = math.log(1.2), math.log(0.8)
PLANTED: dict[str, dict[str, float]] = {
    "at once": {},
    "3 s later": {"delay": 3.0},
    "6 s later": {"delay": 6.0},
    "20 s later": {"delay": 20.0},
    "time constant 5 s": {"approach": 5.0},
    "time constant 20 s": {"approach": 20.0},
    "after a step of +20 %": {"step": UP, "step_seconds": -20.0},
    "after a step of -20 %": {"step": DOWN, "step_seconds": -20.0},
    "before a step of +20 %": {"step": UP, "step_seconds": 25.0},
    "before a step of -20 %": {"step": DOWN, "step_seconds": 25.0},
}
"""How a change acts, or what else happens near it: at most so far from it, and at least three ticks."""


def planted_courses(repeats: int) -> Rows:
    """Changes of 0 and ±20 % that act late or slowly, or beside a foreign step; ticks of 0.5, 1 and 3 s."""
    for interval in (0.5, 1.0, 3.0):
        for name in ("white", "AR 0.6", "AR 0.9", "drift"):
            for course, how in PLANTED.items():
                rng = random.Random(SEED)
                found = {
                    effect: [
                        one
                        for _ in range(max(20, repeats // 20))
                        for one in planted.outcomes(
                            _near(rng, planted.Planted(effect=effect, interval=interval, **how)),
                            noises.NOISES[name],
                            rng,
                        )
                    ]
                    for effect in ((0.0, UP, DOWN) if not {"delay", "approach"} & how.keys() else (UP, DOWN))
                }
                every = [one for some in found.values() for one in some]
                is_found = [
                    one.comparison.differs and not one.is_false
                    for effect, some in found.items()
                    if effect
                    for one in some
                ]
                yield Row(
                    f"{name}, {course}, {interval:g} s",
                    share(one.is_false for one in every),
                    f"truth in {share(one.covers for one in every):.0%} of the intervals, "
                    f"±20 % found: {share(is_found):.0%}",
                )


def _near(rng: random.Random, course: planted.Planted) -> planted.Planted:
    """The change some time after the start, with the foreign step at a random time on its side."""
    interval, most = course.interval, course.step_seconds
    least = max(5.0 if most > 0 else 2.0, 3 * interval)
    return course._replace(
        before=rng.choice((40.0, 90.0, 130.0)) * max(1.0, interval / 2),
        after=45 + 20 * interval,
        step_seconds=math.copysign(rng.uniform(least, abs(most)), most) if most else 0.0,
    )


def warm_ups(repeats: int) -> Rows:
    """Changes of 0, +42 and +100 % while a load warms up (60 curves, 5, 15, 25 and 40 s after its start)."""
    seed = SEED + _HELD_OUT[0]
    curves, sample = simulated_warm_ups.curves(seed), min(240, max(20, repeats // 5))
    for slots in (0, simulated_warm_ups.PRIVATE_SLOTS):
        for name, effects in (("no effect", (0.0,)), ("+42 and +100 %", simulated_warm_ups.EFFECTS[1:])):
            found = list(simulated_warm_ups.cases(seed, curves, effects=effects, slots=slots, sample=sample))
            is_false = [one.is_wrong if one.course.effect else one.is_sure for one in found]
            yield Row(
                f"{name}, windows of {slots or 'usual'} samples",
                share(is_false),
                f"of {len(found)}; wrong sign: {sum(one.is_wrong for one in found)}, also not only this "
                f"change: {sum(one.is_misleading for one in found)}; page reads are blamed: "
                f"{sum(one.blames_reads for one in found)}; "
                f"found: {share(one.is_found for one in found):.0%}",
            )


def foreign_steps(repeats: int) -> Rows:
    """A step of 15 to 60 % that is not the change's, 1 to 20 s before it; and a change of a steady load."""
    seed, count = SEED + _HELD_OUT[0], max(20, repeats // 5)
    for slots in (0, simulated_warm_ups.PRIVATE_SLOTS):
        windows = f"windows of {slots or 'usual'} samples"
        steps = list(simulated_warm_ups.foreign_steps(seed, count, slots=slots))
        yield Row(f"a foreign step, {windows}", share(one.is_sure for one in steps))
        for effect in (0.0, *simulated_warm_ups.EFFECTS):
            steady = list(simulated_warm_ups.steady_cases(seed, count, effect=effect, slots=slots))
            yield Row(
                f"steady, {100 * math.expm1(effect):+.0f} %, {windows}",
                share(one.is_wrong if effect else one.is_sure for one in steady),
                f"found: {share(one.is_found for one in steady):.0%}",
            )


def across_starts(repeats: int) -> Rows:
    """Two groups of starts that differ by 6 % from start to start, and a true +20 %."""
    for count in (2, 3, 5, 10):
        for ratio in (1.0, 2.0):
            rng = random.Random(SEED)
            false = share(simulated.starts_differ(rng, count, ratio=ratio) for _ in range(repeats))
            found = share(
                simulated.starts_differ(rng, count, effect=math.log(1.2), ratio=ratio) for _ in range(repeats)
            )
            yield Row(f"{count} starts, spread 1:{ratio:g}", false, f"+20 % found: {found:.0%}")


def history(repeats: int) -> Rows:
    """Runs with 3 % noise: false alarms in 200 runs, and a planted fall of 5 %."""
    rng = random.Random(SEED)
    alarms = [simulated.false_alarms(rng, 200) for _ in range(max(20, repeats // 20))]
    delays = [simulated.runs_until_found(rng, 40, 15) for _ in range(max(50, repeats // 4))]
    within = share(delay is not None and delay <= 5 for delay in delays)
    late = [15 if delay is None else delay for delay in delays]
    yield Row(
        "first_alarm",
        fmean(alarms) / 200,
        f"false alarms in 200 runs: {fmean(alarms):.2f}; found within 5 runs: {within:.0%}, "
        f"mean {fmean(late):.1f}, median {median(late):.0f}",
    )


SECTIONS: tuple[Callable[[int], Rows], ...] = (
    watched_without_difference,
    watched_equal,
    watched_power,
    watched_against_fixed,
    resolutions,
    looked_at_each_second,
    commits_beside_others,
    before_and_after,
    planted_courses,
    warm_ups,
    foreign_steps,
    across_starts,
    history,
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.validity", description=__doc__)
    parser.add_argument("--repeats", type=int, default=2000, help="simulated trials per row [2000]")
    parser.add_argument("--only", help="the sections whose name contains this")
    parser.add_argument("--held-out", action="store_true", help="noises by which nothing was tuned")
    options = parser.parse_args()
    _HELD_OUT[0] = options.held_out
    print(f"error rate of a trial: {analysis.ALPHA:.0%} over all figures and at all times\n")
    exceeded = 0
    for section in SECTIONS:
        if options.only and options.only not in section.__name__:
            continue
        print(f"{section.__name__}: {section.__doc__}", flush=True)
        for row in section(options.repeats):
            rate = "" if row.false is None else f"false {row.false:6.2%}  "
            is_exceeded = row.false is not None and row.false > ALLOWED
            exceeded += is_exceeded
            print(f"  {row.case:40}{rate}{row.text}{'  ABOVE 5 %' if is_exceeded else ''}", flush=True)
        print()
    raise SystemExit(1 if exceeded else 0)


if __name__ == "__main__":
    main()
