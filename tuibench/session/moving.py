"""Changes of the load that nobody asks for at the moment: the moves of a plan, the levels of a probe."""

import asyncio
from collections.abc import Callable
from typing import assert_never

from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.schedule import Quantity
from tuibench.session.schedule import Move
from tuibench.session.steered import Steered

ENDING = frozenset({RunState.STOPPING, RunState.ENDED})
"""Whoever's turn comes in one of these states leaves everything as it is."""


class Moving:
    """Carries out what is due. `turn` is the one that operators' commands to the load take, too."""

    def __init__(self, session: Steered, turn: asyncio.Lock) -> None:
        self._session = session
        self._turn = turn

    async def follow(self, due: Callable[[], list[Move]]) -> None:
        """Makes the moves of a plan, whichever are due when their turn comes."""
        async with self._turn:
            if self._session.state in ENDING:
                return
            for move in due():
                match move.quantity:
                    case Quantity.THREADS:
                        await self._threads(move)
                    case Quantity.RATE:
                        self._rate(move)
                    case _:
                        assert_never(move.quantity)

    async def lead(self, threads: int, rate: float) -> None:
        """The load that a probe wants; what was due at another rate is forgotten."""
        async with self._turn:
            if self._session.state in ENDING:
                return
            pace = self._session.pace
            if rate != pace.rate:
                pace.set_rate(0.0)
                pace.set_rate(rate)
            if threads != pace.threads:
                pace.most_let_in = None
                await pace.set_threads(threads)

    def _rate(self, move: Move) -> None:
        pace = self._session.pace
        is_change = move.level != pace.rate
        pace.set_rate(move.level)
        self._tell_move(move, EventKind.RATE, is_change=is_change)

    async def _threads(self, move: Move) -> None:
        """What the server would not let in stays out: it is not asked again at every move."""
        pace = self._session.pace
        threads = int(move.level)
        if pace.most_let_in is not None:
            threads = min(threads, pace.most_let_in)
        is_change = threads != pace.threads
        if is_change:
            await pace.set_threads(threads)
        self._tell_move(move, EventKind.THREADS, is_change=is_change)

    def _tell_move(self, move: Move, kind: EventKind, *, is_change: bool) -> None:
        """A level or a ramp that begins is drawn; the way up a ramp is not, nor what changes nothing."""
        if move.text:
            self._session.tell(kind if is_change or move.is_ramp else EventKind.PLAN, move.text)
