"""Why a child process has ended: its exit code or signal in words, and the last lines of its stderr."""

import asyncio
import signal
from collections import deque

from tuibench.base import sanitize

STDERR_LINES = 20
"""Number of lines of stderr that are kept for a message."""


def end_words(code: int) -> str:
    """An exit code in words: ended with exit code 1, was killed by SIGKILL."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


class StderrTail:
    """Reads the stderr of a process, so that the process never blocks on it, and keeps the last lines."""

    def __init__(self, stderr: asyncio.StreamReader) -> None:
        self._lines: deque[str] = deque(maxlen=STDERR_LINES)
        self._reading = asyncio.create_task(self._read(stderr))

    @property
    def last_line(self) -> str:
        """An excerpt of the last line, which in a traceback is the error; empty without a line."""
        return sanitize.excerpt(self._lines[-1]) if self._lines else ""

    async def close(self, seconds: float) -> None:
        """Read to the end of the stream, for at most `seconds`, as a grandchild may hold it open.

        May be called again. The cancellation of the reading task is not raised: the caller would take it for
        its own.
        """
        await asyncio.wait({self._reading}, timeout=seconds)
        self._reading.cancel()

    async def _read(self, stderr: asyncio.StreamReader) -> None:
        while chunk := await stderr.read(4096):
            lines = chunk.decode(errors="replace").splitlines()
            self._lines.extend(line.strip() for line in lines if line.strip())
