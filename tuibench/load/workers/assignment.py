"""Which worker or host runs which connection of a run, and shares of a whole.

A connection's number determines its random stream, so any worker can run it. A connection stays with its
worker; a new one goes to the worker with the fewest connections. Numbers of a worker that is lost without a
trace are retired: another worker would begin their streams again, and draw their unique values twice.
"""

from collections.abc import Collection
from itertools import count, islice


class ConnectionAssignment:
    """Distribution of connection numbers over workers: the lowest numbers that are not retired."""

    def __init__(self) -> None:
        self._numbers: list[set[int]] = []
        self._retired: set[int] = set()

    @property
    def total(self) -> int:
        return sum(map(len, self._numbers))

    def shares(self, workers: int) -> list[tuple[int, ...]]:
        """The present connection numbers of each worker; a new worker has none yet."""
        missing = max(0, workers - len(self._numbers))
        return [*(tuple(sorted(numbers)) for numbers in self._numbers), *((),) * missing]

    @property
    def busiest(self) -> int:
        """The worker with the most connections."""
        return max(range(len(self._numbers)), key=lambda worker: len(self._numbers[worker]))

    def spread(self, connections: int, workers: int) -> list[tuple[int, ...]]:
        """The connection numbers of each worker. The number of workers never decreases."""
        usable = (number for number in count() if number not in self._retired)
        return self.assign(tuple(islice(usable, connections)), workers)

    def assign(self, wanted: Collection[int], workers: int) -> list[tuple[int, ...]]:
        """Distributes these numbers; those of each worker."""
        self._numbers += [set() for _ in range(workers - len(self._numbers))]
        for numbers in self._numbers:
            numbers.intersection_update(wanted)
        kept = set().union(*self._numbers)
        for number in wanted:
            if number not in kept:
                min(self._numbers, key=len).add(number)
        return [tuple(sorted(numbers)) for numbers in self._numbers]

    def remove(self, worker: int) -> int:
        """Removes a worker and retires its numbers; returns how many."""
        numbers = self._numbers.pop(worker)
        self._retired |= numbers
        return len(numbers)

    def make_room(self, workers: int, added: int) -> None:
        """Retires numbers of the busiest workers, so that as many new ones go to added workers."""
        share = self.total // (workers + added)
        for _ in range(share * added):
            numbers = self._numbers[self.busiest]
            if len(numbers) > share:
                self._retired.add(max(numbers))
                numbers.discard(max(numbers))


def split_by_weight(whole: int, weights: list[int]) -> list[int]:
    """Divides an integer in proportion to weights; the parts add up to it."""
    total = sum(weights) or 1
    done = 0
    given: list[int] = []
    for weight in weights:
        done += weight
        given.append(whole * done // total - sum(given))
    return given


def split_quota(transactions: int | None, threads: int, workers: int) -> list[int | None]:
    """Divides a quota of transactions by the planned threads of each worker; None is no limit."""
    if transactions is None:
        return [None] * workers
    planned = [len(numbers) for numbers in ConnectionAssignment().spread(threads, workers)]
    return list(split_by_weight(transactions, planned))
