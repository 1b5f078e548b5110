"""What is known of a child process that ended: exit code or signal in words, and the end of its stderr."""

import asyncio
import signal
from collections import deque
from typing import cast

from tuibench import sanitize

STDERR_LINES = 20
"""Lines of its stderr that are kept for a message."""


def end_words(code: int) -> str:
    """How a process ended, by its exit code: ended with exit code 1, was killed by SIGKILL."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


class StderrTail:
    """Reads the stderr of a process, so that it never waits for a reader, and keeps its last lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._lines: deque[str] = deque(maxlen=STDERR_LINES)
        self._reading = asyncio.create_task(self._read(cast(asyncio.StreamReader, process.stderr)))

    @property
    def last_line(self) -> str:
        """The last line, as an excerpt for a message: the error of a traceback. Empty without any."""
        return sanitize.excerpt(self._lines[-1]) if self._lines else ""

    async def close(self, seconds: float) -> None:
        """Reads on until the end, for so long at most; a grandchild may hold the stream open.

        May be repeated: waiting does not raise the cancellation of the task, which its caller would take for
        its own.
        """
        await asyncio.wait({self._reading}, timeout=seconds)
        self._reading.cancel()

    async def _read(self, stderr: asyncio.StreamReader) -> None:
        while chunk := await stderr.read(4096):
            lines = chunk.decode(errors="replace").splitlines()
            self._lines.extend(line.strip() for line in lines if line.strip())
