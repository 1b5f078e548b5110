"""`python -m tests.bench.failover_trials`: what many failovers lose, against what each mode promises.

Runs `tuibench failover` with a lagging replica, and counts in how many failovers each promise of a mode held.
The exit code is 1 if one did not hold in all of them.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

Failover = Mapping[str, Any]
Claim = Callable[[Failover], bool]


def agrees(failover: Failover) -> bool:
    """The GTID sets, the rows of the ledger and the acknowledgements tell the same loss."""
    fates = failover["commits"]
    unknown = fates["unknown"] - fates["unknown_committed"]
    is_explained = fates["lost"] <= failover["errant"] <= fates["lost"] + unknown
    return failover["errant"] == failover["errant_rows"] and is_explained and not fates["unexplained"]


def loses(failover: Failover) -> bool:
    return bool(failover["commits"]["lost"] > 0)


def loses_none(failover: Failover) -> bool:
    return not loses(failover)


def shows_phantoms(failover: Failover) -> bool:
    return bool(failover["unacknowledged_phantoms"] > 0)


def shows_none(failover: Failover) -> bool:
    return not failover["phantoms"]


def never_fell_back(failover: Failover) -> bool:
    semisync = failover["semisync"]
    return semisync is None or not semisync["unacknowledged"]


CLAIMS: Mapping[str, tuple[Claim, ...]] = {
    "async": (agrees, loses),
    "semisync": (agrees, loses_none, shows_none, never_fell_back),
    "semisync-after-commit": (agrees, loses_none, shows_phantoms, never_fell_back),
    "group": (agrees, loses_none, shows_none),
}


def main() -> None:
    options = _options()
    command = [
        sys.executable, "-m", "tuibench", "failover", "oltp_write_only", "--tables=1", "--table-size=2000",
        f"--mode={options.mode}", f"--repeat={options.repeat}", f"--lag={options.lag}", "--time=1",
        "--warmup-time=1", "--threads=8", "--rate=60", "--format=json",
        *([f"--server={options.server}"] if options.server else []),
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    # The report of a trial that was cut short has the failovers so far.
    report = json.loads(done.stdout)
    print(f"{report['server']}, {options.lag:g} s of lag")
    failed = bool(done.returncode)
    for mode in options.mode.split(","):
        found = [failover for failover in report["failovers"] if failover["mode"] == mode]
        lost = [failover["commits"]["lost"] for failover in found]
        phantoms = [failover["phantoms"] for failover in found]
        print(f"{mode}: lost {min(lost)} to {max(lost)}, phantoms {min(phantoms)} to {max(phantoms)}")
        for claim in CLAIMS[mode]:
            held = sum(map(claim, found))
            failed |= held < len(found)
            print(f"  {claim.__name__.replace('_', ' ')}: {held} of {len(found)}")
    sys.exit(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="", help="the server program")
    parser.add_argument("--mode", default="async,semisync,semisync-after-commit")
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--lag", type=float, default=0.2, help="seconds")
    return parser.parse_args()


if __name__ == "__main__":
    main()
