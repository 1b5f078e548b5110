"""A burst of the rate under load, and the meter of the recovery after it.

    before ──5 s──> burst: factor × rate ──seconds──> rate as before ──> recovered, or not

The meter compares the goodput of each tick with that before the burst; without a deadline, the throughput.
The load has recovered at the beginning of the first `STEADY_TICKS` ticks in a row with 90 % of the level
before. A load that has not within a minute does not recover by itself: that is told, and the meter goes on
until it has, so that the operator can find what brings it back.
"""

from collections.abc import Sequence

from tuibench.base.errors import UsageError
from tuibench.metrics.figures import FIGURES, Figure
from tuibench.model.message import NO_LOAD_REFUSAL, StartBurst
from tuibench.model.schedule import Quantity, checked_rate, format_duration, format_rate
from tuibench.model.tick import Sample, Tick, total_tick
from tuibench.session.dispatch import Needs, SteeredSession, handles
from tuibench.session.laboratory import Change, Experiment, ExperimentSession, LoadLevel
from tuibench.session.load import LoadController

BEFORE_SECONDS = 5.0
"""How long the level before the burst is measured."""

BACK_SHARE = 0.9
STEADY_TICKS = 2
PATIENCE_SECONDS = 60.0
"""After so long without recovery, the load does not recover by itself."""

MOST_SECONDS = 900.0
RATE = "rate"
"""The subject of what the experiment sets."""


class RecoveryMeter:
    """When a load is back at its level, from the ticks after a burst. Times are seconds of the run."""

    def __init__(self, before: float, since: float) -> None:
        self.before = before
        self.lowest = before
        self.recovered_after: float | None = None
        """Seconds from the end of the burst; None until it is known."""
        self._since = since
        self._back_since: float | None = None
        self._back_ticks = 0

    def add(self, start: float, value: float) -> None:
        """Adds a tick after the burst that began at `start`."""
        self.lowest = min(self.lowest, value)
        if value < BACK_SHARE * self.before:
            self._back_since, self._back_ticks = None, 0
            return
        self._back_since = start if self._back_since is None else self._back_since
        self._back_ticks += 1
        if self._back_ticks == STEADY_TICKS:
            self.recovered_after = max(0.0, self._back_since - self._since)


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
        self._is_told = False
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
            self._meter.add(slot.start, value)
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
        title = self._figure.title
        if meter.recovered_after is not None:
            at = f", at {format_rate(self._load.rate)}" if self._is_told else ""
            self.told.append(f"recovered {meter.recovered_after:.0f} s after the burst{at}: {title} {levels}")
            self.end(now)
        elif now - since >= PATIENCE_SECONDS and not self._is_told:
            self._is_told = True
            share = 100 * value / meter.before if meter.before else 0.0
            self.told.append(
                f"it does not recover: {title} {share:.0f} % of before, {now - since:.0f} s after the burst, "
                f"at {format_rate(self._load.rate)}: {levels}"
            )
        elif now - since >= MOST_SECONDS:
            self.end(now)

    def _text(self, value: float) -> str:
        return f"{self._figure.text(value)}/s"


@handles(StartBurst, needs=Needs.IDLE_LABORATORY)
async def start_burst(session: SteeredSession, command: StartBurst) -> str:
    return await session.laboratory.start(Burst.of_command(session.parts, command))
