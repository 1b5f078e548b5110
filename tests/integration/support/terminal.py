"""A program on a terminal of its own: drawn to, and closed or killed as a dropped connection would."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping

import psutil

from tests.integration.support.forked import program_command
from tests.integration.support.painted import Painted
from tests.integration.support.processes import until

ROWS, COLUMNS = 36, 120
PATIENCE_SECONDS = 90.0
"""A program that starts on a busy machine may take half a minute to draw its first screen."""

READ_SECONDS = 0.05


class Terminal:
    """One program of ours on a pseudo terminal; what it has drawn can be read."""

    def __init__(self, *arguments: str, env: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._program = subprocess.Popen(
            program_command(*arguments),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm-256color", **env},
            preexec_fn=_own_the_terminal,
        )
        os.close(slave)
        self._is_open = self._is_read = True
        self._painted = Painted(ROWS, COLUMNS)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def has_ended(self) -> bool:
        return self._program.poll() is not None

    @property
    def code(self) -> int | None:
        """The exit code, once it has ended."""
        return self._program.poll()

    @property
    def threads(self) -> int:
        """How many the program's process has."""
        return psutil.Process(self._program.pid).num_threads()

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def shows(self, words: str) -> bool:
        """Whether these words appear on the screen in time."""
        return until(lambda: words in self._painted.text, PATIENCE_SECONDS)

    @property
    def text(self) -> str:
        """The screen as it is, for who wonders why something is not on it."""
        return self._painted.text

    def resize(self, rows: int, columns: int) -> None:
        """Another size, which the program is told of."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @contextlib.contextmanager
    def unread(self) -> Iterator[None]:
        """Nothing of what the program writes is read in the meantime."""
        self._is_read = False
        try:
            yield
        finally:
            self._is_read = True

    def kill(self) -> None:
        """SIGKILL: the program can do nothing more."""
        self._program.kill()
        self._program.wait()

    def hang_up(self) -> None:
        """What a dropped connection means to its programs: hung up, continued, and no terminal any more."""
        self._is_open = False
        self._reader.join()
        os.close(self._master)

    def signal(self, number: signal.Signals) -> None:
        self._program.send_signal(number)

    def close(self) -> None:
        """Ends the program if it still runs, and takes its terminal away."""
        if not self.has_ended:
            self.kill()
        if self._is_open:
            self.hang_up()

    def _read(self) -> None:
        """Never waits for long: a terminal that somebody reads from cannot be taken away."""
        with contextlib.suppress(OSError):
            while self._is_open:
                if not self._is_read:
                    time.sleep(READ_SECONDS)
                elif select.select([self._master], [], [], READ_SECONDS)[0]:
                    self._painted.feed(os.read(self._master, 65536))


def _own_the_terminal() -> None:
    """The program leads a session of its own, whose terminal is its standard input."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextlib.contextmanager
def terminal(*arguments: str, env: Mapping[str, str]) -> Iterator[Terminal]:
    """A program on a terminal, ended with the block."""
    opened = Terminal(*arguments, env=env)
    try:
        yield opened
    finally:
        opened.close()


def ends(opened: Terminal) -> bool:
    """Whether the program ends in time."""
    return until(lambda: opened.has_ended)
