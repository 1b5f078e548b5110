"""The owner's end of the keeper: starts it, asks it, lets it go. Blocking; `server` calls it from threads.

Nothing here belongs to an event loop, so a server may be started in one loop and stopped in another.
"""

import os
import subprocess
import sys
import threading

from tuibench.demo.instructions import Answer, End, Failed, Instruction, answer, line
from tuibench.errors import RunError, ServerUnavailableError

_let_go: list["subprocess.Popen[bytes]"] = []
"""Keepers that outlive us: held, so that Python does not take them for forgotten children."""


class Channel:
    """A running keeper. `watch_fd` is the write end of its pipe: whoever holds it keeps the server alive."""

    def __init__(self) -> None:
        reader, self.watch_fd = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tuibench.demo.keeper", str(reader)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[reader],
                start_new_session=True,
            )
        except BaseException:
            os.close(self.watch_fd)
            raise
        finally:
            os.close(reader)
        self._lock = threading.Lock()
        self._open = True

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, instruction: Instruction) -> Answer:
        """Sends an instruction and waits for the answer. Raises ServerUnavailableError if it failed."""
        with self._lock:
            self._send(instruction)
            assert self._process.stdout is not None  # noqa: S101
            text = self._process.stdout.readline()
        if not text:
            raise ServerUnavailableError("the keeper of the private server has ended")
        reply = answer(text)
        if isinstance(reply, Failed):
            raise ServerUnavailableError(reply.message, reply.hint)
        return reply

    def end(self, *, remove: bool) -> None:
        """Makes the keeper stop the server at once, and waits until it has."""
        with self._lock:
            self._send(End(remove))
            self._close()
        self._process.wait()

    def abandon(self) -> None:
        """Asks the keeper to end whatever it is doing, without waiting: it may be busy for a while."""
        self._process.terminate()

    def release(self) -> None:
        """Stops being an owner: the server lives as long as others hold `watch_fd`, or if it is kept."""
        with self._lock:
            self._close()
        _let_go.append(self._process)

    def _send(self, instruction: Instruction) -> None:
        if not self._open:
            raise RunError("the private server was stopped already")
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.write(line(instruction))
            self._process.stdin.flush()
        except BrokenPipeError:
            return

    def _close(self) -> None:
        self._open = False
        os.close(self.watch_fd)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
