"""`python -m tests.bench.guard_trials`: in how many samples the guard puts a ruinous value back.

A server has the load of another program; a session without load (`tuibench watch`) runs A/B tests of a
setting whose value B is ruinous: the other program's load goes through a proxy, which delays each request
while innodb_io_capacity has that value, or with `--halve` lets half of the requests pass that came before.

The samples from the first harmed one on count, until the guard has broken; a sample is harmed if its queries
per second are below 70 % of the median before, or its p95 is above 300 %: what the guard allows. It allows
more on a load that varies more by itself, and does not judge samples of a starved host.
"""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from statistics import median

from tests.faults.proxy import Proxy
from tests.integration.support.session_process import Watcher, watched
from tests.unit.cli.plans import planned
from tuibench.base import paths
from tuibench.load.tables import prepare_tables
from tuibench.metrics.figures import FIGURES
from tuibench.model.event import Event
from tuibench.model.message import SessionSpec, StartAbTest, Stop, StopExperiment
from tuibench.mysql.connection import connect
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

SIZE, THREADS = {"tables": 1, "table_size": 10_000}, 16
SETTING, HARMFUL = "innodb_io_capacity", "1000"
LOOK_SECONDS, TRIAL_SECONDS = 0.01, 120.0
SETTLE_SAMPLES = 40
"""The other program's connections have opened, and its tables are in memory."""
QUIET_SAMPLES = 6
"""Between two trials: what the level is now."""

PUT_BACK = "is put back"


class Harm:
    """What the proxy does while the setting has its harmful value."""

    def __init__(self, delay_seconds: float) -> None:
        self.delay_seconds = delay_seconds
        self.requests_per_second = 0.0

    def do(self, proxy: Proxy, *, is_harmful: bool) -> None:
        proxy.delay_seconds = self.delay_seconds * is_harmful
        proxy.requests_per_second = self.requests_per_second * is_harmful


@contextlib.asynccontextmanager
async def traffic(server: PrivateServer, home: str, harm: Harm) -> AsyncIterator[None]:
    """The load of another program, through the proxy."""
    proxy = Proxy(server.target)
    async with proxy.listening() as port:
        address = ["--host=127.0.0.1", f"--port={port}", "--ssl-mode=disabled", "--get-server-public-key"]
        words = [f"--{name.replace('_', '-')}={value}" for name, value in SIZE.items()]
        load = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tuibench", "run", "oltp_read_write", *words, f"--threads={THREADS}"),
            *("--time=0", f"--defaults-file={server.client_options}"),
            *address,
            env=os.environ | {"TUIBENCH_HOME": f"{home}/other"},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        connection = await connect(server.target)

        async def delay() -> None:
            while True:
                ((value,),) = await connection.query(f"SELECT @@GLOBAL.{SETTING}")
                harm.do(proxy, is_harmful=str(value) == HARMFUL)
                await asyncio.sleep(LOOK_SECONDS)

        task = asyncio.create_task(delay())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            connection.abort()
            load.terminate()
            await load.wait()


async def trial(watcher: Watcher, original: str) -> str:
    """One A/B test; the number of samples until its value B was put back, or what came instead."""
    heard = len(watcher.events)

    def first(is_meant: Callable[[Event], bool]) -> Event | None:
        return next(filter(is_meant, watcher.events[heard:]), None)

    command = StartAbTest(subject=SETTING, a=original, b=HARMFUL)
    while not (reply := await watcher.submit(command)).ok:
        if "guard" not in reply.text and "already running" not in reply.text:
            return reply.text
        await watcher.ticks(1)

    def end() -> Event | None:
        return first(
            lambda event: PUT_BACK in event.text or event.text.startswith(("A/B test ended", "A/B: "))
        )

    await watcher.until(lambda: end() is not None, TRIAL_SECONDS)
    if (ended := end()) is None:
        return "not set"
    until = ended.elapsed_seconds + LOOK_SECONDS
    changes = [
        event.elapsed_seconds for event in watcher.events[heard:] if event.text.endswith(f"→ {HARMFUL}")
    ]
    since = max(at for at in changes if at < until)
    before = [sample.tick for sample in watcher.samples if sample.tick.end <= since][-QUIET_SAMPLES:]
    on_trial = [sample.tick for sample in watcher.samples if since < sample.tick.end <= until]
    qps, p95 = (median(FIGURES[name].value(tick) or 0 for tick in before) for name in ("qps", "p95"))
    shares = [(FIGURES["qps"].value(tick) or 0) / qps for tick in on_trial]
    if PUT_BACK not in ended.text:
        print(f"not put back, QPS {' '.join(f'{share:.2f}' for share in shares)}: {ended.text}", flush=True)
        await watcher.submit(StopExperiment("ab"))
        return "not put back"
    is_harmed = [
        share < 0.7 or (FIGURES["p95"].value(tick) or 0) > 3 * p95
        for share, tick in zip(shares, on_trial, strict=True)
    ]
    samples = len(is_harmed) - is_harmed.index(True) if True in is_harmed else 0
    pattern = " ".join(f"{share:.2f}" for share in shares)
    print(f"{samples} samples (QPS {pattern}), {until - since:.1f} s: {ended.text}", flush=True)
    return str(samples)


async def bench(
    server: PrivateServer, home: str, trials: int, interval: float, delay_ms: float, *, halves: bool
) -> None:
    await prepare_tables(server.target, library.load_program("oltp_read_write", SIZE))
    spec = SessionSpec(
        session="guarded",
        plan=planned(f"--interval={interval}", command="watch", profile="watch"),
        target=server.target,
        run_directory=str(paths.runs_dir() / "guarded"),
        private_server=str(server.directory),
    )
    harm, found = Harm(0.0 if halves else delay_ms / 1000), Counter[str]()
    connection = await connect(server.target)
    ((original,),) = await connection.query(f"SELECT @@GLOBAL.{SETTING}")
    connection.abort()
    async with traffic(server, home, harm), watched(spec) as watcher:
        await watcher.ticks(SETTLE_SAMPLES)
        for _ in range(trials):
            await watcher.ticks(QUIET_SAMPLES)
            if halves:
                before = [
                    FIGURES["qps"].value(sample.tick) or 0 for sample in watcher.samples[-QUIET_SAMPLES:]
                ]
                harm.requests_per_second = median(before) / 2
            found[await trial(watcher, str(original))] += 1
        await watcher.submit(Stop())
        await watcher.end()
    counts = ", ".join(f"{times} in {samples} samples" for samples, times in sorted(found.items()))
    cost = "half of the requests" if halves else f"{delay_ms:g} ms a request"
    print(f"{server.binary}, {cost}, samples of {interval:g} s, put back: {counts}")


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.guard_trials", description=__doc__)
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--interval", type=float, default=0.5, help="seconds of a sample [0.5]")
    parser.add_argument("--delay-ms", type=float, default=20.0, help="what value B adds to a request [20]")
    parser.add_argument("--halve", action="store_true", help="value B halves the throughput instead")
    options = parser.parse_args()
    binary = binaries.inspect_binary(options.server) if options.server else None
    with tempfile.TemporaryDirectory() as home:
        os.environ["TUIBENCH_HOME"] = home
        async with await PrivateServer.start(binary) as server:
            await bench(
                server, home, options.trials, options.interval, options.delay_ms, halves=options.halve
            )


if __name__ == "__main__":
    asyncio.run(main())
