"""`python -m tests.bench.disk_delays`: does a simulated disk take as much longer as it is told?

Reads, writes and flushes of each kind of file are delayed in turns, in alternation with windows without.
Three witnesses for each delay: the calls of the server (the mean delay of a call), the time of a transaction
(N / TPS: longer by the delay times the calls of a transaction in the foreground), and the account of time.
Each is right within 5 % of the delay or 0.1 ms a call. The windows without a delay, before and after, are
compared at the end.
"""

import argparse
import asyncio
import os
import tempfile
from statistics import mean
from typing import NamedTuple

from tests.bench.hardware_windows import Load, Window, windows
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.hardware import Hardware
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer

SHARE, LEAST_MS, SAME_SHARE = 0.05, 0.1, 0.02
DELAYS_MS = (0.5, 2.0, 10.0)
SMALL = {"tables": 1, "table_size": 500}
COLD = {"tables": 1, "table_size": 200_000}
"""More than the buffer pool has: a read of a row reads a page."""
OPTIONS = ("--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
SMALL_POOL = "--innodb-buffer-pool-size=8M"
FLUSHING = ("--innodb-io-capacity=2000", "--innodb-max-dirty-pages-pct=0")


class Case(NamedTuple):
    """A delay, and where it is to be seen."""

    part: tuple[str, str]
    load: Load
    waits: tuple[WaitClass, ...] = ()
    """Its classes in the account of time; empty for I/O of the background, which no transaction waits for."""
    options: tuple[str, ...] = ()


WRITER, READER = Load("oltp_update_index", 1, SMALL), Load("oltp_point_select", 1, COLD)
COMMIT = (WaitClass.COMMIT, WaitClass.BINARY_LOG)
CASES = (
    Case(("redo", "fsync"), WRITER, COMMIT),
    Case(("binlog", "fsync"), WRITER, COMMIT),
    Case(("redo", "write"), WRITER, COMMIT),
    Case(("binlog", "write"), WRITER, COMMIT),
    Case(("data", "read"), READER, (WaitClass.PAGE_READ,), (SMALL_POOL,)),
    Case(("data", "write"), WRITER, (), FLUSHING),
    Case(("data", "fsync"), WRITER, (), FLUSHING),
    Case(("doublewrite", "write"), WRITER, (), FLUSHING),
)


def is_right(seen_ms: float, told_ms: float) -> bool:
    return abs(seen_ms - told_ms) <= max(SHARE * told_ms, LEAST_MS)


def judged(case: Case, delay_ms: float, base: list[Window], slow: list[Window]) -> bool:
    """Print what the witnesses say; True if all are right."""
    io = [window.io_of(case.part) for window in slow]
    calls = sum(count.calls for count in io)
    name = f"{'.'.join(case.part)}={delay_ms:g}ms"
    if not calls:
        print(f"  {name}: no such call in this load", flush=True)
        return True
    seen = {"calls": sum(count.delayed_ns for count in io) / calls / 1e6}
    if case.waits:
        rate = calls / sum(window.completed for window in slow)
        longer = [mean(w.transaction_ms for w in side) for side in (slow, base)]
        seen["transaction"] = (longer[0] - longer[1]) / rate
        account = [mean(w.account_ms(*case.waits) for w in side) for side in (slow, base)]
        seen["account"] = (account[0] - account[1]) / rate
    right = {witness: is_right(value, delay_ms) for witness, value in seen.items()}
    texts = (
        f"{witness} {value:.2f} ms{'' if right[witness] else ' WRONG'}" for witness, value in seen.items()
    )
    print(f"  {name}: {', '.join(texts)}", flush=True)
    return all(right.values())


async def bench(path: str, seconds: float, cycles: int) -> None:
    binary = await asyncio.to_thread(binaries.inspect_binary, path or next(binaries.binary_candidates()))
    wrong = 0
    quiet: list[float] = []
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="tb-") as home:
        os.environ["TUIBENCH_HOME"] = home
        for options in dict.fromkeys(case.options for case in CASES):
            async with await PrivateServer.start(
                binary, options=(*OPTIONS, *options), disk=Hardware()
            ) as server:
                for case in CASES:
                    if case.options != options:
                        continue
                    name = ".".join(case.part)
                    told = ["0", *(f"{name}={delay_ms:g}ms" for delay_ms in DELAYS_MS)] * cycles
                    found = await windows(server, case.load, [*told, "0"], seconds)
                    every = len(DELAYS_MS) + 1
                    base = found[::every]
                    for number, delay_ms in enumerate(DELAYS_MS, 1):
                        wrong += not judged(case, delay_ms, base, found[number::every])
                    quiet.append(base[-1].tps / base[0].tps)
    off = mean(quiet)
    print(f"{binary}: {wrong} of {len(CASES) * len(DELAYS_MS)} delays are wrong", flush=True)
    print(f"switched off, TPS is {100 * (off - 1):+.1f} % (of {len(quiet)} loads)", flush=True)
    raise SystemExit(1 if wrong or abs(off - 1) > SAME_SHARE else 0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.disk_delays", description=__doc__)
    parser.add_argument("--server", default="", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a window [3]")
    parser.add_argument("--cycles", type=int, default=2, help="windows of each delay [2]")
    options = parser.parse_args()
    asyncio.run(bench(options.server, options.seconds, options.cycles))


if __name__ == "__main__":
    main()
