"""The native engine: transactions run on threads in Rust, outside the interpreter's lock.

Python logs in, prepares statements, applies session settings and closes. `native/src/lib.rs` describes the
threads.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

from tuibench.clock import NS_PER_MS, NS_PER_SECOND, Clock, SystemClock
from tuibench.errors import RunError
from tuibench.load.completion_gaps import CompletionGaps, Gap
from tuibench.load.engine.base import BaseEngine, ConnectionFairness, ReportParts
from tuibench.load.engine.native import program as native_program
from tuibench.load.engine.native.native_user import NativeUser, Returned
from tuibench.load.engine.recorder import Latencies
from tuibench.load.engine.surface import Emit
from tuibench.load.engine.worker_context import Connect
from tuibench.load.messages import StartLoad
from tuibench.load.pacing.timer import Timer, system_timer
from tuibench.load.worker_report import Counters, FairnessStats, Reassign
from tuibench.metrics.histogram import Histogram
from tuibench.model.measurements.sample import SlowTransaction, grouped_statements
from tuibench.model.plan import Arrival, OnError
from tuibench.workload.generate.layout import ProgramLayout

MOST_THREADS = 64
"""Up to this many connections have a thread each; more of them share these threads."""

US_PER_MS = 1000


class NativeQueue:
    """The engine's queue of due work, which is kept in Rust."""

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def is_finished(self) -> bool:
        return bool(self._native.is_finished())

    def set_rate(self, rate_per_second: float) -> int:
        return int(self._native.set_rate(rate_per_second))

    def forget(self) -> int:
        return int(self._native.drop_backlog())

    def reassign(self) -> Reassign:
        due_ns, quota = self._native.reassign()
        return Reassign(tuple(due_ns), quota)

    def take_over(self, work: Reassign) -> None:
        self._native.take_over(list(work.due_ns), work.quota)

    def hold(self) -> None:
        self._native.hold()

    def release(self) -> None:
        self._native.resume()


class NativeEngine(BaseEngine[NativeUser, NativeQueue]):
    """The connections of one worker on native threads."""

    def __init__(
        self,
        begin: StartLoad,
        *,
        connect: Connect | None = None,
        clock: Clock | None = None,
        emit: Emit = lambda _: None,
        timer: Callable[[Callable[[], None]], Timer] = system_timer,
    ) -> None:
        layout = ProgramLayout(begin.program)
        self._native = _native_engine(begin, layout)
        self._names = [transaction.name for transaction in begin.program.transactions]
        self._attached: dict[int, NativeUser] = {}
        self._chance = random.Random(begin.worker).random
        super().__init__(
            begin,
            NativeQueue(self._native),
            layout,
            connect=connect,
            clock=clock or SystemClock(),
            emit=emit,
            timer=timer,
        )
        asyncio.get_running_loop().add_reader(self._native.fileno(), self._on_returned)

    def set_users(self, users: int) -> None:
        """`engine.choice` gives loads with users to the other engine."""
        if users:
            raise RunError("the native engine has no pool of users", "use --engine=asyncio")

    def set_weights(self, weights: Sequence[float]) -> None:
        self._native.set_weights(list(weights))

    def set_delay(self, delay_ns: int) -> None:
        self._native.set_delay(delay_ns)

    def set_session(self, statements: tuple[str, ...]) -> None:
        super().set_session(statements)
        for user in self._present():
            user.park()

    def checkpoint(self) -> None:
        self._native.checkpoint()

    def pause(self) -> None:
        super().pause()
        self._native.pause()

    def expect_kill(self, connection_id: int) -> None:
        for user in self._present():
            if user.connection_id == connection_id:
                user.expect_kill()

    def _reset_figures(self, limit: int | None) -> int:
        return int(self._native.reset_stats(limit))

    def _report_parts(self, now_ns: int) -> ReportParts:
        report = self._native.report()
        responses = zip(self._names, map(_histogram, report["responses"]), strict=True)
        statements = {name: _histogram(one) for name, one in report["statements"].items()}
        late_ms, run_delay_ms = report["late_us"] / US_PER_MS, report["run_delay_ns"] / NS_PER_MS
        return ReportParts(
            self._counters(report),
            Latencies.of_kinds(
                dict(responses),
                _histogram(report["service"]),
                statements,
                tuple(self._slow(*each) for each in report.get("slowest", ())),
            ),
            _fairness(report["share"]),
            _fairness(report["since"]),
            lag_p99_ms=max(late_ms, run_delay_ms),
            gaps=CompletionGaps(report["until_ns"], tuple(Gap(*each) for each in report["gaps"])),
            core_seconds=report["ran_ns"] / NS_PER_SECOND,
        )

    def _slow(
        self, which: int, response_us: int, busy_us: int, timed: list[tuple[str, int, int]]
    ) -> SlowTransaction:
        return SlowTransaction(
            transaction=self._names[which],
            response_ms=response_us / US_PER_MS,
            service_ms=busy_us / US_PER_MS,
            statements=grouped_statements(timed),
        )

    def _counters(self, report: dict[str, Any]) -> Counters:
        """The counters of the threads, and those of logins and disconnects."""
        counted: dict[str, Any] = {**report["counters"]}
        for name in ("retried", "rolled_back"):
            times = zip(self._names, counted[name], strict=True)
            counted[name] = {kind: count for kind, count in times if count}
        queue = {"scheduled": report["scheduled"], "backlog": report["backlog"]}
        return self._recorder.totals() + Counters(**counted, **queue)

    def _wake_all(self) -> None:
        """The threads wake their connections themselves."""

    def _new_user(
        self, number: int, before: asyncio.Task[None] | None, *, waits_for_slot: bool
    ) -> NativeUser:
        return NativeUser(
            self._native,
            self._attached,
            self._context,
            self._layout,
            self._begin.seed,
            number,
            waits_for_slot=waits_for_slot,
            before=before,
            chance=self._chance,
        )

    def _abort(self, user: NativeUser, task: asyncio.Task[None]) -> None:
        if user.is_attached:
            self._native.abort(user.number)
        else:
            task.cancel()

    def _close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._native.fileno())
        self._native.close()

    def _on_returned(self) -> None:
        """Takes back the connections that the threads have finished with."""
        for number, *reason in self._native.returned():
            if user := self._attached.get(number):
                user.on_returned(Returned(*reason))


def _native_engine(begin: StartLoad, layout: ProgramLayout) -> Any:
    execution = begin.execution
    ignored = execution.ignored_errors
    return native_program.module().Engine(
        native_program.compiled(begin.program, layout),
        str(begin.seed),
        ignored=None if ignored is None else set(ignored),
        max_retries=execution.max_retries,
        stops_on_error=execution.on_error is OnError.STOP,
        is_constant=begin.arrival is Arrival.CONSTANT,
        phase=begin.worker / begin.workers,
        pacer_key=native_program.stream_key(f"tuibench:{begin.seed}:{-1 - begin.worker}"),
        limit=begin.limit,
        most_threads=MOST_THREADS,
    )


def _fairness(sums: Sequence[tuple[int, float, float]]) -> ConnectionFairness:
    events, seconds = (FairnessStats(*each) for each in sums)
    return ConnectionFairness(events, seconds)


def _histogram(fields: tuple[dict[int, int], int, int, int, int]) -> Histogram:
    return Histogram(*fields)
