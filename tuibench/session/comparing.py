"""What the changes of a run do: watches its samples and events, tells effects and costs, and runs a trial.

The arithmetic is `metrics`'; here is decided which events are changes, when each of them began, and who hears
of what was found.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from tuibench.metrics.cost import CostLedger
from tuibench.metrics.slots import Slot
from tuibench.metrics.watch import EffectWatch
from tuibench.model.cost import CommitCost, Costs
from tuibench.model.effect import Effect
from tuibench.model.event import CHANGES, COSTED, Event, EventKind
from tuibench.model.message import Downward
from tuibench.model.plan import Plan
from tuibench.model.sample import Sample
from tuibench.model.setting import SettingState
from tuibench.model.trial import TrialResult
from tuibench.mysql.errors import AWAY_CODES
from tuibench.record.effects import effect_words
from tuibench.record.text import Interval
from tuibench.session.events import EventLog
from tuibench.session.observer import VARIABLES_EVERY_TICKS
from tuibench.session.trialling import TrialHand, TrialRun, Trying

BOUNDARIES = frozenset(
    {
        EventKind.START,
        EventKind.PAUSE,
        EventKind.RESUME,
        EventKind.RESET,
        EventKind.RESTART,
        EventKind.PROBE,
    }
)
"""What no window reaches across, and nothing is compared with."""

COMPARED = CHANGES - BOUNDARIES


class KnownSettings(TrialHand, Protocol):
    """The hand on the server's settings, which knows what they are."""

    @property
    def states(self) -> Sequence[SettingState]: ...


class Compared(Trying, Protocol):
    """What comparing needs of a session (the real one, and the one of the tests)."""

    @property
    def settings(self) -> KnownSettings: ...


class Comparing:
    """One run's effects, costs and trial."""

    def __init__(
        self, session: Compared, plan: Plan, log: EventLog, publish: Callable[[Downward], None]
    ) -> None:
        self.effects: list[Effect] = []
        self._session = session
        self._trial = TrialRun(plan.trial, session, log.elapsed_seconds) if plan.trial else None
        self._log = log
        self._publish = publish
        self._watch = EffectWatch(plan.interval_seconds)
        self._ledger = CostLedger()
        self._notice_seconds = VARIABLES_EVERY_TICKS * plan.interval_seconds
        self._begun: list[float] = []

    @property
    def costs(self) -> tuple[CommitCost, ...]:
        return self._ledger.costs

    @property
    def ab(self) -> TrialResult | None:
        """The trial's result so far, if there is a trial."""
        return self._trial.result if self._trial else None

    async def rehearse(self) -> None:
        """Before the load starts: whatever a trial will be refused, it is refused now."""
        if self._trial is not None:
            await self._trial.rehearse()

    @contextmanager
    def steering(self) -> Iterator[None]:
        """While a command is carried out: what it changes began with it, however late it is told."""
        begun = self._log.elapsed_seconds()
        self._begun.append(begun)
        try:
            yield
        finally:
            self._begun.remove(begun)

    def heard(self, event: Event) -> None:
        """Something happened."""
        if event.kind in COSTED:
            self._ledger.changed()
        if self._trial is not None:
            self._trial.heard(event)
        elif event.kind in BOUNDARIES:
            self._tell(self._watch.boundary())
        elif event.kind in COMPARED and event.marker is not None and event.elapsed_seconds > 0:
            self._tell(
                self._watch.change(
                    event.marker,
                    event.text,
                    began_seconds=self._began(event),
                    at_seconds=event.elapsed_seconds,
                )
            )

    def tick(self, sample: Sample, interval: Interval) -> None:
        """One sample of the measured run."""
        slot = _slot(sample, interval, self._log.elapsed_seconds())
        is_lost = _is_lost(sample)
        if self._trial is not None:
            self._trial.tick(slot, is_lost=is_lost)
        else:
            self._tell(self._watch.boundary() if is_lost else self._watch.slot(slot))
        if sample.server is not None and sample.load is not None and sample.server.counters:
            self._ledger.take(
                sample.server.counters, sample.load.transactions_total, slot.end_seconds, self._values()
            )
            self._publish(Costs(self.costs))

    def end(self) -> None:
        """The load has ended: what can be said already is said."""
        if self._trial is not None:
            self._trial.end()
        else:
            self._tell(self._watch.boundary())

    def _values(self) -> dict[str, str]:
        return {state.name: state.value for state in self._session.settings.states}

    def _began(self, event: Event) -> float:
        """When a change may have begun; what others do is noticed late."""
        if event.kind is EventKind.FOREIGN:
            return event.elapsed_seconds - self._notice_seconds
        return min([event.elapsed_seconds, *self._begun])

    def _tell(self, effect: Effect | None) -> None:
        if effect is not None:
            self.effects.append(effect)
            self._log.tell(EventKind.EFFECT, effect_words(effect), effect)


def _is_lost(sample: Sample) -> bool:
    """True if the server hung up on the load and on our sampler: it went away, or still is."""
    codes = sample.load.errors_by_code if sample.load is not None else {}
    return sample.server is None and any(int(code) in AWAY_CODES for code in codes)


def _slot(sample: Sample, interval: Interval, end_seconds: float) -> Slot:
    """The sample in figures that add up. The server's reading is a little younger than the load's: its fsyncs
    are taken for each transaction.
    """
    each = sample.server.log_fsyncs_per_transaction if sample.server else None
    latency = sample.load.latency if sample.load else None
    return Slot(
        end_seconds=end_seconds,
        seconds=interval.seconds,
        transactions=interval.transactions,
        latency=interval.latency,
        p95_ms=latency.p95 if latency else None,
        log_fsyncs=None if each is None else each * interval.transactions,
    )
