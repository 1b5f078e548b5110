"""The stage moment: `python -m tests.bench.stage`.

A try is what a speaker does: `tuibench demo`, a change of its durability after it has settled, and the
verdict. Each try starts a new server; with `--a-server=10 --settling=20` the change is taken back nine times
on each, and 100 tries take an hour. It prints the verdict, the interval, the seconds from the change to the
verdict, and at the end the row of tests/bench/verdicts.md; `--truth` takes an A/B test of the same two values
first, for the size. `--hogs` are processes that use half of a processor's time each, as other programs do.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tests.bench.hogs import hogs
from tuibench.servers.binaries import find_binary, inspect_binary

LONGEST_SECONDS = 90.0
TUIBENCH = (sys.executable, "-m", "tuibench")


class Try(NamedTuple):
    """What a try has shown: the text of the verdict, and `seconds` from the change to it."""

    text: str
    verdict: str
    percent: float | None
    seconds: float
    is_alternated: bool
    load_average: float


@contextlib.contextmanager
def demo(server: str, *options: str) -> Iterator[tuple[dict[str, str], Path]]:
    """A demo in the background: the environment of `ctl`, and the record."""
    with tempfile.TemporaryDirectory(prefix="stage-") as home:
        environment = os.environ | {"TUIBENCH_HOME": home}
        given = [f"--server={server}"] if server else []
        command = [*TUIBENCH, "demo", "--detach", *given, *options]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        try:
            yield environment, next(Path(home).glob("**/runs/*"))
        finally:
            subprocess.run(
                [*TUIBENCH, "ctl", "stop", "--wait"], env=environment, check=False, capture_output=True
            )


def events(record: Path) -> list[dict[str, Any]]:
    """The events so far; the last line may be incomplete."""
    lines = (record / "events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def watched_until(
    record: Path, has_come: Callable[[Any], bool], seconds: float, earlier: int = 0
) -> dict[str, Any] | None:
    """The first event for which `has_come` after so many `earlier` ones, once there is one; None if it takes
    longer.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = next(filter(has_come, events(record)[earlier:]), None)
        if found is not None:
            return found
        time.sleep(0.2)
    return None


def tries_on_one(server: str, preset: str, count: int, settling: float, *options: str) -> Iterator[Try]:
    """A demo that has settled, the change, and its verdict; then the change is taken back, and so on."""
    with demo(server, *options) as (environment, record):
        watched_until(record, lambda event: event["kind"] == "start", 60)
        for number in range(count):
            if number:
                subprocess.run([*TUIBENCH, "ctl", "undo"], env=environment, check=True, capture_output=True)
            time.sleep(settling)
            earlier = len(events(record))
            subprocess.run(
                [*TUIBENCH, "ctl", "preset", preset], env=environment, check=True, capture_output=True
            )
            yield verdict_after(record, earlier)


def verdict_after(record: Path, earlier: int) -> Try:
    """The verdict on the first change after so many events."""
    average = os.getloadavg()[0]
    change = watched_until(
        record, lambda event: event["kind"] != "effect" and event["marker"] is not None, 20, earlier
    )
    if change is None:
        return Try("the change was not made", "none", None, LONGEST_SECONDS, False, average)
    found = watched_until(
        record,
        lambda event: (
            event["marker"] == change["marker"]
            if event["not_measured"]
            else event["effect"] is not None and change["marker"] in event["effect"]["markers"]
        ),
        LONGEST_SECONDS,
        earlier,
    )
    if found is None or found["effect"] is None:
        return Try(found["text"] if found else "no verdict", "none", None, LONGEST_SECONDS, False, average)
    one = found["effect"]["comparisons"][0]
    return Try(
        found["text"],
        one["verdict"],
        one["percent"],
        found["elapsed_seconds"] - change["elapsed_seconds"],
        found["effect"]["alternated_seconds"] is not None,
        average,
    )


TABLE = """\
| server | host | tries | TPS higher | lower | no verdict | within 30 s | within 60 s | median | effect |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def row(server: str, host: str, found: list[Try]) -> str:
    """The row of tests/bench/verdicts.md."""
    sure = [one for one in found if one.verdict == "higher"]
    lower = sum(one.verdict == "lower" for one in found)
    within = [sum(one.seconds <= seconds for one in sure) for seconds in (30, 60)]
    sizes = [f"{one.percent or 0.0:+.0f} %" for one in sorted(sure, key=lambda one: one.percent or 0.0)]
    effect = f"{sizes[0]} to {sizes[-1]}" if sizes else "–"
    middle = f"{median(one.seconds for one in sure):.0f} s" if sure else "–"
    return (
        f"| {server} | {host} | {len(found)} | {len(sure)} | {lower} | {len(found) - len(sure) - lower} | "
        f"{within[0]} | {within[1]} | {middle} | {effect} |"
    )


def truth(server: str, preset: str, *options: str) -> str:
    """The sentence of an A/B test of ten pairs of 6 s."""
    with tempfile.TemporaryDirectory(prefix="stage-") as home:
        given = [f"--server={server}"] if server else []
        test = [f"--ab=preset=durable,{preset}", "--cycles=10", "--window=6"]
        command = [*TUIBENCH, "demo", "--headless", *given, *options, *test]
        subprocess.run(command, env=os.environ | {"TUIBENCH_HOME": home}, check=True, capture_output=True)
        result = next(Path(home).glob("**/runs/*/summary.json"))
        return str(json.loads(result.read_text())["ab"]["sentence"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.stage", description=__doc__)
    parser.add_argument("--server", default="", help="server program [the first one found]")
    parser.add_argument("--tries", type=int, default=10, help="tries [10]")
    parser.add_argument("--a-server", type=int, default=1, help="tries on one server [1]")
    parser.add_argument("--settling", type=float, default=40.0, help="seconds before each change [40]")
    parser.add_argument("--hogs", type=int, default=0, help="processes that use half a processor each [0]")
    parser.add_argument("--preset", default="unsafe", help="the change [unsafe]")
    parser.add_argument("--threads", type=int, default=0, help="of the demo [its own]")
    parser.add_argument("--truth", action="store_true", help="begin with an A/B test of two minutes")
    options = parser.parse_args()
    found: list[Try] = []
    threads = [f"--threads={options.threads}"] if options.threads else []
    with hogs(options.hogs):
        if options.truth:
            print(truth(options.server, options.preset, *threads), flush=True)
        while len(found) < options.tries:
            count = min(options.a_server, options.tries - len(found))
            for one in tries_on_one(options.server, options.preset, count, options.settling, *threads):
                found.append(one)
                how = "alternated" if one.is_alternated else "at once"
                print(
                    f"{len(found)}: {one.seconds:.0f} s {how}, load {one.load_average:.1f}: {one.text}",
                    flush=True,
                )
    host = f"{options.hogs} other programs" if options.hogs else "no other program"
    binary = inspect_binary(options.server) if options.server else find_binary()
    print(TABLE + row(binary.flavour, host, found))


if __name__ == "__main__":
    main()
