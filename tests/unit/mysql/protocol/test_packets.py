"""Statements as packets."""

import datetime
import struct
from decimal import Decimal
from typing import Any

import pytest
from asyncmy.protocol import pack_binary_params
from hypothesis import given
from hypothesis import strategies as st

from tuibench.mysql.protocol.packets import ExecuteCommand, frame_payload, text_packet

values = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.text(max_size=300),
    st.none(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.binary(max_size=9),
    st.datetimes(),
)


def by_the_driver(identity: int, row: tuple[Any, ...]) -> bytes:
    head = b"\x17" + struct.pack("<IBI", identity, 0, 1)
    payload = head + (pack_binary_params(row, "utf8") if row else b"")
    return struct.pack("<I", len(payload)) + payload


@given(st.lists(values, max_size=12).map(tuple), st.integers(0, 2**32 - 1))
def test_an_execution_is_what_the_driver_would_send(row: tuple[Any, ...], identity: int) -> None:
    assert ExecuteCommand(identity, len(row), "utf8").packet(row) == by_the_driver(identity, row)


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, 2**63])
def test_whole_numbers_of_any_size(number: int) -> None:
    assert ExecuteCommand(7, 2, "utf8").packet((number, 1)) == by_the_driver(7, (number, 1))


def test_values_of_changing_kinds_go_through_one_statement() -> None:
    execution = ExecuteCommand(7, 2, "utf8")
    for row in ((1, 2), (1, "two"), (None, Decimal("1.50")), (1, datetime.date(2024, 2, 29)), (3, 4)):
        assert execution.packet(row) == by_the_driver(7, row)


def test_a_statement_in_text() -> None:
    assert text_packet("SELECT 'ü'", "utf8") == b"\x0c\x00\x00\x00\x03SELECT '\xc3\xbc'"


@pytest.mark.parametrize(
    ("size", "headers"),
    [
        (0, [0]),
        (0xFFFFFE, [0xFFFFFE]),
        (0xFFFFFF, [0xFFFFFF, 1 << 24]),
        (0xFFFFFF + 5, [0xFFFFFF, 1 << 24 | 5]),
    ],
)
def test_a_payload_takes_as_many_packets_as_it_needs(size: int, headers: list[int]) -> None:
    train, found, place = frame_payload(b"x" * size), [], 0
    while place < len(train):
        (header,) = struct.unpack_from("<I", train, place)
        found.append(header)
        place += 4 + (header & 0xFFFFFF)
    assert found == headers
    assert place == len(train) == size + 4 * len(headers)
