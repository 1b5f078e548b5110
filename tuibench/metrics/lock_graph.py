"""The graph of lock waits: which connections block the others, and whom the end of each would free.

A connection may wait for several others: for the holder of a lock, and for those that asked for it before. In
the tree it stands below one of them: a root if it waits for one, otherwise the one that waits longest.
Connections that wait for each other in a circle have no root; the one that waits for the shortest time closed
the circle, and stands for it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tuibench.model.server import LockWait


class Branch(NamedTuple):
    """A connection that waits, in the tree below a root."""

    wait: LockWait
    """Its wait for the connection above it."""
    lasts: tuple[bool, ...]
    """For each level from the root down to its own, whether that connection is the last one below its
    parent.
    """


class Root(NamedTuple):
    """A connection for which others wait, and which waits for nobody."""

    id: int
    branches: tuple[Branch, ...]
    """All that wait below it, in the order of a tree."""
    frees: int
    """How many of them wait for nobody else, directly or indirectly."""
    is_circle: bool = False
    """True if it waits itself, for one that waits for it."""

    @property
    def is_probable(self) -> bool:
        """True if no wait for it is certain."""
        return all(each.wait.is_probable for each in self.branches if each.wait.blocking == self.id)

    @property
    def is_ours(self) -> bool:
        return any(each.wait.blocking_is_ours for each in self.branches if each.wait.blocking == self.id)


def lock_graph(waits: Iterable[LockWait]) -> tuple[Root, ...]:
    """The roots, those that block the most first."""
    of: dict[int, list[LockWait]] = defaultdict(list)
    for wait in waits:
        if wait.waiting != wait.blocking:
            of[wait.waiting].append(wait)
    longest = {id: max(each.seconds for each in found) for id, found in of.items()}
    parents = {
        id: max(
            found,
            key=lambda wait: (
                wait.blocking not in of,
                not wait.is_probable,
                longest.get(wait.blocking, 0),
                -wait.blocking,
            ),
        )
        for id, found in of.items()
    }
    circles = _circles(parents, longest)
    below: dict[int, list[LockWait]] = defaultdict(list)
    for id, wait in parents.items():
        if id not in circles:
            below[wait.blocking].append(wait)
    for found in below.values():
        found.sort(key=lambda wait: (-wait.seconds, wait.waiting))
    ids = {wait.blocking for wait in parents.values() if wait.blocking not in of} | circles
    roots = []
    for id in ids:
        branches = tuple(_branches(id, below, ()))
        roots.append(
            Root(id, branches, _freed(id, [each.wait.waiting for each in branches], of), id in circles)
        )
    return tuple(sorted(roots, key=lambda root: (-len(root.branches), root.id)))


def _circles(parents: Mapping[int, LockWait], longest: Mapping[int, int]) -> set[int]:
    """One connection of each circle of parents."""
    found: set[int] = set()
    known: set[int] = set()
    for start in parents:
        path: dict[int, None] = {}
        at = start
        while at in parents and at not in known and at not in path:
            path[at] = None
            at = parents[at].blocking
        if at in path:
            members = list(path)[list(path).index(at) :]
            found.add(min(members, key=lambda id: (longest[id], -id)))
        known |= path.keys()
    return found


def _branches(id: int, below: Mapping[int, Sequence[LockWait]], lasts: tuple[bool, ...]) -> Iterable[Branch]:
    """Those that wait for a connection, each followed by those that wait for it."""
    stack = [(wait, (*lasts, wait is below[id][-1])) for wait in reversed(below.get(id, ()))]
    while stack:
        wait, places = stack.pop()
        yield Branch(wait, places)
        further = below.get(wait.waiting, ())
        stack += [(each, (*places, each is further[-1])) for each in reversed(further)]


def _freed(root: int, candidates: Iterable[int], of: Mapping[int, Sequence[LockWait]]) -> int:
    """How many of the candidates wait, in the end, only for the root."""
    freed, left = {root}, set(candidates)
    while now := {id for id in left if all(wait.blocking in freed for wait in of[id])}:
        freed |= now
        left -= now
    return len(freed) - 1
