"""Effect of a change: figures before and after, verdict on the difference; A/B tests; commit cost."""

from enum import StrEnum

import msgspec

from tuibench.errors import UsageError
from tuibench.model.measurements.operation_cost import OperationCost


class Verdict(StrEnum):
    """What an interval says about a difference."""

    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "equal"
    CANNOT_TELL = "cannot tell"


class MovementKind(StrEnum):
    """How a level moves while nothing is changed; HOST is a host that lost more or less CPU to others."""

    TREND = "trend"
    STEP = "step"
    SAWTOOTH = "sawtooth"
    WANDERING = "wandering"
    HOST = "host"


class LevelMovement(msgspec.Struct, frozen=True, kw_only=True):
    """Why a difference cannot be attributed to a change.

    `percent` is the slope per second of a trend, the height of a step, else the largest difference of two
    windows without a change. `seconds` is when a step happened, from the change, negative before it; or the
    period of a sawtooth. Of a host `percent` is by how many points of its CPU others used more, or less.
    """

    kind: MovementKind
    percent: float
    seconds: float = 0.0


class EffectFigure(StrEnum):
    """What is compared: transactions a second, milliseconds, and log fsyncs for each transaction.

    Queries and fsyncs a second are those of a session without load.
    """

    TPS = "tps"
    QPS = "qps"
    P95 = "p95_ms"
    FSYNCS = "fsyncs_per_transaction"
    FSYNC_RATE = "fsyncs_per_second"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One figure, before and after.

    `delta` is what is ascribed to the change, with its 95 % interval from `low` to `high`; `percent` and its
    interval are the same relative to `before`, None where that is zero. Equal is within `tolerance_percent`.
    `movement` is set where the level moved anyway, and the difference cannot be attributed to the change.
    """

    figure: EffectFigure
    before: float
    after: float
    delta: float
    low: float
    high: float
    percent: float | None = None
    percent_low: float | None = None
    percent_high: float | None = None
    verdict: Verdict = Verdict.CANNOT_TELL
    tolerance_percent: float = 0.0
    movement: LevelMovement | None = None

    @property
    def differs(self) -> bool:
        """True if the difference is significant."""
        return self.verdict in (Verdict.HIGHER, Verdict.LOWER)


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Equal windows before and after a change, or after several that came too quickly to be told apart.

    `markers` are the numbers of the changes, `change` says them in words. `window_seconds` is the length of
    either window; `settling_seconds` lie between the last change and the second window. `settled` is False
    when the load was still moving after the longest time it is given. What was not measured is absent.
    `cost_before` and `cost_after` are what an operation cost in the windows, None where that is unknown.
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

    def comparison(self, figure: EffectFigure) -> Comparison | None:
        return next((one for one in self.comparisons if one.figure is figure), None)


class CommitCost(msgspec.Struct, frozen=True, kw_only=True):
    """Averages over all the time that `setting` had `value`; each of them for one transaction.

    None where the server does not count it. `seconds` and `transactions` are what they were taken over.
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


MIN_CYCLES, MAX_CYCLES = 4, 1000
UNTIL_WINDOW_SECONDS = 4.0
DEFAULT_MAX_SECONDS = 600.0
DEFAULT_TOLERANCE_PERCENT = 2.0

MIN_WINDOW_SAMPLES = 4
"""The least samples per window: some may be lost to settling."""


def until_window_seconds(interval_seconds: float) -> float:
    """The usual window length of a test that ends with its verdict."""
    return max(UNTIL_WINDOW_SECONDS, MIN_WINDOW_SAMPLES * interval_seconds)


def primary_figure(*, is_watch: bool, rate: float) -> EffectFigure:
    """The figure that the verdict is based on: queries without a load, p95 at a fixed rate, otherwise
    transactions.
    """
    if is_watch:
        return EffectFigure.QPS
    return EffectFigure.P95 if rate else EffectFigure.TPS


class AbTestPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is alternated: a setting, `preset` or `threads`; from `a` to `b` and back.

    Each of `cycles` holds one window of either value, `window_seconds` long, settling included; `seed`
    decides which comes first. Differences within `tolerance_percent` are equal. With `is_sequential` the test
    ends as soon as there is a verdict on the `primary` figure, and `cycles` is the most it may take.
    """

    subject: str
    a: str
    b: str
    cycles: int = 5
    window_seconds: float = 10.0
    seed: int = 0
    tolerance_percent: float = DEFAULT_TOLERANCE_PERCENT
    is_sequential: bool = False
    primary: EffectFigure = EffectFigure.TPS

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
        primary: EffectFigure,
    ) -> "AbTestPlan":
        """A sequential test: it ends with its verdict, or after the whole cycles that fit in `max_seconds`.

        Raises UsageError if that is too short or too long.
        """
        cycles = int(max_seconds / (2 * window_seconds))
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
    """One cycle: the figures under either value, by `Figure`. `order` is "AB" or "BA".

    `settling_seconds` were discarded, of both windows together.
    """

    cycle: int
    order: str
    a: dict[EffectFigure, float]
    b: dict[EffectFigure, float]
    settling_seconds: float


class AbTestResult(msgspec.Struct, frozen=True, kw_only=True):
    """The paired result: `before` of a comparison is under value A, `after` under B.

    `left_out` counts cycles that were disturbed, `disturbances` says by what; `comparisons` is empty where
    too few pairs remain for an interval. `verdict` is that on the primary figure; without one, `more_seconds`
    estimates how much longer it takes, None where that is unknown. `sentence` says it all in words. `cost_a`
    and `cost_b` are what an operation cost under either value. `ended_seconds` is the second of the run at
    which the test ended, None while it goes on. `by_hand` marks one that an operator started in a session.
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
    cost_a: OperationCost | None = None
    cost_b: OperationCost | None = None
    ended_seconds: float | None = None
    by_hand: bool = False
