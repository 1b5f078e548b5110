"""Frames of the compressed protocol: what is written arrives, and what is no frame ends the connection."""

import asyncio
import zlib
from typing import Any
from unittest.mock import MagicMock

import pytest

from tuibench.mysql.packets import MAX_PAYLOAD_BYTES, frame_payload
from tuibench.mysql.transport import CompressedTransport


class Collector(asyncio.Protocol):
    def __init__(self) -> None:
        self.data = b""
        self.ended: Exception | None = None

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = exc


def connection() -> tuple[CompressedTransport, Collector, Any]:
    under, protocol = MagicMock(), Collector()
    return CompressedTransport(under, protocol), protocol, under


def frames_of(*packets: bytes) -> bytes:
    transport, _, under = connection()
    transport.write(b"".join(packets))
    return bytes(under.write.call_args.args[0])


def frame(payload: bytes, length: int, sequence: int = 0) -> bytes:
    head = len(payload) | sequence << 24 | length << 32
    return head.to_bytes(7, "little") + payload


PACKETS = [frame_payload(b"\x03" + b"SELECT 1, " * count) for count in (0, 1, 4, 5, 900, 70_001)]
HUGE = frame_payload(b"\x03" + b"x" * MAX_PAYLOAD_BYTES)


@pytest.mark.parametrize("piece", [1, 7, 1000, 1 << 20])
def test_packets_of_any_size_arrive_in_pieces_of_any_size(piece: int) -> None:
    sent = PACKETS if piece < 1000 else [*PACKETS, HUGE]
    frames = frames_of(*sent)
    assert len(frames) < len(b"".join(sent)) / 2
    transport, protocol, _ = connection()
    for start in range(0, len(frames), piece):
        transport.data_received(frames[start : start + piece])
    assert protocol.data == b"".join(sent)


def test_a_frame_goes_on_where_the_server_ended_unless_its_packet_begins_an_exchange() -> None:
    transport, _, under = connection()
    transport.data_received(frame(b"\xfbfile", 0, 6))
    transport.write(b"\x02\0\0\x07ab")
    for part in (b"", b"\0\0", b"\0\x08"):
        transport.write(part)
    transport.write(frame_payload(b"\x0e"))
    sequences = [call.args[0][3] for call in under.write.call_args_list]
    assert sequences == [7, 8, 0]
    assert frames_of(HUGE)[3] == 0


@pytest.mark.parametrize(
    "received",
    [
        frame(b"not zlib at all", 100),
        frame(zlib.compress(bytes(99)), 100),
        frame(zlib.compress(bytes(101)), 100),
        frame(zlib.compress(bytes(100))[:-1], 100),
        frame(zlib.compress(bytes(1 << 20)), 100),
    ],
)
def test_what_is_no_frame_ends_the_connection(received: bytes) -> None:
    transport, protocol, under = connection()
    transport.data_received(received)
    under.abort.assert_called_once_with()
    transport.connection_lost(None)
    assert "not compressed as agreed" in str(protocol.ended)
    assert protocol.data == b""
