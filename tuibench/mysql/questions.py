"""Statements of tuibench's own: each has a deadline, and long waits are reported.

    asked ──2 s──> notice: what is asked, which lock it waits for, which session holds it
          ──query timeout──> NoAnswerError, and the connection is dropped
          ──lock timeout, on the server──> LockedError

The server ends a wait for a lock by itself (`lock_wait_timeout`, see `own`), somewhat before the
deadline, so that no statement of tuibench stays in its queue. Work that may take hours, such as creating an
index, has no deadline, but the same limit for locks.
"""

import contextlib
from collections.abc import Awaitable
from functools import partial
from typing import TypeVar

from tuibench.deadline import NOTICE_SECONDS, wait_with_timeout, with_notice
from tuibench.errors import LockedError, NoAnswerError, SQLError, TuibenchError
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.lock_holders import lock_wait

T = TypeVar("T")

LOOK_SECONDS = 2.0
"""Timeout of the second connection, which queries the holder of a lock."""

LOCK_SHARE = 2 / 3
"""The server's lock wait limit, as a share of the timeout."""

LOCK_WAIT_TIMEOUT = 1205
SQL_CHARACTERS = 60
"""A message quotes this much of a statement."""


def lock_seconds(target: Target) -> int:
    """Maximum time that a statement of tuibench waits for a lock."""
    return max(1, int(target.query_timeout * LOCK_SHARE))


class Questions:
    """The questions of one connection. `seconds` limits each answer; None for work of any length."""

    def __init__(self, connection: Connection, seconds: float | None) -> None:
        self._target = connection.target
        self._thread_id = connection.thread_id
        self._seconds = seconds
        self._lock = ""

    async def answer(self, connection: Connection, sql: str, work: Awaitable[T]) -> T:
        """The result of the work. Raises NoAnswerError or LockedError if it waits for too long."""
        self._lock = ""
        watched = with_notice(work, partial(self._notice, sql))
        try:
            return await (watched if self._seconds is None else wait_with_timeout(watched, self._seconds))
        except TimeoutError as error:
            connection.abort()
            raise await self._no_answer(sql) from error
        except SQLError as error:
            if error.code == LOCK_WAIT_TIMEOUT:
                raise self._locked(sql, error) from error
            raise

    async def _notice(self, sql: str) -> str:
        """What is waited for. Work is known to take its time, but for a lock."""
        await self._find_lock()
        if self._seconds is None and not self._lock:
            return ""
        text = f"waiting for {self._target.where}: no answer to {shortened(sql)} for {NOTICE_SECONDS:g} s"
        return f"{text}; {self._lock}" if self._lock else text

    async def _no_answer(self, sql: str) -> NoAnswerError:
        await self._find_lock(ends_query=True)
        text = f"{self._target.where} has not answered {shortened(sql)} for {self._seconds:g} s"
        lock = f"; {self._lock}" if self._lock else ""
        return NoAnswerError(2013, text + lock, "increase --query-timeout to wait longer")

    def _locked(self, sql: str, error: SQLError) -> LockedError:
        lock = self._lock or "it waits for a lock"
        return LockedError(
            error.code,
            f"{self._target.where} cannot execute {shortened(sql)}: {lock} (error {error.code}: "
            f"{error.message})",
            "end that session, or wait until it releases the lock; increase --query-timeout to wait longer",
        )

    async def _find_lock(self, *, ends_query: bool = False) -> None:
        """Learns which lock is waited for; keeps what was known if the server does not say."""
        with contextlib.suppress(TuibenchError, TimeoutError):
            await wait_with_timeout(self._asked(ends_query), LOOK_SECONDS)

    async def _asked(self, ends_query: bool) -> None:
        other = await connect(self._target, use_database=False, timeout_seconds=LOOK_SECONDS)
        try:
            self._lock = await lock_wait(other, self._thread_id) or self._lock
            if ends_query:
                await other.execute(f"KILL {self._thread_id}")
        finally:
            other.abort()


def shortened(sql: str) -> str:
    """A statement as quoted in messages."""
    words = " ".join(sql.split())
    return f"'{words}'" if len(words) <= SQL_CHARACTERS else f"'{words[: SQL_CHARACTERS - 1]}…'"
