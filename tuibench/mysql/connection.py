"""One connection to a server: statements in text, statements prepared, errors in our own tree."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from asyncmy import connection as driver
from asyncmy.charset import charset_by_name
from asyncmy.constants.CLIENT import LOCAL_FILES

from tuibench.deadline import in_time
from tuibench.errors import SQLError
from tuibench.model.target import Target
from tuibench.mysql import errors, tls
from tuibench.mysql.errors import AccessDeniedError
from tuibench.mysql.exchange import Exchange, Script, Whole
from tuibench.mysql.handshake import Handshake
from tuibench.mysql.packets import Execution, text_packet
from tuibench.mysql.passwords import passwords
from tuibench.mysql.preparing import Prepared, prepare
from tuibench.mysql.rows import Form, Row, Rows, in_binary, in_text
from tuibench.workload.placeholders import pieces

__all__ = ["Connection", "Row", "Statement", "TextStatement", "connect", "fixed_packet"]

Packet = Callable[[tuple[Any, ...]], bytes]
"""A statement with its values, as it is sent."""

CHARSET = "utf8mb4"
ENCODING = charset_by_name(CHARSET).encoding
"""What all statements are sent in."""

RECEIVE_BUFFER_BYTES = 1 << 14
"""The driver starts with 256 KiB a connection, too much for thousands; it grows the buffer at need."""


class Statement:
    """A statement prepared on the server: `packet` is what is sent to run it, `rows` reads its answers."""

    __slots__ = ("packet", "rows")

    def __init__(self, connection: "Connection", prepared: Prepared, encoding: str) -> None:
        self.packet = Execution(prepared.identity, prepared.parameters, encoding).packet
        self.rows = connection.rows(in_binary, prepared.definitions)


class TextStatement:
    """The same sent as text, its values written into it: for servers that take no more prepared ones."""

    __slots__ = ("packet", "rows")

    def __init__(self, connection: "Connection", sql: str) -> None:
        self.packet = fixed_packet(sql) or _filled(connection, pieces(sql))
        self.rows = connection.rows(in_text)


def fixed_packet(sql: str) -> Packet | None:
    """A statement in text that has no values, as it is sent on every connection; None for one that has."""
    if len(pieces(sql)) > 1:
        return None
    whole = text_packet(sql, ENCODING)
    return lambda values: whole


def _filled(connection: "Connection", parts: Sequence[str]) -> Packet:
    """The function that writes values between the parts."""
    form = "%s".join(part.replace("%", "%%") for part in parts)
    packet, quote = connection.packet, connection.quote

    def filled(values: tuple[Any, ...]) -> bytes:
        return packet(form % tuple([value if type(value) is int else quote(value) for value in values]))

    return filled


class Connection:
    """A logged-in connection. `statements` counts what it has sent, for the reconciliation; `raw` is the
    driver's, for this package alone.
    """

    def __init__(self, raw: Any, target: Target) -> None:
        self.raw = raw
        self.target = target
        self.statements = 0
        self._exchange: Exchange | None = None

    @property
    def thread_id(self) -> int:
        """The server's id of this connection, as in SHOW PROCESSLIST."""
        return int(self.raw.server_thread_id[0])

    @property
    def version_text(self) -> str:
        """The version as the server said it in its greeting."""
        return str(self.raw.get_server_info())

    async def query(self, sql: str) -> Sequence[Row]:
        """Sends one statement as text; returns its rows, none for a statement without a result."""
        self.statements += 1
        try:
            await self.raw.query(sql)
        except errors.FOREIGN as error:
            raise errors.statement_error(error) from error
        result = self.raw._result
        return (result.rows if result is not None else None) or ()

    async def query_named(self, sql: str) -> list[dict[str, Any]]:
        """The rows of one statement in text, each by its columns' names."""
        rows = await self.query(sql)
        names = [column[0] for column in self.raw._result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    async def execute(self, sql: str) -> int:
        """Sends one statement as text; returns the number of rows it affected."""
        await self.query(sql)
        return int(self.raw.affected_rows())

    async def prepare(self, sql: str) -> Statement:
        """Prepares a statement with `?` placeholders on the server."""
        (prepared,) = await self.prepare_all([sql])
        if isinstance(prepared, SQLError):
            raise prepared
        return prepared

    async def prepare_all(self, texts: Sequence[str]) -> list[Statement | SQLError]:
        """Prepares many statements in one go; for each, it or the server's refusal."""
        return [
            each if isinstance(each, SQLError) else Statement(self, each, ENCODING)
            for each in await prepare(self.raw, texts)
        ]

    @property
    def exchange(self) -> Exchange:
        """The hot path over this connection, made when it is first asked for."""
        if self._exchange is None:
            self._exchange = Exchange(self.raw)
        return self._exchange

    async def ask(self, said: bytes | Whole) -> Any:
        """Sends one statement; returns rows affected, or returned by a SELECT; for `Whole` the answer."""
        self.statements += 1
        answers: list[Any] = []
        await self.exchange.play(_one(said, answers))
        return answers[0]

    def rows(self, form: Form, definitions: Sequence[bytes] = ()) -> Rows:
        """What reads the answers to one statement."""
        raw = self.raw
        return Rows(form, ENCODING, without_eof=raw._deprecate_eof, definitions=definitions)

    def packet(self, sql: str) -> bytes:
        """A statement in text, as it is sent."""
        return text_packet(sql, ENCODING)

    @property
    def is_open(self) -> bool:
        """False once the connection is closed or known to be broken."""
        return bool(self.raw.connected) and not self.raw._stream_broken

    def quote(self, value: Any) -> str:
        """A value as an SQL literal, for statements that cannot be prepared."""
        return str(self.raw.escape(value))

    async def close(self) -> None:
        """Says goodbye; a connection that is broken already is dropped without a word.

        The goodbye (COM_QUIT) is a statement to the server: it raises its Questions, on both flavours.
        """
        self.statements += self.is_open
        try:
            await self.raw.ensure_closed()
        except errors.FOREIGN:
            self.abort()

    def abort(self) -> None:
        """Drops the connection at once, whatever it was doing. TLS would take its time to say goodbye."""
        transport = self.raw._transport
        self.raw.close()
        if transport is not None:
            transport.abort()


def _one(said: bytes | Whole, answers: list[Any]) -> Script:
    """A single statement as a script."""
    answers.append((yield said))


class _Manner(NamedTuple):
    """How to log in, besides where to and as whom; `options` are the driver's."""

    timeout_seconds: float
    options: dict[str, Any]


async def connect(
    target: Target,
    *,
    use_database: bool = True,
    timeout_seconds: float = 10.0,
    program: str = "tuibench",
    sends_rows: bool = False,
    charset: str = CHARSET,
) -> Connection:
    """Logs in to the target, the first of its servers. `sends_rows` allows LOAD DATA LOCAL. Where all that
    is sent will be ASCII, another `charset` may be spoken: one that spares the server conversions.

    Raises ServerUnavailableError when the server is away or refuses the login, SQLError with
    code 1040, 1203 or 1226 when it takes no more connections.
    """
    known = passwords()
    options = {
        "database": target.database if use_database else None,
        "program_name": program,
        "client_flag": LOCAL_FILES if sends_rows else 0,
        "charset": charset,
    }
    manner = _Manner(timeout_seconds, options)
    since = time.monotonic()
    password = await known.of(target)
    try:
        return await _encrypted_login(target, password, manner)
    except AccessDeniedError:
        if not known.forget(target, password, since):
            raise
    return await _encrypted_login(target, await known.of(target), manner)


async def _encrypted_login(target: Target, password: str, manner: _Manner) -> Connection:
    """Logs in with TLS as the target asks; where it only prefers TLS, without it if need be."""
    context = tls.context(target)
    try:
        return await _login(target, password, manner, context)
    except errors.TLSError:
        if target.ssl_mode != "preferred":
            raise
    return await _login(target, password, manner, None)


async def _login(target: Target, password: str, manner: _Manner, context: Any) -> Connection:
    raw: Any = driver.Connection(  # type: ignore[no-untyped-call]
        host=target.host,
        port=target.port,
        unix_socket=target.socket or None,
        user=target.user,
        password=password.encode(),
        connect_timeout=manner.timeout_seconds,
        autocommit=None,
        ssl=context,
        **manner.options,
    )
    handshake = Handshake(raw, target, manner.timeout_seconds)
    try:
        await in_time(raw.connect(), manner.timeout_seconds)
    except errors.FOREIGN as error:
        raise errors.connect_error(error, target) from error
    except errors.GIBBERISH as error:
        raise errors.not_a_server(target) from error
    finally:
        handshake.let_go()
    raw._proto.buffer = bytearray(RECEIVE_BUFFER_BYTES)
    connection = Connection(raw, target)
    if not raw.get_autocommit():
        await connection.execute("SET autocommit=1")
    return connection
