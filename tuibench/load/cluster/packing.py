"""Packed histograms of a host's report, and their exact sum over all hosts: theory of operation.

Adding up is what limits the number of hosts: a report of a loaded host has some 20,000 buckets, and decoding
and adding them one by one takes 4 ms of the session's event loop.

Packed, the counts of 64 neighbouring buckets are a block of 32-bit lanes; empty blocks are left out. All
lanes of a histogram are one long integer, and the sum of two histograms is the sum of two integers, which the
interpreter adds as machine words. No lane overflows into the next: the sum of all counts is kept below 2³².
The reports of a round are added up before they are unpacked, once.
"""

import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

import msgspec
from msgspec.structs import replace

from tuibench.load.worker_report import WorkerReport
from tuibench.model.histogram import Histogram

LANES = 64
BLOCK_BITS = 6
LANE_BYTES = 4
LANE_CODE = "I" if array("I").itemsize == LANE_BYTES else "L"
EMPTY_BLOCK = bytes(LANES * LANE_BYTES)
P95 = (95.0,)
LANE_LIMIT = 1 << (8 * LANE_BYTES)


class PackedHistogram(msgspec.Struct, frozen=True, array_like=True):
    """The counts of a histogram in blocks, by their number, little-endian; exact count, sum and extremes."""

    blocks: dict[int, bytes] = {}
    count: int = 0
    sum_us: int = 0
    min_us: int = 0
    max_us: int = 0


class PackedLatencies(msgspec.Struct, frozen=True, kw_only=True):
    """The histograms of a report. `p95_us` is that of its transactions, None without one."""

    transactions: PackedHistogram = PackedHistogram()
    service: PackedHistogram = PackedHistogram()
    logins: PackedHistogram = PackedHistogram()
    waits: PackedHistogram = PackedHistogram()
    statements: dict[str, PackedHistogram] = {}
    by_transaction: dict[str, PackedHistogram] = {}
    p95_us: float | None = None


def pack(histogram: Histogram) -> PackedHistogram:
    """The same histogram, packed."""
    blocks: dict[int, array[int]] = {}
    for bucket, times in histogram.counts.items():
        block = blocks.get(bucket >> BLOCK_BITS)
        if block is None:
            block = blocks[bucket >> BLOCK_BITS] = array(LANE_CODE, EMPTY_BLOCK)
        block[bucket & (LANES - 1)] = times
    return PackedHistogram(
        {number: _little_endian(block) for number, block in blocks.items()},
        histogram.count,
        histogram.sum_us,
        histogram.min_us,
        histogram.max_us,
    )


def pack_report(report: WorkerReport) -> tuple[WorkerReport, PackedLatencies]:
    """Splits a report into the report without histograms, and the packed histograms."""
    transactions = report.transactions
    packed = PackedLatencies(
        transactions=pack(transactions),
        service=pack(report.service),
        logins=pack(report.logins),
        waits=pack(report.waits),
        statements={name: pack(each) for name, each in report.statements.items()},
        by_transaction={name: pack(each) for name, each in report.by_transaction.items()},
        p95_us=transactions.percentiles(P95)[0] if transactions.count else None,
    )
    none: dict[str, Histogram] = {}
    single = {name: Histogram() for name in ("transactions", "service", "logins", "waits")}
    bare = replace(report, statements=none, by_transaction=none, **single)
    return bare, packed


def with_sum(report: WorkerReport, latencies: Sequence[PackedLatencies]) -> WorkerReport:
    """A report with the sum of these histograms."""
    return replace(
        report,
        transactions=sum_histograms(each.transactions for each in latencies),
        service=sum_histograms(each.service for each in latencies),
        logins=sum_histograms(each.logins for each in latencies),
        waits=sum_histograms(each.waits for each in latencies),
        statements=sum_by_name(each.statements for each in latencies),
        by_transaction=sum_by_name(each.by_transaction for each in latencies),
    )


def _little_endian(block: "array[int]") -> bytes:
    if sys.byteorder == "big":
        block.byteswap()
    return block.tobytes()


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
        """The sum."""
        self._close()
        return self._closed

    def _close(self) -> None:
        """Moves the lanes to the sum, and resets them."""
        size = -(-self._lanes.bit_length() // (8 * LANE_BYTES)) * LANE_BYTES
        lanes = array(LANE_CODE, self._lanes.to_bytes(size, "little"))
        if sys.byteorder == "big":
            lanes.byteswap()
        exact = self._sum
        counts = {bucket: times for bucket, times in enumerate(lanes) if times}
        self._closed.add(Histogram(counts, exact.count, exact.sum_us, exact.min_us, exact.max_us))
        self._lanes, self._lane_count, self._sum = 0, 0, Histogram()


def sum_histograms(packed: Iterable[PackedHistogram]) -> Histogram:
    """The exact sum of several histograms."""
    total = HistogramSum()
    for each in packed:
        total.add(each)
    return total.histogram()


def sum_by_name(rounds: Iterable[Mapping[str, PackedHistogram]]) -> dict[str, Histogram]:
    """The exact sum of the histograms of each name."""
    sums: dict[str, HistogramSum] = {}
    for histograms in rounds:
        for name, packed in histograms.items():
            sums.setdefault(name, HistogramSum()).add(packed)
    return {name: each.histogram() for name, each in sums.items()}
