"""Many statements prepared in one go: each answer finds its statement, and a refusal costs no other."""

import asyncio
import struct
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from asyncmy.errors import OperationalError, ProgrammingError

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.protocol.packets import PreparedHandle, prepare_statements

DEFINITION = b"a definition"


class Packet:
    """A packet as the driver gives it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def get_all_data(self) -> bytes:
        return self._body

    def read_uint8(self) -> int:
        return self._take(1)

    def read_uint16(self) -> int:
        return self._take(2)

    def read_uint32(self) -> int:
        return self._take(4)

    def _take(self, size: int) -> int:
        taken, self._body = self._body[:size], self._body[size:]
        return int.from_bytes(taken, "little")


class Wire:
    """The driver's connection, with answers written down before. `starts` are the expected sequences."""

    statement_encoding = "utf8"

    def __init__(self, *answers: bytes | Exception, without_eof: bool) -> None:
        self.deprecates_eof = without_eof
        self._next_packet = 0
        self.sent = b""
        self.answers = list(answers)

    def write_bytes(self, data: bytes) -> None:
        self.sent += data

    def expect_response(self) -> None:
        self._next_packet = 1

    def read_limit(self, max_bytes: int) -> AbstractContextManager[None]:
        return nullcontext()

    async def read_packet(self) -> Any:
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert self._next_packet == 1 or answer == DEFINITION
        self._next_packet += 1
        return Packet(answer)


def head(identity: int, columns: int, parameters: int) -> bytes:
    return struct.pack("<BIHHBH", 0, identity, columns, parameters, 0, 0)


@pytest.mark.parametrize(("without_eof", "more"), [(True, 0), (False, 1)])
async def test_each_answer_finds_its_statement(without_eof: bool, more: int) -> None:
    wire = Wire(
        head(1, 0, 0),
        head(2, 3, 2),
        *[DEFINITION] * (3 + 2 + 2 * more),
        head(3, 0, 1),
        *[DEFINITION] * (1 + more),
        without_eof=without_eof,
    )
    assert await prepare_statements(wire, ["COMMIT", "SELECT", "DELETE"]) == [
        PreparedHandle(1, 0),
        PreparedHandle(2, 2, (DEFINITION,) * 3),
        PreparedHandle(3, 1),
    ]
    assert wire.sent == b"\x07\x00\x00\x00\x16COMMIT\x07\x00\x00\x00\x16SELECT\x07\x00\x00\x00\x16DELETE"
    assert wire.answers == []


async def test_a_refusal_costs_no_other_statement() -> None:
    wire = Wire(head(1, 0, 0), ProgrammingError(1146, "no such table"), head(2, 0, 0), without_eof=True)
    first, refused, last = await prepare_statements(wire, ["BEGIN", "SELECT", "COMMIT"])
    assert isinstance(refused, SQLError)
    assert (first, refused.code, last) == (PreparedHandle(1, 0), 1146, PreparedHandle(2, 0))


async def test_a_lost_connection_ends_it_all() -> None:
    wire = Wire(head(1, 0, 0), OperationalError(2013, "lost"), without_eof=True)
    with pytest.raises(ConnectionLostError):
        await prepare_statements(wire, ["BEGIN", "SELECT", "COMMIT"])
