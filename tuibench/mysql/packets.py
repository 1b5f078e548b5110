"""Packets of the wire protocol: encoding of statements, parser of responses.

All COM_STMT_PREPARE packets of a connection are sent at once, and the responses are read in order: otherwise
a login with forty statements would wait forty times for its turn while a load keeps the event loop busy.

The parser finds the end of a response, its status and errors, without I/O and without decoding rows. A
response is a sequence of packets (three bytes of length, one of sequence number):

    OK or ERR                           the statement affected rows, or it failed
    count, columns, [EOF], rows, EOF    a result; with DEPRECATE_EOF, the first EOF is missing, and the last
                                        packet is an OK with the first byte of an EOF

If the status says so, another response follows, as after a CALL. MariaDB may omit the columns if they have
not changed; a byte after their count says so. Rows of one width are counted many at a time, because the rows
of a load mostly have the same width.

A response with the same bytes has the same meaning, and comparing them takes a fraction of the time of
parsing. One response is cached for all connections of a process, so that thousands of them cost no memory.
The fast path (`statements`) parses most responses before they get here.
"""

import struct
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from tuibench.base.errors import ConnectionLostError, ProtocolError, SQLError
from tuibench.mysql import errors
from tuibench.mysql.driver import COMMAND, pack_binary_params

MAX_PAYLOAD_BYTES = 0xFFFFFF
"""A packet of this size continues in the next one."""

LIST_IS_NO_VALUE = "a list is no value of a statement"

_PACK_HEADER = struct.Struct("<I").pack
_PACK_INTEGERS = {count: struct.Struct(f"<{count}q").pack for count in range(1, 65)}
_LONGLONG = b"\x08\x00"
_TYPES_FOLLOW = b"\x01"
_QUERY = bytes((COMMAND.COM_QUERY,))


def frame_payload(payload: bytes) -> bytes:
    """The payload as one packet that starts an exchange, or as several if it is too long for one."""
    if len(payload) < MAX_PAYLOAD_BYTES:
        return _PACK_HEADER(len(payload)) + payload
    pieces: list[bytes] = []
    for number, start in enumerate(range(0, len(payload) + 1, MAX_PAYLOAD_BYTES)):
        piece = payload[start : start + MAX_PAYLOAD_BYTES]
        pieces += (_PACK_HEADER(len(piece) | (number & 0xFF) << 24), piece)
    return b"".join(pieces)


def packet_count(packets: bytes) -> int:
    """The number of packets that `frame_payload` made."""
    return len(packets) // (MAX_PAYLOAD_BYTES + HEADER_BYTES) + 1


def text_packet(sql: str, encoding: str) -> bytes:
    """The packet of a text statement."""
    return frame_payload(_QUERY + sql.encode(encoding, "surrogateescape"))


class ExecuteCommand:
    """The packets that execute one prepared statement, once for each set of values."""

    __slots__ = ("_encoding", "_head", "_numbers", "_pack_numbers")

    def __init__(self, identity: int, parameters: int, encoding: str) -> None:
        self._encoding = encoding
        self._head = struct.pack("<BIBI", COMMAND.COM_STMT_EXECUTE, identity, 0, 1)
        self._pack_numbers = _PACK_INTEGERS.get(parameters)
        types = bytes((parameters + 7) // 8) + _TYPES_FOLLOW + _LONGLONG * parameters
        size = len(self._head) + len(types) + 8 * parameters
        self._numbers = _PACK_HEADER(size) + self._head + types

    def packet(self, values: tuple[Any, ...]) -> bytes:
        """The packet for these values. The usual case, in which all are integers, is the fastest."""
        if self._pack_numbers is not None:
            try:
                return self._numbers + self._pack_numbers(*values)
            except struct.error:
                pass
        if any(type(value) is list for value in values):
            raise TypeError(LIST_IS_NO_VALUE)
        return frame_payload(
            self._head + pack_binary_params(values, self._encoding) if values else self._head
        )


_head = struct.Struct("<BIHH").unpack_from

_PREPARE_COMMAND = bytes((COMMAND.COM_STMT_PREPARE,))
PREPARE_BYTES = 1 << 26
"""Maximum number of bytes that a server may send while statements are prepared."""


class PreparedHandle(NamedTuple):
    """A statement that the server has prepared."""

    identity: int
    """The server's number of the statement."""
    parameters: int
    """The number of placeholders."""
    definitions: tuple[bytes, ...] = ()
    """The definitions of the columns."""


async def prepare_statements(raw: Any, texts: Sequence[str]) -> list[PreparedHandle | SQLError]:
    """The result for each statement: prepared, or its error. Raises ConnectionLostError."""
    encoding = raw.statement_encoding
    try:
        requests = [frame_payload(_PREPARE_COMMAND + text.encode(encoding)) for text in texts]
        raw.write_bytes(b"".join(requests))
    except errors.DRIVER_ERRORS as error:
        raise errors.statement_error(error) from error
    with raw.read_limit(PREPARE_BYTES):
        return [await _read_prepare_response(raw, packet_count(request)) for request in requests]


async def _read_prepare_response(raw: Any, packets: int) -> PreparedHandle | SQLError:
    """The response for one statement: its head, then the definitions of placeholders and columns."""
    raw.expect_response(packets)
    try:
        head = await raw.read_packet()
        _, identity, columns, parameters = _head(head.get_all_data())
        await _read_definitions(raw, parameters)
        return PreparedHandle(identity, parameters, await _read_definitions(raw, columns))
    except (*errors.DRIVER_ERRORS, *errors.MALFORMED) as error:
        refusal = errors.statement_error(error)
        if isinstance(refusal, ConnectionLostError):
            raise refusal from error
        return refusal


async def _read_definitions(raw: Any, count: int) -> tuple[bytes, ...]:
    """Column definitions, with an EOF after them if the server sends it."""
    definitions = tuple([(await raw.read_packet()).get_all_data() for _ in range(count)])
    if count and not raw.deprecates_eof:
        await raw.read_packet()
    return definitions


OK, LOCAL_INFILE, EOF, ERR = 0x00, 0xFB, 0xFE, 0xFF
HEADER_BYTES = 4

"""A packet of this size continues in the next one."""

MAX_EOF_BYTES = 8
MOST_COLUMNS = 0xFFFF
"""The maximum that a prepared statement can announce; the servers' own limit for a table is 4096."""

MORE_RESULTS = 0x0008
SQL_STATE_BYTES = 6

MIN_ALIKE_ROWS, MAX_ALIKE_ROWS = 4, 4096
"""Minimum and maximum number of rows that are checked at once."""

NAMES_BEFORE = 4
"""Texts of a column's definition before its name: catalogue, database, table, original table."""

SEQUENCES = bytes(range(256)) * (MAX_ALIKE_ROWS // 256 + 1)

_WIDTHS = {0xFC: 2, 0xFD: 3, 0xFE: 8}
_header = struct.Struct("<HBB").unpack_from
_first_byte = struct.Struct("<IB").unpack_from
_short = struct.Struct("<H").unpack_from


class ResponseParser:
    """Parses one response after the other: `feed` the received bytes until it returns the number of rows.

    Bytes after a response belong to the next one. `is_new` is True until bytes of the next one have arrived.
    Packets are numbered in order, except within compressed frames.
    """

    __slots__ = ("_affected", "_are_alike", "_earlier", "_has_eof", "_in_rows", "_is_numbered", "_left",
                 "_longest_eof", "_sequence", "_skip", "is_new")  # fmt: skip

    def __init__(self, *, without_eof: bool, is_numbered: bool = True) -> None:
        self._has_eof = not without_eof
        self._is_numbered = is_numbered
        self._longest_eof = MAX_PAYLOAD_BYTES - 1 if without_eof else MAX_EOF_BYTES
        self._left = b""
        self._begin()

    def feed(self, data: bytes) -> int | None:
        """Parse received bytes. At the end of the response, returns the affected rows, or the rows of a
        result.

        Raises SQLError if the server refused the statement, ProtocolError for an invalid response.
        """
        try:
            affected = self._read_on(self._left + data)
        except SQLError:
            self._begin()
            raise
        except errors.MALFORMED as error:
            raise ProtocolError("a packet is shorter than its header says") from error
        if affected is not None:
            self._begin()
        else:
            self.is_new = False
        return affected

    def follow(self, request: bytes) -> None:
        """Continue the sequence numbers of these packets in the next response; without this call, of a single
        packet.
        """
        self._sequence = packet_count(request) & 0xFF

    def _begin(self) -> None:
        """Start a new response."""
        self.is_new = not self._left
        self._affected = 0
        self._earlier: int | None = None
        self._are_alike = True
        self._in_rows = False
        self._sequence = 1
        self._skip = 0

    def _read_on(self, data: bytes) -> int | None:
        """Reads all packets that are complete."""
        place, end = 0, len(data)
        while end - place >= HEADER_BYTES:
            low, high, sequence = _header(data, place)
            size, body = low | high << 16, place + HEADER_BYTES
            following = body + size
            if following > end:
                break
            if sequence != self._sequence or not size:
                # Out of sequence: the last message of a server that closes the connection, or invalid bytes.
                # An empty packet only ends a payload whose length is a multiple of the largest packet.
                is_allowed = data[body] == ERR or not self._is_numbered if size else self._skip
                if not is_allowed:
                    raise ProtocolError("its packets are out of order")
            self._sequence = sequence + 1 & 0xFF
            if self._skip:
                self._skip -= size < MAX_PAYLOAD_BYTES
            elif self._in_rows and not (
                data[body] == ERR or (data[body] == EOF and size <= self._longest_eof)
            ):
                following = self._row(data, following, size)
            elif self._read(data[body:following], data, following):
                self._left = data[following:]
                return self._affected
            place = following
        self._left = data[place:]
        return None

    def _row(self, data: bytes, following: int, size: int) -> int:
        """Counts a row, and the rows after it if they are alike; returns their end."""
        self._affected += 1
        if size == MAX_PAYLOAD_BYTES:
            self._skip = 1
            return following
        rows = count_equal_sized_rows(data, following, size, self._sequence) if self._are_alike else None
        if rows is None:
            self._are_alike = False
            return self._walk(data, following)
        self._affected += rows
        self._sequence = self._sequence + rows & 0xFF
        return following + rows * (HEADER_BYTES + size)

    def _walk(self, data: bytes, place: int) -> int:
        """Counts the rows from this position on, one after the other, up to a packet that may not be
        a row.
        """
        start_of_last, end, unpack = len(data) - HEADER_BYTES, len(data), _first_byte
        rows, sequence = 0, self._sequence
        while place < start_of_last:
            header, kind = unpack(data, place)
            size = header & MAX_PAYLOAD_BYTES
            following = place + HEADER_BYTES + size
            if kind >= EOF or following > end or not 0 < size < MAX_PAYLOAD_BYTES or header >> 24 != sequence:
                break
            place = following
            sequence = sequence + 1 & 0xFF
            rows += 1
        self._sequence = sequence
        self._affected += rows
        return place

    def _read(self, payload: bytes, data: bytes, following: int) -> bool:
        """Reads the first or the last packet of a response; True if nothing follows it."""
        kind = payload[0]
        if kind == ERR:
            self._left = data[following:]
            # An SQL state may precede the message.
            words = payload[3:]
            if words.startswith(b"#"):
                words = words[SQL_STATE_BYTES:]
            raise errors.error_for_code(_short(payload, 1)[0], words.decode("utf-8", "replace"))
        if self._in_rows:
            self._in_rows = False
            return self._is_over(payload, 3 if self._has_eof else _status_offset(payload, 0))
        if kind == OK:
            self._affected, _ = read_length_encoded_int(payload, 1)
            return self._is_over(payload, _status_offset(payload, 0))
        if kind == LOCAL_INFILE:
            raise ProtocolError("it asks for a file")
        columns, end = read_length_encoded_int(payload, 0)
        has_definitions = end == len(payload) or payload[end]
        if columns > MOST_COLUMNS:
            raise ProtocolError(f"it announces more than {MOST_COLUMNS:,} columns")
        self._in_rows = True
        self._skip = (columns if has_definitions else 0) + self._has_eof
        return False

    def _is_over(self, payload: bytes, status: int) -> bool:
        """True if no other response follows. Of several responses to one statement the first one counts."""
        first = self._affected if self._earlier is None else self._earlier
        if _short(payload, status)[0] & MORE_RESULTS:
            self._earlier, self._affected = first, 0
            return False
        self._affected = first
        return True


def count_equal_sized_rows(data: bytes, start: int, size: int, sequence: int) -> int | None:
    """The number of rows of this size from `start`, with consecutive sequence numbers; None if they differ.

    The last packet of a result is shorter than two rows, so at least the last whole row is left out.
    """
    stride = size + HEADER_BYTES
    rows = min((len(data) - start) // stride - 1, MAX_ALIKE_ROWS)
    if rows < MIN_ALIKE_ROWS:
        return 0
    end = start + rows * stride
    sizes = (
        data[start + byte : end : stride] == bytes((size >> 8 * byte & 0xFF,)) * rows for byte in range(3)
    )
    kinds = data[start + HEADER_BYTES : end : stride]
    in_order = data[start + 3 : end : stride] == SEQUENCES[sequence : sequence + rows]
    return rows if in_order and all(sizes) and EOF not in kinds and ERR not in kinds else None


def read_length_encoded_int(data: bytes, place: int) -> tuple[int, int]:
    """A number of one to nine bytes, and its end."""
    first = data[place]
    if first < LOCAL_INFILE:
        return first, place + 1
    end = place + 1 + _WIDTHS[first]
    if end > len(data):
        raise IndexError("a number is longer than its packet")
    return int.from_bytes(data[place + 1 : end], "little"), end


def _status_offset(data: bytes, body: int) -> int:
    """The position of the status in an OK packet: after the affected rows and the last insert id."""
    _, place = read_length_encoded_int(data, body + 1)
    return read_length_encoded_int(data, place)[1]


def status_of(answer: bytes) -> int | None:
    """The server's status, from the OK of a statement without a result; None for any other response.

    The response must have been read to its end.
    """
    if answer[HEADER_BYTES] != OK:
        return None
    return int(_short(answer, _status_offset(answer, HEADER_BYTES))[0])


def affected_rows(answer: bytes) -> int:
    """The number of rows that a statement without a result affected."""
    return read_length_encoded_int(answer, HEADER_BYTES + 1)[0]


def column_names(definitions: Sequence[bytes], encoding: str) -> list[str]:
    """The names of a result's columns, from their definitions."""
    return [_column_name(definition).decode(encoding, "replace") for definition in definitions]


def _column_name(definition: bytes) -> bytes:
    place = 0
    for _ in range(NAMES_BEFORE):
        size, place = read_length_encoded_int(definition, place)
        place += size
    size, place = read_length_encoded_int(definition, place)
    return definition[place : place + size]


MAX_CACHED_BYTES = 1 << 17
"""Longer responses are not cached, in bytes."""


class ResponseCache:
    """The last response that was read completely, and its result."""

    __slots__ = ("affected", "answer")

    def __init__(self) -> None:
        self.answer = b""
        self.affected = 0


_shared_caches: dict[tuple[bool, bool], ResponseCache] = defaultdict(ResponseCache)


def shared_cache(*, without_eof: bool, is_numbered: bool) -> ResponseCache:
    """The cache of all connections that agreed on this with their server, for which equal bytes mean the
    same.
    """
    return _shared_caches[without_eof, is_numbered]


class CachingParser:
    """A `ResponseParser` that parses only responses other than the cached one."""

    __slots__ = ("_answer", "_is_known", "_is_whole", "_memory", "_received", "is_new")

    def __init__(self, answer: ResponseParser, memory: ResponseCache) -> None:
        self._answer = answer
        self._memory = memory
        self._received = b""
        self._is_known = self._is_whole = True
        self._begin()

    def feed(self, data: bytes) -> int | None:
        """As `ResponseParser.feed`."""
        self.is_new = False
        if self._is_whole:
            self._received += data
        if not self._is_known:
            return self._read(data)
        memory, received = self._memory, self._received
        if not memory.answer.startswith(received):
            self._is_known = False
            return self._read(received)
        if len(received) < len(memory.answer):
            return None
        self._begin()
        return memory.affected

    def follow(self, request: bytes) -> None:
        """As `ResponseParser.follow`. The response is not cached, because other sequence numbers change its
        bytes.
        """
        self._answer.follow(request)
        self.is_new = self._is_known = self._is_whole = False

    def _read(self, data: bytes) -> int | None:
        try:
            affected = self._answer.feed(data)
        except SQLError:
            self._begin()
            raise
        if affected is not None:
            if self._is_whole and self._answer.is_new and len(self._received) <= MAX_CACHED_BYTES:
                self._memory.answer, self._memory.affected = self._received, affected
            self._begin()
        elif len(self._received) > MAX_CACHED_BYTES:
            self._received, self._is_whole = b"", False
        return affected

    def _begin(self) -> None:
        """Start a new response. Bytes of it that have arrived are the parser's."""
        self._received = b""
        self.is_new = self._is_known = self._is_whole = self._answer.is_new
