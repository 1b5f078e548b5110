"""How much the driver may read during a login or while statements are prepared: it sets no limit itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tuibench.errors import ProtocolError
from tuibench.units import binary_size as data_text

LOGIN_BYTES = 1 << 20
PREPARE_BYTES = 1 << 26


@contextmanager
def read_limit(raw: Any, most_bytes: int) -> Iterator[None]:
    """While this lasts, the driver's connection takes so many bytes; for more it raises ProtocolError.

    All bytes arrive while the driver waits for them, so those are counted.
    """
    fill, left = raw._fill_buffer, most_bytes

    async def limited(need: int) -> None:
        nonlocal left
        state = raw._proto
        before = state.length - state.pos
        if need - before > left:
            raise _too_much(most_bytes)
        await fill(need)
        left -= state.length - state.pos - before
        if left < 0:
            raise _too_much(most_bytes)

    raw._fill_buffer = limited
    try:
        yield
    finally:
        del raw._fill_buffer


def _too_much(most_bytes: int) -> ProtocolError:
    return ProtocolError(f"it sends more than {data_text(most_bytes)}")
