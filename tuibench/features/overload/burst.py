"""A burst of the rate under load, and the meter of the recovery after it.

    before ──5 s──> burst: factor × rate ──seconds──> rate as before ──> recovered, or not

The meter (`metrics.recovery`) compares the goodput of the ticks with that before the burst; without a
deadline, the throughput. A load that has not recovered within a minute is either still draining its queue, or
does not recover by itself: that is told, and told again when it changes. The meter goes on until the load has
recovered, so that the operator can find what brings it back.
"""

from collections.abc import Sequence

from tuibench.base.errors import UsageError
from tuibench.metrics.figures import FIGURES, Figure
from tuibench.metrics.recovery import QueueTrend, RecoveryMeter
from tuibench.model.message import NO_LOAD_REFUSAL, StartBurst
from tuibench.model.schedule import Quantity, checked_rate, format_duration, format_rate
from tuibench.model.tick import Sample, Tick, total_tick
from tuibench.session.dispatch import Needs, SteeredSession, handles
from tuibench.session.laboratory import Change, Experiment, ExperimentSession, LoadLevel
from tuibench.session.load import LoadController

BEFORE_SECONDS = 5.0
"""How long the level before the burst is measured."""

PATIENCE_SECONDS = 60.0
"""After so long without recovery, it is told whether the load will recover by itself."""

MOST_SECONDS = 900.0
RATE = "rate"
"""The subject of what the experiment sets."""


class Burst(Experiment):
    """One burst, and the watch over what follows."""

    called = "burst"
    name = "the burst"
    kind = "burst"
    starts = StartBurst
    is_guarded = False
    is_announced = False

    @classmethod
    def of_command(cls, session: ExperimentSession, command: StartBurst) -> "Burst":
        """Raises UsageError for a load without a rate, and for a rate beyond the limit."""
        load = session.load
        if load is None:
            raise UsageError(NO_LOAD_REFUSAL)
        if not load.rate:
            raise UsageError("a burst multiplies the rate, and this load has none", "set a rate first")
        checked_rate(command.factor * load.rate)
        return cls(load, command)

    def __init__(self, load: LoadController, order: StartBurst) -> None:
        self._load = load
        self._order = order
        self._figure: Figure = FIGURES["goodput" if load.callers.deadline_ms else "tps"]
        self._ticks: list[Tick] = []
        self._until: float | None = None
        self._meter: RecoveryMeter | None = None
        self._lowest = 0.0
        self._told: bool | None = None
        """Whether the load was said to be draining; None while nothing was said."""
        over = f"the burst is over: {format_rate(load.rate)}"
        back: Sequence[Change] = (LoadLevel(load.threads, load.rate, over, keeps_backlog=True),)
        super().__init__(is_by_hand=True, before={RATE: back})
        self.reply = f"{self._words} in {BEFORE_SECONDS:g} s"

    @property
    def _words(self) -> str:
        order = self._order
        rate = format_rate(order.factor * self._load.rate)
        return f"burst ×{order.factor:g} for {format_duration(order.seconds)}: {rate}"

    def begin(self, now: float) -> None:
        return

    def applied(self, now: float) -> None:
        if self._until is None:
            self._until = now + self._order.seconds
        elif self._meter is None:
            before = self._figure.value(total_tick(self._ticks)) or 0.0
            self._meter = RecoveryMeter(before, now)
            self._meter.lowest = min(before, self._lowest)
            self._until = now

    def disturb(self, why: str, *, is_late: bool = False) -> None:
        return

    def on_manual_load(self, quantity: Quantity, now: float) -> None:
        """The operator's rate replaces that of the burst; afterwards it may be what brings the load back."""
        if quantity is Quantity.RATE and self._meter is None:
            self.before = {RATE: ()}
            self.end(now, "the rate was changed")

    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        value = self._figure.value(slot)
        if self._until is None:
            if self.wanted is None:
                self._measure_before(slot)
        elif self._meter is None:
            self._lowest = min(self._lowest, value or 0.0)
            if slot.end >= self._until - slot.seconds / 2:
                self.wanted = {}
        elif value is not None and slot.start >= self._until - slot.seconds / 2:
            self._meter.add(slot, value)
            self._judge(slot.end, value)
        return bool(self.told)

    def _measure_before(self, slot: Tick) -> None:
        self._ticks.append(slot)
        if total_tick(self._ticks).seconds < BEFORE_SECONDS - slot.seconds / 2:
            return
        self._lowest = self._figure.value(total_tick(self._ticks)) or 0.0
        rate = self._order.factor * self._load.rate
        self.wanted = {RATE: LoadLevel(self._load.threads, rate, self._words, keeps_backlog=True)}

    def _judge(self, now: float, value: float) -> None:
        meter, since = self._meter, self._until or 0.0
        if meter is None:
            return
        levels = f"{self._text(meter.before)} before, {self._text(meter.lowest)} at the lowest"
        title, rate = self._figure.title, format_rate(self._load.rate)
        if meter.recovered_after is not None:
            at = f", at {rate}" if self._told is not None else ""
            self.told.append(f"recovered {meter.recovered_after:.0f} s after the burst{at}: {title} {levels}")
            self.end(now)
        elif now - since >= PATIENCE_SECONDS:
            trend = meter.trend
            is_draining = trend is not None and trend.is_falling
            if is_draining is not self._told and not (self._told is not None and _is_unknown(trend)):
                self._told = is_draining
                words = "still draining" if is_draining else "it does not recover"
                share = 100 * value / meter.before if meter.before else 0.0
                queue = f"; {trend.text}" if trend is not None and trend.size else ""
                self.told.append(
                    f"{words}: {title} {share:.0f} % of before, {now - since:.0f} s after the burst, "
                    f"at {rate}: {levels}{queue}"
                )
            if now - since >= MOST_SECONDS:
                self.end(now)

    def _text(self, value: float) -> str:
        return f"{self._figure.text(value)}/s"


def _is_unknown(trend: QueueTrend | None) -> bool:
    """True if the queue neither grows nor falls beyond the noise."""
    return trend is None or not (trend.is_falling or trend.is_growing)


@handles(StartBurst, needs=Needs.IDLE_LABORATORY)
async def start_burst(session: SteeredSession, command: StartBurst) -> str:
    return await session.laboratory.start(Burst.of_command(session.parts, command))
