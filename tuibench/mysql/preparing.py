"""Preparing many statements on one connection at the cost of one round trip.

All COM_STMT_PREPARE packets leave at once, and the answers are read in their order: a login with forty
statements to prepare would else wait forty times for its turn beside a load that keeps the loop busy.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from asyncmy.constants.COMMAND import COM_STMT_PREPARE

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql import errors
from tuibench.mysql.packets import framed

COMMAND = bytes((COM_STMT_PREPARE,))


class Prepared(NamedTuple):
    """The server's number of a statement, how many placeholders it has, and its columns' definitions."""

    identity: int
    parameters: int
    definitions: tuple[bytes, ...] = ()


async def prepare(raw: Any, texts: Sequence[str]) -> list[Prepared | SQLError]:
    """What became of each statement: prepared, or why not. Raises ConnectionLostError."""
    encoding = raw._encoding
    try:
        raw._write_bytes(b"".join(framed(COMMAND + text.encode(encoding)) for text in texts))
    except errors.FOREIGN as error:
        raise errors.statement_error(error) from error
    return [await _answer(raw) for _ in texts]


async def _answer(raw: Any) -> Prepared | SQLError:
    """The answer to one: its head, then the definitions of placeholders and columns."""
    raw._next_seq_id = 1
    try:
        head = await raw.read_packet()
        head.read_uint8()
        identity, columns, parameters = head.read_uint32(), head.read_uint16(), head.read_uint16()
        await _definitions(raw, parameters)
        return Prepared(identity, parameters, await _definitions(raw, columns))
    except errors.FOREIGN as error:
        refusal = errors.statement_error(error)
        if isinstance(refusal, ConnectionLostError):
            raise refusal from error
        return refusal


async def _definitions(raw: Any, count: int) -> tuple[bytes, ...]:
    """So many definitions, with the EOF behind them where servers send it."""
    definitions = tuple([(await raw.read_packet()).get_all_data() for _ in range(count)])
    if count and not raw._deprecate_eof:
        await raw.read_packet()
    return definitions
