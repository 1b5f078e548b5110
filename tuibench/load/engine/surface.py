"""The interface of an engine: runs a program on the connections of a worker process, and reports.

There are two: `asyncio.engine` is portable and the reference, `native.engine` runs transactions on threads in
Rust. `tests/integration/load/conformance` runs the same tests on both.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence

from tuibench.load.worker_report import Finished, Reassign, WorkerReport

Emit = Callable[[Reassign | Finished], None]
"""Receives the messages that an engine sends unrequested: work without connections, and the end of its quota.
"""


class Engine(ABC):
    """The load of one worker. No method blocks; `stop` is awaited.

    Connections have numbers, which determine their streams of values. `finished` is set once every
    transaction that the engine was allowed to start has ended.
    """

    finished: asyncio.Event

    @abstractmethod
    def set_connections(self, numbers: Collection[int]) -> None:
        """Keeps these connections open from now on; they open and close in the background.

        A connection that is dropped ends after its transaction. One that returns continues its stream of
        values: unique values stay unique.
        """

    @abstractmethod
    def set_rate(self, rate_per_second: float) -> None:
        """Schedules this many transactions per second; 0 for a closed loop, which drops the backlog."""

    @abstractmethod
    def set_users(self, users: int) -> None:
        """Sets the number of users that share the connections, as in a connection pool; 0 for none.

        Only the asyncio engine can.
        """

    @abstractmethod
    def set_extra_connections(self, idle: int, logins_per_second: float) -> None:
        """Sets the number of idle connections and the rate of extra logins."""

    @abstractmethod
    def set_weights(self, weights: Sequence[float]) -> None:
        """Sets the weight of each transaction of the program, from each connection's next draw."""

    @abstractmethod
    def set_delay(self, delay_ns: int) -> None:
        """Delays the answers to statements that are sent from now on, as a longer network would."""

    @abstractmethod
    def set_session(self, statements: tuple[str, ...]) -> None:
        """Runs these statements on each connection before its next transaction, and at each login."""

    @abstractmethod
    def reset_stats(self, limit: int | None) -> None:
        """Drops the backlog and each connection's figures; `limit` transactions may start from now on."""

    @abstractmethod
    def take_over(self, work: Reassign) -> None:
        """Adds the work that another worker has no connections for."""

    @abstractmethod
    def checkpoint(self) -> None:
        """Restarts each connection's figures of the interval between two checkpoints."""

    @abstractmethod
    def pause(self) -> None:
        """Stops starting and scheduling transactions until `resume`."""

    @abstractmethod
    def resume(self) -> None:
        """Continues after `pause`; with `--backlog=drop` it drops the backlog first."""

    @abstractmethod
    def report(self) -> WorkerReport:
        """Returns the latencies since the last report, and the counters since the start."""

    @abstractmethod
    def connection_ids(self) -> tuple[int, ...]:
        """Returns the server's ids of the open connections."""

    @abstractmethod
    def expect_kill(self, connection_id: int) -> None:
        """Retries the next interrupted query of this connection, as the operator kills it."""

    @abstractmethod
    async def stop(self, grace_seconds: float) -> None:
        """Closes all connections; abandons the backlog and transactions that exceed the grace period."""
