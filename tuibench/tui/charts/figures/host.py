"""Figures of the host screen: the server's host, and the client's if it is another one."""

from collections.abc import Callable

from tuibench.model.measurements.sample import HostSample
from tuibench.tui.charts.figures.figure import HostRow, bytes_per_second
from tuibench.units import binary_size, milliseconds, percent

SEE_ABOVE = "see above"
CLIENT = "CLIENT"
"""Heading of the client's host."""


def _of_memory(host: HostSample) -> str:
    if host.memory_limit_bytes is not None:
        return f"max {binary_size(host.memory_limit_bytes)}"
    return f"of {binary_size(host.memory_total_bytes)}"


def _of_swap(host: HostSample) -> str:
    return f"of {binary_size(host.swap_total_bytes)}" if host.swap_total_bytes else "no swap"


def _of_limit(host: HostSample) -> str:
    return "no limit" if host.cpu_limit is None else f"max {host.cpu_limit:g} cores"


def _rate(name: str, read: Callable[[HostSample], float | None], title: str) -> HostRow:
    return HostRow(name, read, bytes_per_second, title=title)


HOST_TABLES: dict[str, tuple[HostRow, ...]] = {
    "PROCESSOR": (
        HostRow("Server", lambda host: host.cpu_server, percent, missing=SEE_ABOVE, title="CPU, server"),
        HostRow("tuibench", lambda host: host.cpu_tuibench, percent, title="CPU, tuibench"),
        HostRow("Rest", lambda host: host.cpu_rest, percent, title="CPU, rest"),
        HostRow("Idle", lambda host: 100 - host.cpu_total, percent, title="CPU, idle"),
        HostRow("Steal", lambda host: host.cpu_steal, percent, rare=True),
        HostRow("Throttled", lambda host: host.cpu_throttled, percent, _of_limit, rare=True),
    ),
    "MEMORY": (
        HostRow("Used", lambda host: host.memory_used_bytes, binary_size, _of_memory, title="Memory used"),
        HostRow(
            "by the server",
            lambda host: host.memory_server_bytes,
            binary_size,
            missing=SEE_ABOVE,
            title="Server's memory",
        ),
        HostRow("Swap", lambda host: host.swap_used_bytes, binary_size, _of_swap, title="Swap used"),
    ),
    "DISKS": (
        _rate("Read", lambda host: host.disk_read_bytes_per_second, "Disk read"),
        _rate("Write", lambda host: host.disk_write_bytes_per_second, "Disk write"),
        HostRow(
            "a read takes",
            lambda host: host.disk_read_ms,
            milliseconds,
            missing="no reads",
            title="A read takes",
        ),
        HostRow(
            "a write takes",
            lambda host: host.disk_write_ms,
            milliseconds,
            missing="no writes",
            title="A write takes",
        ),
    ),
    "NETWORK": (
        _rate("In", lambda host: host.net_received_bytes_per_second, "Network in"),
        _rate("Out", lambda host: host.net_sent_bytes_per_second, "Network out"),
    ),
}

_CLIENT_ROWS = (
    HostRow("CPU", lambda host: host.cpu_total, percent),
    HostRow("tuibench", lambda host: host.cpu_tuibench, percent, title="CPU, tuibench"),
    HostRow(
        "Memory", lambda host: host.memory_used_bytes, binary_size, _of_memory, rare=True, title="Memory used"
    ),
    _rate("Network in", lambda host: host.net_received_bytes_per_second, "Network in")._replace(rare=True),
    _rate("out", lambda host: host.net_sent_bytes_per_second, "Network out")._replace(rare=True),
    HostRow("Steal", lambda host: host.cpu_steal, percent, rare=True),
    HostRow("Throttled", lambda host: host.cpu_throttled, percent, _of_limit, rare=True),
)
CLIENT_TABLE: tuple[HostRow, ...] = tuple(row._replace(is_client=True) for row in _CLIENT_ROWS)
