"""What waits to be sent to one viewer, and what is left out when it reads too slowly.

Samples give way, the oldest first, and the viewer is told how many it missed. Of the status only the newest
is kept, and of where a probe stands. Events, answers and the last word are never left out: a viewer that lets
too many of them wait is overfull, and can be dropped.
"""

from collections import OrderedDict, deque

import msgspec

from tuibench.model.message import Downward, Gap, Status
from tuibench.model.probe import ProbeState
from tuibench.model.sample import Sample

MOST_SAMPLES = 60
MOST_BYTES = 1 << 24


def line_of(message: Downward) -> bytes:
    return msgspec.json.encode(message) + b"\n"


class Outbox:
    """Lines in the order they were put."""

    def __init__(self, most_samples: int = MOST_SAMPLES, most_bytes: int = MOST_BYTES) -> None:
        self._most_samples = most_samples
        self._most_bytes = most_bytes
        self._lines: OrderedDict[int, bytes] = OrderedDict()
        self._samples: deque[int] = deque()
        self._newest: dict[type[Downward], int] = {}
        self._missed = 0
        self._last = 0
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def is_overfull(self) -> bool:
        return self._bytes > self._most_bytes

    def put(self, message: Downward, line: bytes) -> None:
        """Takes a message in; `line` is the same as bytes, made once for all viewers."""
        self._last += 1
        self._lines[self._last] = line
        self._bytes += len(line)
        if isinstance(message, Sample):
            self._samples.append(self._last)
            if len(self._samples) > self._most_samples:
                self._leave_out(self._samples.popleft())
                self._missed += 1
        elif isinstance(message, Status | ProbeState):
            if (older := self._newest.get(type(message))) is not None:
                self._leave_out(older)
            self._newest[type(message)] = self._last

    def take(self) -> bytes | None:
        """The next line to send, None if there is none."""
        if self._missed:
            missed, self._missed = self._missed, 0
            return line_of(Gap(samples=missed))
        if not self._lines:
            return None
        number, line = self._lines.popitem(last=False)
        self._bytes -= len(line)
        if self._samples and self._samples[0] == number:
            self._samples.popleft()
        self._newest = {kind: newest for kind, newest in self._newest.items() if newest != number}
        return line

    def _leave_out(self, number: int) -> None:
        self._bytes -= len(self._lines.pop(number))
