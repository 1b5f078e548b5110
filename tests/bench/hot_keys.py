"""`python -m tests.bench.hot_keys`: are planted hot keys ranked as long as transactions wait for them?

Ten connections update one key, five keys of unequal weight, or twenty with weights by a power law, and hold
each for a while. The key with the largest weight must come first in every run, as the second of the five.
Where waits are rare, ranks are noise: a key is misranked only if it comes before one with a larger weight by
more than twice the standard deviation of their difference over all runs.
"""

import argparse
import asyncio
import itertools
import os
import tempfile
from pathlib import Path
from statistics import pstdev

from tests.integration.observe.test_hot_rows import PLANTED, hot_rows, hot_spec
from tuibench.load.tables import prepare_tables
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

SURE = {"one": 1, "five": 2, "zipfian": 1}
"""The first ranks, which have nearly all waits."""
DEVIATIONS = 2.0

Shares = dict[int, float]
"""By key; 0 for one that nobody was seen waiting for."""


def misranked(runs: list[Shares], keys: list[int]) -> list[int]:
    """For each run, how many pairs of keys are in the wrong order; `keys` are in the right one."""
    wrong = [0] * len(runs)
    for before, after in itertools.combinations(keys, 2):
        differences = [run[after] - run[before] for run in runs]
        limit = DEVIATIONS * pstdev(differences)
        for number, difference in enumerate(differences):
            wrong[number] += difference > limit
    return wrong


async def series(server: PrivateServer, planted: str, times: int) -> int:
    """Runs whose ranks are right."""
    keys = sorted(PLANTED[planted], key=lambda key: -PLANTED[planted][key])
    runs, firsts = [], []
    for _ in range(times):
        found = await hot_rows(hot_spec(server, planted))
        firsts.append(
            [row.key for row in found[: SURE[planted]]] == [str(key) for key in keys[: SURE[planted]]]
        )
        shares = {row.key: row.share for row in found}
        runs.append({key: shares.get(str(key), 0.0) for key in keys})
    wrong = misranked(runs, keys)
    right = sum(first and not pairs for first, pairs in zip(firsts, wrong, strict=True))
    print(f"  {planted}: {sum(firsts)} of {times} begin right, {sum(wrong)} pairs misranked", flush=True)
    return right


async def bench(path: str, kinds: list[str], times: int) -> None:
    binary = await asyncio.to_thread(binaries.inspect_binary, path or next(binaries.binary_candidates()))
    right = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="tb-") as home:
        os.environ["TUIBENCH_HOME"] = str(Path(home))
        async with await PrivateServer.start(binary) as server:
            await prepare_tables(
                server.target, library.load_program("oltp_read_write", {"tables": 2, "table_size": 500})
            )
            for planted in kinds:
                right += await series(server, planted, times)
    print(f"{binary}: {right} of {times * len(kinds)} runs are ranked right", flush=True)
    raise SystemExit(0 if right == times * len(kinds) else 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hot_keys", description=__doc__)
    parser.add_argument("--server", default="", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--times", type=int, default=20, help="runs of each kind [20]")
    parser.add_argument("--kinds", nargs="*", choices=PLANTED, default=[*PLANTED])
    options = parser.parse_args()
    asyncio.run(bench(options.server, options.kinds, options.times))


if __name__ == "__main__":
    main()
