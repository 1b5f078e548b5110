"""What the host screen shows: each core, who uses them, memory and swap, disks and network."""

from collections.abc import Callable, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from tuibench.model.sample import HostPart
from tuibench.tui import drawing
from tuibench.tui.panels.host import BAR, cpu_bar, legend
from tuibench.tui.panels.trend import Row, Section
from tuibench.tui.spans import Line, Span, pad
from tuibench.tui.view import KEPT_SAMPLES, View
from tuibench.units import DASH, data, milliseconds, percent

_CORE_WIDTH = 24
_AXIS = 7
_WHERE_NOT = "not readable here"
_ABOVE = "see above"


def cores(view: View, width: int, height: int) -> list[Line]:
    """The bar of all cores with who uses them, and a bar for each core in columns."""
    host = view.host
    if host is None:
        said = "could not be measured this second" if view.sample else "waiting for the first sample"
        return [pad((Span("HOST", "title"), Span(f"  {DASH} {said}", "muted")), width)][:height]
    of = "" if view.server_info.is_local else " of the client, the server is elsewhere"
    title: Line = (Span(f"CPU of {host.cores} cores", "title"), Span(of, "muted"))
    busy: Line = (*cpu_bar(host, width - 8), Span(f" {percent(host.cpu_total):>6}", "strong"))
    return [pad(line, width) for line in (title, busy, *legend(host, width), *_bars(host, width))][:height]


def cores_height(view: View, width: int) -> int:
    """How many lines they are worth, at most a third of a screen."""
    host = view.host
    if host is None:
        return 1
    columns = max(width // _CORE_WIDTH, 1)
    return 2 + len(legend(host, width)) + min(-(-len(host.cpu_by_core) // columns), 8)


def _bars(host: HostPart, width: int) -> list[Line]:
    """A bar for each core, a few to a line, numbered across."""
    columns = max(width // _CORE_WIDTH, 1)
    cells = [_core(number, busy, width // columns) for number, busy in enumerate(host.cpu_by_core)]
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns)]
    return [tuple(span for cell in row for span in cell) for row in rows]


def _core(number: int, busy: float, width: int) -> Line:
    bar, rest = drawing.shares([(busy, "█")], width - 12, "·")
    name, value = Span(f"{number:>3} ", "muted"), Span(f"{busy:>5.0f} %", "strong" if busy >= 90 else "")
    return pad((name, Span(bar, "server"), Span(rest, "faint"), value), width)


def minute(view: View, width: int, height: int) -> list[Line]:
    """The processor over the last minute: who used how much of it, from zero to all of it."""
    hosts = [sample.host for sample in view.recent]
    columns = max(width - _AXIS, 1)
    each = max(1, columns // KEPT_SAMPLES)
    stretched = [host for host in hosts for _ in range(each)][-columns:]
    filled = [*(None,) * (columns - len(stretched)), *stretched]
    ends = [_ends(host, height) for host in filled]
    labels = {height - 1: "100 %", 0: "0"}
    return [
        (Span(f"{labels.get(level, ''):>{_AXIS - 1}} ", "muted"), *_level(ends, level))
        for level in range(height - 1, -1, -1)
    ]


def _ends(host: HostPart | None, height: int) -> tuple[int, ...]:
    """Up to which row the server, then tuibench, then the rest reaches."""
    if host is None:
        return ()
    parts = ((host.cpu_server or 0.0, "█"), (host.cpu_tuibench, "█"), (host.cpu_rest, "█"))
    return tuple(accumulate(len(run) for run in drawing.shares(parts, height, " ")[:-1]))


def _level(ends: Sequence[tuple[int, ...]], level: int) -> Line:
    """One row of the chart: runs of cells of the same owner."""
    owners = [next((n for n, end in enumerate(each) if level < end), None) for each in ends]
    runs = ((owner, len(list(run))) for owner, run in groupby(owners))
    return tuple(
        Span(" " * length) if owner is None else Span(BAR[owner][1] * length, BAR[owner][2])
        for owner, length in runs
    )


def sections(view: View) -> list[Section]:
    """Processor, memory, disks and network, with their last minute."""
    hosts = [sample.host for sample in view.recent]
    return [Section(title, [_row(hosts, each) for each in figures]) for title, figures in _FIGURES.items()]


def _per_second(value: float | None) -> str:
    return DASH if value is None else f"{data(value)}/s"


def _of_memory(host: HostPart) -> str:
    return f"of {data(host.memory_total_bytes)}"


def _of_swap(host: HostPart) -> str:
    return f"of {data(host.swap_total_bytes)}" if host.swap_total_bytes else "no swap"


class _Figure(NamedTuple):
    """A row of the screen: what is read from a sample, how it is written, and what stands beside it."""

    name: str
    value: Callable[[HostPart], float | None]
    write: Callable[[float | None], str]
    beside: Callable[[HostPart], str] = lambda _: ""
    missing: str = _WHERE_NOT


_FIGURES = {
    "PROCESSOR": (
        _Figure("Server", lambda host: host.cpu_server, percent, missing=_ABOVE),
        _Figure("tuibench", lambda host: host.cpu_tuibench, percent),
        _Figure("Rest", lambda host: host.cpu_rest, percent),
        _Figure("Idle", lambda host: 100 - host.cpu_total, percent),
    ),
    "MEMORY": (
        _Figure("Used", lambda host: host.memory_used_bytes, data, _of_memory),
        _Figure("by the server", lambda host: host.memory_server_bytes, data, missing=_ABOVE),
        _Figure("Swap", lambda host: host.swap_used_bytes, data, _of_swap),
    ),
    "DISKS": (
        _Figure("Read", lambda host: host.disk_read_bytes_per_second, _per_second),
        _Figure("Write", lambda host: host.disk_write_bytes_per_second, _per_second),
        _Figure("a read takes", lambda host: host.disk_read_ms, milliseconds, missing="no reads"),
        _Figure("a write takes", lambda host: host.disk_write_ms, milliseconds, missing="no writes"),
    ),
    "NETWORK": (
        _Figure("In", lambda host: host.net_received_bytes_per_second, _per_second),
        _Figure("Out", lambda host: host.net_sent_bytes_per_second, _per_second),
    ),
}


def _row(hosts: Sequence[HostPart | None], figure: _Figure) -> Row:
    values = [figure.value(host) if host else None for host in hosts]
    newest = hosts[-1] if hosts else None
    if newest is None or values[-1] is None:
        return Row(figure.name, DASH, figure.missing if newest else "no answer", values)
    return Row(figure.name, figure.write(values[-1]), figure.beside(newest), values)
