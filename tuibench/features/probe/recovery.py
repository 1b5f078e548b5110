"""The vulnerable range of a load: the rates that it sustains until a burst, but does not recover after it.

    empty queue ── rate: 5 s ──> burst: twice the capacity ──> rate ──> recovered, drains, or stays

A burst above the capacity leaves a queue in which transactions wait longer than their deadline, whatever the
rate. Afterwards the goodput comes back, or it does not. In that case the trend of the queue decides: if it
shrinks, the trial drains, which counts as recovered; otherwise the load stays overloaded.

The edge is the highest rate that recovers. For a single queue served in order of arrival it is
capacity/attempts, so the search begins a little below and a little above that rate, and halves the interval
between a rate that recovers and one that does not. When the two are close, both are tried once more. If
trials contradict each other, the interval is wider: it reaches from the highest recovered rate below all that
stay overloaded to the lowest overloaded rate above all that recover. A remedy is a changed option of the
callers; its search begins at the highest rate.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tuibench.metrics.figures import read
from tuibench.metrics.recovery import BACK_SHARE, RecoveryMeter
from tuibench.model.callers import CallerPolicy, QueueOrder
from tuibench.model.findings import Mean
from tuibench.model.message import SetCallers
from tuibench.model.plan import policy_texts
from tuibench.model.probe import RecoveryEdge, RecoveryTrial, TrialEnd, VulnerableRange
from tuibench.model.schedule import format_rate
from tuibench.model.tick import Tick, total_tick
from tuibench.session.laboratory import Change, LoadLevel

SETTLING_SECONDS, BEFORE_SECONDS = 1.0, 4.0
"""How long a rate runs before its goodput is measured, and how long that takes."""

BURST = 2.0
"""The rate of the burst, as a multiple of the capacity."""

FEWEST_BURST_SECONDS, BURST_DEADLINES = 2.0, 3.0
"""The duration of the burst: this number of seconds or of deadlines, whichever is longer. Half of what
arrives is left over, so the backlog is work for about the same time.
"""

PATIENCE_SECONDS = 30.0
"""After this time, a queue whose trend is not certain is judged by the sign of the trend."""

DRAINING_SECONDS = 12.0
"""If the queue will be empty within this time, the trial waits for the recovery."""

TOP_SHARE = 0.85
"""The highest rate that is tried, as a share of the capacity: above it, arrivals at random make a queue that
is longer than many a deadline without a burst.
"""

LOWEST_SHARE = 0.05
ASIDE = 1.05
"""The first two rates are the expected edge divided by this factor, and multiplied by it."""

FINE = 1.12
"""Two rates with a smaller ratio are close: the interval is not halved further."""

MOST_TRIALS, MOST_REMEDY_TRIALS = 9, 4

REMEDIES = (
    SetCallers("queue", "shed"),
    SetCallers("queue", "lifo"),
    SetCallers("retry-budget", "10%"),
    SetCallers("breaker", "50%,5s"),
    SetCallers("on-deadline", "kill"),
)
"""Changes of the callers or of the pool that may help; each is tried alone."""

ONE_ATTEMPT = SetCallers("attempts", "1")
"""While the capacity is measured, no caller repeats a transaction."""

LOAD = "load"


def remedies_against(policy: CallerPolicy) -> tuple[SetCallers, ...]:
    """Those that change something of this policy."""
    texts = policy_texts(policy)
    return tuple(
        each
        for each in REMEDIES
        if texts[each.option] != each.value and (each.option != "retry-budget" or policy.attempts > 1)
    )


def remedy_text(remedy: SetCallers) -> str:
    """As on the command line, without the dashes: `queue=shed`."""
    return f"{remedy.option}={remedy.value}"


def expected_edge(policy: CallerPolicy, capacity: float) -> float:
    """The highest rate that recovers, for a single queue with a constant capacity."""
    if policy.queue is not QueueOrder.FIFO or policy.breaker is not None:
        return capacity
    further = policy.attempts - 1.0
    if policy.retry_budget is not None:
        further = min(further, policy.retry_budget / 100)
    return capacity / (1 + further)


def edge_of(trials: Sequence[RecoveryTrial]) -> tuple[float | None, float | None]:
    """The ends of the interval in which the edge lies; None where no rate was found.

    A trial whose queue had no clear trend says nothing, and neither does a rate that did not hold although a
    higher one did: it was disturbed.
    """
    held = max((each.rate for each in trials if each.end is not TrialEnd.UNSTEADY), default=0.0)
    trials = [
        each for each in trials if each.is_sure and (each.end is not TrialEnd.UNSTEADY or each.rate > held)
    ]
    back = [each.rate for each in trials if each.is_recovered]
    stays = [each.rate for each in trials if not each.is_recovered]
    low = max((rate for rate in back if rate < min(stays, default=math.inf)), default=None)
    high = min((rate for rate in stays if rate > max(back, default=0.0)), default=None)
    return low, high


def next_rate(
    trials: Sequence[RecoveryTrial], capacity: float, expected: float, *, most: int, is_confirmed: bool
) -> float | None:
    """The rate of the next trial; None if the edge is known, or `most` trials were made."""
    top, least = _rounded(TOP_SHARE * capacity), _rounded(LOWEST_SHARE * capacity)
    if len(trials) >= most:
        return None
    if not trials:
        return min(top, _rounded(expected / ASIDE))
    low, high = edge_of(trials)
    tried = {each.rate for each in trials}
    if high is None:
        # Either nothing has stayed so far, or a rate has stayed below one that recovered.
        beyond = max(tried)
        if beyond >= top:
            again = [each.rate for each in trials if not each.is_recovered]
            return again[0] if again and len(trials) < most - 1 and _visits(trials, again[0]) < 2 else None
        near = _rounded(expected * ASIDE)
        if near > beyond:
            return min(top, near)
        middle = _rounded(math.sqrt(beyond * top))
        return middle if top / middle > FINE else top
    if low is None:
        lowest = min(tried)
        if lowest <= least:
            return None
        near = _rounded(expected / ASIDE)
        return max(least, near if near < lowest / 1.01 else _rounded(lowest / 1.5))
    if high / low > FINE:
        middle = _rounded(math.sqrt(low * high))
        if low < middle < high and _visits(trials, middle) < 2:
            return middle
    once = [rate for rate in (low, high) if _visits(trials, rate) < 2]
    return once[0] if once and is_confirmed else None


def _visits(trials: Sequence[RecoveryTrial], rate: float) -> int:
    return sum(each.rate == rate for each in trials)


def _rounded(rate: float) -> float:
    return max(1.0, float(f"{rate:.3g}"))


class Phase(NamedTuple):
    """What a trial does now, and since when (s)."""

    level: LoadLevel
    since: float


class TrialRun:
    """One trial. Times are seconds of the run."""

    def __init__(
        self, rate: float, capacity: float, threads: int, policy: CallerPolicy, remedy: str = ""
    ) -> None:
        self.rate, self.remedy = rate, remedy
        self.done: RecoveryTrial | None = None
        self._policy = policy
        words = f"recovery: {format_rate(rate)}{f', {remedy}' if remedy else ''}"
        self.at_rate = LoadLevel(threads, rate, words)
        self._burst = LoadLevel(threads, BURST * capacity, f"burst: {format_rate(BURST * capacity)}", True)
        self._after = LoadLevel(threads, rate, f"after the burst: {format_rate(rate)}", True)
        deadline = policy.deadline_ms / 1000
        self._burst_seconds = max(FEWEST_BURST_SECONDS, BURST_DEADLINES * deadline)
        self._regime_seconds = policy.attempts * deadline + _pauses(policy)
        """Until the callers of the burst have sent for the last time."""
        self._phase: Phase | None = None
        self._ticks: list[Tick] = []
        self._before = self._lowest = self._in_time = 0.0
        self._meter: RecoveryMeter | None = None
        self._recent: list[Tick] = []

    @property
    def words(self) -> str:
        if self._phase is None:
            return "setting the rate"
        return {self.at_rate: "before the burst", self._burst: "burst", self._after: "after the burst"}[
            self._phase.level
        ]

    @property
    def level(self) -> float:
        return self.rate if self._phase is None else self._phase.level.rate

    @property
    def goodput(self) -> float | None:
        """That of the latest tick."""
        return read("goodput", self._ticks[-1]) if self._ticks else None

    def applied(self, level: LoadLevel, now: float) -> None:
        self._phase = Phase(level, now)

    def tick(self, tick: Tick) -> LoadLevel | None:
        """Adds a tick; returns the level to set now, None while the present one goes on."""
        phase = self._phase
        if phase is None or tick.start < phase.since - 1e-3:
            return None
        self._ticks.append(tick)
        goodput = read("goodput", tick) or 0.0
        spent = tick.end - phase.since
        if phase.level is self.at_rate:
            if spent >= SETTLING_SECONDS + BEFORE_SECONDS - 1e-3:
                after = [each for each in self._ticks if each.start >= phase.since + SETTLING_SECONDS - 1e-3]
                level = total_tick(after or self._ticks)
                self._before = self._lowest = read("goodput", level) or 0.0
                self._in_time = (read("goodput_percent", level) or 0.0) / 100
                if self._in_time < BACK_SHARE:
                    self._end(TrialEnd.UNSTEADY, tick)
                    return None
                return self._burst
        elif phase.level is self._burst:
            self._lowest = min(self._lowest, goodput)
            if spent >= self._burst_seconds - tick.seconds / 2:
                return self._after
        else:
            self._judge(tick, goodput, phase)
        return None

    def _judge(self, tick: Tick, goodput: float, phase: Phase) -> None:
        if self._meter is None:
            # The rate is known, so that few random arrivals before the burst do not lower the level.
            level = min(1.0, self._in_time) * self.rate
            self._meter = RecoveryMeter(
                level, phase.since, settles=self._regime_seconds, trend_seconds=PATIENCE_SECONDS
            )
        meter = self._meter
        meter.add(tick, goodput)
        self._recent.append(tick)
        if meter.recovered_after is not None:
            self._end(TrialEnd.RECOVERED, tick)
            return
        trend = meter.trend
        if trend is None:
            return
        is_late = tick.end - phase.since - self._regime_seconds >= PATIENCE_SECONDS
        if trend.is_growing:
            self._end(TrialEnd.STAYS, tick)
        elif trend.is_falling and (is_late or trend.left_seconds > DRAINING_SECONDS):
            self._end(TrialEnd.DRAINS, tick)
        elif is_late:
            is_draining = trend.per_second < 0 < trend.size and trend.left_seconds < math.inf
            self._end(TrialEnd.DRAINS if is_draining else TrialEnd.STAYS, tick)

    def _end(self, end: TrialEnd, tick: Tick) -> None:
        meter = self._meter
        trend = meter.trend if meter is not None else None
        latest = [each for each in self._recent if each.start >= tick.end - BEFORE_SECONDS - 1e-3]
        self.done = RecoveryTrial(
            rate=self.rate,
            remedy=self.remedy,
            end=end,
            before=self._before,
            lowest=min(self._lowest, meter.lowest) if meter is not None else self._lowest,
            after=read("goodput", total_tick(latest)) if latest else None,
            seconds=meter.recovered_after if meter is not None else None,
            backlog=tick.levels.get("backlog", 0.0),
            growth=trend.per_second if trend is not None else None,
            is_sure=end in (TrialEnd.RECOVERED, TrialEnd.UNSTEADY)
            or (trend is not None and (trend.is_falling or trend.is_growing)),
        )


def _pauses(policy: CallerPolicy) -> float:
    """The longest time that a caller pauses in all, in seconds."""
    backoff = policy.backoff
    return (
        math.fsum(backoff.first_ms * backoff.factor**number for number in range(policy.attempts - 1)) / 1000
    )


class RecoverySearch:
    """The search for the edge, and for what each remedy does to it."""

    def __init__(
        self, capacity: Mean, threads: int, policy: CallerPolicy, remedies: Sequence[SetCallers] = ()
    ) -> None:
        self.wanted: Mapping[str, Change] | None = None
        self.run: TrialRun | None = None
        self.is_over = False
        self._capacity = capacity
        self._threads = threads
        self._policy = policy
        self._left: list[SetCallers | None] = [None, *remedies]
        self._trials: list[RecoveryTrial] = []
        self._level: LoadLevel | None = None
        self._want_next()

    def tick(self, tick: Tick) -> None:
        if self.run is None or self.is_over:
            return
        if (level := self.run.tick(tick)) is not None:
            self._want(level)
        elif self.run.done is not None:
            self._trials.append(self.run.done)
            self._want_next()

    def applied(self, now: float) -> None:
        if self.run is not None and self._level is not None:
            self.run.applied(self._level, now)

    def restart(self) -> None:
        """The present trial was disturbed: it begins again."""
        if self.run is not None and not self.is_over:
            self._begin(self.run.rate)

    def end(self) -> None:
        self.is_over, self.wanted, self.run = True, None, None

    def _want_next(self) -> None:
        while self._left:
            remedy = self._left[0]
            own = self._trials_of(remedy)
            if remedy is None:
                expected = expected_edge(self._policy, self._capacity.mean)
                rate = next_rate(own, self._capacity.mean, expected, most=MOST_TRIALS, is_confirmed=True)
            else:
                rate = next_rate(
                    own,
                    self._capacity.mean,
                    ASIDE * self._capacity.mean,
                    most=MOST_REMEDY_TRIALS,
                    is_confirmed=False,
                )
            if rate is not None:
                self._begin(rate)
                return
            self._left.pop(0)
        self.end()

    def _begin(self, rate: float) -> None:
        remedy = self._left[0]
        name = "" if remedy is None else remedy_text(remedy)
        self.run = TrialRun(rate, self._capacity.mean, self._threads, self._policy, name)
        self._want(self.run.at_rate)

    def _want(self, level: LoadLevel) -> None:
        remedy = self._left[0]
        self._level = level
        self.wanted = {} if remedy is None else {remedy.option: remedy}
        self.wanted |= {LOAD: level}

    def _trials_of(self, remedy: SetCallers | None) -> list[RecoveryTrial]:
        name = "" if remedy is None else remedy_text(remedy)
        return [each for each in self._trials if each.remedy == name]

    @property
    def found(self) -> VulnerableRange:
        """What is known so far."""
        names = dict.fromkeys(["", *(each.remedy for each in self._trials)])
        edges = []
        for name in names:
            own = [each for each in self._trials if each.remedy == name]
            low, high = edge_of(own)
            edges.append(RecoveryEdge(remedy=name, low=low, high=high, trials=len(own)))
        return VulnerableRange(
            capacity=self._capacity,
            deadline_ms=self._policy.deadline_ms,
            attempts=self._policy.attempts,
            highest=_rounded(TOP_SHARE * self._capacity.mean),
            edges=tuple(edges),
            trials=tuple(self._trials),
        )
