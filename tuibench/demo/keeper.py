"""The process between a private server and its owners: it is the server's parent, and outlives every owner.

It obeys instructions on its standard input, and holds the read end of a pipe whose write end the owners hold.
When the last of them is gone, by exit or by kill -9, the kernel closes the pipe: the keeper ends the server
and removes its directory. A server that is kept goes on until SIGTERM ends its keeper.
"""

import contextlib
import os
import select
import signal
import sys
from pathlib import Path

from tuibench.clock import SystemClock
from tuibench.demo import stale
from tuibench.demo.instance import Instance
from tuibench.demo.instructions import (
    Answer,
    Create,
    End,
    Failed,
    Halt,
    Halted,
    Instruction,
    Kill,
    Spec,
    Start,
    instruction,
    line,
)
from tuibench.errors import TuibenchError

CONTROL = 0
ANSWERS = 1
CHUNK_BYTES = 65_536


class Keeper:
    """Obeys one owner's instructions and watches all owners' pipe, until one reason to end comes up."""

    def __init__(self, watch_fd: int, signals_fd: int) -> None:
        self._watch_fd = watch_fd
        self._signals_fd = signals_fd
        self._readers = [CONTROL, watch_fd, signals_fd]
        self._pending = b""
        self._instance: Instance | None = None
        self._keep = False
        self._remove = True
        self._ended = False

    def run(self) -> None:
        """Works until the end; whatever the reason, no server is left without a keeper."""
        try:
            while not self._ended:
                ready, _, _ = select.select(self._readers, [], [])
                for descriptor in ready:
                    self._read(descriptor, os.read(descriptor, CHUNK_BYTES))
        finally:
            if self._instance is not None:
                self._instance.end(remove=self._remove)

    def _read(self, descriptor: int, data: bytes) -> None:
        if descriptor == self._signals_fd:
            if signal.SIGTERM in data:
                self._end(remove=True)
            self._look_around()
        elif not data:
            self._readers.remove(descriptor)
            self._look_around()
        else:
            *lines, self._pending = (self._pending + data).split(b"\n")
            for text in lines:
                self._obey(instruction(text))

    def _look_around(self) -> None:
        """Ends if no owner is left and nothing is to be kept.

        The directory of a kept server that died by itself stays, to be looked at.
        """
        if self._watch_fd in self._readers:
            return
        if not self._keep:
            self._end(remove=True)
        elif self._instance is None or not self._instance.alive:
            self._end(remove=False)

    def _end(self, *, remove: bool) -> None:
        """Leaves the loop; the first reason to end decides what becomes of the directory."""
        if not self._ended:
            self._remove, self._ended = remove, True

    def _obey(self, order: Instruction) -> None:
        if isinstance(order, End):
            self._end(remove=order.remove)
            return
        try:
            self._answer(self._carry_out(order))
        except TuibenchError as error:
            self._answer(Failed(error.message, error.hint))
        except OSError as error:
            self._answer(Failed(f"the private server failed: {error}", ""))

    def _carry_out(self, order: Create | Start | Halt | Kill) -> Answer:
        if isinstance(order, Create):
            self._instance = self._make(order.spec)
            return self._instance.create()
        if self._instance is None:
            return Failed("there is no private server yet", "")
        match order:
            case Start():
                return self._instance.start()
            case Halt():
                self._instance.halt()
            case Kill():
                self._instance.kill()
        return Halted()

    def _make(self, spec: Spec) -> Instance:
        stale.sweep(Path(spec.base))
        self._keep = spec.keep
        instance = Instance(spec, SystemClock())
        with instance.layout.keeper_log.open("ab") as log:
            os.dup2(log.fileno(), sys.stderr.fileno())
        return instance

    def _answer(self, answer: Answer) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(ANSWERS, line(answer))


def catch_signals() -> int:
    """Turns SIGTERM and SIGCHLD into bytes to read; a terminal's SIGINT and SIGHUP do nothing here.

    Handlers, not SIG_IGN: what is ignored here would be ignored by the server, too.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def main() -> None:
    signals_fd = catch_signals()
    os.chdir("/")
    Keeper(int(sys.argv[1]), signals_fd).run()


if __name__ == "__main__":
    main()
