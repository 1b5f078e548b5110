"""Time that passes only when asked to, and a server whose answers are scripted."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.unit.mysql.server_packets import result
from tuibench.base.errors import ConnectionLostError, SQLError, TuibenchError
from tuibench.model.server import Target
from tuibench.mysql.connection import ENCODING, Connection, PreparedStatement
from tuibench.mysql.packets import PreparedHandle, text_packet
from tuibench.mysql.rows import ResultReader, Row, RowReaderFactory
from tuibench.mysql.statements import AsyncCall, CaptureResponse, StatementProtocol, TransactionLoop

NO_RESPONSE = "silence"
"""A result that never comes: the statement hangs until it is cancelled."""

ONE_LETTER = b"\x00\x00\x01x"
"""A row of a prepared statement."""

Result = int | Exception | str


class FakeClock:
    """Sleeping passes time at once, and `overshoot_seconds` more; other tasks get their turn meanwhile.

    As time passes, each alarm made by `timer` rings when it is due, and `overshoot_seconds` late.
    """

    def __init__(self, overshoot_seconds: float = 0.0) -> None:
        self.ns = 0
        self.overshoot_seconds = overshoot_seconds
        self.slept: list[float] = []
        self._timers: list[FakeTimer] = []

    def now_ns(self) -> int:
        return self.ns

    def wall_seconds(self) -> float:
        return 1_700_000_000.0 + self.ns / 1e9

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds + self.overshoot_seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        end_ns = self.ns + round(seconds * 1e9)
        while (timer := self._next_timer()) and (ring_ns := self._rings_ns(timer)) <= end_ns:
            self.ns = max(self.ns, ring_ns)
            timer.ring()
        self.ns = max(self.ns, end_ns)

    def timer(self, ring: Callable[[], None]) -> "FakeTimer":
        """An alarm that this clock rings."""
        self._timers.append(FakeTimer(ring))
        return self._timers[-1]

    def _next_timer(self) -> "FakeTimer | None":
        return min(
            (timer for timer in self._timers if timer.at_ns is not None), key=self._rings_ns, default=None
        )

    def _rings_ns(self, timer: "FakeTimer") -> int:
        return (timer.at_ns or 0) + round(self.overshoot_seconds * 1e9)


class FakeTimer:
    """An alarm of a `FakeClock`; closed ones stay silent."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self.at_ns: int | None = None
        self.is_closed = False
        self._ring = ring

    def set(self, at_ns: int | None) -> None:
        self.at_ns = None if self.is_closed else at_ns

    def close(self) -> None:
        self.at_ns, self.is_closed = None, True

    def ring(self) -> None:
        self.at_ns = None
        self._ring()


class FakeServer:
    """Plays `results` to the statements and `logins` to the logins, in the order they come; then all is well.

    A result is a number of rows, an error, or `NO_RESPONSE`. ROLLBACK takes its results from `rollbacks`.
    `heard` holds (connection, SQL) of every statement, `rejected` the places in it of those that ended in an
    error, `returned` the SQL of those that did not; `questions` is the server's own count.
    """

    def __init__(
        self,
        results: Iterable[Result] = (),
        *,
        logins: Iterable[TuibenchError | None] = (),
        rollbacks: Iterable[Result] = (),
        prepares: Iterable[SQLError | None] = (),
    ) -> None:
        self.results = deque(results)
        self.logins = deque(logins)
        self.rollbacks = deque(rollbacks)
        self.prepares = deque(prepares)
        self.version = "10.11.19-MariaDB"
        self.heard: list[tuple[int, str]] = []
        self.rejected: list[int] = []
        self.returned: list[str] = []
        self.questions = 0
        self.connections: list[FakeConnection] = []

    @property
    def open_connections(self) -> int:
        return sum(connection.is_open for connection in self.connections)

    def heard_by(self, connection: int) -> list[str]:
        """What one connection has sent, in order."""
        return [sql for number, sql in self.heard if number == connection]

    async def connect(self, target: Target) -> Connection:
        await asyncio.sleep(0)
        if self.logins and (refusal := self.logins.popleft()) is not None:
            raise refusal
        self.connections.append(FakeConnection(self, target, len(self.connections)))
        return self.connections[-1]

    async def answer(self, connection: "FakeConnection", sql: str) -> int:
        results = self.rollbacks if sql == "ROLLBACK" else self.results
        result = results.popleft() if results else 1
        if isinstance(result, ConnectionLostError):
            connection.break_off()
            raise result
        place = len(self.heard)
        self.heard.append((connection.number, sql))
        self.questions += 1
        try:
            await (asyncio.Event().wait() if result == NO_RESPONSE else asyncio.sleep(0))
        except asyncio.CancelledError:
            connection.break_off()
            raise
        if isinstance(result, Exception):
            self.rejected.append(place)
            raise result
        self.returned.append(sql)
        return int(result)


class FakeConnection(Connection):
    """A connection to a `FakeServer`: a statement lost with it was never heard, one cut off was."""

    def __init__(self, server: FakeServer, target: Target, number: int) -> None:
        super().__init__(None, target)
        self.number = number
        self._server = server
        self._open = True
        self._plays = FakeStatementProtocol(self)

    @property
    def thread_id(self) -> int:
        return self.number

    @property
    def version_text(self) -> str:
        return self._server.version

    @property
    def is_open(self) -> bool:
        return self._open

    async def query(self, sql: str) -> Sequence[Row]:
        self.statements += 1
        await self._server.answer(self, sql)
        return ()

    async def execute(self, sql: str) -> int:
        self.statements += 1
        return await self._server.answer(self, sql)

    @property
    def protocol(self) -> StatementProtocol:
        return self._plays

    def rows(self, form: RowReaderFactory, definitions: Sequence[bytes] = ()) -> ResultReader:
        return ResultReader(form, "utf8", without_eof=True, definitions=definitions)

    async def ask(self, request: bytes | CaptureResponse) -> Any:
        assert isinstance(request, bytes)
        return await self.execute(sql_of(request))

    async def prepare_all(self, texts: Sequence[str]) -> list[PreparedStatement | SQLError]:
        refusals = [self._server.prepares.popleft() if self._server.prepares else None for _ in texts]
        return [
            FakeStatement(self, sql) if refusal is None else refusal
            for sql, refusal in zip(texts, refusals, strict=True)
        ]

    def quote(self, value: Any) -> str:
        return repr(value)

    async def close(self) -> None:
        self._server.questions += self._open
        self.break_off()

    def abort(self) -> None:
        self.break_off()

    def break_off(self) -> None:
        self._open = False


class FakeStatementProtocol(StatementProtocol):
    """Plays scripts to a `FakeServer`: all packets are statements in text."""

    def __init__(self, connection: FakeConnection) -> None:
        self._connection = connection
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def run(self, script: TransactionLoop, answer: Any = None) -> AsyncCall | None:
        while True:
            try:
                request = script.throw(answer) if isinstance(answer, Exception) else script.send(answer)
            except StopIteration:
                return None
            self._woken.clear()
            try:
                if request is None:
                    answer = None
                    await self._woken.wait()
                elif isinstance(request, bytes):
                    answer = await self._connection.execute(sql_of(request))
                elif isinstance(request, CaptureResponse):
                    answer = result([ONE_LETTER] * await self._connection.execute(sql_of(request.packet)))
                else:
                    return request
            except Exception as error:
                answer = error


class FakeStatement(PreparedStatement):
    """A prepared statement; it shows up at the server with its placeholders."""

    def __init__(self, connection: FakeConnection, sql: str) -> None:
        super().__init__(connection, PreparedHandle(0, sql.count("?")), "utf8")
        self.packet = lambda values: text_packet(sql, ENCODING)


def sql_of(packet: bytes) -> str:
    """The statement in a packet, behind its header and its command."""
    return packet[5:].decode()
