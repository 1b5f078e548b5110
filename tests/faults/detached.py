"""A load that is started by the program itself in the background, from wherever a test wants it to run."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence

from tests.faults.load import DELAY_MS, INTERVAL_SECONDS, THREADS, FaultLoad
from tests.integration.support.commands import reach
from tests.integration.support.session_process import Watcher
from tuibench.base import paths
from tuibench.model.server import Target
from tuibench.session import registry
from tuibench.session.client import SessionClient

OPTIONS = (
    "oltp_read_write",
    "--tables=2",
    "--table-size=500",
    "--time=0",
    "--on-error=continue",
    f"--interval={INTERVAL_SECONDS}",
    f"--threads={THREADS}",
    f"--client-delay={DELAY_MS:g}ms",
)


@contextlib.asynccontextmanager
async def detached(
    target: Target, *options: str, prefix: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> AsyncIterator[FaultLoad]:
    """The load, settled, with a viewer here. What has not been stopped in the end is killed."""
    command = [
        *prefix,
        sys.executable,
        "-m",
        "tuibench",
        "run",
        "--detach",
        *OPTIONS,
        *options,
        *reach(target),
    ]
    environ = {**os.environ, "MYSQL_PWD": target.password, **(env or {})}
    done = await asyncio.to_thread(
        subprocess.run, command, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (entry,) = await registry.running_sessions()
    watcher = Watcher(await SessionClient.join(entry.path), paths.runs_dir() / entry.name)
    try:
        load = FaultLoad(watcher, THREADS)
        await load.settles()
        load.begins()
        yield load
    finally:
        await watcher.close()
        if watcher.ended is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(entry.pid, signal.SIGKILL)
