"""Real A/B tests of a setting that acts late: `python -m tests.bench.late_trials`.

Each trial is `tuibench run --ab long_query_time=1,10` against a private server behind a proxy, which answers
every statement of the load after a time that depends on the setting's value and on the time since its change.
So the truth is known: no effect, +20 % or −20 %, at once, 3, 6 or 20 s after the change, or with a time
constant of 5 or 20 s. `--parallel` trials run side by side, each with a server of its own: the load is idle
mostly.

A verdict is false if it has the wrong sign, or where there is no effect; a test without an interval says
which windows it needs.
"""

import argparse
import asyncio
import contextlib
import json
import math
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.bench.real_trials import SIZE, TABLES, start
from tests.unit.features.ab.late_trials import EFFECTS, RESPONSES, LateServer
from tuibench.servers.server import PrivateServer

HOLD_SECONDS, THREADS = 0.04, 3
EXECUTE = 0x17
"""COM_STMT_EXECUTE."""

CHANGE = re.compile(rb"SET GLOBAL `?long_query_time`?\s*=\s*'?(\d+)", re.IGNORECASE)
KINDS = {"fixed": (), "until4": ("--until=±2%",), "until10": ("--until=±2%", "--window=10")}
"""Five cycles of 2 × 10 s, and tests that end with their verdict."""


class LateProxy:
    """Leads to a server, and holds back its answers for the time that the effect asks for."""

    def __init__(self, port: int, late: LateServer) -> None:
        self._port, self._late = port, late
        self._statements, self._elsewhere = 0, 0.0

    @property
    def truth(self) -> float:
        """The effect on the throughput: a statement also takes the time that is spent elsewhere."""
        elsewhere = self._elsewhere / max(1, self._statements)
        b_seconds = HOLD_SECONDS * math.exp(-self._late.effect)
        return (HOLD_SECONDS + elsewhere) / (b_seconds + elsewhere) - 1

    @contextlib.asynccontextmanager
    async def listening(self) -> Any:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        async with server:
            yield server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        due = [0.0]
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await asyncio.gather(self._ask(reader, back, due), self._answer(there, writer, due))

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: list[float]
    ) -> None:
        while data := await reader.read(65536):
            now = time.monotonic()
            if found := CHANGE.search(data):
                self._late.set(now, found[1].decode())
            if due[0]:
                self._statements += 1
                self._elsewhere += now - due[0]
            is_load = len(data) > 4 and data[4] == EXECUTE
            due[0] = now + HOLD_SECONDS * math.exp(-self._late.at(now)) if is_load else 0.0
            writer.write(data)
            await writer.drain()
        writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: list[float]
    ) -> None:
        while data := await reader.read(65536):
            await asyncio.sleep(max(0.0, due[0] - time.monotonic()))
            writer.write(data)
            await writer.drain()
        writer.close()


async def trial(
    server: PrivateServer, late: LateServer, options: tuple[str, ...], seed: int
) -> tuple[dict[str, Any], float]:
    """One test; the result of its JSON, and the true effect."""
    proxy = LateProxy(server.target.port, late)
    with tempfile.TemporaryDirectory() as home:
        result = Path(home) / "result.json"
        async with proxy.listening() as port:
            ended = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-m",
                    "tuibench",
                    "run",
                    "oltp_point_select",
                    *SIZE,
                    f"--threads={THREADS}",
                ),
                *(f"--defaults-file={server.client_options}", "--host=127.0.0.1", f"--port={port}"),
                *("--ssl-mode=disabled", f"--run-dir={home}", f"--json={result}", "--workers=1"),
                *("--ab=long_query_time=1,10", f"--rand-seed={seed}", *options),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            _, errors = await ended.communicate()
        if ended.returncode:
            raise ChildProcessError(errors.decode())
        return json.loads(result.read_text())["ab"], proxy.truth


def judged(found: dict[str, Any], truth: float) -> str:
    """`false`, `covers`, `misses`, `needs`, or `none` without an interval."""
    tps = next((one for one in found["comparisons"] if one["figure"] == "tps"), None)
    if tps is None:
        return "needs" if found["needs_window_seconds"] else "none"
    if (tps["verdict"] == "higher" and truth <= 0) or (tps["verdict"] == "lower" and truth >= 0):
        return "false"
    return "covers" if tps["percent_low"] <= 100 * truth <= tps["percent_high"] else "misses"


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.late_trials", description=__doc__)
    parser.add_argument("--repeats", type=int, default=12, help="trials per condition [12]")
    parser.add_argument("--parallel", type=int, default=8, help="trials at the same time [8]")
    parser.add_argument("--kinds", default="fixed,until4", help="of fixed, until4, until10 [fixed,until4]")
    parser.add_argument("--first-seed", type=int, default=1, help="seed of the first trial [1]")
    options = parser.parse_args()
    due = [
        (seed, kind, effect, response)
        for seed in range(options.first_seed, options.first_seed + options.repeats)
        for kind in options.kinds.split(",")
        for response in RESPONSES
        for effect in EFFECTS
    ]
    random.Random(options.first_seed).shuffle(due)
    counts: defaultdict[str, int] = defaultdict(int)

    async def several() -> None:
        server = await start("", TABLES)
        try:
            while due:
                seed, kind, effect, response = due.pop(0)
                try:
                    found, true = await trial(server, LateServer(effect, response), KINDS[kind], seed)
                except ChildProcessError as error:
                    counts["failed"] += 1
                    print(f"{kind} {seed}: failed: {error}", flush=True)
                    continue
                verdict = judged(found, true)
                counts[verdict] += 1
                truth = f"{100 * true:+.1f} %, {response[0]:g} s, {response[1]:g} s"
                print(f"{kind} {truth} {seed}: {verdict}: {found['sentence']}", flush=True)
        finally:
            await server.stop()

    await asyncio.gather(*(several() for _ in range(options.parallel)))
    print(", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))


if __name__ == "__main__":
    asyncio.run(main())
