"""Rules for sending commands: one thread change at a time, no command twice before its answer.

A held key repeats thirty times a second. Presses that come while a thread change is on its way add up to one
following change; any other command that is on its way already is not sent again, and one of its kind with
other values is sent after its answer.
"""

from collections.abc import Callable

from tuibench.model.command import Command, SetThreads
from tuibench.model.schedule import MAX_THREADS

ThreadChange = Callable[[int], int]


class ThreadControl:
    """The thread count that the operator wants, and what has to be asked of the session for it."""

    def __init__(self, least: int = 1) -> None:
        self._least = least
        self._wanted: int | None = None
        self._asked: int | None = None

    def press(self, change: ThreadChange, current: int) -> SetThreads | None:
        """Apply `change` to what is wanted so far; the command to send now, None when there is none."""
        base = self._wanted if self._wanted is not None else current
        self._wanted = min(max(change(base), self._least), MAX_THREADS)
        if self._asked is not None or self._wanted == current:
            return None
        return self._ask()

    def answered(self, *, ok: bool) -> SetThreads | None:
        """The session answered; the command that the presses in between add up to, if any.

        A refusal forgets them: they were meant on top of what was refused.
        """
        reached, self._asked = self._asked, None
        if ok and self._wanted != reached:
            return self._ask()
        if not ok:
            self._wanted = None
        return None

    def on_status(self) -> None:
        """The session said how many threads there are: the next press starts from there."""
        if self._asked is None:
            self._wanted = None

    def _ask(self) -> SetThreads | None:
        if self._wanted is None:
            return None
        self._asked = self._wanted
        return SetThreads(self._wanted)


class PendingCommands:
    """The commands that wait for their answer, one of a kind at a time, and those that follow them."""

    def __init__(self) -> None:
        self._waiting: dict[type[Command], list[Command]] = {}

    def add(self, command: Command) -> bool:
        """True if it may be sent now; another one of its kind, with other values, comes after the answer."""
        waiting = self._waiting.setdefault(type(command), [])
        if command not in waiting[-1:]:
            waiting.append(command)
            return len(waiting) == 1
        return False

    def done(self, command: Command) -> Command | None:
        """The command was answered; returns the one to send now, if any."""
        waiting = self._waiting[type(command)]
        waiting.pop(0)
        return waiting[0] if waiting else None
