"""One private server in its directory: made, started, halted, killed, removed. All calls block."""

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import IO

import msgspec

from tuibench.clock import Clock
from tuibench.demo import initialise, options, process
from tuibench.demo.instructions import Running, Spec
from tuibench.demo.layout import Layout
from tuibench.errors import ServerUnavailableError

START_SECONDS = 60.0
HALT_SECONDS = 30.0
PORT_ATTEMPTS = 3
PORT_TAKEN = ("address already in use", "bind on tcp/ip port")


class Mark(msgspec.Struct, frozen=True):
    """What the lock file says: who keeps the directory, and whether it is to stay."""

    keeper: int
    keep: bool


class Instance:
    """A server and its directory. The directory is locked for as long as this process lives."""

    def __init__(self, spec: Spec, clock: Clock) -> None:
        self._spec = spec
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self.layout = Layout.create(Path(spec.base))
        self._lock = lock(self.layout, Mark(os.getpid(), spec.keep))
        self._port = 0

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def create(self) -> Running:
        """Fills the directory and starts the server for the first time, on a port that is free."""
        initialise.make_data_directory(self._spec, self.layout)
        for left in range(PORT_ATTEMPTS - 1, -1, -1):
            self._port = free_port()
            initialise.write_files(self._spec, self.layout, self._port)
            try:
                return self.start(f"--init-file={self.layout.init_file}")
            except ServerUnavailableError as error:
                if not left or not any(words in error.message.lower() for words in PORT_TAKEN):
                    raise
            finally:
                self.layout.init_file.unlink(missing_ok=True)
        raise AssertionError("the last attempt returns or raises")

    def start(self, *extra: str) -> Running:
        """Starts the server and waits until it takes connections."""
        command = [*options.serving(self._spec, self.layout, self._port), *extra]
        with self.layout.error_log.open("ab") as log:
            self._process = process.spawn(command, log)
        if not process.wait_ready(self._process, self.layout.socket, START_SECONDS, self._clock):
            process.kill(self._process)
            raise process.failure(f"{self._spec.binary} did not start", self.layout.error_log)
        return Running(self._process.pid, self._port, str(self.layout.root))

    def halt(self) -> None:
        """Shuts the server down in order."""
        if self._process is not None:
            process.terminate(self._process, HALT_SECONDS)

    def kill(self) -> None:
        """Ends the server as a power cut would."""
        if self._process is not None:
            process.kill(self._process)

    def end(self, *, remove: bool) -> None:
        """Ends it for good. What is thrown away needs no shutdown in order."""
        if remove:
            self.kill()
            remove_directory(self.layout)
        else:
            self.halt()
        self._lock.close()


def lock(layout: Layout, mark: Mark) -> IO[bytes]:
    """Marks the directory as kept by this process. The lock is gone when the process is, however it ends."""
    file = layout.keeper_lock.open("xb")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    file.write(msgspec.json.encode(mark))
    file.flush()
    return file


def remove_directory(layout: Layout) -> None:
    """Removes the directory, the lock last: what a crash leaves half removed can still be recognised."""
    for path in layout.root.iterdir():
        if path == layout.keeper_lock:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    shutil.rmtree(layout.root, ignore_errors=True)


def free_port() -> int:
    """A loopback port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
