"""Which worker keeps which connection.

A connection's number decides its stream of values, so it may live in any worker; it stays where it is as
long as it lives, and a new one goes to the worker with the fewest.
"""


class Assignment:
    """Connection numbers 0, 1, 2, … spread over workers."""

    def __init__(self) -> None:
        self._numbers: list[set[int]] = []

    @property
    def total(self) -> int:
        return sum(map(len, self._numbers))

    @property
    def busiest(self) -> int:
        """The worker with the most connections."""
        return max(range(len(self._numbers)), key=lambda worker: len(self._numbers[worker]))

    def spread(self, connections: int, workers: int) -> list[tuple[int, ...]]:
        """The numbers of each worker. Workers never become fewer."""
        self._numbers += [set() for _ in range(workers - len(self._numbers))]
        for numbers in self._numbers:
            numbers.intersection_update(range(connections))
        kept = set().union(*self._numbers)
        for number in range(connections):
            if number not in kept:
                min(self._numbers, key=len).add(number)
        return [tuple(sorted(numbers)) for numbers in self._numbers]


def parts(whole: int, weights: list[int]) -> list[int]:
    """A whole number in parts by weight, as evenly as can be; they add up to it."""
    total = sum(weights) or 1
    done = 0
    given: list[int] = []
    for weight in weights:
        done += weight
        given.append(whole * done // total - sum(given))
    return given
