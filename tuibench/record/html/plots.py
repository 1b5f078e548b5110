"""Which charts a report has: a table of them, each with its lines and where in a sample they are read."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench import units
from tuibench.model.sample import HostPart, LoadPart, ServerPart
from tuibench.record.html.series import Figure

Write = Callable[[float | None], str]


class Line(NamedTuple):
    """One line: a figure of each sample, or how a counter grew; `dashed` for what was asked for."""

    name: str
    figure: Figure = lambda sample: None
    dashed: bool = False
    growth_of: str = ""


class Plot(NamedTuple):
    """One chart. Those without a `group` are large, others stand in pairs under its name.

    One that is `rare` is left out when all is zero.
    """

    id: str
    title: str
    unit: str
    lines: Sequence[Line]
    write: Write = units.si
    group: str = ""
    stacked: bool = False
    logarithmic: bool = False
    maximum: float | None = None
    rare: bool = False


def load(read: Callable[[LoadPart], float | None]) -> Figure:
    return lambda sample: None if sample.load is None else read(sample.load)


def server(read: Callable[[ServerPart], float | None]) -> Figure:
    return lambda sample: None if sample.server is None else read(sample.server)


def host(read: Callable[[HostPart], float | None]) -> Figure:
    return lambda sample: None if sample.host is None else read(sample.host)


def latency(name: str) -> Figure:
    """A percentile of the response times, by its field."""
    return load(lambda part: None if part.latency is None else float(getattr(part.latency, name)))


def _bytes(value: float | None) -> str:
    return units.DASH if value is None else f"{_spaced(value)}B/s"


def _memory(value: float | None) -> str:
    return units.DASH if value is None else f"{_spaced(value)}B"


def _spaced(value: float) -> str:
    """A number, and a blank before its unit where no prefix has brought one."""
    text = units.si(value)
    return f"{text} " if text[-1].isdigit() else text


def _percent(value: float | None) -> str:
    return units.percent(value)


PLOTS = (
    Plot(
        "tps",
        "Transactions",
        "a second",
        (
            Line("TPS", load(lambda part: part.transactions_per_second)),
            Line("asked for", load(lambda part: part.rate or None), dashed=True),
        ),
    ),
    Plot(
        "latency",
        "Response time",
        "logarithmic",
        (Line("p50", latency("p50")), Line("p95", latency("p95")), Line("p99", latency("p99"))),
        units.milliseconds,
        logarithmic=True,
    ),
    Plot(
        "queries",
        "Queries",
        "a second, stacked",
        (
            Line("reads", load(lambda part: part.reads_per_second)),
            Line("writes", load(lambda part: part.writes_per_second)),
            Line("others", load(lambda part: part.others_per_second)),
        ),
        stacked=True,
    ),
    Plot(
        "threads",
        "Threads and connections",
        "",
        (
            Line("asked for", load(lambda part: part.threads), dashed=True),
            Line("open", load(lambda part: part.connections)),
            Line("running", server(lambda part: part.threads_running)),
        ),
        group="Load",
    ),
    Plot(
        "backlog",
        "Backlog",
        "transactions due",
        (Line("due", load(lambda part: part.backlog)),),
        rare=True,
        group="Load",
    ),
    Plot(
        "mishaps",
        "Errors and reconnects",
        "a second",
        (
            Line("errors", load(lambda part: part.errors_per_second)),
            Line("reconnects", load(lambda part: part.reconnects_per_second)),
        ),
        rare=True,
        group="Load",
    ),
    Plot(
        "commits",
        "Commits and log fsyncs",
        "a second",
        (
            Line("commits", server(lambda part: part.commits_per_second)),
            Line("log fsyncs", server(lambda part: part.log_fsyncs_per_second)),
        ),
        group="Server",
    ),
    Plot(
        "fsyncs",
        "Log fsyncs for each transaction",
        "",
        (Line("fsyncs/trx", server(lambda part: part.log_fsyncs_per_transaction)),),
        units.small,
        group="Server",
    ),
    Plot(
        "written",
        "Written by InnoDB",
        "a second",
        (
            Line("all", growth_of="Innodb_data_written"),
            Line("redo log", growth_of="Innodb_os_log_written"),
        ),
        _bytes,
        group="Server",
    ),
    Plot(
        "locks",
        "Row lock waits",
        "a second",
        (Line("waits", server(lambda part: part.row_lock_waits_per_second)),),
        rare=True,
        group="Server",
    ),
    Plot(
        "pages",
        "Pages read from disk",
        "a second",
        (Line("reads", growth_of="Innodb_buffer_pool_reads"),),
        rare=True,
        group="Server",
    ),
    Plot(
        "tables",
        "Open tables",
        "",
        (
            Line("open", server(lambda part: part.open_tables)),
            Line("cache", server(lambda part: part.table_open_cache), dashed=True),
        ),
        group="Server",
    ),
    Plot(
        "slow",
        "Slow queries",
        "",
        (Line("slow", server(lambda part: part.slow_queries)),),
        rare=True,
        group="Server",
    ),
    Plot(
        "cpu",
        "Processors",
        "of all, stacked",
        (
            Line("server", host(lambda part: part.cpu_server)),
            Line("tuibench", host(lambda part: part.cpu_tuibench)),
            Line("rest", host(lambda part: part.cpu_rest)),
        ),
        _percent,
        stacked=True,
        maximum=100.0,
        group="Host",
    ),
    Plot(
        "memory",
        "Memory",
        "",
        (
            Line("used", host(lambda part: float(part.memory_used_bytes))),
            Line("server", host(lambda part: part.memory_server_bytes)),
        ),
        _memory,
        group="Host",
    ),
    Plot(
        "disk",
        "Disks",
        "a second",
        (
            Line("written", host(lambda part: part.disk_write_bytes_per_second)),
            Line("read", host(lambda part: part.disk_read_bytes_per_second)),
        ),
        _bytes,
        group="Host",
    ),
    Plot(
        "network",
        "Network",
        "a second",
        (
            Line("received", host(lambda part: part.net_received_bytes_per_second)),
            Line("sent", host(lambda part: part.net_sent_bytes_per_second)),
        ),
        _bytes,
        rare=True,
        group="Host",
    ),
    Plot(
        "client",
        "The busiest worker",
        "of a core",
        (Line("worker", load(lambda part: 100 * part.worker_cpu)),),
        _percent,
        group="Client",
    ),
    Plot(
        "lag",
        "Lateness of its loop",
        "99th percentile",
        (Line("late", load(lambda part: part.lag_p99_ms)),),
        units.milliseconds,
        group="Client",
    ),
)
