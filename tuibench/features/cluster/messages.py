"""Messages between a session and the agents of a load from several hosts: theory of operation.

    agent    MAGIC AgentHello ···········  BeatReply ···  HostReport ···  ErrorMessage
    session        AcceptHost StartHost    Beat ···       At(instant, RequestReport) ···

The carrier is a stream of bytes in both directions: the stdin and stdout of a command such as ssh, or a
stream to a Dask worker. Bytes before MAGIC are a greeting of the login shell, and are skipped.

Beats are handled by a separate task on both sides. A beat renews the lease, and its reply is a reading of the
host's clocks; the reading with the shortest round trip determines the clock offset.

A command contains the instant at which it takes effect, by the clock of its host, so that all hosts switch at
the same time. Commands keep their order. A command that arrives after its instant takes effect immediately,
and the host reports the delay.

Only AgentHello and its field `protocol` are the same in every version. A change to any other message that an
older agent would misread increases PROTOCOL.

An agent merges the reports of its workers to one report: counters are added, histograms bucket by bucket.
"""

import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

import msgspec

from tuibench.base.clock import NS_PER_SECOND
from tuibench.load.fleet import Loss
from tuibench.load.messages import (
    Beat,
    ConnectionIds,
    Counters,
    FairnessStats,
    Finished,
    GapsOfWorkers,
    MessageChannel,
    Reassign,
    StartLoad,
    WorkerCommand,
    WorkerReport,
)
from tuibench.model.findings import ErrorMessage
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target
from tuibench.model.tick import Histogram, Tick, fold_histograms, slowest_of

# Packed histograms
#
# A report of a loaded host has some 20,000 buckets. Decoding and adding them one by one would take 4 ms of
# the session's event loop, which would limit the number of hosts. Histograms are therefore sent packed: the
# counts of 64 neighbouring buckets are a block of 32-bit lanes, and empty blocks are left out. All lanes of a
# histogram are one long integer, so that the sum of two histograms is the sum of two integers. The sum of all
# counts is kept below 2³², so that no lane overflows into the next one. The reports of a round are added up
# before they are unpacked.

LANES = 64
BLOCK_BITS = 6
LANE_BYTES = 4
LANE_CODE = "I" if array("I").itemsize == LANE_BYTES else "L"
EMPTY_BLOCK = bytes(LANES * LANE_BYTES)
LANE_LIMIT = 1 << (8 * LANE_BYTES)


class PackedHistogram(msgspec.Struct, frozen=True, array_like=True):
    """A histogram in packed form, with exact count, sum, minimum and maximum."""

    blocks: dict[int, bytes] = {}
    """The counts of `LANES` buckets each, as little-endian numbers, by the number of the block."""
    count: int = 0
    sum_us: int = 0
    min_us: int = 0
    max_us: int = 0


def pack(histogram: Histogram) -> PackedHistogram:
    """Pack a histogram for a report."""
    blocks: dict[int, array[int]] = {}
    for bucket, times in histogram.counts.items():
        block = blocks.get(bucket >> BLOCK_BITS)
        if block is None:
            block = blocks[bucket >> BLOCK_BITS] = array(LANE_CODE, EMPTY_BLOCK)
        block[bucket & (LANES - 1)] = times
    if sys.byteorder == "big":
        for block in blocks.values():
            block.byteswap()
    return PackedHistogram(
        {number: block.tobytes() for number, block in blocks.items()},
        histogram.count,
        histogram.sum_us,
        histogram.min_us,
        histogram.max_us,
    )


class HistogramSum:
    """Adds packed histograms up."""

    def __init__(self) -> None:
        self._lanes = 0
        self._lane_count = 0
        self._sum = Histogram()
        self._closed = Histogram()

    def add(self, packed: PackedHistogram) -> None:
        if not packed.count:
            return
        if self._lane_count + packed.count >= LANE_LIMIT:
            self._close()
        dense = b"".join(map(packed.blocks.get, range(max(packed.blocks) + 1), repeat(EMPTY_BLOCK)))
        self._lanes += int.from_bytes(dense, "little")
        self._lane_count += packed.count
        self._sum.add(Histogram({}, packed.count, packed.sum_us, packed.min_us, packed.max_us))

    def histogram(self) -> Histogram:
        """The sum of all added histograms."""
        self._close()
        return self._closed

    def _close(self) -> None:
        """Add the lanes to the sum, and clear them."""
        size = -(-self._lanes.bit_length() // (8 * LANE_BYTES)) * LANE_BYTES
        lanes = array(LANE_CODE, self._lanes.to_bytes(size, "little"))
        if sys.byteorder == "big":
            lanes.byteswap()
        exact = self._sum
        counts = {bucket: times for bucket, times in enumerate(lanes) if times}
        self._closed.add(Histogram(counts, exact.count, exact.sum_us, exact.min_us, exact.max_us))
        self._lanes, self._lane_count, self._sum = 0, 0, Histogram()


def sum_by_name(rounds: Iterable[Mapping[str, PackedHistogram]]) -> dict[str, Histogram]:
    """The exact sum of the histograms of each name."""
    sums: dict[str, HistogramSum] = {}
    for histograms in rounds:
        for name, packed in histograms.items():
            sums.setdefault(name, HistogramSum()).add(packed)
    return {name: each.histogram() for name, each in sums.items()}


PROTOCOL = 3
MAGIC = b"\ntuibench agent speaks\n"
BEAT_SECONDS = 0.5


class AgentHello(msgspec.Struct, frozen=True, tag="agent hello", kw_only=True):
    """First message of an agent: the properties of the host."""

    protocol: int
    version: str = ""
    python: str = ""
    name: str = ""
    cores: int = 1
    descriptors: int = 0
    """The limit of open files of a process."""
    native: str = ""
    """The version of the native engine; empty if it is not installed."""
    namespaces: tuple[str, ...] = ()
    """Ids of machine, network and mounts: a host with the session's ids shares its loopback and sockets."""


class AcceptHost(msgspec.Struct, frozen=True, tag="accept", kw_only=True):
    """The session takes this host."""

    lease_seconds: float
    """The load of the host ends this long after the last beat."""


class BeatReply(msgspec.Struct, frozen=True, tag="beat reply"):
    """The reply to a beat."""

    sent_ns: int
    """The session's clock in the beat."""
    now_ns: int
    """The host's monotonic clock."""
    wall_seconds: float
    """The host's wall clock."""


class StartHost(msgspec.Struct, frozen=True, tag="start host", kw_only=True):
    """Start a load."""

    begin: StartLoad
    plan: RunPlan


class CheckServer(msgspec.Struct, frozen=True, tag="check server"):
    """Log in to the server once, and disconnect."""

    target: Target


class ServerReached(msgspec.Struct, frozen=True, tag="server reached", kw_only=True):
    """Result of a login to the server."""

    seconds: float
    """The duration of the login."""
    problem: str = ""
    """The reason for its failure; empty if it succeeded."""


Command = WorkerCommand | StartHost | CheckServer


class TimedCommand(msgspec.Struct, frozen=True, tag="at"):
    """A command with the time at which it takes effect."""

    at_ns: int
    """By the host's monotonic clock."""
    command: Command


class HostReport(msgspec.Struct, frozen=True, tag="host report", kw_only=True):
    """The merged report of a host's workers, with the state of the host."""

    report: WorkerReport
    """The merged report, without histograms."""
    latencies: dict[str, PackedHistogram]
    """The histograms of the report."""
    workers: int
    """The number of workers."""
    p95_us: float | None = None
    """The 95th percentile of the host's transactions; None without a transaction."""
    sample: Tick | None = None
    """The sample of the host; None if it could not be read."""
    losses: tuple[Loss, ...] = ()
    """Workers that have ended since the last report."""
    overdue: tuple[str, ...] = ()
    """Workers whose report is overdue."""
    silent: tuple[str, ...] = ()
    """Those of them that do not run."""
    unresponsive: tuple[str, ...] = ()
    """Workers that did not report the end of their load."""
    late_commands_ms: float = 0.0
    """The largest delay of a command since the last report."""
    ended_ns: int = 0
    """The end of the load by the host's clock; 0 while it runs."""


ToAgent = AcceptHost | Beat | TimedCommand
FromAgent = (
    AgentHello | BeatReply | HostReport | ConnectionIds | Reassign | Finished | ServerReached | ErrorMessage
)
AgentChannel = MessageChannel[ToAgent]
HostChannel = MessageChannel[FromAgent]


class ReportMerger:
    """Merges the reports of several workers to reports of one worker, with the number `worker`.

    Counters are cumulative: a worker that did not report, or was replaced, counts with its last report.
    """

    def __init__(self, worker: int, now_ns: int) -> None:
        self._worker = worker
        self._merged_ns = now_ns
        self._last: dict[int, WorkerReport] = {}
        self._gaps = GapsOfWorkers()

    def merge(self, reports: Sequence[WorkerReport], now_ns: int) -> WorkerReport:
        """Merge the reports of one round. Its `seconds` are the time since the round before."""
        seconds = max(1, now_ns - self._merged_ns) / NS_PER_SECOND
        self._merged_ns = now_ns
        self._last.update({report.worker: report for report in reports})
        hists: dict[str, Histogram] = {}
        for report in reports:
            self._gaps.add(report.worker, report.gaps)
            fold_histograms(hists, report.hists)
        known = self._last.values()
        return WorkerReport(
            worker=self._worker,
            seconds=seconds,
            cpu_seconds=sum(report.cpu_seconds for report in reports),
            core_seconds=seconds * max(map(busy_share, reports), default=0.0),
            lag_p99_ms=max((report.lag_p99_ms for report in reports), default=0.0),
            connections=sum(report.connections for report in known),
            counters=sum((report.counters for report in known), Counters()),
            hists=hists,
            slowest=slowest_of(slow for report in reports for slow in report.slowest),
            gaps=self._gaps.common,
            idle_connections=sum(report.idle_connections for report in known),
            idle_refusal=next((report.idle_refusal for report in known if report.idle_refusal), ""),
            fairness=sum((report.fairness for report in known), FairnessStats()),
            fairness_since=sum((report.fairness_since for report in known), FairnessStats()),
            last_refusal=next((report.last_refusal for report in reports if report.last_refusal), ""),
            failure=next((report.failure for report in known if report.failure), ErrorMessage()),
        )


def busy_share(report: WorkerReport) -> float:
    """The share of a core (0 to 1) that a worker's busiest thread used."""
    cpu = report.cpu_seconds if report.core_seconds is None else report.core_seconds
    return cpu / report.seconds if report.seconds else 0.0
