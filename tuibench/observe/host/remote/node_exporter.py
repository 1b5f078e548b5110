"""Reads a remote host from its node_exporter: one request per reading, limited to the collectors needed.

A node_exporter has host figures but no processes: the server's share is unknown.
"""

import asyncio
import re
from collections.abc import Iterator
from http.client import HTTPException
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from tuibench.clock import NS_PER_SECOND
from tuibench.model.server import ServerInfo
from tuibench.observe.host.figures import HostTotals, MemoryUse
from tuibench.observe.host.remote.source import HostAddress, HostReading, HostSource, HostSourceError
from tuibench.observe.host.totals import CpuTime, DiskTotals

COLLECTORS = ("cpu", "meminfo", "diskstats", "netdev", "time")
QUERY = "&".join(f"collect[]={name}" for name in COLLECTORS)
MAX_BYTES = 16 << 20
NOTE = "node_exporter has no figures of processes; ssh: has"
BAD_REQUEST = 400
MS_PER_SECOND = 1000.0

_LINE = re.compile(r"(node_\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_PASS_ON = re.compile(
    r"(lo|loop|ram|zram|dm-|md|sr|veth|docker|br-|virbr|bond|team|tun|tap|cali|flannel|cni)[\d\w.-]*"
)
"""Devices that duplicate the traffic of others, or are not real devices."""


class Figure(NamedTuple):
    """One line of the page."""

    name: str
    labels: dict[str, str]
    value: float


class NodeExporterSource(HostSource):
    """`timeout_seconds` limits each request."""

    def __init__(self, address: HostAddress, timeout_seconds: float) -> None:
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._query = "" if urlsplit(address.url).query else f"?{QUERY}"

    async def read(self) -> HostReading:
        """One reading. Raises HostSourceError."""
        where = urlsplit(self._address.url).netloc
        try:
            page = await asyncio.to_thread(self._get)
        except (HTTPException, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise HostSourceError(f"node_exporter {where}: {reason}") from error
        totals = parse_page(page)
        if totals is None:
            raise HostSourceError(f"{where} answers, but is not a node_exporter of a Linux host")
        return HostReading(totals, len(totals.cores), None, NOTE)

    def follow(self, server: ServerInfo) -> None:
        """Nothing to do: the host remains the same."""

    async def close(self) -> None:
        """Nothing to do: no connection is open between readings."""

    def _get(self) -> str:
        """The page. An exporter without one of the collectors refuses the query: then all collectors are
        requested.
        """
        try:
            return self._get_url(self._address.url + self._query)
        except HTTPError as error:
            error.close()
            if error.code != BAD_REQUEST or not self._query:
                raise
        self._query = ""
        return self._get_url(self._address.url)

    def _get_url(self, url: str) -> str:
        with build_opener(ProxyHandler({})).open(url, timeout=self._timeout_seconds) as answer:
            return str(answer.read(MAX_BYTES).decode("utf-8", errors="replace"))


def parse_figures(page: str) -> Iterator[Figure]:
    """The lines of node_exporter's own metrics; others are ignored."""
    for line in page.splitlines():
        if match := _LINE.match(line):
            name, labels, value = match.groups()
            try:
                yield Figure(name, dict(_LABEL.findall(labels or "")), float(value))
            except ValueError:
                continue


def parse_page(page: str) -> HostTotals | None:
    """The totals of a page, by that host's own clock; None if the processors or the time are missing."""
    figures = list(parse_figures(page))
    plain = {figure.name: figure.value for figure in figures if not figure.labels}
    at = plain.get("node_time_seconds")
    cores = _cores(figures)
    memory = _memory(plain)
    if at is None or not cores or memory is None:
        return None
    return HostTotals(
        at_ns=round(at * NS_PER_SECOND),
        machine=CpuTime(*(sum(values) for values in zip(*cores, strict=True))),
        cores=tuple(cores),
        disk=_disks(figures),
        net=_network(figures),
        memory=memory,
    )


def _cores(figures: list[Figure]) -> list[CpuTime]:
    """Processor times by core number; these modes do not include guest time."""
    modes: dict[str, dict[str, float]] = {}
    for figure in figures:
        if figure.name == "node_cpu_seconds_total" and "mode" in figure.labels:
            modes.setdefault(figure.labels.get("cpu", ""), {})[figure.labels["mode"]] = figure.value
    ordered = sorted(modes, key=lambda core: (len(core), core))
    return [_cpu_time(modes[core]) for core in ordered]


def _cpu_time(modes: dict[str, float]) -> CpuTime:
    total = sum(modes.values())
    return CpuTime(total - modes.get("idle", 0.0) - modes.get("iowait", 0.0), total, modes.get("steal", 0.0))


def _memory(plain: dict[str, float]) -> MemoryUse | None:
    total, available = plain.get("node_memory_MemTotal_bytes"), plain.get("node_memory_MemAvailable_bytes")
    if total is None or available is None:
        return None
    swap, free = plain.get("node_memory_SwapTotal_bytes"), plain.get("node_memory_SwapFree_bytes")
    return MemoryUse(
        used=int(total - available),
        total=int(total),
        swap_used=None if swap is None or free is None else int(swap - free),
        swap_total=None if swap is None else int(swap),
    )


def _by_device(figures: list[Figure], name: str) -> dict[str, float]:
    return {
        figure.labels["device"]: figure.value
        for figure in figures
        if figure.name == name and "device" in figure.labels
    }


def _own_devices(names: dict[str, float]) -> set[str]:
    """Devices of the host itself; if there are none, all except loopbacks."""
    own = {name for name in names if not _PASS_ON.fullmatch(name)}
    return own or {name for name in names if not name.startswith(("lo", "ram", "zram"))}


def _disks(figures: list[Figure]) -> DiskTotals | None:
    tables = [
        _by_device(figures, f"node_disk_{name}_total")
        for name in (
            "read_bytes", "written_bytes", "reads_completed", "writes_completed", "read_time_seconds",
            "write_time_seconds",
        )
    ]  # fmt: skip
    wanted = _own_devices(tables[0])
    if not wanted:
        return None
    read, written, reads, writes, read_seconds, write_seconds = (
        sum(value for device, value in table.items() if device in wanted) for table in tables
    )
    return DiskTotals(
        read_bytes=int(read),
        written_bytes=int(written),
        reads=int(reads),
        writes=int(writes),
        read_ms=int(read_seconds * MS_PER_SECOND),
        write_ms=int(write_seconds * MS_PER_SECOND),
    )


def _network(figures: list[Figure]) -> tuple[int, int] | None:
    received, sent = (
        _by_device(figures, f"node_network_{name}_bytes_total") for name in ("receive", "transmit")
    )
    wanted = _own_devices(received)
    if not wanted:
        return None
    return int(sum(received[name] for name in wanted)), int(sum(sent.get(name, 0.0) for name in wanted))
