"""The native engine: transactions run on threads in Rust, outside the interpreter's lock.

Python logs in, prepares statements, applies session settings and closes. In between, a native thread has the
socket of a connection, and returns it with a reason:

    connecting ──> attached ──> leaving
        ^             │
        └─────────────┘  lost, a planned new login, or new session settings on the same connection

The engine is the module `tuibench_native`, which the build compiles if there is a Rust compiler;
`native/src/lib.rs` describes the threads. A program is compiled to the engine's own form, unless it uses
something that the engine does not support. Connections with TLS may need the asyncio engine, so `choose` logs
in before it chooses the engine of a load.
"""

import asyncio
import hashlib
import random
from array import array
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from tuibench.base import sanitize
from tuibench.base.clock import NS_PER_MS, NS_PER_SECOND, Clock, SystemClock
from tuibench.base.errors import (
    ConnectionLostError,
    ProtocolError,
    RunError,
    ServerUnavailableError,
    SQLError,
    TuibenchError,
    UsageError,
)
from tuibench.base.installation import engine_remedy, native_module
from tuibench.load.connections import (
    MAX_PAUSE_SECONDS,
    AnyContext,
    Connect,
    LoadConnection,
    PreparedConnection,
    named_latencies,
)
from tuibench.load.engine import BaseEngine, Emit
from tuibench.load.messages import (
    CompletionGaps,
    Counters,
    FairnessStats,
    Gap,
    Reassign,
    StartLoad,
    WorkerReport,
)
from tuibench.load.pacing import Timer, system_timer
from tuibench.model.callers import CallerPolicy
from tuibench.model.plan import Arrival, EngineChoice, OnError
from tuibench.model.server import Target
from tuibench.model.tick import WAIT, Histogram, SlowTransaction, grouped_statements
from tuibench.mysql import connection
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.errors import error_for_code
from tuibench.mysql.login import first_logins
from tuibench.mysql.transport import tls_context
from tuibench.workload.draw import DrawSource
from tuibench.workload.generator import needed_by_connection
from tuibench.workload.program import Program, ProgramLayout, all_steps
from tuibench.workload.sql import split_at_placeholders


def stream_key(text: str) -> bytes:
    """The seed that `random.Random(text)` uses, as a big-endian number."""
    data = text.encode()
    return data + hashlib.sha512(data).digest()


def described(program: Program, layout: ProgramLayout, *, is_prepared: bool = True) -> dict[str, Any]:
    """The program in built-in types, with all values that are computed once for all connections."""
    described_script = None
    if program.script is not None:
        from tuibench.workload import script

        described_script = script.native_settings(program.script, program.options, is_prepared=is_prepared)
    steps = [step for each in program.transactions for step in all_steps(each.steps)]
    return {
        "program": msgspec.to_builtins(program),
        "script": described_script,
        "firsts": [layout.first(statement) for step in steps for statement in step.statements],
        "simple": layout.are_static,
        "interactive": [transaction.interactive for transaction in program.transactions],
        "writes": [transaction.writes for transaction in program.transactions],
        "statements": [
            (
                flat.name,
                flat.cls.value,
                flat.captures,
                [piece.encode() for piece in split_at_placeholders(flat.sql)],
            )
            for flat in layout.statements
        ],
    }


def compiled(program: Program, layout: ProgramLayout, *, is_prepared: bool = True) -> Any:
    """The engine's own form of a program. Raises ValueError or OverflowError if the engine does not support
    it.
    """
    return native_module().Program(described(program, layout, is_prepared=is_prepared))


def unsupported_reason(program: Program) -> str:
    """Why the native engine cannot run a program; empty if it can."""
    if native_module() is None:
        return f"the native engine is not installed: {engine_remedy()}"
    try:
        layout = ProgramLayout(program)
        native = compiled(program, layout)
        native_module().Stream(native, "0", 0, stream_key, [0] * len(layout.statements), False)
    except (ValueError, OverflowError, RuntimeError) as error:
        return f"this profile needs the asyncio engine: {error}"
    return ""


TEXT = 0
"""Takes the place of the server's id of a prepared statement if the statement is sent as text."""

NO_DESCRIPTOR = "no descriptor"

RECONNECTING = "reconnecting"
"""The reason of a connection whose script asks for a new session. The code is the number of the session, 0
for that of the connection.
"""

PANIC_HINT = "this is a bug in tuibench: report it; --engine=asyncio runs the load without this engine"


class Returned(NamedTuple):
    """Why a thread returned a connection."""

    reason: str
    code: int = 0
    """That of the error that ends the load; otherwise 0."""
    message: str = ""

    def error(self, where: str) -> TuibenchError | None:
        """The error that ends the load, if there is one; `where` is the server's address."""
        match self.reason:
            case "refused":
                return error_for_code(self.code, self.message).at(where)
            case "usage":
                return UsageError(sanitize.excerpt(self.message))
            case "fault":
                return RunError(sanitize.excerpt(self.message), "check its expressions and captured columns")
            case "script":
                return RunError(sanitize.excerpt(self.message))
            case "panicked":
                return RunError(f"the native engine failed: {sanitize.excerpt(self.message)}", PANIC_HINT)
            case _:
                return None


class FurtherSessions:
    """The sessions that a script has opened in addition to that of its connection.

    The engine uses them until it returns the connection at its end.
    """

    def __init__(self, native: Any, number: int, login: Callable[[], Awaitable[Connection]]) -> None:
        self._native = native
        self._number = number
        self._login = login
        self._open: dict[int, Connection] = {}

    async def connect(self, place: int) -> None:
        """Opens a session, in place of the one with this number. Raises the error of its login."""
        if (before := self._open.pop(place, None)) is not None:
            before.abort()
        self._open[place] = opened = await self._login()
        if (socket := connection.detach_socket(opened)) is not None:
            self._native.attach_further(self._number, place, *socket)

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].abort()


class Statements(NamedTuple):
    """The prepared statements of a connection, in the form of `Engine.attach`.

    It is compact, because there are thousands of connections.
    """

    identities: "array[int]"
    """The server's ids."""
    readers: list[tuple[int, bool, list[bytes]]]
    """The statements whose rows are read: the flat index, whether the rows are binary, and their columns as
    far as known.
    """

    @classmethod
    def taken_from(cls, conn: PreparedConnection, count: int) -> "Statements":
        """Takes the statements from a connection, which no longer keeps them."""
        prepared = conn.prepared
        identities = [prepared[index].identity if index in prepared else TEXT for index in range(count)]
        readers = [
            (index, index in prepared, list(prepared[index].definitions) if index in prepared else [])
            for index in conn.rows
        ]
        conn.packets, conn.rows, conn.prepared = {}, {}, {}
        return cls(array("L", identities), readers)


class NativeUser(LoadConnection[Any]):
    """A connection of the load.

    It starts after the task `before`, an earlier connection with the same number. While a thread has its
    socket, it is in `attached` by its number.
    """

    __slots__ = (
        "_attached",
        "_before",
        "_further",
        "_is_same",
        "_is_spent",
        "_is_suspended",
        "_native",
        "_returned",
        "_statements",
        "_statements_needed",
    )

    def __init__(
        self,
        native: Any,
        attached: dict[int, "NativeUser"],
        context: AnyContext,
        layout: ProgramLayout,
        seed: int,
        number: int,
        *,
        waits_for_slot: bool,
        before: asyncio.Task[None] | None,
        chance: Callable[[], float],
    ) -> None:
        super().__init__(context, number, waits_for_slot=waits_for_slot, chance=chance)
        self._native = native
        self._attached = attached
        self._before = before
        draw = DrawSource(seed, number)
        self._statements_needed = needed_by_connection(layout, draw) if layout.names_tables else None
        self._is_spent = False
        # An event of a script waits for the login that it asked for.
        self._is_suspended = False
        # Its script has opened another session, and continues with the current one.
        self._is_same = False
        self._further = FurtherSessions(native, number, self._login_further)
        self._statements = Statements(array("L"), [])
        self._returned: asyncio.Future[Returned] | None = None

    @property
    def is_attached(self) -> bool:
        return self._returned is not None

    def leave(self) -> None:
        super().leave()
        if self.is_attached:
            self._native.leave(self.number)

    def park(self) -> None:
        """Takes the connection back after the transaction in flight, for new session settings."""
        if self.is_attached:
            self._native.park(self.number)

    def expect_kill(self) -> None:
        """Retries the next query that is interrupted."""
        if self.is_attached:
            self._native.expect_kill(self.number)

    def on_returned(self, returned: Returned) -> None:
        if self._returned is not None and not self._returned.done():
            self._returned.set_result(returned)

    async def run(self) -> None:
        if self._before is not None:
            await asyncio.wait({self._before})
            self._before = None
        try:
            await super().run()
        finally:
            self._further.close()
            if self.is_admitted:
                self._native.dismiss(self.number)

    def _fail(self, error: TuibenchError) -> None:
        super()._fail(error)
        self._native.fail()

    @property
    def _needed(self) -> Collection[int] | None:
        return self._statements_needed

    def _is_done(self) -> bool:
        if self._is_suspended:
            return self._context.failure is not None
        return super()._is_done()

    def _is_out_of_work(self) -> bool:
        return self._is_spent

    def _on_connected(self, conn: PreparedConnection, lost: int) -> None:
        self._statements = Statements.taken_from(conn, len(self._context.statements))
        self._native.admit(self.number)
        super()._on_connected(conn, lost)

    async def _run_connection(self, conn: PreparedConnection) -> None:
        """Attaches the connection to a thread until it is lost or has nothing left to do."""
        while not self._is_done():
            if conn.session_sql is not self._context.session_sql:
                try:
                    await conn.set_up(self._context)
                except ConnectionLostError:
                    return
                continue
            returned = await self._run_attached(conn)
            if returned.reason in ("lost", "aborted", "broken", "script", "panicked", NO_DESCRIPTOR):
                conn.connection.abort()
                self._further.close()
                if returned.reason == NO_DESCRIPTOR:
                    await self._wait_for_descriptors(returned.message)
                elif returned.reason == "broken":
                    await self._disconnect()
                    await self._outlive(ProtocolError(returned.message, conn.connection.target.where))
                elif error := returned.error(conn.connection.target.where):
                    raise error
                return
            connection.reattach_socket(conn.connection)
            if error := returned.error(conn.connection.target.where):
                raise error
            if returned.reason == RECONNECTING and returned.code:
                await self._further.connect(returned.code)
                self._is_same = True
                continue
            self._is_suspended = returned.reason == RECONNECTING
            self._renews = self._is_suspended or returned.reason == "login due"
            if self._renews or returned.reason == "new login":
                return
            self._is_spent = returned.reason == "left"

    async def _login_further(self) -> Connection:
        """Opens a session in addition to that of the connection, with the load's session settings."""
        context = self._context
        opened = await context.connect(context.target.for_connection(self.number))
        for sql in context.session_sql:
            await opened.execute(sql)
        context.recorder.other_questions += opened.statements
        return opened

    async def _wait_for_descriptors(self, reason: str) -> None:
        """Pauses before the next login while no descriptor is available. Raises RunError unless refusals are
        retried.
        """
        error = RunError(
            f"a connection cannot be handed to the native engine: {reason}",
            "each connection takes two open files: raise the limit (ulimit -n), or use more --workers",
        )
        if not self._context.outlives_refusals:
            raise error
        self._context.last_refusal = str(error)
        await self._disconnect()
        await self._context.clock.sleep(MAX_PAUSE_SECONDS * (0.5 + self._chance() / 2))

    async def _run_attached(self, conn: PreparedConnection) -> Returned:
        socket = connection.detach_socket(conn.connection)
        if socket is None:
            return Returned("lost")
        self._returned = asyncio.get_running_loop().create_future()
        self._attached[self.number] = self
        try:
            self._native.attach(
                self.number,
                socket.descriptor,
                stream_key,
                self._statements.identities.tolist(),
                self._statements.readers,
                *socket[1:],
                is_same=self._is_same,
            )
            self._is_same = False
            if self._is_suspended and self._is_leaving:
                self._native.leave(self.number)
            self._is_suspended = False
            return await self._returned
        except OSError as error:
            return Returned(NO_DESCRIPTOR, message=error.strerror or str(error))
        finally:
            self._returned = None
            self._attached.pop(self.number, None)


MOST_THREADS = 64
"""Each connection has a thread of its own up to this number; more connections share these threads."""

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
            connect=connect
            or partial(connection.connect, charset=begin.charset, records=native_module().TlsRecords),
            clock=clock or SystemClock(),
            emit=emit,
            timer=timer,
        )
        asyncio.get_running_loop().add_reader(self._native.fileno(), self._on_returned)

    def set_users(self, users: int) -> None:
        self._native.set_users(users)

    def set_weights(self, weights: Sequence[float]) -> None:
        self._native.set_weights(list(weights))

    def set_delay(self, delay_ns: int) -> None:
        self._native.set_delay(delay_ns)

    def set_callers(self, policy: CallerPolicy) -> None:
        backoff, breaker, budget = policy.backoff, policy.breaker, policy.retry_budget
        self._native.set_callers(
            round(policy.deadline_ms * US_PER_MS),
            policy.attempts,
            backoff.first_ms * NS_PER_MS,
            backoff.factor,
            backoff.jitter,
            str(policy.queue),
            None if budget is None else budget / 100,
            None if breaker is None else (breaker.percent / 100, round(breaker.seconds * NS_PER_SECOND)),
        )

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

    def _measured(self, now_ns: int) -> WorkerReport:
        report = self._native.report()
        responses = zip(self._names, map(_histogram, report["responses"]), strict=True)
        statements = {name: _histogram(one) for name, one in report["statements"].items()}
        waits = _histogram(report["wait"])
        late_ms, run_delay_ms = report["late_us"] / US_PER_MS, report["run_delay_ns"] / NS_PER_MS
        return WorkerReport(
            counters=self._counters(report),
            hists=named_latencies(dict(responses), _histogram(report["service"]), statements)
            | ({WAIT: waits} if waits.count else {}),
            slowest=tuple(
                SlowTransaction(
                    transaction=self._names[which],
                    response_ms=response_us / US_PER_MS,
                    service_ms=busy_us / US_PER_MS,
                    statements=grouped_statements(timed),
                )
                for which, response_us, busy_us, timed in report.get("slowest", ())
            ),
            fairness=_fairness(*report["share"]),
            fairness_since=_fairness(*report["since"]),
            lag_p99_ms=max(late_ms, run_delay_ms),
            gaps=CompletionGaps(report["until_ns"], tuple(Gap(*each) for each in report["gaps"])),
            core_seconds=report["ran_ns"] / NS_PER_SECOND,
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
        """Does nothing: the threads wake their connections themselves."""

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
    made = native_module().Engine(
        compiled(begin.program, layout, is_prepared=execution.prepared),
        str(begin.seed),
        ignored=None if ignored is None else set(ignored),
        max_retries=execution.max_retries,
        stops_on_error=execution.on_error is OnError.STOP,
        is_constant=begin.arrival is Arrival.CONSTANT,
        phase=begin.worker / begin.workers,
        pacer_key=stream_key(f"tuibench:{begin.seed}:{-1 - begin.worker}"),
        limit=begin.limit,
        most_threads=MOST_THREADS,
        reconnect=execution.reconnect,
    )
    set_net_timeout(made, begin.target)
    return made


def set_net_timeout(engine: Any, target: Target) -> None:
    """Sets how long the engine waits for the rest of a response, unless the target has the default."""
    if target.net_timeout != Target().net_timeout:
        engine.set_net_timeout(round(target.net_timeout * NS_PER_SECOND))


def _fairness(events: tuple[int, float, float], seconds: tuple[int, float, float]) -> FairnessStats:
    return FairnessStats(*events, *seconds[1:])


def _histogram(fields: tuple[dict[int, int], int, int, int, int]) -> Histogram:
    return Histogram(*fields)


class Chosen(NamedTuple):
    """The engine of a load."""

    is_native: bool
    reason: str = ""
    """Why `auto` did not choose the native engine: a few words, then details after a colon."""

    @property
    def name(self) -> str:
        return str(EngineChoice.NATIVE if self.is_native else EngineChoice.ASYNCIO)


async def choose(wanted: EngineChoice, program: Program, target: Target) -> Chosen:
    """Returns the native engine if it can run the load, after a login at each server.

    Raises UsageError if the native engine is required and cannot run it.
    """
    chosen = choose_before_login(wanted, program)
    if program.script is not None:
        wanted = EngineChoice.NATIVE
    return _checked(wanted, await _reason_of_tls(target)) if chosen.is_native else chosen


def choose_before_login(wanted: EngineChoice, program: Program) -> Chosen:
    """The choice as far as it is known without a server. Raises UsageError as `choose`."""
    if program.script is not None:
        # Only the native engine runs scripts.
        if wanted is EngineChoice.ASYNCIO:
            raise UsageError("only the native engine runs a Lua script", "leave --engine=asyncio out")
        wanted = EngineChoice.NATIVE
    if wanted is EngineChoice.ASYNCIO:
        return Chosen(False)
    hint = "" if program.script is not None else "use --engine=auto"
    return _checked(wanted, unsupported_reason(program), hint)


def _checked(wanted: EngineChoice, reason: str, hint: str = "use --engine=auto") -> Chosen:
    if reason and wanted is EngineChoice.NATIVE:
        raise UsageError(f"the native engine cannot run this load: {reason}", hint)
    return Chosen(not reason, reason)


async def _reason_of_tls(target: Target) -> str:
    """Logs in at each server without a first login yet: that login decides whether `preferred` encrypts."""
    for number in range(1 + len(target.further)):
        place = target.for_connection(number)
        if first_logins().of(place) is None:
            try:
                await (await connect(place, use_database=False)).close()
            except (ServerUnavailableError, SQLError) as error:
                return f"a server may use TLS: {error.message}"
        first = first_logins().of(place)
        if first is not None and first.is_encrypted and (reason := _reason_of_handover(place, first.tls)):
            return reason
    return ""


def _reason_of_handover(target: Target, tls: str) -> str:
    """Why connections with this protocol and cipher cannot be handed over; empty if they can."""
    protocol, _, cipher = tls.partition(" ")
    if not native_module().TlsRecords.supports(protocol, cipher):
        return f"connections use {tls}: it runs TLS 1.2 and 1.3 with AES-GCM and ChaCha20-Poly1305"
    try:
        tls_context(target, hands_over=True)
    except UsageError as error:
        return error.message
    return ""
