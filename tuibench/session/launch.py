"""Start of a session as a separate process, detached from the terminal.

It uses plain `subprocess`: asyncio's transports close with their loop, and warn about a child that outlives
it.
"""

import asyncio
import contextlib
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

import msgspec

from tuibench import files, paths
from tuibench.errors import ExitCode, RunError, TuibenchError
from tuibench.session.spec import Launched, ServiceSpec

_COMMAND = (sys.executable, "-m", "tuibench.service.service")

Process = subprocess.Popen[bytes]


async def launch(spec: ServiceSpec, log: Path, pass_fds: Sequence[int] = ()) -> Path:
    """Start the service and wait until it listens; returns the path of its socket.

    The process leads its own process session, so that it survives the terminal; its stderr goes to `log`.
    Raises the service's error if it cannot run. If cancelled, it ends the process.
    """
    process = _spawn(log, tuple(pass_fds))
    try:
        line = await asyncio.to_thread(_read_answer, process, spec)
    except BaseException:
        process.terminate()
        raise
    finally:
        threading.Thread(target=_reap, args=(process,), name="session's end", daemon=True).start()
    if not line:
        raise RunError("the session's process ended before it could serve", f"see {log}")
    launched = msgspec.json.decode(line, type=Launched)
    if launched.exit_code:
        error = TuibenchError(launched.message, launched.hint)
        error.exit_code = ExitCode(launched.exit_code)
        raise error
    return Path(launched.socket)


def _spawn(log: Path, pass_fds: tuple[int, ...]) -> Process:
    with _opened(log) as stderr:
        try:
            return subprocess.Popen(
                _COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except OSError as error:
            raise RunError(f"cannot start the session's process: {error.strerror}") from error


def _opened(log: Path) -> IO[bytes]:
    try:
        paths.ensure_private(log.parent)
        return files.private(log, "ab")
    except OSError as error:
        raise RunError(
            f"cannot write the sessions' log {log}: {error.strerror}", "set TUIBENCH_HOME to another place"
        ) from error


def _reap(process: Process) -> None:
    """Waits for the process, so that none is left undead while we live."""
    process.wait()
    for pipe in _pipes(process):
        pipe.close()


def _pipes(process: Process) -> tuple[IO[bytes], IO[bytes]]:
    return cast("tuple[IO[bytes], IO[bytes]]", (process.stdin, process.stdout))


def _read_answer(process: Process, spec: ServiceSpec) -> bytes:
    """Hands the specification over and waits for the answer; empty if the process ends without one."""
    stdin, stdout = _pipes(process)
    with contextlib.suppress(BrokenPipeError), stdin:
        stdin.write(msgspec.json.encode(spec) + b"\n")
    with stdout:
        return stdout.readline()
