"""Real probes on a private server, and what they recommend: `python -m tests.bench.probe_trials`.

After each probe, the levels around the recommended one are run in turn, in a random order, several times. The
best is the fewest threads with 95 % of the highest throughput of these runs. A busy machine is the test:
with `--hogs` each probe and its runs have other programs beside them, a random number of them.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean, median
from typing import Any

from tests.bench.hogs import hogs
from tuibench.cli.tables import make_tables
from tuibench.load.tables import LoadOptions
from tuibench.servers.binaries import inspect_binary
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

PROFILE, TABLES = "oltp_read_write", {"tables": 2, "table_size": 5_000}
SIZE = [f"--{name.replace('_', '-')}={value}" for name, value in TABLES.items()]
AROUND = (0.25, 0.5, 1.0, 2.0, 4.0)
SECONDS, ROUNDS = 3, 4


def told(server: PrivateServer, *words: str) -> Any:
    """The JSON that a command writes."""
    with tempfile.TemporaryDirectory() as home:
        result = Path(home) / "result.json"
        line = [*(sys.executable, "-m", "tuibench"), *words, *SIZE, f"--json={result}", f"--run-dir={home}"]
        login = f"--defaults-file={server.client_options}"
        subprocess.run([*line, login], check=True, capture_output=True)
        return json.loads(result.read_bytes())


def trial(server: PrivateServer, seed: int) -> str:
    """A probe, and how the level that it recommends compares with the best."""
    found = told(server, "probe", PROFILE, f"--rand-seed={seed}")["probe"]
    recommended = found["recommended"]
    highest = max(step["level"] for step in found["steps"])
    head = f"{found['seconds']:.0f} s, {found['lines'][0]}"
    if recommended is None:
        return head
    levels = sorted({max(1, round(recommended * factor)) for factor in AROUND})
    measured: dict[int, list[tuple[float, float]]] = {level: [] for level in levels}
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        for level in rng.sample(levels, len(levels)):
            run = told(server, "run", PROFILE, f"--threads={level}", f"--time={SECONDS}", "--warmup-time=1")
            measured[level].append((run["transactions"]["per_second"], run["latency_ms"]["p95"]))
    tps = {level: fmean(each for each, _ in runs) for level, runs in measured.items()}
    p95 = {level: median(each for _, each in runs) for level, runs in measured.items()}
    best = min(level for level in levels if tps[level] >= 0.95 * max(tps.values()))
    own = round(recommended)
    return (
        f"{head}\n    recommended {own}, best {best}: TPS {tps[own] / tps[best]:.2f} of the best, "
        f"p95 {p95[own] / p95[best]:.2f}, highest level {highest / best:.1f} times the best"
    )


async def start(path: str) -> PrivateServer:
    server = await PrivateServer.start(await asyncio.to_thread(inspect_binary, path) if path else None)
    try:
        await make_tables(server.target, library.load_program(PROFILE, dict(TABLES)), LoadOptions(parallel=2))
    except BaseException:
        await server.stop()
        raise
    return server


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.probe_trials", description=__doc__)
    parser.add_argument("--server", default="", help="server program [the first one found]")
    parser.add_argument("--trials", type=int, default=25, help="probes [25]")
    parser.add_argument("--first-seed", type=int, default=1, help="seed of the first probe [1]")
    parser.add_argument("--hogs", type=int, default=0, help="at most so many programs beside it [0]")
    options = parser.parse_args()
    server = asyncio.run(start(options.server))
    try:
        print(server.binary, flush=True)
        for seed in range(options.first_seed, options.first_seed + options.trials):
            count = random.Random(seed).randint(0, options.hogs)
            with hogs(count):
                print(f"  {seed}, {count} other programs: {trial(server, seed)}", flush=True)
    finally:
        asyncio.run(server.stop())


if __name__ == "__main__":
    main()
