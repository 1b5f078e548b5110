"""Sets of GTIDs of both flavours: parsed, united, subtracted, counted.

MySQL writes a set as intervals of each source, which may have a tag: `uuid:1-5:7,uuid:tag:1-3`. MariaDB
writes the last transaction of each domain and server, `0-1-1200,0-2-1500` (`gtid_binlog_state`). A domain has
one count for all its servers, so this stands here for all numbers of the server up to the last one. The
difference of two states with a common past is then exact, as long as the server was the only one that wrote
in between.
"""

from collections.abc import Iterable, Mapping
from typing import Self

Span = tuple[int, int]
"""The first and the last number of an interval."""


class GtidSet:
    """A set of transactions: for each source, disjoint intervals in ascending order."""

    def __init__(self, spans: Mapping[str, Iterable[Span]]) -> None:
        joined = {source: _joined(each) for source, each in spans.items()}
        self.spans: Mapping[str, tuple[Span, ...]] = {key: each for key, each in joined.items() if each}

    @classmethod
    def of_mysql(cls, text: str) -> Self:
        """Parse `gtid_executed`. Raises ValueError for another text."""
        spans: dict[str, list[Span]] = {}
        for group in filter(None, (each.strip() for each in text.split(","))):
            uuid, *parts = group.lower().split(":")
            source = uuid
            for part in parts:
                if not part[:1].isdigit():
                    source = f"{uuid}:{part}"
                    continue
                first, _, last = part.partition("-")
                spans.setdefault(source, []).append((int(first), int(last or first)))
        return cls(spans)

    @classmethod
    def of_mariadb(cls, text: str) -> Self:
        """Parse `gtid_binlog_state`, or a position. Raises ValueError for another text."""
        spans: dict[str, list[Span]] = {}
        for group in filter(None, (each.strip() for each in text.split(","))):
            domain, server, number = group.split("-")
            spans.setdefault(f"{int(domain)}-{int(server)}", []).append((1, int(number)))
        return cls(spans)

    def __or__(self, other: Self) -> Self:
        sources = self.spans.keys() | other.spans.keys()
        return type(self)({each: (*self.spans.get(each, ()), *other.spans.get(each, ())) for each in sources})

    def __sub__(self, other: Self) -> Self:
        return type(self)(
            {source: _without(spans, other.spans.get(source, ())) for source, spans in self.spans.items()}
        )

    def __len__(self) -> int:
        """The number of transactions."""
        return sum(last - first + 1 for spans in self.spans.values() for first, last in spans)

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GtidSet) and self.spans == other.spans

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"GtidSet({dict(self.spans)})"


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        elif first <= last:
            found.append((first, last))
    return tuple(found)


def _without(spans: Iterable[Span], removed: Iterable[Span]) -> list[Span]:
    found = []
    for first, last in spans:
        for begin, end in removed:
            if end < first or begin > last:
                continue
            if begin > first:
                found.append((first, begin - 1))
            first = end + 1
        if first <= last:
            found.append((first, last))
    return found
