"""What is said of a change: forty situations, each with its sentence.

Three outcomes: a difference that is the change's own, one that is not only the change's, and noise.
"""

import math
import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.paths import ROOT
from tests.tables import for_each
from tests.ticks import measured_tick
from tests.unit.metrics.test_control import change as commit_change
from tuibench.metrics.effect_detection import EffectDetector, compare_windows
from tuibench.metrics.inference import control_text, least_text, verdict_text
from tuibench.model.effect import Comparison, Effect, LevelMovement, MovementKind, Verdict
from tuibench.model.tick import Tick
from tuibench.report.effects import changes_text, effect_text
from tuibench.session.effects import MEASURED_AGAIN

PAGE = ROOT / "tests" / "bench" / "verdicts.md"

Level = Callable[[float], float]
"""The level at a time; the change is at 0."""

CALM, SHAKY, WILD = 0.02, 0.12, 0.5


def effect_on(
    level: Level,
    *,
    noise: float = CALM,
    watched: int = 60,
    seconds: float = 1.0,
    others: tuple[float, float] | None = None,
    fsyncs: tuple[float, float] | None = None,
) -> str:
    """What is said of TPS, or of fsyncs, after a change under a load of this level."""
    rng = random.Random(11)

    def tick(place: int) -> Tick:
        end = seconds * (place + 1)
        is_after = end > 0
        rate = 1000 * math.exp(level(end) + rng.gauss(0, noise))
        per_transaction = None if fsyncs is None else fsyncs[is_after] * math.exp(rng.gauss(0, 4 * noise))
        return measured_tick(
            end,
            seconds,
            rate,
            p95_ms=8000 / rate if rate else None,
            foreign_cpu=None if others is None else others[is_after],
            log_fsyncs=None if per_transaction is None else float(round(rate * per_transaction)),
        )

    found = compare_windows(
        [tick(place) for place in range(-watched, 0)], [tick(place) for place in range(1, 13)]
    )
    shown = [one for one in found if (one.figure == "tps") is (fsyncs is None) and one.figure != "p95_ms"]
    assert not any(one.verdict is Verdict.CANNOT_TELL and (one.low > 0 or one.high < 0) for one in found)
    return changes_text(shown)


def effects_on(level: Level, *, watched: int = 120, later: int = 60, noise: float = CALM) -> str:
    """What is said of TPS as time goes on, in ticks of 1 s: the effect, and the one measured again."""
    rng, watch, said = random.Random(11), EffectDetector(1.0), list[Effect]()
    for place in range(-watched, later):
        if not place:
            watch.change(1, "purge 4 → 1", began_seconds=0.5, at_seconds=0.5)
        rate = 1000 * math.exp(level(place) + rng.gauss(0, noise))
        said += filter(None, [watch.slot(measured_tick(place + 1.0, 1.0, rate, p95_ms=8.0))])
    found = [one for effect in said if (one := effect.comparison("tps")) is not None]
    assert not any(one.verdict is Verdict.CANNOT_TELL and (one.low > 0 or one.high < 0) for one in found)
    return f"; {MEASURED_AGAIN}: ".join(changes_text((one,)) for one in found)


def commits_on(**load: Any) -> str:
    """What is said of TPS after a change that makes COMMIT faster, in a load that swings."""
    one = commit_change(1.0, **load)
    return "; ".join(filter(None, (changes_text((one,)), control_text(one))))


def change(share: float) -> Level:
    return lambda at: math.log(share) if at > 0 else 0.0


def moving(share: float, course: Level) -> Level:
    return lambda at: change(share)(at) + course(at)


def stepped(at_seconds: float, share: float) -> Level:
    return lambda at: math.log(share) if at > at_seconds else 0.0


def blocked(first: float, last: float = math.inf) -> Level:
    """No transaction at all between these seconds."""
    return lambda at: -math.inf if first < at <= last else 0.0


def flushing(seconds: float, height: float) -> Level:
    return lambda at: height * ((at / seconds) % 1)


def approach(at: float) -> float:
    return math.log(1 - 0.5 * -math.expm1(-at / 15)) if at > 0 else 0.0


def wander(at: float) -> float:
    return 0.25 * math.sin(at / 9) + 0.15 * math.sin(at / 23)


SITUATIONS: dict[str, Callable[[], str]] = {
    "a calm load, +42 %": partial(effect_on, change(1.42)),
    "a calm load, a third less": partial(effect_on, change(0.67)),
    "a calm load, twice as much": partial(effect_on, change(2.0)),
    "a calm load, five times as much": partial(effect_on, change(5.0)),
    "a calm load, thirty times as much": partial(effect_on, change(30.0)),
    "a calm load, a thousand times as much": partial(effect_on, change(1000.0)),
    "a calm load, an eleventh": partial(effect_on, change(1 / 11)),
    "a calm load, a four-hundredth": partial(effect_on, change(1 / 400)),
    "a calm load, no effect": partial(effect_on, change(1.0)),
    "a calm load, +0.5 %": partial(effect_on, change(1.005), noise=0.004),
    "a calm load, +4 %": partial(effect_on, change(1.04)),
    "a load without any noise, no effect": partial(effect_on, change(1.0), noise=0.0),
    "ticks of half a second, +42 %": partial(effect_on, change(1.42), seconds=0.5),
    "ticks of 3 s, −30 %": partial(effect_on, change(0.7), seconds=3.0),
    "a shaky load, +42 %": partial(effect_on, change(1.42), noise=SHAKY),
    "a shaky load, no effect": partial(effect_on, change(1.0), noise=SHAKY),
    "a shaky load, +8 %": partial(effect_on, change(1.08), noise=SHAKY),
    "a wild load, +42 %": partial(effect_on, change(1.42), noise=WILD),
    "a wild load, no effect": partial(effect_on, change(1.0), noise=WILD),
    "a wild load, twenty times as much": partial(effect_on, change(20.0), noise=WILD),
    "watched for 8 s, +42 %": partial(effect_on, change(1.42), watched=8),
    "watched for 8 s, shaky, +42 %": partial(effect_on, change(1.42), watched=8, noise=SHAKY),
    "drift down, no effect": partial(effect_on, moving(1.0, lambda at: -0.01 * at)),
    "drift down, +42 %": partial(effect_on, moving(1.42, lambda at: -0.01 * at)),
    "drift up, +10 %": partial(effect_on, moving(1.1, lambda at: 0.005 * at)),
    "a step 20 s before, no effect": partial(effect_on, moving(1.0, stepped(-20, 1.5))),
    "a step 20 s before, +42 %": partial(effect_on, moving(1.42, stepped(-20, 1.5))),
    "a step 6 s after the change": partial(effect_on, stepped(6, 0.8)),
    "a fall to a half 6 s after +42 %": partial(effect_on, moving(1.42, stepped(6, 0.5))),
    "flushing every 24 s, no effect": partial(effect_on, flushing(24, 0.35)),
    "flushing every 24 s, +42 %": partial(effect_on, moving(1.42, flushing(24, 0.35))),
    "flushing every 24 s, three times as much": partial(effect_on, moving(3.0, flushing(24, 0.35))),
    "wandering, +42 %": partial(effect_on, moving(1.42, wander)),
    "wandering, no effect": partial(effect_on, wander),
    "other programs end, +42 %": partial(effect_on, change(1.42), others=(40.0, 15.0)),
    "other programs begin, to a half": partial(effect_on, change(0.5), others=(7.0, 30.0)),
    "other programs begin, no effect": partial(effect_on, change(1.0), others=(10.0, 40.0)),
    "other programs begin, a tenth": partial(effect_on, change(0.1), others=(10.0, 30.0)),
    "fsyncs from 1.02 to none": partial(effect_on, change(1.42), fsyncs=(1.02, 0.0)),
    "fsyncs from 1.02 to 0.003": partial(effect_on, change(1.42), fsyncs=(1.02, 0.003)),
    "fsyncs from none to 1": partial(effect_on, change(0.7), fsyncs=(0.0, 1.0)),
    "an effect of +30 % that acts 2 s later": partial(effect_on, lambda at: math.log(1.3) if at > 2 else 0.0),
    "watched for 2 minutes, −3 %": partial(effect_on, change(0.97), watched=120),
    "falling by 1 %/s, −20 %": partial(effect_on, moving(0.8, lambda at: -0.01 * at)),
    "an outage after the change": partial(effect_on, moving(1.0, lambda at: -6.0 if 3 < at < 9 else 0.0)),
    "the load stops with the change": partial(effect_on, blocked(0)),
    "the load stops with the change, shaky": partial(effect_on, blocked(0), noise=SHAKY),
    "the load stops 4 s after the change": partial(effect_on, blocked(4)),
    "blocked for 6 s after the change": partial(effect_on, blocked(0, 6)),
    "blocked for 6 s after +42 %": partial(effect_on, moving(1.42, blocked(0, 6))),
    "stopped until the change": partial(effect_on, blocked(-math.inf, 0)),
    "stopped before and after the change": partial(effect_on, blocked(-math.inf)),
    "watched on, no effect": partial(effects_on, change(1.0)),
    "a fall by 20 % that begins 20 s late": partial(effects_on, stepped(20, 0.8)),
    "a fall by 20 % that begins 20 s late, shaky": partial(effects_on, stepped(20, 0.8), noise=SHAKY),
    "+42 %, and a third less from 20 s on": partial(effects_on, moving(1.42, stepped(20, 0.66))),
    "a slow approach to a half, time constant 15 s": partial(effects_on, approach),
    "commits become cheaper, in swings": commits_on,
    "the same on a full host": partial(commits_on, cpu=97.0),
    "the same, and the others take longer": partial(commits_on, moved=0.8),
    "the same with autocommit": partial(commits_on, has_commit=False),
    "the same at a fixed rate": partial(commits_on, has_rate=True),
}
"""How each situation of the page comes about."""

ROW = re.compile(r"^\| (.+) \| (.+) \|$", re.MULTILINE)


def sentences() -> dict[str, str]:
    """What is said in each situation, by the table of tests/bench/verdicts.md."""
    _, _, table = PAGE.read_text().partition("| situation | what is said |\n|---|---|\n")
    return dict(ROW.findall(table.partition("\n\n")[0]))


def test_the_page_has_every_situation() -> None:
    assert list(sentences()) == list(SITUATIONS)
    assert len(SITUATIONS) >= 40


@for_each(("situation", "sentence"), sentences().items())
def test_each_situation_has_its_sentence(situation: str, sentence: str) -> None:
    assert SITUATIONS[situation]() == sentence


def compared(
    verdict: Verdict, percents: tuple[float, float, float] | None, movement: LevelMovement | None = None
) -> Comparison:
    known = percents or (0.998, 0.985, 1.01)
    relative = (
        dict(zip(("percent", "percent_low", "percent_high"), percents, strict=True)) if percents else {}
    )
    return Comparison(
        figure="p95_ms",
        verdict=verdict,
        before=10.0,
        after=12.0,
        delta=known[0],
        low=known[1],
        high=known[2],
        tolerance_percent=5.0,
        movement=movement,
        **relative,
    )


BUSY = LevelMovement(kind=MovementKind.HOST, percent=23.0)
WANDERED = LevelMovement(kind=MovementKind.WANDERING, percent=8.4)


@for_each(
    ("one", "whole", "brief", "least"),
    [
        (compared(Verdict.HIGHER, (42, 29, 58)), "+42 % (29..58 %)", "+42 % (29..58 %)", "+42 %"),
        (compared(Verdict.HIGHER, None), "+1.00 (0.98..1.01)", "+1.00 (0.98..1.01)", "+1.00"),
        (
            compared(Verdict.NOT_ONLY, (-53, -71, -25), BUSY),
            "−53 % (−71..−25 %), and other programs took 23 % more CPU",
            "−53 % (−71..−25 %)",
            "−53 %?",
        ),
        (
            compared(Verdict.EQUAL, (1, -2, 3)),
            "equal within ±5 % (−2.0..3.0 %)",
            "equal ±5 % (−2.0..3.0 %)",
            "=",
        ),
        (
            compared(Verdict.CANNOT_TELL, (85, -45, 423), WANDERED),
            "too noisy to tell (−45..423 %): it was wandering by 8.4 % before the change",
            "too noisy to tell (−45..423 %)",
            "?",
        ),
        (compared(Verdict.LOWER, (-99.76, -99.8, -99.7)), "÷417 (333..500)", "÷417 (333..500)", "÷417"),
    ],
)
def test_narrow_places_have_the_same_words(one: Comparison, whole: str, brief: str, least: str) -> None:
    assert (verdict_text(one), verdict_text(one, is_brief=True), least_text(one)) == (whole, brief, least)


@for_each(
    ("verdict", "percents", "movement"),
    [
        (verdict, percents, movement)
        for percents in ((42, 29, 58), (-53, -71, -25), (900, 20, 9000), (-99, -99.9, -91))
        for verdict in (Verdict.HIGHER, Verdict.LOWER, Verdict.NOT_ONLY)
        for movement in (None, BUSY, WANDERED)
    ],
)
def test_an_interval_without_zero_is_never_noise(
    verdict: Verdict, percents: tuple[float, float, float], movement: LevelMovement | None
) -> None:
    one = compared(verdict, percents, movement)
    assert "noisy" not in verdict_text(one) + verdict_text(one, is_brief=True)


def test_two_figures_of_a_load_that_warms_up() -> None:
    warming = LevelMovement(kind=MovementKind.WARM_UP, percent=0.0)
    both = [compared(Verdict.CANNOT_TELL, (5, -20, 40), warming)] * 2
    assert changes_text(both) == "p95 still warming up; p95 likewise"


def test_a_reason_is_told_once() -> None:
    both = [compared(Verdict.NOT_ONLY, (-53, -71, -25), BUSY), compared(Verdict.NOT_ONLY, (42, 29, 58), BUSY)]
    effect = Effect(
        markers=(1,),
        change="sync_binlog 1 → 0",
        at_seconds=60.0,
        window_seconds=12.0,
        settling_seconds=1.0,
        settled=True,
        comparisons=(both[0], both[1]),
    )
    assert effect_text(effect) == (
        "p95 −53 % (−71..−25 %), and other programs took 23 % more CPU; p95 +42 % (29..58 %), likewise; "
        "an A/B test (--ab) alternates the values and decides"
    )
