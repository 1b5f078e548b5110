"""Which tests of `make test` pass by luck: `python -m tests.bench.stability`, or `make stability`.

It runs them again and again, in turn on the machine as it is, beside programs that take half of the
processors, all and twice as many, and with servers whose disk is slow, and prints each test that failed once,
with its condition and the last line of its error. The exit code is 1 if one failed. 30 runs take some seven
hours; `--runs`, `--conditions` and pytest's own arguments behind `--` make it shorter. The slow disk needs a
C compiler (tests/integration/observe/slow_disk.c).
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.hogs import hogs
from tests.paths import ROOT

CORES = os.cpu_count() or 2
SLOW_DISK = ROOT / "tests" / "integration" / "observe" / "slow_disk.c"
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", re.MULTILINE)


@contextlib.contextmanager
def slow_disk() -> Iterator[None]:
    """Every flush of a redo log or binary log, in the servers that start meanwhile, takes 20 ms more."""
    with tempfile.TemporaryDirectory(prefix="slow-disk-") as folder:
        library = Path(folder, "slow_disk.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SLOW_DISK, "-ldl"], check=True)
        for kind in ("redo", "binlog"):
            Path(folder, kind).touch()
        before = dict(os.environ)
        os.environ |= {"SLOW_DISK": folder, "LD_PRELOAD": str(library)}
        try:
            yield
        finally:
            os.environ.clear()
            os.environ |= before


CONDITIONS: dict[str, Callable[[], contextlib.AbstractContextManager[object]]] = {
    "alone": contextlib.nullcontext,
    "half": lambda: hogs(CORES),
    "all": lambda: hogs(2 * CORES),
    "twice": lambda: hogs(4 * CORES),
    "slow-disk": slow_disk,
}
"""`hogs` are processes that use half of a processor's time each."""


def run(arguments: list[str]) -> tuple[float, str]:
    """The seconds, and the output, of `make test`'s tests."""
    began = time.monotonic()
    done = subprocess.run(
        [
            "make",
            "--no-print-directory",
            "--keep-going",
            "test-units",
            "test-servers",
            f"ARGS={' '.join(arguments)}",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return time.monotonic() - began, done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, behind --")
    given = parser.parse_args()
    failures = 0
    for number in range(given.runs):
        condition = given.conditions[number % len(given.conditions)]
        with CONDITIONS[condition]():
            seconds, output = run(given.pytest)
        ends = re.findall(r"^=* ?(\d+ (?:passed|failed).*? in [\d.]+s)", output, re.MULTILINE)
        print(
            f"run {number + 1}, {condition}: {seconds:.0f} s; {'; '.join(ends) or output[-400:]}", flush=True
        )
        for name, error in FAILED.findall(output):
            failures += 1
            print(f"    {name}: {error}", flush=True)
    print(f"{failures} failures in {given.runs} runs")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
