"""The stage moment: `python -m tests.bench.stage`.

A try is what a speaker does: `tuibench demo`, a change of its durability after it has settled, and the
verdict. Each try starts a new server. It prints the verdict, the interval, and the seconds from the change to
the verdict; `--truth` takes an A/B test of the same two values first, for the size. `--hogs` are
processes that use half of a processor's time each, as other programs do.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

SETTLING_SECONDS, LONGEST_SECONDS = 40.0, 90.0
HOG_SECONDS = 0.05
TUIBENCH = (sys.executable, "-m", "tuibench")


class Try(NamedTuple):
    """What a try has shown: the text of the verdict, and `seconds` from the change to it."""

    text: str
    verdict: str
    percent: float | None
    seconds: float
    is_alternated: bool
    load_average: float


def hog(parent: int) -> None:
    """Uses half of a processor's time until its parent ends."""
    while os.getppid() == parent:
        until = time.perf_counter() + HOG_SECONDS
        while time.perf_counter() < until:
            pass
        time.sleep(HOG_SECONDS)


@contextlib.contextmanager
def hogs(count: int) -> Iterator[None]:
    """So many of them, as long as the context lasts."""
    every = [multiprocessing.Process(target=hog, args=(os.getpid(),), daemon=True) for _ in range(count)]
    for one in every:
        one.start()
    try:
        yield
    finally:
        for one in every:
            one.terminate()


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


def watched_until(record: Path, has_come: Callable[[Any], bool], seconds: float) -> dict[str, Any] | None:
    """The first event for which `has_come`, once there is one; None if it takes longer."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = next(filter(has_come, events(record)), None)
        if found is not None:
            return found
        time.sleep(0.2)
    return None


def one_try(server: str, preset: str, *options: str) -> Try:
    """A demo that has settled, the change, and its verdict."""
    with demo(server, *options) as (environment, record):
        watched_until(record, lambda event: event["kind"] == "start", 60)
        time.sleep(SETTLING_SECONDS)
        subprocess.run([*TUIBENCH, "ctl", "preset", preset], env=environment, check=True, capture_output=True)
        change = watched_until(record, lambda event: event["marker"] == 1, 20)
        found = watched_until(record, lambda event: event["kind"] == "effect", LONGEST_SECONDS)
    average = os.getloadavg()[0]
    if change is None or found is None or found["effect"] is None:
        return Try(found["text"] if found else "no verdict", "none", None, LONGEST_SECONDS, False, average)
    seconds = found["elapsed_seconds"] - change["elapsed_seconds"]
    one = found["effect"]["comparisons"][0]
    is_alternated = found["effect"]["alternated_seconds"] is not None
    return Try(found["text"], one["verdict"], one["percent"], seconds, is_alternated, average)


def truth(server: str, preset: str) -> str:
    """The sentence of an A/B test of ten pairs of 6 s."""
    with tempfile.TemporaryDirectory(prefix="stage-") as home:
        given = [f"--server={server}"] if server else []
        options = [f"--ab=preset=durable,{preset}", "--cycles=10", "--window=6"]
        command = [*TUIBENCH, "demo", "--headless", *given, *options]
        subprocess.run(command, env=os.environ | {"TUIBENCH_HOME": home}, check=True, capture_output=True)
        result = next(Path(home).glob("**/runs/*/summary.json"))
        return str(json.loads(result.read_text())["ab"]["sentence"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.stage", description=__doc__)
    parser.add_argument("--server", default="", help="server program [the first one found]")
    parser.add_argument("--tries", type=int, default=10, help="tries [10]")
    parser.add_argument("--hogs", type=int, default=0, help="processes that use half a processor each [0]")
    parser.add_argument("--preset", default="unsafe", help="the change [unsafe]")
    parser.add_argument("--threads", type=int, default=0, help="of the demo [its own]")
    parser.add_argument("--truth", action="store_true", help="begin with an A/B test of two minutes")
    options = parser.parse_args()
    found = []
    threads = [f"--threads={options.threads}"] if options.threads else []
    with hogs(options.hogs):
        if options.truth:
            print(truth(options.server, options.preset), flush=True)
        for number in range(1, options.tries + 1):
            one = one_try(options.server, options.preset, *threads)
            found.append(one)
            how = "alternated" if one.is_alternated else "at once"
            print(f"{number}: {one.seconds:.0f} s {how}, load {one.load_average:.1f}: {one.text}", flush=True)
    sure = [one for one in found if one.verdict == "higher"]
    print(
        f"{len(sure)} of {len(found)} found TPS higher, {sum(one.verdict == 'lower' for one in found)} lower"
    )
    if sure:
        sizes = sorted(one.percent or 0.0 for one in sure)
        times = [one.seconds for one in sure]
        print(f"in {median(times):.0f} s, at most {max(times):.0f} s; +{sizes[0]:.0f} to +{sizes[-1]:.0f} %")


if __name__ == "__main__":
    main()
