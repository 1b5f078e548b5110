"""Rules for sending commands: one thread change at a time, no duplicate command before its reply.

A held key repeats thirty times a second. Presses during a pending thread change add up to one following
change; any other pending command is not sent again, and one of its kind with other values is sent after its
reply.
"""

from collections.abc import Callable

from tuibench.model.command import Command, SetThreads
from tuibench.model.schedule import MAX_THREADS

ThreadChange = Callable[[int], int]


class ThreadControl:
    """Requested thread count, and the command that the session must get for it."""

    def __init__(self, least: int = 1) -> None:
        self._least = least
        self._wanted: int | None = None
        self._asked: int | None = None

    def press(self, change: ThreadChange, current: int) -> SetThreads | None:
        """Apply `change` to the requested count; returns the command to send now, None if there is none."""
        base = self._wanted if self._wanted is not None else current
        self._wanted = min(max(change(base), self._least), MAX_THREADS)
        if self._asked is not None or self._wanted == current:
            return None
        return self._ask()

    def answered(self, *, ok: bool) -> SetThreads | None:
        """Handle the session's reply; returns the command for the presses since the request, if any.

        A refusal discards them: they were relative to the refused value.
        """
        reached, self._asked = self._asked, None
        if ok and self._wanted != reached:
            return self._ask()
        if not ok:
            self._wanted = None
        return None

    def on_status(self) -> None:
        """Handle a reported thread count: the next press starts from it."""
        if self._asked is None:
            self._wanted = None

    def _ask(self) -> SetThreads | None:
        if self._wanted is None:
            return None
        self._asked = self._wanted
        return SetThreads(self._wanted)


class PendingCommands:
    """Commands that wait for their reply, one of each kind at a time, and those queued after them."""

    def __init__(self) -> None:
        self._waiting: dict[type[Command], list[Command]] = {}

    def add(self, command: Command) -> bool:
        """True if the command may be sent now; one of the same kind with other values is queued."""
        waiting = self._waiting.setdefault(type(command), [])
        if command not in waiting[-1:]:
            waiting.append(command)
            return len(waiting) == 1
        return False

    def done(self, command: Command) -> Command | None:
        """Handle the reply to a command; returns the command to send now, if any."""
        waiting = self._waiting[type(command)]
        waiting.pop(0)
        return waiting[0] if waiting else None
