"""Effect of a change: figures before and after, verdict on the difference; A/B tests; commit cost."""

from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from typing import Annotated

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.findings import OperationCost
from tuibench.model.option import Option, plain_number
from tuibench.model.schedule import parse_ab, parse_tolerance


class Verdict(StrEnum):
    """What an interval shows about a difference."""

    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "equal"
    NOT_ONLY = "not only this change"
    """The interval excludes zero, but the change is not the only possible cause."""
    CANNOT_TELL = "cannot tell"


class MovementKind(StrEnum):
    """How a level moves without a change."""

    TREND = "trend"
    STEP = "step"
    SAWTOOTH = "sawtooth"
    WANDERING = "wandering"
    UNKNOWN = "unknown"
    """The level was watched too briefly."""
    WARM_UP = "warm-up"
    """The level had not come to rest since the load began."""
    HOST = "host"
    """Other programs used more or less of the host's CPU."""


class LevelMovement(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a difference cannot be attributed to a change."""

    kind: MovementKind
    percent: float
    """The slope per second of a trend, the height of a step, or else the largest difference between two
    windows without a change. For HOST, the change of the CPU used by others, in percentage points.
    """
    seconds: float = 0.0
    """The time of a step relative to the change (negative before it), or the period of a sawtooth. For
    UNKNOWN, how long the level was watched before the change.
    """


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One figure, before and after."""

    figure: str
    """The name, with its unit, of a figure of the table (`metrics.figures`): tps, p95_ms,
    fsyncs_per_transaction.
    """
    verdict: Verdict = Verdict.CANNOT_TELL
    percent_low: float | None = None
    percent_high: float | None = None
    percent: float | None = None
    """`delta` relative to `before`, with its interval; None if `before` is zero."""
    before: float
    after: float
    low: float
    high: float
    delta: float
    """The difference attributed to the change, with its 95 % interval from `low` to `high`."""
    tolerance_percent: float = 0.0
    """A smaller difference counts as equal."""
    movement: LevelMovement | None = None
    """Set if the level was moving anyway, so that the difference cannot be attributed to the change alone."""
    others_percent: float | None = None
    """Set if the difference follows from COMMIT's time relative to that of the transactions' other
    statements: by how much those took longer after the change.
    """

    @property
    def differs(self) -> bool:
        """True if the difference is significant, and the change's own."""
        return self.verdict in (Verdict.HIGHER, Verdict.LOWER)

    @property
    def is_warming(self) -> bool:
        """True if the load had not come to rest since it began; then there is no verdict."""
        return self.movement is not None and self.movement.kind is MovementKind.WARM_UP

    def excludes_zero(self, wider: float = 1.0) -> bool:
        """True if both limits of the interval are on the same side of zero. `wider` multiplies its width."""
        towards = self.delta - self.low if self.delta > 0 else self.high - self.delta
        return wider * towards < abs(self.delta)


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Equal windows before and after a change, or after several changes in quick succession.

    An effect that is measured again, because the load moved later, has the same markers.
    """

    markers: tuple[int, ...]
    """The numbers of the changes."""
    change: str
    """The changes in words."""
    at_seconds: float
    window_seconds: float
    """The length of each window."""
    settling_seconds: float
    """The time between the last change and the second window."""
    settled: bool
    """False if the load was still moving at the end of the maximum settling time."""
    comparisons: tuple[Comparison, ...]
    """The first is that of the figure that decides. Figures that were not measured, or counted too seldom,
    are absent.
    """
    cost_before: OperationCost | None = None
    """The cost of an operation in the first window; None if unknown."""
    cost_after: OperationCost | None = None
    """The same in the second window."""
    alternated_seconds: float | None = None
    """How long both values alternated to measure the difference, if the change itself left doubt."""
    time_before: dict[str, float] = {}
    """The milliseconds of a transaction by wait class in the first window; empty without an account."""
    time_after: dict[str, float] = {}
    """The same in the second window."""
    because: tuple[Comparison, ...] = ()
    """The wait classes of which a transaction's time certainly changed, the cause first."""
    untold: str = ""
    """Why `because` is empty, although the time is accounted for and a figure differs."""

    def comparison(self, figure: str) -> Comparison | None:
        return comparison_of(figure, self.comparisons)


def comparison_of(figure: str, comparisons: Iterable[Comparison]) -> Comparison | None:
    """The comparison of a figure; None if it was not compared."""
    return next((one for one in comparisons if one.figure == figure), None)


def latest_effects(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """The effects without those that were measured again later, in the order of their changes."""
    return tuple({effect.markers: effect for effect in effects}.values())


class EffectProgress(msgspec.Struct, frozen=True, kw_only=True, tag="effect_progress"):
    """A change whose effect is being measured, or several in quick succession; sent with every sample."""

    markers: tuple[int, ...]
    change: str
    at_seconds: float
    earliest_seconds: float
    """When the effect will be known if the load is steady at once, in seconds after the start of the load."""
    latest_seconds: float
    """When it will be known if the load is never steady."""
    alternates: bool = False
    """True while the values before and after the change alternate to decide it."""
    holds: str = ""
    """The value of an alternation that holds now."""
    turn: int = 0
    """The present pair of windows of an alternation, from 1 on."""
    turns: int = 0
    """The most pairs of windows of an alternation."""
    comparisons: tuple[Comparison, ...] = ()
    """The differences so far, that of the figure that decides first. The intervals hold at all times at once.
    A verdict is that of the interval; `percent_low` is −100 and `percent_high` large while it has no bound.
    """
    time_before: dict[str, float] = {}
    """The milliseconds of a transaction by wait class so far, before the change or with its old value; empty
    without an account.
    """
    time_after: dict[str, float] = {}
    """The same after the change, with its new value."""


class CommitCost(msgspec.Struct, frozen=True, kw_only=True):
    """Averages per transaction over the time in which `setting` had `value`; None if the server does not
    count it.
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
    """Plan of an A/B test: `subject` alternates between `a` and `b`."""

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
    """A setting, several joined by `+`, `preset` or `threads`."""
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
    """Each has one window per value. The maximum of a sequential test."""
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
    """Settling included."""
    seed: int = 0
    """Determines the order of the values."""
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
    """A smaller difference counts as equal."""
    is_sequential: bool = False
    """True if the test ends as soon as there is a verdict on the primary figure."""
    primary: str = "tps"
    """Any figure of the table in `metrics.figures`."""

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
    """One cycle."""

    cycle: int
    order: str
    """"AB" or "BA"."""
    a: dict[str, float]
    """The figures under value A, by their names in comparisons."""
    b: dict[str, float]
    settling_seconds: float
    """The discarded time of both windows together."""
    event: dict[str, float] = {}
    """By how much one more event, such as an fsync, increases a figure."""


class AbTestResult(msgspec.Struct, frozen=True, kw_only=True):
    """Paired result of an A/B test: `before` of a comparison is value A, `after` is value B."""

    subject: str
    a: str
    b: str
    cycles: int
    window_seconds: float
    pairs: tuple[AbTestPair, ...]
    """Empty for viewers."""
    counted: int = 0
    """The number of pairs."""
    left_out: int
    """The number of discarded cycles."""
    comparisons: tuple[Comparison, ...]
    """Empty if too few pairs remain for an interval."""
    sentence: str
    """The result in words."""
    disturbances: tuple[str, ...] = ()
    """Why cycles were discarded."""
    verdict: Verdict = Verdict.CANNOT_TELL
    """The verdict on the primary figure."""
    is_sequential: bool = False
    tolerance_percent: float = DEFAULT_TOLERANCE_PERCENT
    more_seconds: float | None = None
    """An estimate of the time until a verdict; None if unknown."""
    acts_after_seconds: float | None = None
    """Set if a change takes that long to act."""
    needs_window_seconds: float | None = None
    """Set if a change acts too late for these windows. Then there is no verdict, and `comparisons` has only
    figures that certainly change in time.
    """
    cost_a: OperationCost | None = None
    """The cost of an operation under value A."""
    cost_b: OperationCost | None = None
    because: tuple[Comparison, ...] = ()
    """As that of an `Effect`."""
    ended_seconds: float | None = None
    """The second of the run at which the test ended; None while it is running."""
    by_hand: bool = False
    """True if an operator started the test during the session."""
    harm: str = ""
    """Which value has broken the guard, which ends the test, and how."""
