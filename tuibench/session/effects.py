"""Effects of a run's changes, from samples and events; costs of commits.

The arithmetic is in `metrics`. This module decides which events are changes and when each of them began, and
reports the results. Changes during an experiment are the experiment's: no effect is measured then.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from tuibench.base.errors import TuibenchError
from tuibench.load.messages import CompletionGaps
from tuibench.metrics.control import COMMIT
from tuibench.metrics.costs import CostLedger, operation_cost, resource_use, total_use
from tuibench.metrics.effect_detection import FEWEST_SLOTS, EffectDetector
from tuibench.metrics.figures import deciding_figure, read
from tuibench.metrics.running_difference import RunningDifference
from tuibench.metrics.stalls import CulpritOf, StallLog, SteadinessLog
from tuibench.model.effect import (
    CommitCost,
    CommitCosts,
    Comparison,
    Effect,
    EffectProgress,
    Verdict,
    latest_effects,
)
from tuibench.model.event import CHANGE_KINDS, COST_CHANGE_KINDS, Event, EventKind, Trouble, TroubleKind
from tuibench.model.findings import OperationCost, ResourceUse, Stall, Steadiness
from tuibench.model.settings import changed_settings
from tuibench.model.tick import STATEMENT, TRANSACTION, Sample, SlowTransaction, Tick, slowest_of
from tuibench.report.effects import effect_text, stall_event_text
from tuibench.session.dispatch import Origin
from tuibench.session.laboratory import (
    HOST_STARVED,
    NO_ANSWER,
    OF_EVENTS,
    ROUNDING_SECONDS,
    WORKER_SILENT,
    Experiment,
    ExperimentSession,
    Laboratory,
    disturbance,
)
from tuibench.session.sampling import VARIABLES_EVERY_TICKS
from tuibench.tuning.catalogue import SETTINGS_BY_NAME

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
"""Events that end a window: nothing is compared across them."""

MOST_USES = 64
MOST_SLOW_OF_RUN = 5

COMPARED = CHANGE_KINDS - BOUNDARIES

SLOTS_OF_PRIVATE = 6
"""Samples before and after a change on a private server: few, because the values of a doubtful change are
alternated.
"""

MEASURED_AGAIN = "measured again, as the load moved later"


class DoubtfulEffect(NamedTuple):
    """The effect of a change while its values alternate."""

    marker: int
    change: str
    at_seconds: float
    begun_seconds: float
    effect: Effect | None
    """The effect as known without the alternation; None if nothing is known."""
    why: str
    """Why `effect` is None."""


class Turn(NamedTuple):
    """Where an alternation is."""

    holds: str
    """The value that holds now; empty before the first."""
    number: int
    """The present pair of windows, from 1 on."""
    most: int


class Alternation(Experiment):
    """An experiment that decides a doubtful effect: the two values of the change alternate."""

    @property
    @abstractmethod
    def turn(self) -> Turn:
        """The present turn."""

    @abstractmethod
    def new_share(self, slot: Tick) -> float | None:
        """The share of a tick in which the new value held; None if that is not known. Asked before the tick
        is processed.
        """

    @property
    @abstractmethod
    def seconds(self) -> tuple[float, float]:
        """Shortest and longest duration."""

    @abstractmethod
    def effect_of(self, doubtful: DoubtfulEffect) -> Effect | None:
        """The effect that was found; None if it ended too early."""


Resolver = Callable[[str, int, Sequence[Tick]], Alternation | None]
"""Makes the alternation that decides the doubtful effect of a change: from the change, the number of the
alternation in the session, and the ticks before the change. None if it is impossible.
"""


class EffectTracker:
    """Effects and costs of one run.

    `decides` is a figure that is compared in addition to the usual ones and comes first. `resolve` alternates
    the values of a change whose effect is doubtful; if it is None, the operator decides that.
    """

    def __init__(
        self,
        interval_seconds: float,
        session: ExperimentSession,
        decides: str = "",
        resolve: Resolver | None = None,
        culprit_of: CulpritOf = lambda start, end: None,
    ) -> None:
        self.effects: list[Effect] = []
        self.laboratory = Laboratory(session, self._on_experiment)
        self._session = session
        self._resolve = resolve
        self._doubtful: DoubtfulEffect | None = None
        self._resolutions = 0
        self._own_changes: set[int] = set()
        self._undoing = 0
        slots = SLOTS_OF_PRIVATE if resolve is not None else 0
        self._watch = EffectDetector(interval_seconds, decides, slots)
        self._decides = decides
        self._ledger = CostLedger()
        self._notice_seconds = VARIABLES_EVERY_TICKS * interval_seconds
        self._interval_seconds = interval_seconds
        self._running: RunningDifference | None = None
        self._so_far: tuple[Comparison, ...] = ()
        self._published: tuple[object, ...] = ()
        self._resolution_seconds = 0.0, 0.0
        self._why = ""
        self._rate = 0.0
        self._calm_ticks = 0
        self._begun: list[float] = []
        self._steadiness = SteadinessLog()
        self._stalls = StallLog(culprit_of)
        self.slowest: tuple[SlowTransaction, ...] = ()
        self._before: Sample | None = None
        self._uses: list[ResourceUse] = []
        self.total_use = ResourceUse()

    @property
    def operation_cost(self) -> OperationCost:
        """The cost of an operation since the last reset."""
        return operation_cost(total_use(self._uses))

    @property
    def steadiness(self) -> Steadiness | None:
        """The steadiness of the throughput since the last reset."""
        return self._steadiness.result(self._stalls.stalls)

    @property
    def outage_seconds(self) -> float:
        """The longest stall since the last reset."""
        return self._stalls.longest_seconds

    @property
    def costs(self) -> tuple[CommitCost, ...]:
        """Costs of a commit under each value so far."""
        return self._ledger.costs

    @property
    def effect_progress(self) -> EffectProgress | None:
        """The change whose effect is being measured at present."""
        one, progress, turn = self._doubtful, self._watch.progress, Turn("", 0, 0)
        if one is not None:
            least, most = self._resolution_seconds
            progress = EffectProgress(
                markers=(one.marker,),
                change=one.change,
                at_seconds=one.at_seconds,
                earliest_seconds=one.begun_seconds + least,
                latest_seconds=one.begun_seconds + most,
                alternates=True,
            )
            if isinstance(present := self.laboratory.present, Alternation):
                turn = present.turn
        if progress is None or self._running is None:
            return progress
        time_before, time_after = self._running.time
        return msgspec.structs.replace(
            progress,
            holds=turn.holds,
            turn=turn.number,
            turns=turn.most,
            comparisons=self._so_far,
            time_before=time_before,
            time_after=time_after,
        )

    @contextmanager
    def command_running(self, origin: Origin) -> Iterator[None]:
        """Context of the execution of an operator's command: its change began with it, even if the event
        comes late. The values of a change that is taken back never alternate.
        """
        begun = self._session.log.elapsed_seconds()
        self._begun.append(begun)
        self._undoing += origin is Origin.UNDO
        try:
            yield
        finally:
            self._begun.remove(begun)
            self._undoing -= origin is Origin.UNDO

    def on_event(self, event: Event) -> None:
        self._steadiness.on_event(event.kind)
        self._stalls.on_event(event.kind, event.elapsed_seconds)
        if event.kind is EventKind.RESET:
            self._uses, self._before, self.slowest = [], None, ()
        if event.kind in COST_CHANGE_KINDS:
            self._ledger.changed()
        is_free = self.laboratory.present is None
        self.laboratory.on_event(event)
        if not is_free:
            return
        if event.kind in BOUNDARIES:
            self._interrupt(OF_EVENTS.get(event.kind, ""))
        elif event.kind in COMPARED and event.marker is not None and event.elapsed_seconds > 0:
            names = changed_settings(event.text, self._session.settings.presets)
            self._emit_effect(
                self._watch.change(
                    event.marker,
                    event.text,
                    # Changes by others are noticed late.
                    began_seconds=event.elapsed_seconds - self._notice_seconds
                    if event.kind is EventKind.FOREIGN
                    else min([event.elapsed_seconds, *self._begun]),
                    at_seconds=event.elapsed_seconds,
                    # True for settings that act only on commits.
                    at_commit=bool(names)
                    and all(name in SETTINGS_BY_NAME and SETTINGS_BY_NAME[name].at_commit for name in names),
                )
            )
            self._running, self._so_far = RunningDifference(self._watch.before, self._decides), ()
            if event.kind in (EventKind.SETTING, EventKind.HARDWARE) and not self._undoing:
                self._own_changes.add(event.marker)
            if self._watch.progress is None and event.kind is not EventKind.MARK:
                seconds = FEWEST_SLOTS * self._interval_seconds
                why = f"TPS varied too much in the {seconds:g} s before the change"
                why = f"{self._why} shortly before it" if self._why else why
                one = DoubtfulEffect(
                    event.marker, event.text, event.elapsed_seconds, event.elapsed_seconds, None, why
                )
                if not self._start_resolution(one):
                    self._session.log.emit_not_measured(event.marker, event.text, why)
            self._publish_progress()

    def gap(self, why: str = WORKER_SILENT) -> None:
        """A sample without figures, and why; a later sample contains its work."""
        self._before = None
        if why == NO_ANSWER:
            self.laboratory.gap()
        if self.laboratory.present is None:
            self._interrupt(why)

    def _on_experiment(self, experiment: Experiment) -> None:
        """An operator's experiment starts or ends: nothing is compared across it."""
        self._interrupt(f"{experiment.name} changed values")
        if isinstance(experiment, Alternation) and experiment.is_over:
            self._end_resolution(experiment)

    def _start_resolution(self, one: DoubtfulEffect) -> bool:
        """Alternate the values of a change of settings between two values; False if that is not possible."""
        is_free = one.marker in self._own_changes and self.laboratory.present is None
        experiment = None
        if self._resolve is not None and is_free:
            experiment = self._resolve(one.change, self._resolutions + 1, self._watch.history)
        if experiment is None:
            return False
        self._resolutions += 1
        self._doubtful, self._resolution_seconds = one, experiment.seconds
        self._session.start_task(self._run_resolution(experiment), experiment.called)
        return True

    async def _run_resolution(self, experiment: Alternation) -> None:
        try:
            if self.laboratory.present is None and not self._session.lifecycle.is_ending:
                await self.laboratory.start(experiment)
                return
        except TuibenchError:
            if self._doubtful is None:
                return
        self._end_resolution(experiment)

    def _end_resolution(self, experiment: Alternation) -> None:
        """Report the effect: that of the alternation, or what was known without it."""
        one, self._doubtful = self._doubtful, None
        if one is None:
            return
        effect = experiment.effect_of(one) or one.effect
        if effect is not None:
            self._emit_effect(effect)
        else:
            self._session.log.emit_not_measured(one.marker, one.change, one.why)
        self._publish_progress()

    def _interrupt(self, why: str, since_seconds: float | None = None) -> None:
        """End the window, and report a change whose effect can no longer be measured."""
        pending, effect = self._watch.progress, self._watch.boundary(since_seconds)
        self._emit_effect(effect)
        self._why, self._calm_ticks = why, 0
        if pending is not None and effect is None and why:
            change, marker, now = pending.change, pending.markers[-1], self._session.log.elapsed_seconds()
            one = DoubtfulEffect(
                marker, change, pending.at_seconds, now, None, f"{why} while it was measured"
            )
            if why != HOST_STARVED or not self._start_resolution(one):
                self._session.log.emit_not_measured(marker, change, one.why)
        self._publish_progress()

    def _publish_progress(self) -> None:
        """Publish the status if the change being measured has changed."""
        progress = self.effect_progress
        seen = () if progress is None else (progress.markers, progress.at_seconds, progress.alternates)
        if self._published != seen:
            self._published = seen
            self._session.lifecycle.publish_status()

    def _grow(self, slot: Tick) -> None:
        """Add a tick to the differences so far."""
        if self._running is None:
            return
        one, progress, present = self._doubtful, self._watch.progress, self.laboratory.present
        if one is None and progress is None:
            self._running = None
        elif isinstance(present, Alternation):
            self._running.add(slot, present.new_share(slot))
        elif present is None:
            since = next(each.at_seconds for each in (one, progress) if each is not None)
            self._running.add(slot, 1.0 if slot.start >= since - ROUNDING_SECONDS else None)
        if self._running is not None:
            self._so_far = self._running.comparisons(self._decider)

    def tick(self, sample: Sample, completion_gaps: CompletionGaps | None = None) -> None:
        """Add a sample of the measured run. `completion_gaps` are None for the traffic of a
        watched server.
        """
        use = resource_use(sample.tick)
        self.total_use = total_use((self.total_use, use))
        self._uses.append(use)
        # Memory stays bounded for sessions of any length.
        if len(self._uses) > MOST_USES:
            self._uses = [total_use(self._uses)]
        slot = _comparable(sample.tick, self._session.log.elapsed_seconds())
        load = sample.load
        self._steadiness.tick(slot)
        if load is not None:
            self._rate = read("target_rate", load) or 0.0
            self.slowest = slowest_of((*self.slowest, *sample.slowest), MOST_SLOW_OF_RUN)
        known = slot
        if completion_gaps is not None:
            until_seconds = self._session.log.elapsed_at(completion_gaps.until_ns)
            known = msgspec.structs.replace(slot, end=min(slot.end, until_seconds))
        self._emit_stalls(self._stalls.tick(known, sample, self._standstills(completion_gaps)))
        why = disturbance(sample, self._interval_seconds)
        is_free = self.laboratory.present is None
        if not why:
            self._grow(slot)
        self.laboratory.tick(slot, sample, why)
        if is_free and why:
            self._interrupt(why, slot.start - self._interval_seconds / 2)
        elif is_free:
            effect = self._watch.slot(slot)
            if effect is None or not self._is_resolved(effect, slot.end):
                self._emit_effect(effect)
            self._calm_ticks += 1
            if self._calm_ticks >= FEWEST_SLOTS:
                self._why = ""
        if self._running is not None and (so_far := self.effect_progress) is not None:
            self._session.publish(so_far)
        if sample.server is not None and sample.throughput is not None:
            self._ledger.add(sample.tick, self._session.settings.states)
            self._session.publish(CommitCosts(self.costs))

    def _is_resolved(self, effect: Effect, now: float) -> bool:
        """True if the values of a doubtful effect begin to alternate; the effect is then known later."""
        decides = self._decider
        one = effect.comparison(decides)
        is_sure = one is not None and (one.differs or one.verdict is Verdict.EQUAL)
        if is_sure or any(each.markers == effect.markers for each in self.effects):
            return False
        marker = effect.markers[-1]
        return self._start_resolution(
            DoubtfulEffect(marker, effect.change, effect.at_seconds, now, effect, "")
        )

    @property
    def _decider(self) -> str:
        return deciding_figure(self._decides, is_traffic=False, rate=self._rate).key

    def _emit_stalls(self, stalls: Iterable[Stall]) -> None:
        for stall in stalls:
            trouble = Trouble(TroubleKind.STALL, stall.start_seconds, stall.end_seconds)
            self._session.log.emit(EventKind.WARNING, stall_event_text(stall), trouble=trouble)

    def end_stalls(self, completion_gaps: CompletionGaps | None = None) -> None:
        """All reports have arrived: no further completion follows."""
        self._emit_stalls(self._stalls.end(self._standstills(completion_gaps, is_over=True)))

    def _standstills(
        self, gaps: CompletionGaps | None, *, is_over: bool = False
    ) -> list[tuple[float, float]] | None:
        """The gaps within the measured time, in seconds from its start."""
        if gaps is None:
            return None
        log = self._session.log
        found = gaps.standstills(log.zero_ns, is_over=is_over)
        return [(log.elapsed_at(start), log.elapsed_at(end)) for start, end in found]

    def end(self) -> None:
        """The load has ended: report the effect of the last change, if it is known."""
        present = self.laboratory.present
        self.laboratory.close()
        if isinstance(present, Alternation):
            self._end_resolution(present)
        if present is None or present.is_by_hand:
            self._emit_effect(self._watch.boundary())

    def _emit_effect(self, effect: Effect | None) -> None:
        if effect is None:
            return
        ordered = sorted(effect.comparisons, key=lambda one: one.figure != self._decider)
        effect = msgspec.structs.replace(effect, comparisons=tuple(ordered))
        is_again = any(each.markers == effect.markers for each in self.effects)
        self.effects = [*latest_effects([*self.effects, effect])]
        text = f"{MEASURED_AGAIN}: {effect_text(effect)}" if is_again else effect_text(effect)
        self._session.log.emit(EventKind.EFFECT, text, effect)
        self._publish_progress()


def _comparable(tick: Tick, end: float) -> Tick:
    """A tick that ended at this second, without what no comparison needs: latencies of single kinds of
    transactions and statements other than COMMIT, and work of earlier ticks.
    """
    kinds = (TRANSACTION, STATEMENT)
    kept = {
        name: histogram
        for name, histogram in tick.hists.items()
        if name == COMMIT or not name.startswith(kinds)
    }
    return msgspec.structs.replace(tick, end=end, hists=kept, arrears={})
