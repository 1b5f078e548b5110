"""One connection to a server: text, prepared and bulk statements, keepalive, handover to the native engine.

Bulk inserts use the fastest method of each server: MariaDB's bulk statements, and LOAD DATA LOCAL. Both send
blocks of bytes that the caller has encoded in the server's format. LOAD DATA LOCAL sends only these blocks,
never a file, whatever name the server requests.

Keepalive: if a host loses power or a network is cut, no connection is closed, and the client would wait
forever. The kernel probes an idle connection and gives up; TCP_USER_TIMEOUT does the same for bytes that were
sent and not acknowledged. A slow server still acknowledges, so it is not affected.

Handover: while the native engine has the socket, the driver reads nothing. The engine returns a socket only
when no response is outstanding, so that the driver's next statement gets its own response.
"""

import socket
import struct
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from tuibench.base.clock import wait_with_timeout
from tuibench.base.errors import (
    ConnectionLostError,
    NoAnswerError,
    ProtocolError,
    ServerUnavailableError,
    SQLError,
)
from tuibench.model.server import Target, Transport
from tuibench.mysql import errors, login
from tuibench.mysql.driver import (
    CLIENT,
    COMMAND,
    FIELD_TYPE,
    DriverConnection,
    OKPacketWrapper,
    charset_by_name,
    statement_id,
)
from tuibench.mysql.errors import AccessDeniedError
from tuibench.mysql.login import CACHING_PLUGIN, FirstLogin, Handshake, first_logins, password_cache
from tuibench.mysql.packets import (
    LIST_IS_NO_VALUE,
    ExecuteCommand,
    PreparedHandle,
    affected_rows,
    column_names,
    prepare_statements,
    status_of,
    text_packet,
)
from tuibench.mysql.rows import ResultReader, Row, RowReaderFactory, binary_row_reader, text_row_reader
from tuibench.mysql.statements import (
    CR_SERVER_GONE_ERROR,
    CR_SERVER_LOST,
    SERVER_GONE_MESSAGE,
    CaptureResponse,
    StatementProtocol,
    TransactionLoop,
)
from tuibench.mysql.transport import RecordTransport, tls_context
from tuibench.workload.sql import split_at_placeholders

__all__ = ["Connection", "PreparedStatement", "Row", "TextStatement", "connect", "constant_packet"]


IDLE_SHARE, PROBE_SHARE, GIVE_UP_SHARE = 1 / 3, 1 / 6, 0.9
"""Shares of the timeout: the silence before the first probe, the time between two probes, and the age at
which the next probe ends the connection.
"""

PROBES = 4

TCP_KEEPALIVE_OF_MACOS = 0x10
"""macOS's number of TCP_KEEPIDLE, for which Python 3.11 has no name."""


def set_keepalive(transport: Any, seconds: float) -> None:
    """Makes the kernel drop a TCP connection whose peer has been unreachable for this many seconds."""
    sock = transport.get_extra_info("socket")
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in tcp_options(seconds).items():
        sock.setsockopt(socket.IPPROTO_TCP, option, value)


def tcp_options(seconds: float) -> dict[int, int]:
    """The TCP options of this system, by their number."""
    values = {
        getattr(socket, "TCP_KEEPIDLE", TCP_KEEPALIVE_OF_MACOS): max(1, round(seconds * IDLE_SHARE)),
        getattr(socket, "TCP_KEEPINTVL", None): max(1, round(seconds * PROBE_SHARE)),
        getattr(socket, "TCP_KEEPCNT", None): PROBES,
        getattr(socket, "TCP_USER_TIMEOUT", None): max(1, round(seconds * 1000 * GIVE_UP_SHARE)),
    }
    return {option: value for option, value in values.items() if option is not None}


PacketBuilder = Callable[[tuple[Any, ...]], bytes]
"""Returns the packets of a statement with its values."""

CHARSET = "utf8mb4"
ENCODING = charset_by_name(CHARSET).encoding
"""The encoding of all statements."""

RECEIVE_BUFFER_BYTES = 1 << 14
"""Initial size of a connection's buffer, which grows when needed. The driver's 256 KiB are too much for
thousands of connections.
"""


CLOSE_SECONDS = 1.0
"""Time limit for COM_QUIT before the connection is dropped."""

LOGIN_BYTES = 1 << 20
"""Maximum number of bytes that a server may send during a login."""

T = TypeVar("T")


class Questioned(Protocol):
    """Limits the time of the text statements of one connection (see `info.Questions`)."""

    async def answer(self, connection: "Connection", sql: str, work: Awaitable[T]) -> T: ...


class NetDeadline:
    """The limit of text statements without another one: a server that is silent for the net timeout is
    considered unreachable.
    """

    async def answer(self, connection: "Connection", sql: str, work: Awaitable[T]) -> T:
        return await answered_in_time(connection, work, connection.target.net_timeout)


async def answered_in_time(connection: "Connection", work: Awaitable[T], seconds: float) -> T:
    """The result of the work. Drops the connection and raises NoAnswerError if it takes too long."""
    try:
        return await wait_with_timeout(work, seconds)
    except TimeoutError as error:
        connection.abort()
        where = connection.target.where
        raise NoAnswerError(CR_SERVER_LOST, f"{where} has not answered for {seconds:g} s") from error


class PreparedStatement:
    """A statement prepared on the server: `packet` executes it, `rows` reads its responses."""

    __slots__ = ("packet", "prepared", "rows")

    def __init__(self, connection: "Connection", prepared: PreparedHandle, encoding: str) -> None:
        self.prepared = prepared
        self.packet = ExecuteCommand(prepared.identity, prepared.parameters, encoding).packet
        self.rows = connection.rows(binary_row_reader, prepared.definitions)


class TextStatement:
    """A statement sent as text, with its values as literals, for servers that accept no more prepared
    statements.
    """

    __slots__ = ("packet", "rows")

    def __init__(self, connection: "Connection", sql: str) -> None:
        self.packet = constant_packet(sql) or _interpolated_packet(connection, split_at_placeholders(sql))
        self.rows = connection.rows(text_row_reader)


def constant_packet(sql: str) -> PacketBuilder | None:
    """The packet of a text statement without values, which is the same on every connection; None for a
    statement with values.
    """
    if len(split_at_placeholders(sql)) > 1:
        return None
    whole = text_packet(sql, ENCODING)
    return lambda values: whole


def _interpolated_packet(connection: "Connection", parts: Sequence[str]) -> PacketBuilder:
    """The function that writes values between the parts."""
    form = "%s".join(part.replace("%", "%%") for part in parts)
    packet, quote = connection.packet, connection.quote

    def filled(values: tuple[Any, ...]) -> bytes:
        return packet(form % tuple([value if type(value) is int else quote(value) for value in values]))

    return filled


def is_select(sql: str) -> bool:
    """True for a query that increases Com_select: also a UNION in parentheses, and one after WITH."""
    return sql.lstrip(" \n(").startswith(("SELECT", "WITH"))


class Connection:
    """A logged-in connection."""

    def __init__(self, raw: Any, target: Target) -> None:
        self.raw = raw
        """The driver's connection, for this package only."""
        self.target = target
        self.login: FirstLogin
        """The properties of its login."""
        self.statements = 0
        """The number of statements sent, for the reconciliation."""
        self.selects = 0
        """How many of them the server counts as SELECT statements, of those sent as text."""
        self.questions: Questioned | None = None
        self._protocol: StatementProtocol | None = None
        self._text_rows: ResultReader | None = None

    @property
    def thread_id(self) -> int:
        """The server's id of this connection, as in SHOW PROCESSLIST."""
        return int(self.raw.server_thread_id[0])

    @property
    def is_encrypted(self) -> bool:
        """True if it uses TLS."""
        return bool(self.raw.is_encrypted)

    @property
    def is_compressed(self) -> bool:
        """True if packets after the login are compressed."""
        return bool(self.raw.is_compressed)

    @property
    def transport(self) -> Transport:
        """Protocol and cipher, and compression."""
        return Transport(tls=self.login.tls, is_compressed=self.is_compressed)

    @property
    def version_text(self) -> str:
        """The version in the server's greeting."""
        return str(self.raw.get_server_info())

    async def query(self, sql: str) -> Sequence[Row]:
        """Send one statement as text; returns its rows, empty for a statement without a result.

        Raises SQLError, ProtocolError for an invalid or too large response, and the errors of `questions`.
        """
        return self._rows_of(await self._answer(sql))

    async def query_named(self, sql: str) -> list[dict[str, Any]]:
        """The rows of one text statement, each by column name."""
        _, rows = await self.run(sql)
        return rows

    async def run(self, sql: str) -> tuple[int, list[dict[str, Any]]]:
        """Send one statement as text; returns the number of affected or returned rows, and the rows by column
        name.
        """
        answer = await self._answer(sql)
        if status_of(answer) is not None:
            return affected_rows(answer), []
        rows = self._rows_of(answer)
        names = column_names(self._text_rows.definitions if self._text_rows else (), ENCODING)
        return len(rows), [dict(zip(names, row, strict=True)) for row in rows]

    async def execute(self, sql: str) -> int:
        """Send one statement as text; returns the number of affected or returned rows."""
        answer = await self._answer(sql)
        return affected_rows(answer) if status_of(answer) is not None else len(self._rows_of(answer))

    def _rows_of(self, answer: bytes) -> Sequence[Row]:
        if self._text_rows is None:
            self._text_rows = self.rows(text_row_reader)
        return tuple(self._text_rows.read(answer))

    async def _answer(self, sql: str) -> bytes:
        """The whole response to a text statement."""
        self.selects += is_select(sql)
        work: Awaitable[bytes] = self.ask(CaptureResponse(self.packet(sql)))
        answer = await (self.questions.answer(self, sql, work) if self.questions else work)
        if (status := status_of(answer)) is not None:
            self.raw.server_status = status
        return answer

    async def prepare(self, sql: str) -> PreparedStatement:
        """Prepares a statement with `?` placeholders on the server."""
        (prepared,) = await self.prepare_all([sql])
        if isinstance(prepared, SQLError):
            raise prepared
        return prepared

    async def prepare_all(self, texts: Sequence[str]) -> list[PreparedStatement | SQLError]:
        """Prepare many statements in one round trip; for each, the statement or the server's error."""
        try:
            made = await answered_in_time(self, prepare_statements(self.raw, texts), self.target.net_timeout)
        except SQLError as error:
            if isinstance(error, ProtocolError):
                self.abort()
            raise error.at(self.target.where) from error
        where = self.target.where
        return [
            each.at(where) if isinstance(each, SQLError) else PreparedStatement(self, each, ENCODING)
            for each in made
        ]

    @property
    def protocol(self) -> StatementProtocol:
        """The fast path of this connection, created on first use."""
        if self._protocol is None:
            if self.raw.transport is None:
                raise ConnectionLostError(CR_SERVER_GONE_ERROR, SERVER_GONE_MESSAGE)
            self._protocol = StatementProtocol(self.raw, self.target.where, self.target.net_timeout)
        return self._protocol

    async def ask(self, request: bytes | CaptureResponse) -> Any:
        """Sends one statement; returns its affected or returned rows, for `CaptureResponse` the response."""
        self.statements += 1
        answers: list[Any] = []
        await self.protocol.run(_single_statement(request, answers))
        return answers[0]

    def rows(self, form: RowReaderFactory, definitions: Sequence[bytes] = ()) -> ResultReader:
        """A reader of the responses to one statement."""
        raw = self.raw
        return ResultReader(
            form,
            ENCODING,
            without_eof=raw.deprecates_eof,
            definitions=definitions,
            where=self.target.where,
        )

    def packet(self, sql: str) -> bytes:
        """The packet of a text statement."""
        return text_packet(sql, ENCODING)

    @property
    def is_open(self) -> bool:
        """False once the connection is closed or known to be broken."""
        return bool(self.raw.connected) and not self.raw.is_broken

    def quote(self, value: Any) -> str:
        """A value as an SQL literal, for statements that cannot be prepared."""
        if type(value) is list:
            raise TypeError(LIST_IS_NO_VALUE)
        return str(self.raw.escape(value))

    async def close(self) -> None:
        """Send COM_QUIT and close; a broken connection is dropped silently.

        If COM_QUIT takes too long or is cancelled, the socket is closed anyway: over TLS, a server may never
        answer. COM_QUIT increases Questions, on both flavours.
        """
        self.statements += self.is_open
        transport = self.raw.transport
        try:
            await wait_with_timeout(self.raw.ensure_closed(), CLOSE_SECONDS)
        except errors.DRIVER_ERRORS:
            self.abort()
        finally:
            if transport is not None:
                transport.abort()

    def abort(self) -> None:
        """Drop the connection immediately, whatever its state, without TLS's closing messages."""
        transport = self.raw.transport
        self.raw.close()
        if transport is not None:
            transport.abort()


class OwnConnections:
    """A session's connections to its server, apart from those of the load."""

    def __init__(self) -> None:
        self._open: set[Connection] = set()
        self._ended_statements = 0
        self._ended_selects = 0

    @property
    def statements(self) -> int:
        return self._ended_statements + sum(each.statements for each in self._open)

    @property
    def selects(self) -> int:
        return self._ended_selects + sum(each.selects for each in self._open)

    @property
    def ids(self) -> set[int]:
        return {each.thread_id for each in self._open}

    def add(self, connection: Connection) -> None:
        self._open.add(connection)

    def discard(self, connection: Connection) -> None:
        """Remove a connection that has ended: it sends no more statements."""
        self._open.discard(connection)
        self._ended_statements += connection.statements
        self._ended_selects += connection.selects


def _single_statement(request: bytes | CaptureResponse, answers: list[Any]) -> TransactionLoop:
    """A script of a single statement."""
    answers.append((yield request))


class _LoginOptions(NamedTuple):
    """How to log in; `options` are the driver's."""

    timeout_seconds: float
    records: Any
    options: dict[str, Any]


async def connect(
    target: Target,
    *,
    use_database: bool = True,
    timeout_seconds: float | None = None,
    program: str = "tuibench",
    sends_rows: bool = False,
    charset: str = CHARSET,
    records: Any = None,
) -> Connection:
    """Log in to the first server of the target.

    Each of its addresses gets `timeout_seconds` (None: the target's own). `sends_rows` allows LOAD DATA
    LOCAL. Another `charset` saves the server conversions if everything sent is ASCII. With `records`, the
    native engine's TlsRecords, the connection can be handed to it.

    Raises ServerUnavailableError if the server cannot be reached or refuses the login, SQLError with code
    1040, 1203 or 1226 if it accepts no more connections.
    """
    options = {
        "database": target.database if use_database else None,
        "program_name": program,
        "client_flag": CLIENT.LOCAL_FILES if sends_rows else 0,
        "charset": charset,
    }
    seconds = target.connect_timeout if timeout_seconds is None else timeout_seconds
    manner = _LoginOptions(seconds, records, options)
    addresses, serving = target.addresses, first_logins().serving
    first = serving.get(target, 0)
    failure: ServerUnavailableError | None = None
    for place in (*range(first, len(addresses)), *range(first)):
        try:
            connection = await _login_with_password(addresses[place] if target.failover else target, manner)
        except ServerUnavailableError as error:
            failure = failure or error
        else:
            if target.failover:
                serving[target] = place
            return connection
    raise failure or AssertionError("a target has an address")


async def _login_with_password(target: Target, manner: _LoginOptions) -> Connection:
    """Logs in with the password known for the target; if it is refused, with a newer one."""
    known = password_cache()
    since = time.monotonic()
    password = await known.of(target)
    try:
        return await _safe_login(target, password, manner)
    except AccessDeniedError:
        if not known.forget(target, password, since):
            raise
    return await _safe_login(target, await known.of(target), manner)


async def _safe_login(target: Target, password: str, manner: _LoginOptions) -> Connection:
    """Logs in with TLS as the target requires.

    If the target only prefers TLS, it logs in without it when the server's TLS does not work, and with it
    when the server requests the whole password.
    """
    first = first_logins().of(target)
    is_tls = login.is_wanted(target, first)
    try:
        connection = await _login(target, password, manner, is_tls=is_tls)
    except errors.TLSError:
        if target.ssl_mode != "preferred" or first is not None:
            raise
        connection = await _login(target, password, manner, is_tls=False)
    except errors.PlainPasswordError as error:
        if target.ssl_mode != "preferred" or not error.is_tls_offered:
            raise
        connection = await _login_with_whole_password(target, password, manner)
    first_logins().learn([connection.login])
    return connection


async def _login_with_whole_password(target: Target, password: str, manner: _LoginOptions) -> Connection:
    """Sends the password over TLS, then logs in without TLS if the server remembers the password."""
    encrypted = await _login(target, password, manner, is_tls=True)
    if encrypted.login.plugin != CACHING_PLUGIN:
        return encrypted
    try:
        plain = await _login(target, password, manner, is_tls=False)
    except errors.PlainPasswordError:
        return encrypted
    except BaseException:
        encrypted.abort()
        raise
    await encrypted.close()
    plain.statements += encrypted.statements
    return plain


async def _login(target: Target, password: str, manner: _LoginOptions, *, is_tls: bool) -> Connection:
    raw = DriverConnection(
        host=target.host,
        port=target.port,
        unix_socket=target.socket or None,
        user=target.user,
        password=password.encode(),
        connect_timeout=manner.timeout_seconds,
        autocommit=None,
        ssl=tls_context(target, hands_over=manner.records is not None) if is_tls else None,
        **manner.options,
    )
    try:
        return await wait_with_timeout(_log_in(raw, target, manner), manner.timeout_seconds)
    except TimeoutError as error:
        raw.close()
        raise errors.silent(target, manner.timeout_seconds) from error
    except BaseException:
        raw.close()
        raise


async def _log_in(raw: Any, target: Target, manner: _LoginOptions) -> Connection:
    first = first_logins().of(target)
    handshake = Handshake(raw, target, manner.timeout_seconds, first, manner.records)
    try:
        with raw.read_limit(LOGIN_BYTES):
            await raw.connect()
    except ProtocolError as error:
        raise error.at(target.where) from error
    except (*errors.DRIVER_ERRORS, *errors.MALFORMED) as error:
        raise handshake.failure(error) from error
    finally:
        handshake.release()
    set_keepalive(raw.transport, target.net_timeout)
    raw.receiver.buffer = bytearray(RECEIVE_BUFFER_BYTES)
    connection = Connection(raw, target)
    connection.login = handshake.login()
    connection.questions = NetDeadline()
    if not raw.get_autocommit():
        await connection.execute("SET autocommit=1")
    return connection


COM_STMT_BULK_EXECUTE = 0xFA
SEND_TYPES_FLAG = 128
"""Flag of a bulk statement: the types of its parameters precede the rows."""


class LoadDataResult:
    """The server's response to LOAD DATA: accepted rows, and warnings about values or rows."""

    def __init__(self, rows: int, warnings: int) -> None:
        self.rows = rows
        self.warnings = warnings


def supports_bulk(connection: Connection) -> bool:
    """True if the server knows bulk statements: MariaDB since 10.2."""
    return bool(connection.raw.supports_bulk)


class BulkStatement:
    """A prepared INSERT of one row, executed for many. Parameters are 32-bit integers or short texts."""

    def __init__(self, connection: Connection, prepared: Any, identity: int, parameters: str) -> None:
        self._connection = connection
        self._prepared = prepared
        types = b"".join(
            struct.pack("<BB", FIELD_TYPE.LONG if kind == "i" else FIELD_TYPE.STRING, 0)
            for kind in parameters
        )
        self._head = struct.pack("<IH", identity, SEND_TYPES_FLAG) + types

    @classmethod
    async def prepare(cls, connection: Connection, sql: str, parameters: str) -> "BulkStatement":
        """`parameters` has an `i` or an `s` for each `?`."""
        raw = connection.raw
        try:
            prepared = await raw.prepare(sql)
        except (*errors.DRIVER_ERRORS, *errors.MALFORMED) as error:
            raise errors.statement_error(error).at(connection.target.where) from error
        return cls(connection, prepared, statement_id(prepared), parameters)

    async def execute(self, rows: bytes) -> int:
        """Runs the statement for all rows.

        A row has, for each parameter, a zero byte, then the integer, or the length and the text.
        """
        raw = self._connection.raw
        self._connection.statements += 1
        try:
            await raw.send_command(COM_STMT_BULK_EXECUTE, self._head + rows)
            await raw.read_result()
        except (*errors.DRIVER_ERRORS, *errors.MALFORMED) as error:
            raise errors.statement_error(error).at(self._connection.target.where) from error
        return int(raw.affected_rows())

    async def close(self) -> None:
        try:
            await self._prepared.close()
        except (*errors.DRIVER_ERRORS, *errors.MALFORMED) as error:
            raise errors.statement_error(error).at(self._connection.target.where) from error


async def load_data(connection: Connection, sql: str, blocks: Iterable[bytes]) -> LoadDataResult:
    """Run LOAD DATA LOCAL with these bytes as the file. The connection must have been opened with
    `sends_rows`.

    Raises SQLError; if the server refuses the statement, no block was read.
    """
    raw = connection.raw
    connection.statements += 1
    try:
        await raw.send_command(COMMAND.COM_QUERY, sql)
        packet = await raw.read_packet()
        if packet.is_load_local_packet():
            for block in blocks:
                raw.write_packet(block)
                await raw.receiver.drain()
            raw.write_packet(b"")
            packet = await raw.read_packet()
        answer = OKPacketWrapper(packet)
    except (*errors.DRIVER_ERRORS, *errors.MALFORMED) as error:
        raise errors.statement_error(error).at(connection.target.where) from error
    raw.release_result()
    raw.server_status = answer.server_status
    return LoadDataResult(int(answer.affected_rows), int(answer.warning_count))


NO_BACKSLASH_ESCAPES = 0x0200
"""The bit of the server's status for this SQL mode, in which quotes are doubled."""


class DetachedSocket(NamedTuple):
    """A socket's descriptor, and what was negotiated at the login."""

    descriptor: int
    without_eof: bool
    no_backslash_escapes: bool
    is_compressed: bool
    records: Any
    """None without TLS."""


NO_BUFFER = bytearray()


def detach_socket(connection: Connection) -> DetachedSocket | None:
    """Returns the socket, which the driver does not read until `reattach_socket`; None if it is closed.

    The driver's buffer is freed, because it takes most of the memory of an idle connection. A connection with
    TLS must have been opened with `records`.
    """
    raw = connection.raw
    transport = raw.transport
    if transport is None or transport.is_closing():
        return None
    under = transport.under if connection.is_compressed else transport
    records = under.records if isinstance(under, RecordTransport) else None
    if connection.is_encrypted and records is None:
        raise RuntimeError("this connection was not opened to be handed over")
    transport.pause_reading()
    descriptor = int(transport.get_extra_info("socket").fileno())
    receiver = raw.receiver
    if receiver.length == receiver.pos:
        receiver.buffer, receiver.length, receiver.pos = NO_BUFFER, 0, 0
    no_backslash_escapes = bool(raw.server_status & NO_BACKSLASH_ESCAPES)
    return DetachedSocket(
        descriptor, raw.deprecates_eof, no_backslash_escapes, connection.is_compressed, records
    )


def reattach_socket(connection: Connection) -> None:
    """Lets the driver read the socket again."""
    transport, receiver = connection.raw.transport, connection.raw.receiver
    if transport is not None and not transport.is_closing():
        if receiver.buffer is NO_BUFFER:
            receiver.buffer = bytearray(RECEIVE_BUFFER_BYTES)
        transport.resume_reading()
