"""What all connections of a worker share: where to go, what to run, by which rules, and how much is left."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from tuibench.clock import Clock
from tuibench.errors import TuibenchError
from tuibench.load.arrivals import Arrivals
from tuibench.load.delay import Delay
from tuibench.load.recorder import Recorder
from tuibench.load.resting import Reveille
from tuibench.load.rules import Rules
from tuibench.model.plan import Backlog
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, Packet, fixed_packet
from tuibench.workload.program import FlatStatement, Transaction

Connect = Callable[[Target], Awaitable[Connection]]


class Work:
    """The common ground of a worker's connections.

    `fixed_packets` are those of the statements that are the same on each of them, by their flat index.
    `changes` counts what all have to look at before their next transaction.
    """

    def __init__(
        self,
        target: Target,
        transactions: Sequence[Transaction],
        statements: Sequence[FlatStatement],
        recorder: Recorder,
        rules: Rules,
        arrivals: Arrivals,
        delay: Delay,
        reveille: Reveille,
        *,
        opening: asyncio.Semaphore,
        connect: Connect,
        clock: Clock,
    ) -> None:
        self.target = target
        self.transactions = transactions
        self.statements = statements
        self.recorder = recorder
        self.rules = rules
        self.arrivals = arrivals
        self.delay = delay
        self.reveille = reveille
        self.opening = opening
        self.connect = connect
        self.clock = clock
        self.fixed_packets = _fixed_packets(statements, rules)
        self.changes = 0
        self.session_sql: tuple[str, ...] = ()
        self.paused = False
        self.connected = 0
        self.failure: TuibenchError | None = None
        self.last_refusal = ""
        self._has_begun = False

    @property
    def is_over(self) -> bool:
        """True when nobody may start anything any more. While the load is held that is not decided."""
        return self.failure is not None or (self.arrivals.is_finished and not self.paused)

    def pause(self) -> None:
        """Nobody starts anything until `resume`."""
        self.paused = True
        self.changed()

    def resume(self) -> None:
        self.paused = False

    def set_session(self, statements: tuple[str, ...]) -> None:
        """Each connection runs these before its next transaction."""
        self.session_sql = statements
        self.changed()

    def fail(self, error: TuibenchError) -> None:
        """Nobody can go on; the first reason counts."""
        self.failure = self.failure or error
        self.changed()

    def changed(self) -> None:
        """Each connection looks up from its work once."""
        self.changes += 1

    def joined(self) -> None:
        """One more connection is ready. The first one after an outage may find a backlog to forget.

        What came due before the very first one was there is no outage's.
        """
        if self.connected == 0 and self._has_begun and self.rules.backlog is Backlog.DROP:
            self.recorder.counters.abandoned += self.arrivals.forget()
        self._has_begun = True
        self.connected += 1

    def parted(self) -> None:
        """One connection fewer."""
        self.connected -= 1


def _fixed_packets(statements: Sequence[FlatStatement], rules: Rules) -> dict[int, Packet]:
    return {
        index: packet
        for index, flat in enumerate(statements)
        if not (flat.captures or (flat.prepared and rules.prepared))
        and (packet := fixed_packet(flat.sql)) is not None
    }
