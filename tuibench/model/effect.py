"""Effect of a change: figures before and after, verdict on the difference; A/B tests; commit cost."""

from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from typing import Annotated

import msgspec

from tuibench.errors import UsageError
from tuibench.model.findings import OperationCost
from tuibench.model.option import Option, plain_number
from tuibench.model.schedule import parse_ab, parse_tolerance


class Verdict(StrEnum):
    """What an interval shows about a difference. NOT_ONLY: it excludes zero, but the change is not the only
    thing that may have caused the difference.
    """

    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "equal"
    NOT_ONLY = "not only this change"
    CANNOT_TELL = "cannot tell"


class MovementKind(StrEnum):
    """How a level moves without a change; UNKNOWN means that it was watched too briefly to know. WARM_UP
    means that it had not come to rest since the load began. HOST means that other programs used more or less
    of the host's CPU.
    """

    TREND = "trend"
    STEP = "step"
    SAWTOOTH = "sawtooth"
    WANDERING = "wandering"
    UNKNOWN = "unknown"
    WARM_UP = "warm-up"
    HOST = "host"


class LevelMovement(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a difference cannot be attributed to a change.

    `percent` is the slope per second of a trend, the height of a step, or else the largest difference between
    two windows without a change. `seconds` is the time of a step relative to the change (negative before it),
    the period of a sawtooth, or for UNKNOWN, how long the level was watched before the change. For HOST,
    `percent` is the change of the CPU used by others, in percentage points.
    """

    kind: MovementKind
    percent: float
    seconds: float = 0.0


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One figure, before and after.

    `figure` is the name with its unit of any figure of the table (`metrics.figures`): tps, p95_ms,
    fsyncs_per_transaction. `delta` is the difference attributed to the change, with its 95 % interval from
    `low` to `high`; `percent` and its interval are the same relative to `before`, None if that is zero. A
    difference within `tolerance_percent` counts as equal. `movement` is set if the level was moving anyway,
    so that the difference cannot be attributed to the change alone. `others_percent` is set if the difference
    follows from COMMIT's time relative to that of the transactions' other statements, which was so much
    longer after the change than before.
    """

    figure: str
    verdict: Verdict = Verdict.CANNOT_TELL
    percent_low: float | None = None
    percent_high: float | None = None
    percent: float | None = None
    before: float
    after: float
    low: float
    high: float
    delta: float
    tolerance_percent: float = 0.0
    movement: LevelMovement | None = None
    others_percent: float | None = None

    @property
    def differs(self) -> bool:
        """True if the difference is significant, and the change's own."""
        return self.verdict in (Verdict.HIGHER, Verdict.LOWER)

    @property
    def is_warming(self) -> bool:
        """True if the load had not come to rest since it began, which takes any verdict away."""
        return self.movement is not None and self.movement.kind is MovementKind.WARM_UP

    def excludes_zero(self, wider: float = 1.0) -> bool:
        """True if both edges are on the same side of zero, also of an interval so much wider."""
        towards = self.delta - self.low if self.delta > 0 else self.high - self.delta
        return wider * towards < abs(self.delta)


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Equal windows before and after a change, or after several changes in quick succession.

    `markers` are the numbers of the changes, `change` describes them. `window_seconds` is the length of each
    window; `settling_seconds` is the time between the last change and the second window. `settled` is False
    if the load was still moving at the end of the maximum settling time. The first of `comparisons` is that
    of the figure that decides; figures that were not measured, or counted too seldom, are absent. An effect
    that is measured again, because the load moved later, has the same markers. `cost_before` and `cost_after`
    are the cost of an operation in the windows, None if unknown. `alternated_seconds` is set if the
    difference is that of both values in alternation, for so long, after the change itself left doubt.
    `because` are the wait classes of which a transaction's time certainly changed, the cause first; without
    one, `untold` says why, where the time is accounted for and a figure differs.
    """

    markers: tuple[int, ...]
    change: str
    at_seconds: float
    window_seconds: float
    settling_seconds: float
    settled: bool
    comparisons: tuple[Comparison, ...]
    cost_before: OperationCost | None = None
    cost_after: OperationCost | None = None
    alternated_seconds: float | None = None
    because: tuple[Comparison, ...] = ()
    untold: str = ""

    def comparison(self, figure: str) -> Comparison | None:
        return comparison_of(figure, self.comparisons)


def comparison_of(figure: str, comparisons: Iterable[Comparison]) -> Comparison | None:
    """The comparison of a figure; None if it was not compared."""
    return next((one for one in comparisons if one.figure == figure), None)


def latest_effects(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """The effects without those that were measured again later, in the order of their changes."""
    return tuple({effect.markers: effect for effect in effects}.values())


class EffectProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A change whose effect is being measured, or several in quick succession.

    The effect will be known `earliest_seconds` after the start of the load if that is steady at once, and
    `latest_seconds` after it if it never is. `alternates` is True while the values before and after the
    change alternate to decide it.
    """

    markers: tuple[int, ...]
    change: str
    at_seconds: float
    earliest_seconds: float
    latest_seconds: float
    alternates: bool = False


class CommitCost(msgspec.Struct, frozen=True, kw_only=True):
    """Averages per transaction over the time in which `setting` had `value`.

    None if the server does not count it. `seconds` and `transactions` are the basis of the averages.
    """

    setting: str
    value: str
    seconds: float
    transactions: int
    log_fsyncs: float | None = None
    log_bytes: float | None = None
    binlog_syncs: float | None = None
    binlog_bytes: float | None = None
    row_lock_waits: float | None = None


class CommitCosts(msgspec.Struct, frozen=True, tag="costs"):
    """Costs of a commit by setting and value so far; sent with every sample."""

    costs: tuple[CommitCost, ...]


_ab = partial(Option, section="A/B trial")
"""An option in its section of the help."""

MIN_CYCLES, MAX_CYCLES = 4, 1000
UNTIL_WINDOW_SECONDS = 4.0
DEFAULT_MAX_SECONDS = 600.0
DEFAULT_TOLERANCE_PERCENT = 2.0

EPSILON = 1e-12
"""Relative rounding error of a duration that is a whole number of windows."""

MIN_WINDOW_SAMPLES = 4
"""The minimum number of samples per window: some may be lost to settling."""


def until_window_seconds(interval_seconds: float) -> float:
    """The usual window length of a test that ends with its verdict."""
    return max(UNTIL_WINDOW_SECONDS, MIN_WINDOW_SAMPLES * interval_seconds)


class AbTestPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of an A/B test: `subject` (a setting, several joined by `+`, `preset` or `threads`) alternates
    between `a` and `b`.

    Each of the `cycles` has one window per value. A window lasts `window_seconds`, settling included; `seed`
    determines the order. A difference within `tolerance_percent` counts as equal. With `is_sequential` the
    test ends as soon as there is a verdict on the `primary` figure, any of the table, and `cycles` is the
    maximum.
    """

    subject: Annotated[
        str,
        _ab(
            "--ab",
            metavar="NAME=V1,V2",
            help="Alternate two values: SETTING=V1,V2, preset=NAME1,NAME2, threads=N1,N2, or of several "
            "settings S1+S2=V1+V2,V3+V4. The duration follows from --cycles and --window; with --until, the "
            "test ends with its verdict.",
            parse=parse_ab,
            format="{0[0]}={0[1]},{0[2]}".format,
            read=lambda plan: (plan.trial.subject, plan.trial.a, plan.trial.b),
            label="A/B test",
        ),
    ]
    a: str
    b: str
    cycles: Annotated[
        int,
        _ab(
            low=MIN_CYCLES,
            high=MAX_CYCLES,
            help="With --ab: windows of each value.",
            when=lambda plan: not plan.trial.is_sequential,
        ),
    ] = 5
    window_seconds: Annotated[
        float,
        _ab(
            "--window",
            metavar="SECONDS",
            help="With --ab: seconds of each window [10; 4 with --until].",
            show_default=False,
            always=lambda plan: True,
        ),
    ] = 10.0
    seed: int = 0
    tolerance_percent: Annotated[
        float,
        _ab(
            "--until",
            metavar="±PERCENT",
            help="With --ab: stop as soon as B is higher, lower, or equal within this, as in ±2%; --max-time "
            "limits it [600].",
            show_default=False,
            parse=parse_tolerance,
            format=lambda percent: f"±{plain_number(percent)}%",
            always=lambda plan: True,
            when=lambda plan: plan.trial.is_sequential,
        ),
    ] = DEFAULT_TOLERANCE_PERCENT
    is_sequential: bool = False
    primary: str = "tps"

    @classmethod
    def until_decided(
        cls,
        subject: str,
        a: str,
        b: str,
        *,
        tolerance_percent: float,
        max_seconds: float,
        window_seconds: float,
        seed: int,
        primary: str,
    ) -> "AbTestPlan":
        """A sequential test: it ends with its verdict, or after the whole cycles that fit in `max_seconds`.

        Raises UsageError if that is too short or too long.
        """
        cycles = int(max_seconds / (2 * window_seconds) * (1 + EPSILON))
        if not MIN_CYCLES <= cycles <= MAX_CYCLES:
            least, most = (2 * window_seconds * count for count in (MIN_CYCLES, MAX_CYCLES))
            raise UsageError(
                f"an A/B test with windows of {window_seconds:g} s takes between {least:g} and {most:g} s, "
                f"not {max_seconds:g}"
            )
        return cls(
            subject=subject,
            a=a,
            b=b,
            cycles=cycles,
            window_seconds=window_seconds,
            seed=seed,
            tolerance_percent=tolerance_percent,
            is_sequential=True,
            primary=primary,
        )

    @property
    def seconds(self) -> float:
        """The duration of all cycles."""
        return 2 * self.cycles * self.window_seconds


class AbTestPair(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle: the figures under each value, by their names in comparisons. `order` is "AB" or "BA".

    `settling_seconds` were discarded, in both windows together. One event more, as an fsync, makes a figure
    of `event` larger by that.
    """

    cycle: int
    order: str
    a: dict[str, float]
    b: dict[str, float]
    settling_seconds: float
    event: dict[str, float] = {}


class AbTestResult(msgspec.Struct, frozen=True, kw_only=True):
    """Paired result of an A/B test: `before` of a comparison is value A, `after` is value B.

    `left_out` is the number of discarded cycles, `disturbances` the reasons; `comparisons` is empty if too
    few pairs remain for an interval. `verdict` is the verdict on the primary figure; without one,
    `more_seconds` estimates the time still needed, None if unknown. `sentence` is the result in words.
    `acts_after_seconds` is set if a change takes that long to act, and `needs_window_seconds` if that is too
    late for these windows: then there is no verdict, and `comparisons` has only other figures, those that
    certainly change in time. `cost_a` and `cost_b` are the cost of an operation under
    each value, `because` is as that of an effect. `ended_seconds` is the second of the run at which the test
    ended, None while it is running. `by_hand` marks a test that an operator started during the session.
    `harm` says which value has broken the guard, which ends the test, and how.
    """

    subject: str
    a: str
    b: str
    cycles: int
    window_seconds: float
    pairs: tuple[AbTestPair, ...]
    left_out: int
    comparisons: tuple[Comparison, ...]
    sentence: str
    disturbances: tuple[str, ...] = ()
    verdict: Verdict = Verdict.CANNOT_TELL
    is_sequential: bool = False
    tolerance_percent: float = DEFAULT_TOLERANCE_PERCENT
    more_seconds: float | None = None
    acts_after_seconds: float | None = None
    needs_window_seconds: float | None = None
    cost_a: OperationCost | None = None
    cost_b: OperationCost | None = None
    because: tuple[Comparison, ...] = ()
    ended_seconds: float | None = None
    by_hand: bool = False
    harm: str = ""
