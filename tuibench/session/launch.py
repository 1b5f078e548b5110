"""Starts a session as a process of its own, out of the terminal's reach."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tuibench.errors import ExitCode, RunError, TuibenchError
from tuibench.session.spec import Launched, ServiceSpec


async def launch(spec: ServiceSpec, log: Path, pass_fds: Sequence[int] = ()) -> Path:
    """Starts the service and waits until it listens; the path of its socket.

    The process leads a session of its own, so a terminal that closes does not take it along; what it has to
    say on stderr goes to `log`. Raises the service's own error if it cannot run.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tuibench.session.service",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            pass_fds=tuple(pass_fds),
        )
    if process.stdin is None or process.stdout is None:
        raise RunError("the session's process has no pipes")
    process.stdin.write(msgspec.json.encode(spec) + b"\n")
    process.stdin.close()
    line = await process.stdout.readline()
    if not line:
        await process.wait()
        raise RunError("the session's process ended before it could serve", f"see {log}")
    launched = msgspec.json.decode(line, type=Launched)
    if launched.exit_code:
        error = TuibenchError(launched.message, launched.hint)
        error.exit_code = ExitCode(launched.exit_code)
        raise error
    return Path(launched.socket)
