"""The private server of a run: the run ends with it, because neither its process nor its data come back."""

import asyncio
from pathlib import Path

from tuibench.clock import Clock
from tuibench.demo.layout import DirectoryLayout
from tuibench.demo.server_end import find_end
from tuibench.errors import ServerUnavailableError

POLL_SECONDS = 0.5


class PrivateServerWatch:
    """Polls for the end of the private server with this directory; empty for a server that is not private."""

    def __init__(self, directory: str, clock: Clock) -> None:
        self.is_needed = bool(directory)
        self._layout = DirectoryLayout(Path(directory))
        self._clock = clock

    async def end(self) -> ServerUnavailableError | None:
        """The error that says why the server has ended; None while it runs, or if it is not private."""
        return await asyncio.to_thread(find_end, self._layout) if self.is_needed else None

    async def until_end(self) -> None:
        """Wait for the server's end, which is raised as ServerUnavailableError."""
        while (ended := await self.end()) is None:
            await self._clock.sleep(POLL_SECONDS)
        raise ended
