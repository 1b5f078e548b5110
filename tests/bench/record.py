"""`python -m tests.bench.record`: how large the record of an hour is, and what reports on it cost.

The hour is made up, a tick a second; each report is a process of its own. A run that ended has its summary;
that of one that was cut short has to be made from 3600 samples.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from msgspec.structs import replace

from tests.unit.record.hours import written_hour
from tuibench.record.reader import load_run
from tuibench.record.recorder import SUMMARY, pretty_json

LOADS = (("oltp_read_write", 500), ("tpcc", 200), ("tpcc", 500))
FORMS = ("--sysbench", "--csv", "--html")
MB, KIB = 1e6, 1024


def bench(folder: Path, profile: str, per_second: int, ticks: int) -> None:
    record = written_hour(folder / "run", profile, per_second, ticks)
    size = sum(file.stat().st_size for file in record.iterdir())
    print(f"{profile}, {per_second} transactions a second, {ticks} ticks: {size / MB:.1f} MB")
    for end in ("cut short", "ended"):
        if end == "ended":
            (record / SUMMARY).write_bytes(pretty_json(replace(load_run(record).summary, outcome="done")))
        for form in FORMS:
            option = form if form == "--sysbench" else f"{form}={folder}/report"
            command = [sys.executable, "-m", "tuibench", "report", str(record), option]
            print(f"  {end}, report {form}: {told(command)}", flush=True)


def told(command: list[str]) -> str:
    """What a command took."""
    since = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return (
        f"{perf_counter() - since:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU,"
        f" {used.ru_maxrss * KIB / MB:.0f} MB at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=3600)
    ticks = parser.parse_args().ticks
    for profile, per_second in LOADS:
        with tempfile.TemporaryDirectory() as folder:
            bench(Path(folder), profile, per_second, ticks)


if __name__ == "__main__":
    main()
