"""Load hosts of a cluster run, one line each: throughput, latency, CPU usage, clock offset.

If space is short, lost and silent hosts come first, and a line reports the number of hidden ones.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.base.units import DASH, count, decimal, milliseconds, percent, pluralize, signed
from tuibench.model.cluster import HostState, LoadHost
from tuibench.tui.figures import rate_text
from tuibench.tui.text import TextLine, TextSpan, pad_line, shorten
from tuibench.tui.view import View

TITLE = "LOAD HOSTS"
HIGH_CPU, HIGH_STEAL, HIGH_WORKER_SHARE = 90.0, 5.0, 0.85
"""Values from which a cell is highlighted: CPU and steal in percent of the host, busiest worker as a share of
a core.
"""

NAME_CELLS = 14
WIDE_CELLS = 100
"""Width from which less important columns are shown."""


class HostColumn(NamedTuple):
    """A column of the table."""

    heading: str
    cells: int
    """The width."""
    text: Callable[[LoadHost], str]
    is_loud: Callable[[LoadHost], bool] = lambda _: False
    """Whether the cell is highlighted."""
    is_wide: bool = False
    """Whether the column is shown on wide screens only."""


def _steal(host: LoadHost) -> str:
    return percent(
        max(host.cpu_steal or 0.0, host.cpu_throttled or 0.0) if host.cpu_total is not None else None
    )


def _clock(host: LoadHost) -> str:
    return f"{signed(host.clock_offset_ms, 1)} ±{decimal(host.clock_error_ms, 1)} ms"


COLUMNS = (
    HostColumn("TPS", 9, lambda host: rate_text(host.transactions_per_second)),
    HostColumn("p95", 9, lambda host: milliseconds(host.p95_ms, in_column=True)),
    HostColumn("conns", 7, lambda host: count(host.connections)),
    HostColumn("CPU", 7, lambda host: percent(host.cpu_total), lambda host: _over(host.cpu_total, HIGH_CPU)),
    HostColumn(
        "worker",
        8,
        lambda host: percent(100 * host.worker_cpu),
        lambda host: host.worker_cpu > HIGH_WORKER_SHARE,
        is_wide=True,
    ),
    HostColumn("late", 9, lambda host: milliseconds(host.lag_p99_ms)),
    HostColumn(
        "steal",
        7,
        _steal,
        lambda host: _over(host.cpu_steal, HIGH_STEAL) or _over(host.cpu_throttled, HIGH_STEAL),
    ),
    HostColumn("round trip", 12, lambda host: milliseconds(host.round_trip_ms), is_wide=True),
    HostColumn("clock", 16, _clock),
)


def load_hosts(view: View, width: int, height: int) -> list[TextLine]:
    """The table; empty for a load from this host alone."""
    hosts = hosts_of(view)
    if not hosts or height < 2:
        return []
    columns = [column for column in COLUMNS if width >= WIDE_CELLS or not column.is_wide]
    room = height - 1
    shown = (
        hosts
        if len(hosts) <= room
        else sorted(hosts, key=lambda host: host.state is HostState.RUNNING)[: room - 1]
    )
    headings = "".join(f"{column.heading:>{column.cells}}" for column in columns)
    lines = [
        (TextSpan(f"{TITLE:<{NAME_CELLS}}", "title"), TextSpan(headings, "muted")),
        *(_line(host, columns) for host in shown),
    ]
    if len(shown) < len(hosts):
        lines.append((TextSpan(f"and {pluralize(len(hosts) - len(shown), 'more host')}", "muted"),))
    return [pad_line(line, width) for line in lines]


def load_hosts_height(view: View, height: int) -> int:
    """Height of the table on a screen of this height; 0 without load hosts."""
    hosts = hosts_of(view)
    return min(2 + len(hosts), max(4, height // 3)) if hosts else 0


def hosts_of(view: View) -> tuple[LoadHost, ...]:
    """Load hosts of the newest sample with a load."""
    return next((sample.hosts for sample in reversed(view.recent) if sample.load is not None), ())


def _over(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit


def _line(host: LoadHost, columns: Sequence[HostColumn]) -> TextLine:
    name = TextSpan(f"{shorten(host.name, NAME_CELLS - 1):<{NAME_CELLS}}")
    match host.state:
        case HostState.LOST:
            short = name._replace(text=name.text[:-1])
            return (short, TextSpan(" lost: its work after its last report is not counted ", "alarm"))
        case HostState.SILENT:
            return (name, TextSpan("silent: its figures are missing until it answers", "warn"))
    if not host.connections and not host.workers:
        return (name, TextSpan(f"{DASH} has not reported yet", "muted"))
    return (name, *(_cell(host, column) for column in columns))


def _cell(host: LoadHost, column: HostColumn) -> TextSpan:
    text, role = column.text(host), "strong"
    if column.is_loud(host):
        text, role = f"▲{text}", "warn"
    return TextSpan(f"{text:>{column.cells}}", role)
