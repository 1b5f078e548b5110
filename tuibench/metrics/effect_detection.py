"""Effects of changes: from ticks and changes during a run to pairs of windows, and from these to comparisons.

An effect is the difference of each figure between two windows of equal length. The difference, its interval
and its attribution use every tick before the change (`attribution`), on a logarithmic scale; if a figure is
zero on either side (fsyncs with a durability of 0), on a linear scale. Any figure of the table that a window
has (`metrics.figures`) can be compared.

The history of a change ends at the change. It does not extend before an earlier change, nor into the time in
which the load settled after that one. Its end is the window before. The window after begins when the load has
settled (`series.settled_at`), at least one slot and at most half a minute after the change. A change that
comes before that is measured together with the previous one. The slot of a change belongs to neither side.

After the effect is known, the load is watched as long as settling may take at most. If it moves again in that
time, because the change acts late or something else does, the effect is measured again (`compare_again`),
with the end of that time as second window.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

import msgspec

from tuibench.metrics.attribution import (
    FEWEST_AFTER,
    FEWEST_BEFORE,
    MOST_BEFORE,
    attribute,
    logarithms,
)
from tuibench.metrics.control import controlled
from tuibench.metrics.costs import window_cost
from tuibench.metrics.figures import (
    FIGURES,
    Quantile,
    compared_figures,
    deciding_figure,
    figure_named,
    read,
    throughput,
    wait_figure,
)
from tuibench.metrics.series import settled_at
from tuibench.metrics.wait_changes import (
    is_explicable,
    time_changes,
    time_parts,
    untold,
    verdict_direction,
)
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.effect import (
    Comparison,
    Effect,
    EffectProgress,
    LevelMovement,
    MovementKind,
    Verdict,
    comparison_of,
)
from tuibench.model.tick import HOST, Tick, total_tick

Window = Sequence[Tick]
TOLERANCE_PERCENT = 5.0
"""A figure is equal if the effect of a change is certainly smaller than this."""

HOST_SHIFT = 10.0
"""The least change of other programs' share of the host's CPU that counts, in percentage points."""

HOST_MARGIN = 2.0
"""A difference is attributed to the change only if it exceeds that of the CPU left by other programs by this
factor.
"""

FEWEST_EVENTS = 10
"""A figure that counts fewer events (such as fsyncs) than this in both windows is not compared, because some
events happen by chance.
"""

THROUGHPUTS = frozenset(FIGURES[name].key for name in ("tps", "qps"))

PAGE_READS = FIGURES[wait_figure(WaitClass.PAGE_READ)].key
"""A load that began recently fills its cache if this wait decreases."""

STARTING_SECONDS = 3.0
"""A load does not count as moving while its connections begin to work."""

LATE_SECONDS = 3.0
"""A step up to this long after a change belongs to the change."""


def compare_windows(
    history: Window, after: Window, settling: Window = (), *, earlier: Window = (), decides: str = ""
) -> tuple[Comparison, ...]:
    """Compare the usual figures, and the figure that `decides`, if both sides have them.

    `history` are the ticks since the load settled until the change; its end, as long as `after`, is the
    window before. `settling` are the ticks between the change and `after`, `earlier` those before `history`.
    """
    return _of_one_load([one for one, _ in _compared(history, after, settling, earlier, decides)])


def beside_others(
    found: tuple[Comparison, ...], history: Window, after: Window, settling: Window
) -> tuple[Comparison, ...]:
    """The comparisons of a change that acts only on commits. If the one of TPS is in doubt, it is replaced by
    the one that compares COMMIT with the other statements, if that has a verdict and does not contradict.
    """
    tps = comparison_of(FIGURES["tps"].key, found)
    if tps is None or tps.differs or tps.verdict is Verdict.EQUAL or tps.is_warming:
        return found
    late = math.ceil(LATE_SECONDS / (total_tick(after).seconds / len(after)))
    gap = _slots_between(history, after)
    result = controlled(history[-MOST_BEFORE:], settling, after, gap, late)
    if result is None:
        return found
    verdict = result.interval.verdict(TOLERANCE_PERCENT / 100)
    percents = result.interval.percent
    deltas = [tps.before * percent / 100 for percent in percents]
    if verdict is Verdict.CANNOT_TELL or deltas[1] > tps.high or deltas[2] < tps.low:
        return found
    better = msgspec.structs.replace(
        tps,
        verdict=verdict,
        movement=None,
        delta=deltas[0],
        low=deltas[1],
        high=deltas[2],
        percent=percents[0],
        percent_low=percents[1],
        percent_high=percents[2],
        others_percent=100 * math.expm1(result.others),
    )
    return tuple(better if one is tps else one for one in found)


def compare_again(
    known: Iterable[Comparison],
    history: Window,
    after: Window,
    settling: Window,
    *,
    earlier: Window = (),
    decides: str = "",
) -> tuple[Comparison, ...]:
    """The comparison with a later window, if a figure has left its known interval slowly, or by a step at
    another time than the change; empty if none has.
    """
    intervals = {one.figure: (one.low, one.high) for one in known}
    found = list(_compared(history, after, settling, earlier, decides))
    has_left = any(
        moved
        and one.figure in intervals
        and not intervals[one.figure][0] <= one.delta <= intervals[one.figure][1]
        for one, moved in found
    )
    return _of_one_load([one for one, _ in found]) if has_left else ()


def _of_one_load(found: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """While the throughput of a load is still moving, its latencies are, too, even if they do not show it."""
    is_moving = any(
        one.figure in THROUGHPUTS
        and one.verdict is Verdict.CANNOT_TELL
        and one.movement is not None
        and one.movement.kind in (MovementKind.TREND, MovementKind.WARM_UP)
        for one in found
    )
    return tuple(
        _warming(one)
        if is_moving and one.movement is None and isinstance(figure_named(one.figure).source, Quantile)
        else one
        for one in found
    )


def _warming(one: Comparison) -> Comparison:
    """The comparison without its verdict, because the load has not settled."""
    movement = LevelMovement(kind=MovementKind.WARM_UP, percent=0.0)
    return msgspec.structs.replace(one, verdict=Verdict.CANNOT_TELL, movement=movement)


def _compared(
    history: Window, after: Window, settling: Window, earlier: Window, decides: str
) -> Iterator[tuple[Comparison, bool]]:
    """Each figure, and whether it moved slowly after the change, or at another time."""
    before = history[-len(after) :]
    sums = total_tick(before), total_tick(after)
    levels = [window_figures(each, decides) for each in sums]
    seconds = sums[1].seconds / len(after)
    gap = _slots_between(history, after)
    for figure in compared_figures(decides, is_traffic=after[0].is_traffic):
        if figure.key not in levels[0] or figure.key not in levels[1]:
            continue
        first, between, last, rest = (
            [value for tick in ticks if (value := figure.value(tick)) is not None]
            for ticks in (history, settling, after, earlier)
        )
        if (
            len(first) >= FEWEST_BEFORE
            and len(last) >= FEWEST_AFTER
            and max(map(figure.events, sums)) >= FEWEST_EVENTS
        ):
            old, new = (each[figure.key] for each in levels)
            one, moved = _comparison(figure.key, old, new, (first, between, last, rest), gap, seconds)
            yield _unless_host(one, before, after), moved


def _unless_host(one: Comparison, before: Window, after: Window) -> Comparison:
    """The comparison, with the movement set if other programs' CPU usage may have caused it.

    If others use 30 % and then 10 %, the available CPU changes by 90 : 70. A difference is attributed to the
    change only if its logarithm exceeds `HOST_MARGIN` times that.
    """
    old, new = _foreign_cpu(before), _foreign_cpu(after)
    is_sure = one.differs or one.verdict is Verdict.EQUAL
    if old is None or new is None or abs(new - old) < HOST_SHIFT or not is_sure:
        return one
    explained = HOST_MARGIN * abs(math.log(max(100 - new, 1.0) / max(100 - old, 1.0)))
    is_small = min(one.before, one.after) > 0 and abs(math.log(one.after / one.before)) <= explained
    if not is_small:
        return one
    movement = LevelMovement(kind=MovementKind.HOST, percent=new - old)
    verdict = Verdict.NOT_ONLY if one.differs else Verdict.CANNOT_TELL
    return msgspec.structs.replace(one, verdict=verdict, movement=movement)


def _foreign_cpu(window: Window) -> float | None:
    """The percentage of the host's CPU that other programs, other guests and our CPU limit took; if the
    server's own CPU is unknown, only the latter two. None for a watched server, whose traffic is other
    programs'.
    """
    known = [
        max(rest, read("steal", tick) or 0.0) + (read("throttled", tick) or 0.0)
        for tick in window
        if HOST + "seconds" in tick.sums and not tick.is_traffic
        for rest in ((read("cpu_rest", tick) or 0.0) if HOST + "server_cpu" in tick.sums else 0.0,)
    ]
    return math.fsum(known) / len(known) if known else None


def window_figures(window: Tick, decides: str = "") -> dict[str, float]:
    """The figures of a window that are compared, by their keys. Traffic of a watched server without
    transactions has no TPS.
    """
    is_without = window.is_traffic and not window.sums.get("completed")
    return {
        figure.key: value
        for figure in compared_figures(decides, is_traffic=window.is_traffic)
        if (value := figure.value(window)) is not None and not (is_without and figure.name == "tps")
    }


def _comparison(
    figure: str,
    before: float,
    after: float,
    series: tuple[list[float], list[float], list[float], list[float]],
    gap: int,
    seconds: float,
) -> tuple[Comparison, bool]:
    """The comparison of one figure, and whether it moved late. `series` has its values by slot: before the
    change, while the load settled, after it, and earlier than the first part.
    """
    is_logarithmic = min(before, after) > 0 and min(map(median, series[:3:2])) > 0
    unit = before if is_logarithmic else max(before, after) or 1.0
    old, settling, new, earlier = (
        logarithms(*series) if is_logarithmic else ([value / unit for value in values] for values in series)
    )
    found = attribute(
        old,
        new,
        gap,
        settling=settling,
        earlier=earlier if is_logarithmic else None,
        late=math.ceil(LATE_SECONDS / seconds),
        tolerance=TOLERANCE_PERCENT / 100,
    )
    shares = [edge / 100 for edge in found.interval.percent] if is_logarithmic else found.interval
    deltas = [max(unit * share, -before) for share in shares]
    deltas[0] = deltas[0] if after else -before
    percents = [100 * delta / before if before > 0 else None for delta in deltas]
    moved = None
    if found.movement is not None:
        kind, size, place = found.movement
        per_second = size / seconds if kind is MovementKind.TREND else size
        moved = LevelMovement(kind=kind, percent=100 * math.expm1(per_second), seconds=place * seconds)
    comparison = Comparison(
        figure=figure,
        before=before,
        after=after,
        delta=deltas[0],
        low=deltas[1],
        high=deltas[2],
        percent=percents[0],
        percent_low=percents[1],
        percent_high=percents[2],
        verdict=found.verdict,
        tolerance_percent=TOLERANCE_PERCENT,
        movement=moved,
    )
    return comparison, found.has_moved_later


WINDOW_SECONDS = 12.0
FEWEST_SLOTS, USUAL_SLOTS, MOST_SLOTS = 6, 12, 24
"""Slots of a window: `WINDOW_SECONDS`, but at least the second and at most the third number. An effect that
ends early has at least the first.
"""

LONGEST_SETTLING_SECONDS = 30.0
LEAST_SETTLING_SLOTS = 1
WINDOWS_OF_BECAUSE = 3
"""The account of time before a change uses this many windows, because some ticks have no account."""


class PendingEffect:
    """A change whose effect is not complete yet, or may still change."""

    def __init__(self, before: list[Tick], earlier: list[Tick]) -> None:
        self.before = before
        self.earlier = earlier
        self.markers: tuple[int, ...] = ()
        self.texts: list[str] = []
        self.at_seconds = 0.0
        self.after: list[Tick] = []
        self.known: Effect | None = None
        self.used = 0
        self.is_at_commit = True

    def add(self, marker: int, text: str, at_seconds: float, *, at_commit: bool) -> None:
        """Add a further change, or the rest of the last one. The slots since the previous one
        are discarded.
        """
        self.is_at_commit = self.is_at_commit and at_commit
        if self.markers[-1:] == (marker,):
            self.texts.pop()
        else:
            self.markers = (*self.markers, marker)
        self.texts.append(text)
        self.at_seconds = at_seconds
        self.after = []


class EffectDetector:
    """Converts ticks and changes, in the order of time, to effects: of the usual figures, and of the one that
    `decides`. If `slots` is given, a window has this many, and the load is not waited for.
    """

    def __init__(self, interval_seconds: float, decides: str = "", slots: int = 0) -> None:
        self._interval_seconds = interval_seconds
        self._decides = decides
        wanted = math.ceil(WINDOW_SECONDS / interval_seconds)
        self.window = slots or min(max(wanted, USUAL_SLOTS), MOST_SLOTS)
        settling = 0 if slots else math.ceil(LONGEST_SETTLING_SECONDS / interval_seconds)
        self.longest_settling = max(2 * LEAST_SETTLING_SLOTS, settling)
        self._most_calm = MOST_BEFORE + self.longest_settling + self.window
        self._calm: list[Tick] = []
        self._pending: PendingEffect | None = None
        self._watched: PendingEffect | None = None
        self.history: list[Tick] = []
        """The ticks before the last change, from the first settled one on."""

    def slot(self, slot: Tick) -> Effect | None:
        """Add a tick. Returns the effect that it completes, if any."""
        pending = self._pending
        if pending is None:
            self._calm = [*self._calm[1 - self._most_calm :], slot]
            return self._watch(slot)
        if slot.start < pending.at_seconds:
            return None
        pending.after.append(slot)
        window = min(len(pending.before), self.window)
        start = _settling_slots(pending.after, window, self.longest_settling)
        if start is None and len(pending.after) < self.longest_settling + window:
            return None
        return self._complete(pending, window, start)

    def change(
        self, marker: int, text: str, *, began_seconds: float, at_seconds: float, at_commit: bool = False
    ) -> Effect | None:
        """Add a change that happened between these two times. Returns the effect of the previous change if it
        is complete. `at_commit` is True for a change that acts only on commits.
        """
        effect = self._complete_early() or self._measured_again()
        if self._pending is None:
            earlier, self.history = self._before(began_seconds)
            self._pending = PendingEffect(self.history, earlier)
        self._pending.add(marker, text, at_seconds, at_commit=at_commit)
        if len(self._pending.before) < FEWEST_SLOTS:
            self._pending = None
        self._calm = []
        return effect

    @property
    def before(self) -> list[Tick]:
        """The ticks before the change that is being measured; empty if there is none."""
        return [] if self._pending is None else self._pending.before

    @property
    def progress(self) -> EffectProgress | None:
        """The change whose effect is being measured, and when it will be known."""
        pending = self._pending
        if pending is None:
            return None
        window = min(len(pending.before), self.window)
        earliest, latest = (
            pending.at_seconds + self._interval_seconds * (1 + settling + window)
            for settling in (LEAST_SETTLING_SLOTS, self.longest_settling)
        )
        return EffectProgress(
            markers=pending.markers,
            change="; ".join(pending.texts),
            at_seconds=pending.at_seconds,
            earliest_seconds=earliest,
            latest_seconds=latest,
        )

    def boundary(self, since_seconds: float | None = None) -> Effect | None:
        """Add a boundary, such as a pause or a restart, that no window may cross.

        Slots that end after `since_seconds` may contain its beginning, and are discarded.
        """
        for pending in (self._pending, self._watched):
            if pending is not None and since_seconds is not None:
                pending.after = [slot for slot in pending.after if slot.end <= since_seconds]
        effect = self._complete_early() or self._measured_again()
        self._calm, self._pending = [], None
        return effect

    def _before(self, began_seconds: float) -> tuple[list[Tick], list[Tick]]:
        """The newest slots before a time, from the first settled one on; and the slots before these, in which
        the load had not settled, without its first seconds.
        """
        calm = [slot for slot in self._calm if slot.end <= began_seconds]
        window = max(min(self.window, len(calm)), 1)
        start = _settling_slots(calm, window, len(calm), least=0)
        begun = calm[0].start + STARTING_SECONDS if calm else 0.0
        earlier = [slot for slot in calm[: start or 0] if slot.start >= begun]
        return earlier, calm[start or 0 :][-MOST_BEFORE:]

    def _complete_early(self) -> Effect | None:
        """The effect of the pending change if enough of it is known; None if the change remains pending."""
        pending = self._pending
        if pending is None:
            return None
        window = min(len(pending.before), self.window, len(pending.after) - LEAST_SETTLING_SLOTS)
        if window < FEWEST_SLOTS:
            return None
        return self._complete(pending, window, _settling_slots(pending.after, window, self.longest_settling))

    def _complete(self, pending: PendingEffect, window: int, start: int | None) -> Effect:
        """`start` is the beginning of the second window; None if the load never settled."""
        first = len(pending.after) - window if start is None else start
        self._pending, self._watched = None, pending
        self._calm = pending.after[first:]
        pending.used = first + window
        settling, after = pending.after[:first], pending.after[first : pending.used]
        found = compare_windows(
            pending.before, after, settling, earlier=pending.earlier, decides=self._decides
        )
        if pending.is_at_commit:
            found = beside_others(found, pending.before, after, settling)
        pending.known = _effect(pending, after, found, settled=start is not None, decides=self._decides)
        return pending.known

    def _watch(self, slot: Tick) -> Effect | None:
        """Watch the load after its effect is known. Returns the effect again if it has changed."""
        pending = self._watched
        if pending is None:
            return None
        pending.after.append(slot)
        if len(pending.after) < self.longest_settling + self.window:
            return None
        return self._measured_again()

    def _measured_again(self) -> Effect | None:
        """The effect with the newest slots as second window, if the load has left the known interval."""
        pending, self._watched = self._watched, None
        if pending is None or pending.known is None:
            return None
        window = min(len(pending.before), self.window, len(pending.after) - pending.used)
        if window < FEWEST_SLOTS:
            return None
        settling, after = pending.after[:-window], pending.after[-window:]
        found = compare_again(
            pending.known.comparisons,
            pending.before,
            after,
            settling,
            earlier=pending.earlier,
            decides=self._decides,
        )
        if pending.is_at_commit:
            found = beside_others(found, pending.before, after, settling)
        is_settled = _settling_slots(after, window, 0, least=0) is not None
        return _effect(pending, after, found, settled=is_settled, decides=self._decides) if found else None


def _effect(
    pending: PendingEffect,
    after: Window,
    comparisons: tuple[Comparison, ...],
    *,
    settled: bool,
    decides: str,
) -> Effect:
    old = pending.before[-WINDOWS_OF_BECAUSE * len(after) :]
    rate = read("target_rate", after[-1]) or 0.0
    decider = deciding_figure(decides, is_traffic=after[0].is_traffic, rate=rate).key
    lead = comparison_of(decider, comparisons)
    because: tuple[Comparison, ...] = ()
    if lead is not None and is_explicable(lead):
        gap = _slots_between(old, after)
        because = time_changes(old, after, gap=gap, towards=verdict_direction(lead))
    is_young = len(pending.earlier) + len(pending.before) < MOST_BEFORE
    if because and is_young and because[0].figure == PAGE_READS and because[0].delta < 0:
        because = ()
        comparisons = _of_one_load(
            [_warming(one) if one.figure in THROUGHPUTS else one for one in comparisons]
        )
    lead = comparison_of(decider, comparisons)
    is_unexplained = not because and lead is not None and lead.differs
    return Effect(
        markers=pending.markers,
        change="; ".join(pending.texts),
        at_seconds=pending.at_seconds,
        window_seconds=math.fsum(slot.seconds for slot in after),
        settling_seconds=max(0.0, after[0].start - pending.at_seconds),
        settled=settled,
        comparisons=comparisons,
        cost_before=window_cost(pending.before[-len(after) :]),
        cost_after=window_cost(after),
        time_before=time_parts(pending.before[-len(after) :]),
        time_after=time_parts(after),
        because=because,
        untold=untold(old, after) if is_unexplained else "",
    )


def _slots_between(before: Window, after: Window) -> int:
    """The number of slots between the windows."""
    return max(0, round((after[0].start - before[-1].end) * len(after) / total_tick(after).seconds))


def _settling_slots(slots: Window, window: int, most: int, least: int = LEAST_SETTLING_SLOTS) -> int | None:
    """The number of slots to discard until neither throughput nor p95 has a trend; None if they
    never settle.
    """
    rates = [throughput(slot) for slot in slots]
    latencies = [read("p95", slot) or 0.0 for slot in slots]
    return settled_at((rates, latencies), window, least=least, most=most)
