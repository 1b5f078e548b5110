"""The table of latencies: all transactions, each kind of them, each statement; now and in the last minute."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tuibench.model.sample import Latency, LoadPart, Sample
from tuibench.tui.panels.measures import big_latency, big_rate
from tuibench.tui.spans import Line, Span, pad, shorten
from tuibench.tui.view import View
from tuibench.units import DASH

_NAME = 22
_COLUMNS = (("per s", 8), ("share", 9), ("p50", 9), ("p95", 9), ("p99", 9), ("max", 9), ("p99 of 1 min", 15))

Kinds = Callable[[LoadPart], Mapping[str, Latency]]


class Group(NamedTuple):
    """Things that are counted together, so that each has a share."""

    title: str
    role: str
    kinds: Kinds


class Row(NamedTuple):
    """One thing: its latencies in the newest sample, its share, and the worst p99 of the last minute."""

    name: str
    role: str
    now: Latency | None
    share: float | None
    worst_p99: float


def _all(load: LoadPart) -> Mapping[str, Latency]:
    return {"all transactions": load.latency} if load.latency else {}


GROUPS = (
    Group("", "strong", _all),
    Group("transaction ", "", lambda load: load.by_transaction),
    Group("", "muted", lambda load: load.statements),
)


def latencies(view: View, width: int, height: int) -> list[Line]:
    """A heading and as many rows as there is room for; the rest is counted."""
    rows = [row for group in GROUPS for row in _rows(view, group)]
    if not rows:
        silent = "nothing has finished in the last minute" if view.sample else "waiting for the first sample"
        return [pad(_heading(width), width), pad((Span(f"{DASH} {silent}", "muted"),), width)][:height]
    seconds = view.load.seconds if view.load else 1.0
    room = height - 1
    lines = [_line(row, seconds, width) for row in rows[:room]]
    if len(rows) > room and lines:
        lines[-1] = (Span(f"… and {len(rows) - room + 1} more", "muted"),)
    return [pad(line, width) for line in (_heading(width), *lines)][:height]


def _rows(view: View, group: Group) -> list[Row]:
    """Whatever was seen in the last minute, the most frequent first."""
    newest = group.kinds(view.load) if view.load else {}
    whole = sum(latency.count for latency in newest.values())
    rows = []
    for name, p99 in _worst(view.recent, group.kinds).items():
        now = newest.get(name)
        share = 100 * now.count / whole if now and whole else None
        rows.append(Row(f"{group.title}{name}", group.role, now, share, p99))
    return sorted(rows, key=lambda row: (-(row.share or 0.0), row.name))


def _worst(samples: tuple[Sample, ...], kinds: Kinds) -> dict[str, float]:
    worst: dict[str, float] = {}
    for sample in samples:
        for name, latency in (kinds(sample.load) if sample.load else {}).items():
            worst[name] = max(worst.get(name, 0.0), latency.p99)
    return worst


def _heading(width: int) -> Line:
    cells = (Span(f"{name:>{size}}", "muted") for name, size in _shown(width))
    return (Span(f"{'LATENCIES':<{_NAME}}", "title"), *cells)


def _line(row: Row, seconds: float, width: int) -> Line:
    cells = _cells(row, seconds)
    line: Line = (Span(f"{shorten(row.name, _NAME - 1):<{_NAME}}", row.role),)
    for name, size in _shown(width):
        line = (*line, Span(f"{cells[name]:>{size}}", "latency" if name == "p95" else row.role))
    return line


def _cells(row: Row, seconds: float) -> dict[str, str]:
    now = row.now
    return {
        "per s": _written(big_rate(now.count / seconds if now else None)),
        "share": DASH if row.share is None else f"{row.share:.1f} %",
        "p50": _written(big_latency(now.p50 if now else None)),
        "p95": _written(big_latency(now.p95 if now else None)),
        "p99": _written(big_latency(now.p99 if now else None)),
        "max": _written(big_latency(now.max if now else None)),
        "p99 of 1 min": _written(big_latency(row.worst_p99)),
    }


def _shown(width: int) -> list[tuple[str, int]]:
    """The columns for which there is room."""
    room, shown = width - _NAME, []
    for name, size in _COLUMNS:
        room -= size
        if room < 0:
            break
        shown.append((name, size))
    return shown


def _written(number: tuple[str, str]) -> str:
    return " ".join(number).rstrip()
