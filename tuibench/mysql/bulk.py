"""Bulk inserts by the fastest method of each server: MariaDB's bulk statements, and LOAD DATA LOCAL.

Both send blocks of bytes that the caller has encoded in the server's format. LOAD DATA LOCAL sends only these
blocks, never a file, whatever name the server requests.
"""

import struct
from collections.abc import Iterable
from typing import Any

from tuibench.mysql import errors
from tuibench.mysql.connection import Connection
from tuibench.mysql.driver import COMMAND, FIELD_TYPE, OKPacketWrapper
from tuibench.mysql.driver_internals import statement_id

COM_STMT_BULK_EXECUTE = 0xFA
SEND_TYPES_FLAG = 128
"""Flag of a bulk statement: the types of its parameters come before the rows."""

LOCAL_INFILE_REFUSED_CODES = frozenset({1148, 1235, 2068, 3948, 3950, 4166})
"""Errors of servers that do not accept LOAD DATA LOCAL (not allowed, disabled, rejected)."""

BULK_REFUSED_CODES = frozenset({1461, 4033})
"""MariaDB's errors if it accepts no more prepared statements, or if its binary log is not in row format."""


class LoadDataResult:
    """The server's response to LOAD DATA: accepted rows, and warnings about values or rows."""

    def __init__(self, rows: int, warnings: int) -> None:
        self.rows = rows
        self.warnings = warnings


def supports_bulk(connection: Connection) -> bool:
    """True if the server knows bulk statements: MariaDB since 10.2."""
    return bool(connection.raw.supports_bulk)


class BulkStatement:
    """A prepared INSERT of one row, executed for many. Parameters are 32 bit integers or short texts."""

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
            raise errors.statement_error(error) from error
        return cls(connection, prepared, statement_id(prepared), parameters)

    async def execute(self, rows: bytes) -> int:
        """Runs it for all rows: for each parameter a zero byte, then the integer, or length and text."""
        raw = self._connection.raw
        self._connection.statements += 1
        try:
            await raw.send_command(COM_STMT_BULK_EXECUTE, self._head + rows)
            await raw.read_result()
        except (*errors.DRIVER_ERRORS, *errors.MALFORMED) as error:
            raise errors.statement_error(error) from error
        return int(raw.affected_rows())

    async def close(self) -> None:
        try:
            await self._prepared.close()
        except (*errors.DRIVER_ERRORS, *errors.MALFORMED) as error:
            raise errors.statement_error(error) from error


async def load_data(connection: Connection, sql: str, blocks: Iterable[bytes]) -> LoadDataResult:
    """Run a LOAD DATA LOCAL with these bytes as the file. The connection must have been opened with
    `sends_rows`.

    Raises SQLError; with one of INFILE_REFUSED_CODES no block was read.
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
        raise errors.statement_error(error) from error
    raw.release_result()
    raw.server_status = answer.server_status
    return LoadDataResult(int(answer.affected_rows), int(answer.warning_count))
