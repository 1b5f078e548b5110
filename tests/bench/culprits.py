"""`python -m tests.bench.culprits`: how many planted stalls are explained by their culprit.

Each kind of stall is planted several times under a load on a private server: locks of a row, a table and the
whole server, a user lock, DDL behind a reader, delays of a purge that is behind, a full redo log. A stall is
explained if its event and the run's summary name the connection that holds the lock, or the delay.
"""

import argparse
import asyncio
import os
import tempfile

from tests.faults.load import loaded
from tests.integration.support.stalls import (
    EVERY_PLANT,
    bystanders,
    plant,
    stallable,
    stalling_spec,
)
from tuibench.load.tables import prepare_tables
from tuibench.report.effects import stalls_line
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

SIZE = {"tables": 2, "table_size": 500}


async def series(server: PrivateServer, planted: str, times: int) -> int:
    """Plants a kind of stall several times in one run; in how many of them the culprit is named."""
    holders: list[tuple[float, int]] = []
    async with bystanders(server), loaded(stalling_spec(server, planted)) as load:
        watcher = load.watcher
        for _ in range(times):
            begun = watcher.samples[-1].tick.end
            holders.append((begun, await plant(server, load, planted)))
            await load.settles()
        summary = await load.stop()
    assert summary.steadiness is not None
    line = stalls_line(summary.steadiness)
    told = [event.text for event in summary.events]
    found = 0
    for place, (begun, holder) in enumerate(holders):
        end = holders[place + 1][0] if place + 1 < len(holders) else float("inf")
        inside = [stall for stall in summary.steadiness.stalls if begun - 0.5 <= stall.start_seconds < end]
        longest = max(inside, key=lambda stall: stall.seconds, default=None)
        is_right = longest is not None and EVERY_PLANT[planted].explains(longest, holder)
        text = longest.culprit.text if longest is not None and longest.culprit is not None else ""
        is_told = bool(text) and any(text in each for each in told) and text in line
        found += is_right and is_told
        length = f"{longest.seconds:.1f} s" if longest is not None else "no stall"
        verdict = "named" if is_right and is_told else "right, not told" if is_right else "MISSED"
        conditions = "" if is_right or longest is None else f"  {longest.conditions}"
        print(f"  {planted} ({holder}): {verdict}; {length}: {text or 'no culprit'}{conditions}", flush=True)
    return found


async def bench(path: str, kinds: list[str], times: int) -> None:
    binary = await asyncio.to_thread(binaries.inspect_binary, path or next(binaries.binary_candidates()))
    found = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="tb-") as home:
        os.environ["TUIBENCH_HOME"] = home
        async with await stallable(binary) as server:
            await prepare_tables(server.target, library.load_program("oltp_read_write", SIZE))
            for planted in kinds:
                found += await series(server, planted, times)
    print(f"{binary}: {found} of {times * len(kinds)} planted stalls name their culprit", flush=True)
    raise SystemExit(0 if found >= 0.9 * times * len(kinds) else 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.culprits", description=__doc__)
    parser.add_argument("--server", default="", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--times", type=int, default=3, help="stalls of a kind [3]")
    parser.add_argument("--kinds", nargs="*", choices=EVERY_PLANT, default=[*EVERY_PLANT])
    options = parser.parse_args()
    asyncio.run(bench(options.server, options.kinds, options.times))


if __name__ == "__main__":
    main()
