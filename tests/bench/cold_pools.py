"""Changes while a buffer pool warms up: `python -m tests.bench.cold_pools`.

Each try restarts a private server, whose pool is empty then, and runs point selects on tables that fit into
it; a read of a page takes 8 ms more than this disk's. So the throughput rises for half a minute. After 5, 15,
25 or 40 s an unrelated setting is changed. It prints what was said of the change, and at the end how many
verdicts were sure, how many of these had a sign other than what moved, and how many sentences name page
reads. `--unsafe` applies the preset under oltp_write_only instead: then *lower* is the false verdict.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.real_trials import start
from tests.bench.stage import TUIBENCH, events, watched_until
from tests.paths import ROOT
from tuibench.record.reader import load_run
from tuibench.servers.server import PrivateServer

CHANGED_AT = (5.0, 15.0, 25.0, 40.0)
TABLES = {"tables": 4, "table_size": 80_000}
OPTIONS = (
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-use-native-aio=0",
)
LONGEST_SECONDS = 75.0
"""For the verdicts after the change, also those that are measured again."""


class Try(NamedTuple):
    """A change, what was said of it in turn, and the rise of the throughput around it."""

    at: float
    texts: tuple[str, ...]
    comparisons: tuple[dict[str, Any], ...]
    """Of TPS and p95, in all effects."""
    blames_reads: bool
    course: tuple[float, ...]
    """TPS of every tenth second."""

    def is_sure(self, figure: str) -> bool:
        return any(
            one["figure"] == figure and one["verdict"] in ("higher", "lower") for one in self.comparisons
        )

    @property
    def is_wrong(self) -> bool:
        """True if a sure difference has not the sign of what has moved."""
        return any(
            one["verdict"] in ("higher", "lower") and one["delta"] * (one["after"] - one["before"]) < 0
            for one in self.comparisons
        )

    @property
    def is_lower(self) -> bool:
        return any(one["figure"] == "tps" and one["verdict"] == "lower" for one in self.comparisons)


def tried(server: PrivateServer, at: float, command: tuple[str, ...], profile: str, threads: int) -> Try:
    """A run in the background, the change by `ctl`, and all that is said of it."""
    with tempfile.TemporaryDirectory(prefix="cold-") as home:
        environment = os.environ | {"TUIBENCH_HOME": home}
        size = [f"--{name.replace('_', '-')}={value}" for name, value in TABLES.items()]
        start = [*TUIBENCH, "live", profile, "--detach", *size, f"--threads={threads}", "--rand-type=uniform"]
        subprocess.run(
            [*start, f"--defaults-file={server.client_options}", "--workers=1"],
            env=environment,
            check=True,
            capture_output=True,
        )
        try:
            record = next(Path(home).glob("**/runs/*"))
            watched_until(record, lambda event: event["kind"] == "start", 60)
            time.sleep(at)
            earlier = len(events(record))
            subprocess.run([*TUIBENCH, "ctl", *command], env=environment, check=True, capture_output=True)
            time.sleep(LONGEST_SECONDS - at if at + 40 < LONGEST_SECONDS else 40)
            found = [event for event in events(record)[earlier:] if event["effect"] or event["not_measured"]]
        finally:
            subprocess.run(
                [*TUIBENCH, "ctl", "stop", "--wait"], env=environment, check=False, capture_output=True
            )
        effects = [event["effect"] for event in found if event["effect"]]
        return Try(
            at,
            tuple(event["text"] for event in found),
            tuple(
                one for each in effects for one in each["comparisons"] if one["figure"] in ("tps", "p95_ms")
            ),
            any("page_read" in one["figure"] for each in effects for one in each["because"]),
            tuple(course(record)),
        )


def course(record: Path) -> Iterator[float]:
    """The mean TPS of each ten seconds."""
    ticks = [sample.tick for sample in load_run(record).samples]
    for begin in range(0, int(ticks[-1].end) if ticks else 0, 10):
        part = [tick for tick in ticks if begin < tick.end <= begin + 10]
        yield sum(tick.sums.get("completed", 0) for tick in part) / max(
            1e-9, sum(tick.seconds for tick in part)
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cold_pools", description=__doc__)
    parser.add_argument("--server", default="", help="server program [the first one found]")
    parser.add_argument("--tries", type=int, default=20, help="tries [20]")
    parser.add_argument("--threads", type=int, default=4, help="connections [4]")
    parser.add_argument("--unsafe", action="store_true", help="a change with an effect")
    options = parser.parse_args()
    profile = "oltp_write_only" if options.unsafe else "oltp_point_select"
    command = ("preset", "unsafe") if options.unsafe else ("set", "innodb_old_blocks_time=500")
    compiler = shutil.which("cc")
    if compiler is None:
        sys.exit("no C compiler (cc) here, for a disk that can be made slow")
    found: list[Try] = []
    with tempfile.TemporaryDirectory(prefix="cold-disk-") as folder:
        library_path = Path(folder) / "slow_disk.so"
        source = ROOT / "tests" / "integration" / "observe" / "slow_disk.c"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library_path, source, "-ldl"], check=True)
        os.environ |= {"SLOW_DISK": folder, "LD_PRELOAD": str(library_path)}
        server = asyncio.run(start(options.server, TABLES, OPTIONS))
        del os.environ["LD_PRELOAD"]
        try:
            for number in range(options.tries):
                asyncio.run(server.restart())
                (Path(folder) / "far").touch()
                one = tried(server, CHANGED_AT[number % len(CHANGED_AT)], command, profile, options.threads)
                (Path(folder) / "far").unlink()
                found.append(one)
                print(f"{number + 1}: {one.at:.0f} s, load {os.getloadavg()[0]:.1f}, TPS", end=" ")
                print(*(f"{tps:.0f}" for tps in one.course), sep=" ")
                for text in one.texts:
                    print(f"    {text}", flush=True)
        finally:
            asyncio.run(server.stop())
    print(
        f"{len(found)} tries: {sum(one.is_sure('tps') for one in found)} sure of TPS, "
        f"{sum(one.is_sure('p95_ms') for one in found)} of p95, {sum(one.is_wrong for one in found)} "
        f"with the sign of nothing that moved, {sum(one.is_lower for one in found)} lower, "
        f"{sum(one.blames_reads for one in found)} name page reads"
    )


if __name__ == "__main__":
    main()
