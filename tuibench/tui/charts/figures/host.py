"""Figures of the host screen: the server's host, and the client's if it is another one."""

from functools import partial

from tuibench.model.tick import HOST, Tick
from tuibench.tui.charts.figures.figure import FigureRow
from tuibench.units import binary_size

SEE_ABOVE = "see above"
CLIENT = "CLIENT"
"""Heading of the client's host."""


def _of_memory(host: Tick) -> str:
    limit = host.levels.get(HOST + "memory_limit")
    return f"max {binary_size(limit)}" if limit is not None else f"of {binary_size(memory_total(host))}"


def memory_total(host: Tick) -> float:
    return host.levels.get(HOST + "memory_total", 0.0)


def _of_swap(host: Tick) -> str:
    total = host.levels.get(HOST + "swap_total")
    return f"of {binary_size(total)}" if total else "no swap"


def _of_limit(host: Tick) -> str:
    limit = host.levels.get(HOST + "cpu_limit")
    return "no limit" if limit is None else f"max {limit:g} cores"


_host = partial(FigureRow, of=lambda sample: sample.shown_host, why="not readable here")
_client = partial(FigureRow, of=lambda sample: sample.client_host, why="not readable here")

HOST_TABLES: dict[str, tuple[FigureRow, ...]] = {
    "PROCESSOR": (
        _host("cpu_server", "Server", "CPU, server", why=SEE_ABOVE),
        _host("cpu_tuibench", "tuibench", "CPU, tuibench"),
        _host("cpu_rest", "Rest", "CPU, rest"),
        _host("cpu_idle", "Idle", "CPU, idle"),
        _host("steal", "Steal", rare=True),
        _host("throttled", "Throttled", beside=_of_limit, rare=True),
    ),
    "MEMORY": (
        _host("memory_used", "Used", "Memory used", beside=_of_memory),
        _host("memory_server", "by the server", "Server's memory", why=SEE_ABOVE),
        _host("swap_used", "Swap", "Swap used", beside=_of_swap),
    ),
    "DISKS": (
        _host("disk_read", "Read", "Disk read"),
        _host("disk_write", "Write", "Disk write"),
        _host("disk_read_ms", "a read takes", "A read takes", why="no reads"),
        _host("disk_write_ms", "a write takes", "A write takes", why="no writes"),
    ),
    "NETWORK": (_host("net_received", "In", "Network in"), _host("net_sent", "Out", "Network out")),
}

CLIENT_TABLE = (
    _client("cpu_total", "CPU"),
    _client("cpu_tuibench", "tuibench", "CPU, tuibench"),
    _client("memory_used", "Memory", "Memory used", beside=_of_memory, rare=True),
    _client("net_received", "Network in", "Network in", rare=True),
    _client("net_sent", "out", "Network out", rare=True),
    _client("steal", "Steal", rare=True),
    _client("throttled", "Throttled", beside=_of_limit, rare=True),
)
