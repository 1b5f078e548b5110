"""What a tick costs the session with many hosts: CPU time to decode their reports and to add them up.

    python -m tests.bench.cluster [--hosts 64] [--buckets 21384]

Needs no server and no hosts: the reports are made up, each as wide as that of a loaded host (21,384 buckets,
85 KB as plain histograms). Half of the buckets lie side by side, half are scattered over slower times.
"""

import argparse
import gc
import random
import statistics
import time
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from tuibench.base.clock import NS_PER_SECOND
from tuibench.features.cluster.messages import FromAgent, HostReport, ReportMerger, pack, sum_by_name
from tuibench.load.messages import Counters, FairnessStats, WorkerReport
from tuibench.model.tick import Histogram, Tick, bucket_upper_bound
from tuibench.session.account import Account
from tuibench.session.load_ticks import LoadTicks

STATEMENTS = 9
"""Those of oltp_read_write; with response and service times there are eleven histograms."""

TICKS = 12
SCATTERED_OVER = 5_000


def histogram(buckets: int, numbers: random.Random) -> Histogram:
    """A histogram of so many buckets; most of them hold a few values."""
    first = numbers.randrange(200, 400)
    close = range(first, first + buckets // 2)
    scattered = numbers.sample(range(close.stop, close.stop + SCATTERED_OVER), buckets - len(close))
    counts = {place: 1 + int(numbers.expovariate(0.5)) for place in (*close, *scattered)}
    total = sum(counts.values())
    return Histogram(
        counts,
        total,
        sum(times * bucket_upper_bound(bucket) for bucket, times in counts.items()),
        first,
        bucket_upper_bound(max(counts)),
    )


def report(worker: int, buckets: int, numbers: random.Random) -> WorkerReport:
    """A report with so many buckets in all."""
    each = buckets // (STATEMENTS + 2)
    transactions = histogram(each, numbers)
    return WorkerReport(
        worker=worker,
        seconds=1.0,
        cpu_seconds=7.0,
        core_seconds=0.9,
        lag_p99_ms=0.3,
        connections=128,
        counters=Counters(scheduled=transactions.count, completed=transactions.count, errors={1213: 3}),
        hists={
            "response": transactions,
            "service": histogram(each, numbers),
            **{f"stmt.statement {number}": histogram(each, numbers) for number in range(STATEMENTS)},
        },
        fairness=FairnessStats.of([(1.0, 1.0), (2.0, 2.0)]),
    )


def measure(hosts: int, buckets: int) -> None:
    numbers = random.Random(1)
    plain = [report(host, buckets, numbers) for host in range(hosts)]
    frames = [msgspec.msgpack.encode(packed(each)) for each in plain]
    decoder: msgspec.msgpack.Decoder[FromAgent] = msgspec.msgpack.Decoder(FromAgent)
    reported, account, decoding, adding = LoadTicks(), Account(), [], []
    gc.collect()
    for _ in range(TICKS):
        began = time.process_time()
        messages = [message for message in map(decoder.decode, frames) if isinstance(message, HostReport)]
        decoded = time.process_time()
        first, *others = [message.report for message in messages]
        reports = [replace(first, hists=sum_by_name(message.latencies for message in messages)), *others]
        reported.add(reports)
        account.add(reported.take() or Tick())
        decoding.append(decoded - began)
        adding.append(time.process_time() - decoded)
    both = [one + other for one, other in zip(decoding, adding, strict=True)]
    print(
        f"{hosts} hosts, {buckets} buckets a report: {mean_size(map(msgspec.msgpack.encode, plain)):.0f} KB, "
        f"packed {mean_size(frames):.0f} KB; CPU of the session in ms a tick:"
    )
    print(f"  decoding {milliseconds(decoding)}, adding up {milliseconds(adding)}")
    print(f"  together {milliseconds(both)} (median), {1000 * max(both):.0f} (most)")
    _measure_agent(buckets, numbers)


def packed(plain: WorkerReport) -> HostReport:
    latencies = {name: pack(each) for name, each in plain.hists.items()}
    return HostReport(report=replace(plain, hists={}), latencies=latencies, workers=8)


def mean_size(frames: Iterable[bytes]) -> float:
    return statistics.mean(len(frame) / 1000 for frame in frames)


def milliseconds(seconds: list[float]) -> str:
    return f"{1000 * statistics.median(seconds):.0f}"


def _measure_agent(buckets: int, numbers: random.Random) -> None:
    """The same for an agent that merges and packs the reports of eight workers."""
    reports, merger, spent = [report(worker, buckets, numbers) for worker in range(8)], ReportMerger(0, 0), []
    for tick in range(1, TICKS + 1):
        began = time.process_time()
        msgspec.msgpack.encode(packed(merger.merge(reports, tick * NS_PER_SECOND)))
        spent.append(time.process_time() - began)
    print(f"an agent, to merge and pack the reports of 8 workers: {milliseconds(spent)} ms a tick")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=64)
    parser.add_argument("--buckets", type=int, default=21_384)
    given = parser.parse_args()
    measure(given.hosts, given.buckets)


if __name__ == "__main__":
    main()
