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
    """The server's number of a statement, and how many placeholders it has."""

    identity: int
    parameters: int


async def prepare(raw: Any, texts: Sequence[str]) -> list[Prepared | SQLError]:
    """What became of each statement: prepared, or why not. Raises ConnectionLostError."""
    encoding = raw._encoding
    try:
        raw._write_bytes(b"".join(framed(COMMAND + text.encode(encoding)) for text in texts))
    except errors.FOREIGN as error:
        raise errors.statement_error(error) from error
    return [await _answer(raw) for _ in texts]


async def _answer(raw: Any) -> Prepared | SQLError:
    """The answer to one: its head, then the definitions of placeholders and columns, which nobody needs."""
    raw._next_seq_id = 1
    try:
        head = await raw.read_packet()
        head.read_uint8()
        identity, columns, parameters = head.read_uint32(), head.read_uint16(), head.read_uint16()
        for definitions in (parameters, columns):
            for _ in range(definitions + (definitions > 0 and not raw._deprecate_eof)):
                await raw.read_packet()
    except errors.FOREIGN as error:
        refusal = errors.statement_error(error)
        if isinstance(refusal, ConnectionLostError):
            raise refusal from error
        return refusal
    return Prepared(identity, parameters)
