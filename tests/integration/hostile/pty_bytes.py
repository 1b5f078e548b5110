"""All bytes that a program sends to its terminal, from its start to its end."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.integration.support.forked import LAST_SECONDS, forks

ROWS, COLUMNS = 40, 200
DEADLINE_SECONDS = 60.0
READ_SECONDS = 0.05


class Shown(NamedTuple):
    """The exit code, and what the terminal got."""

    code: int
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


def on_terminal(
    *arguments: str,
    env: Mapping[str, str] | None = None,
    steps: Sequence[tuple[bytes, str]] = (),
) -> Shown:
    """Runs the program on a pseudo terminal to its end.

    `steps` are typed one after the other: keys, once these bytes were shown since the keys before. A program
    that does not end in time is killed, which fails the test.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(env or {})}
    fork = forks().start(arguments, env, [slave] * 3)
    os.close(slave)
    data, seen, pending = b"", 0, list(steps)
    deadline = time.monotonic() + DEADLINE_SECONDS
    try:
        with contextlib.suppress(OSError):
            while True:
                ended = fork.ended() is not None
                ready = select.select([master], [], [], READ_SECONDS)[0]
                if ready and not (more := os.read(master, 65536)):
                    break
                if ready:
                    data += more
                    if pending and pending[0][0] in data[seen:]:
                        os.write(master, pending.pop(0)[1].encode())
                        seen = len(data)
                elif ended:
                    break
                assert time.monotonic() < deadline, (pending, data)
    finally:
        if time.monotonic() >= deadline:
            fork.kill()
        os.close(master)
    code = fork.ended(LAST_SECONDS)
    assert code is not None
    return Shown(code, data)
