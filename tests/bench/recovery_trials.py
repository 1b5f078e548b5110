"""`python -m tests.bench.recovery_trials`: the vulnerable range of a load, over several starts of a server.

Each start is a new private server with new tables, and one `probe --by rate --recover` of it. The range of
the lower and of the upper ends over all starts says how far the edge is repeatable. A delay of the client's
network (`--client-delay`) bounds the capacity by the connections, and not by the processors of a busy host.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.bench.probe_trials import PROFILE, SIZE, start
from tuibench.model.probe import VulnerableRange
from tuibench.model.schedule import format_rate
from tuibench.servers.server import PrivateServer

Found = tuple[VulnerableRange | None, list[str]]
"""The range, None if no capacity was found; and the probe's sentences."""


def trial(server: PrivateServer, options: argparse.Namespace, seed: int) -> Found:
    """What one probe finds. Raises CalledProcessError if it fails."""
    with tempfile.TemporaryDirectory() as home:
        result = Path(home) / "result.json"
        line = [
            *(sys.executable, "-m", "tuibench", "probe", PROFILE, *SIZE, "--by=rate", "--recover"),
            *(["--remedies"] if options.remedies else []),
            *(f"--threads={options.threads}", f"--deadline={options.deadline}"),
            *(f"--attempts={options.attempts}", f"--client-delay={options.client_delay}"),
            *(f"--rand-seed={seed}", f"--json={result}", f"--run-dir={home}"),
            f"--defaults-file={server.client_options}",
        ]
        subprocess.run(line, check=True, capture_output=True)
        found = json.loads(result.read_bytes())["probe"]
        return msgspec.convert(found["vulnerable"], VulnerableRange | None), found["lines"]


def described(found: VulnerableRange) -> str:
    """Each edge, and where the formula of one queue puts the first."""
    capacity = found.capacity.mean
    edges = "; ".join(
        f"{edge.remedy or 'as it is'}: {edge.low} to {edge.high or f'above {found.highest}'} "
        f"({edge.trials} trials)"
        for edge in found.edges
    )
    return f"capacity {format_rate(capacity)}, computed edge {capacity / found.attempts:.0f}/s; {edges}"


def spread(ends: list[float | None]) -> str:
    known = [end for end in ends if end is not None]
    return f"{min(known):g} to {max(known):g}/s ({len(known)} of {len(ends)})" if known else "none"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recovery_trials", description=__doc__)
    parser.add_argument("--server", default="", help="server program [the first one found]")
    parser.add_argument("--starts", type=int, default=3, help="servers [3]")
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--deadline", default="200ms")
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--client-delay", default="0")
    parser.add_argument("--remedies", action="store_true", help="in the first start, the remedies, too")
    options = parser.parse_args()
    ranges = []
    for seed in range(1, options.starts + 1):
        server = asyncio.run(start(options.server))
        try:
            found, lines = trial(server, options, seed)
        finally:
            asyncio.run(server.stop())
        said = "no capacity" if found is None else described(found)
        print(f"{seed}, {server.binary}: {said}", *lines, sep="\n    ", flush=True)
        if found is None:
            continue
        options.remedies = False
        ranges.append(found)
        for each in found.trials:
            print(f"      {msgspec.json.encode(each).decode()}", flush=True)
    first = [found.edges[0] for found in ranges]
    print(f"recovers up to {spread([edge.low for edge in first])}")
    print(f"does not from {spread([edge.high for edge in first])}")
    print(f"capacity {spread([found.capacity.mean for found in ranges])}")


if __name__ == "__main__":
    main()
