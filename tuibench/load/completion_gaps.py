"""Gaps between completions of transactions, from which stalls are found.

Each engine notes the times in which it completed nothing (`GapRecorder`; `native/src/measure/gaps.rs` for
the native engine), independent of samples. A load stalls when none of its workers completes anything, so the
gaps of workers and hosts are intersected. A gap has two parts: until `wanted_ns` the worker had nothing to
complete, from then on a transaction was in flight or due. A worker without work says nothing against a stall
of the others, and no work at all is no stall.

A report repeats the last gaps, and the gap that is still open, so that a lost report costs nothing.
"""

from collections import deque
from functools import reduce

import msgspec

from tuibench.clock import NS_PER_MS

SHORTEST_NS = 500 * NS_PER_MS
"""A shorter gap is not noted: it cannot contain a common gap of this length."""

MOST_GAPS = 64
FOREVER_NS = 1 << 62


class Gap(msgspec.Struct, frozen=True, array_like=True):
    """Nothing was completed between two times of the monotonic clock; there was work from `wanted_ns` on."""

    start_ns: int
    end_ns: int
    wanted_ns: int

    def shifted(self, by_ns: int) -> "Gap":
        return Gap(self.start_ns + by_ns, self.end_ns + by_ns, self.wanted_ns + by_ns)


class CompletionGaps(msgspec.Struct, frozen=True, array_like=True):
    """The gaps of a worker, or the common gaps of several, in order; complete until `until_ns`.

    The default is a worker that never has work: the neutral element of `&`.
    """

    until_ns: int = FOREVER_NS
    gaps: tuple[Gap, ...] = (Gap(0, FOREVER_NS, FOREVER_NS),)

    def __and__(self, other: "CompletionGaps") -> "CompletionGaps":
        """The times in which neither completed anything. Associative and commutative."""
        common, ours, theirs = [], deque(self.gaps), deque(other.gaps)
        while ours and theirs:
            one, another = ours[0], theirs[0]
            start, end = max(one.start_ns, another.start_ns), min(one.end_ns, another.end_ns)
            if end - start >= SHORTEST_NS:
                wanted = min(one.wanted_ns, another.wanted_ns)
                common.append(Gap(start, end, min(max(start, wanted), end)))
            (ours if one.end_ns <= another.end_ns else theirs).popleft()
        return CompletionGaps(min(self.until_ns, other.until_ns), tuple(common))

    def followed_by(self, later: "CompletionGaps") -> "CompletionGaps":
        """A later report of the same worker: its gaps replace those that it repeats or that have grown."""
        first_ns = later.gaps[0].start_ns if later.gaps else FOREVER_NS
        kept = [gap for gap in self.gaps if gap.end_ns <= first_ns]
        return CompletionGaps(later.until_ns, (*kept, *later.gaps)[-MOST_GAPS:])

    def shifted(self, by_ns: int) -> "CompletionGaps":
        """The same on another clock."""
        return CompletionGaps(self.until_ns + by_ns, tuple(gap.shifted(by_ns) for gap in self.gaps))

    def closed(self) -> "CompletionGaps":
        """Those of a worker that has ended: it never completes anything again."""
        start_ns = next((gap.start_ns for gap in self.gaps if gap.end_ns >= self.until_ns), self.until_ns)
        past = tuple(gap for gap in self.gaps if gap.end_ns < self.until_ns)
        return CompletionGaps(gaps=(*past, Gap(start_ns, FOREVER_NS, FOREVER_NS)))

    def standstills(self, since_ns: int, *, is_over: bool = False) -> list[tuple[int, int]]:
        """Start and end of the gaps in which there was work, from a time on. One that may still be open is
        left out, unless the load `is_over`.
        """
        ended = [gap for gap in self.gaps if is_over or gap.end_ns < self.until_ns]
        found = [(max(gap.wanted_ns, since_ns), gap.end_ns) for gap in ended]
        return [(start, end) for start, end in found if end - start >= SHORTEST_NS]


class GapsOfWorkers:
    """The latest gaps of each worker, by its number, and their common gaps."""

    def __init__(self) -> None:
        self._known: dict[int, CompletionGaps] = {}

    def add(self, worker: int, reported: CompletionGaps) -> None:
        """Takes the gaps of a report."""
        known = self._known.get(worker, CompletionGaps(gaps=()))
        self._known[worker] = known.followed_by(reported)

    @property
    def common(self) -> CompletionGaps:
        """The times in which no worker completed anything."""
        return reduce(CompletionGaps.__and__, self._known.values(), CompletionGaps())


class GapRecorder:
    """The gaps of the asyncio engine. A failed transaction does not end a gap: its work is still wanted."""

    def __init__(self) -> None:
        self._last_ns = self._woken_ns = 0
        self._is_held = False
        self._gaps: deque[Gap] = deque(maxlen=MOST_GAPS)

    def woken(self, now_ns: int) -> None:
        """The only transaction in flight started, or came due, at this time. The first since the last
        completion counts.
        """
        if self._woken_ns <= self._last_ns:
            self._woken_ns = now_ns

    def completed(self, now_ns: int) -> None:
        if now_ns - self._last_ns >= SHORTEST_NS and not self._is_held:
            self._gaps.append(self._gap(now_ns))
        self._last_ns = now_ns

    def failed(self) -> None:
        self._woken_ns = max(self._woken_ns, self._last_ns + 1)

    def all_left(self) -> None:
        """No connection is left: nothing is wanted."""
        self._woken_ns = 0

    def hold(self, now_ns: int, outstanding: int) -> None:
        """A pause begins, with `outstanding` transactions in flight or due: nothing is wanted any more."""
        self._gaps.extend(self._open(now_ns, outstanding))
        self._is_held = True

    def release(self, now_ns: int) -> None:
        self._last_ns, self._is_held = now_ns, False

    def report(self, now_ns: int, outstanding: int) -> CompletionGaps:
        """The last gaps, with the one that is still open."""
        return CompletionGaps(now_ns, (*self._gaps, *self._open(now_ns, outstanding))[-MOST_GAPS:])

    def _open(self, now_ns: int, outstanding: int) -> list[Gap]:
        if self._is_held or now_ns - self._last_ns < SHORTEST_NS:
            return []
        has_work = outstanding > 0 or self._woken_ns > self._last_ns
        return [self._gap(now_ns) if has_work else Gap(self._last_ns, now_ns, now_ns)]

    def _gap(self, now_ns: int) -> Gap:
        return Gap(self._last_ns, now_ns, max(self._last_ns, self._woken_ns))
