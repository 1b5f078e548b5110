"""One connection of the load, from login to goodbye.

    connecting ──> working ──> leaving
        ^             │
        └── lost <────┘

connecting  logs in and prepares; refused for want of connections it ends, for want of a server it tries again
working     runs one transaction after the other, holding before each while the load is paused
lost        the connection broke: the transaction failed, a new connection is made after a back-off
leaving     asked to go: the transaction in flight ends, then the connection is closed
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, RunError, ServerAwayError, SQLError, TuibenchError
from tuibench.load.recorder import OTHER, WRITE, Recorder
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, TextStatement
from tuibench.mysql.errors import (
    CLIENT_CANNOT_CONNECT,
    CONNECTION_LOST_CODES,
    TOO_MANY_CONNECTIONS_CODES,
)
from tuibench.workload.generate import Call, Generator
from tuibench.workload.program import FlatStatement, Program, flat_statements

TOO_MANY_PREPARED = 1461
PASSING_CODES = CONNECTION_LOST_CODES | TOO_MANY_CONNECTIONS_CODES
"""What a login may meet while a server goes down and comes back."""
RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS = 0.001, 0.1
RECONNECT_FIRST_SECONDS, RECONNECT_LONGEST_SECONDS = 0.05, 1.0
MOST_DOUBLINGS = 30
"""A server may stay away for days: 2 to the power of the attempts would outgrow a float."""

Connect = Callable[[Target], Awaitable[Connection]]
Execute = Callable[[tuple[Any, ...]], Awaitable[int]]


class Work:
    """What all connections of a worker share: where to go, what to run, and the rules."""

    def __init__(
        self,
        target: Target,
        program: Program,
        recorder: Recorder,
        *,
        ignored_errors: frozenset[int],
        max_retries: int,
        opening: asyncio.Semaphore,
        connect: Connect,
        clock: Clock,
    ) -> None:
        self.target = target
        self.statements = flat_statements(program)
        self.explicit = [transaction.explicit for transaction in program.transactions]
        self.recorder = recorder
        self.ignored_errors = ignored_errors
        self.max_retries = max_retries
        self.opening = opening
        self.connect = connect
        self.clock = clock
        self.paused = False
        self.failure: TuibenchError | None = None

    def fail(self, error: TuibenchError) -> None:
        """Nobody can go on; the first reason counts."""
        self.failure = self.failure or error


def back_off(attempt: int, first_seconds: float, longest_seconds: float, chance: float) -> float:
    """Seconds to wait before attempt n (from 0): doubling, capped, and spread by a chance in [0, 1)."""
    step = first_seconds * 2 ** min(attempt, MOST_DOUBLINGS)
    return float(min(longest_seconds, step) * (0.5 + chance / 2))


class VirtualUser:
    """A connection of the load with its own stream of values. `admitted` once the server has let it in."""

    def __init__(self, work: Work, generator: Generator, number: int) -> None:
        self.connected = False
        self.admitted = False
        self.events = 0
        self.busy_us = 0
        self._work = work
        self._generator = generator
        self._chance = random.Random(number)
        self._wake = asyncio.Event()
        self._leaving = False
        self._connection: Connection | None = None
        self._execute: list[Execute] = []
        self._query: Callable[[str], Awaitable[object]]

    def leave(self) -> None:
        """Ends after the transaction in flight."""
        self._leaving = True
        self._wake.set()

    def wake(self) -> None:
        """Looks again whether the load is paused."""
        self._wake.set()

    async def run(self) -> None:
        """Lives until told to leave, refused by the server, or cancelled."""
        try:
            lost = 0
            while not self._leaving and self._work.failure is None:
                if not await self._connect(is_new=lost == 0):
                    return
                if lost:
                    self._work.recorder.counters.reconnects += 1
                lost += 1
                await self._live()
        except TuibenchError as error:
            self._work.fail(error)
        except Exception as error:
            self._work.fail(RunError(f"a connection of the load broke down: {type(error).__name__}: {error}"))
        finally:
            await self._disconnect()

    async def _live(self) -> None:
        """Works until it leaves or the connection is lost."""
        try:
            while not self._leaving and self._work.failure is None:
                if self._work.paused:
                    self._wake.clear()
                    await self._wake.wait()
                else:
                    await self._run_transaction()
        except ConnectionLostError:
            await self._disconnect()

    async def _connect(self, *, is_new: bool) -> bool:
        """Logs in and prepares, as often as it takes. False when the server takes no more connections."""
        attempt = 0
        while not self._leaving:
            try:
                async with self._work.opening:
                    await self._log_in()
            except SQLError as error:
                if error.code in TOO_MANY_CONNECTIONS_CODES and is_new:
                    self._work.recorder.counters.count_refusal(error.code)
                    return False
                if error.code not in PASSING_CODES:
                    raise
            except ServerAwayError:
                self._work.recorder.counters.count_error(CLIENT_CANNOT_CONNECT)
            else:
                return True
            await self._work.clock.sleep(
                back_off(attempt, RECONNECT_FIRST_SECONDS, RECONNECT_LONGEST_SECONDS, self._chance.random())
            )
            attempt += 1
        return False

    async def _log_in(self) -> None:
        await self._disconnect()
        self._connection = connection = await self._work.connect(self._work.target)
        self._query = connection.query
        self._work.recorder.unanswered += connection.statements
        self._execute = []
        for statement in self._work.statements:
            self._execute.append(await self._executor(connection, statement))
        self.connected = self.admitted = True

    async def _executor(self, connection: Connection, statement: FlatStatement) -> Execute:
        if statement.prepared:
            try:
                return (await connection.prepare(statement.sql)).execute
            except SQLError as error:
                if error.code != TOO_MANY_PREPARED:
                    raise
                self._work.recorder.counters.count_refusal(error.code)
        return TextStatement(connection, statement.sql).execute

    async def _disconnect(self) -> None:
        self.connected = False
        connection, self._connection = self._connection, None
        if connection is not None:
            self._work.recorder.unanswered += connection.is_open
            await connection.close()

    async def _run_transaction(self) -> None:
        """One transaction with its retries; its latency covers them all, as sysbench counts it."""
        counters = self._work.recorder.counters
        started = time.perf_counter_ns()
        counters.started += 1
        counters.in_flight += 1
        try:
            done = await self._try_until_committed()
        except asyncio.CancelledError:
            counters.abandoned += 1
            raise
        except Exception:
            counters.failed += 1
            raise
        finally:
            counters.in_flight -= 1
        if not done:
            counters.failed += 1
            return
        took_us = (time.perf_counter_ns() - started) // 1000
        counters.completed += 1
        self.events += 1
        self.busy_us += took_us
        self._work.recorder.transactions_us.append(took_us)

    async def _try_until_committed(self) -> bool:
        """True once it succeeded; False when the retries are used up. Raises what must not be retried."""
        for attempt in range(self._work.max_retries + 1):
            which, calls = self._generator.next_transaction()
            explicit = self._work.explicit[which]
            try:
                await self._attempt(calls)
            except ConnectionLostError as error:
                self._note(error)
                raise
            except SQLError as error:
                self._note(error)
                if explicit:
                    await self._roll_back()
                if error.code not in self._work.ignored_errors:
                    raise
            else:
                self._work.recorder.counters.commits += explicit
                return True
            if attempt < self._work.max_retries:
                self._work.recorder.counters.retries += 1
                await self._work.clock.sleep(
                    back_off(attempt, RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS, self._chance.random())
                )
        return False

    async def _attempt(self, calls: Sequence[Call]) -> None:
        recorder = self._work.recorder
        tally, kinds, latencies, execute = (
            recorder.tally,
            recorder.kinds,
            recorder.latencies_us,
            self._execute,
        )
        now = time.perf_counter_ns
        try:
            for index, values in calls:
                started = now()
                affected = await execute[index](values)
                latencies[index].append((now() - started) // 1000)
                kind = kinds[index]
                tally[kind if affected or kind != WRITE else OTHER] += 1
        except asyncio.CancelledError:
            recorder.unanswered += 1
            raise

    async def _roll_back(self) -> None:
        recorder = self._work.recorder
        try:
            await self._query("ROLLBACK")
        except asyncio.CancelledError:
            recorder.unanswered += 1
            raise
        except SQLError as error:
            self._note(error)
            raise
        recorder.tally[OTHER] += 1

    def _note(self, error: SQLError) -> None:
        self._work.recorder.failed(error.code, answered=not isinstance(error, ConnectionLostError))
