"""Layers over a transport of the event loop, and compression, which is one.

With compression, packets travel in frames: three bytes of length, one of sequence, three of the length before
compression, or 0 for a payload that is as it was (MySQL's and MariaDB's compressed protocol, with zlib). It
begins after the login, inside of TLS if there is TLS.
"""

import asyncio
import zlib
from typing import Any

FRAME_HEADER_BYTES = 7
PACKET_HEADER_BYTES = 4
LEAST_COMPRESSED_BYTES = 50
"""A shorter payload is sent as it is, as the MySQL clients do."""

MOST_FRAME_BYTES = 0xFFFFFF


def feed(protocol: Any, data: bytes) -> None:
    """Gives bytes to a protocol; to a buffered one as much at a time as it has room for."""
    is_buffered = isinstance(protocol, asyncio.BufferedProtocol)
    if not is_buffered:
        protocol.data_received(data)
    while data and is_buffered:
        room = protocol.get_buffer(len(data))
        taken = min(len(room), len(data))
        room[:taken] = data[:taken]
        protocol.buffer_updated(taken)
        data = data[taken:]


class Layer(asyncio.Transport, asyncio.Protocol):
    """A transport over another one, for a protocol that does not know of the other."""

    def __init__(self, transport: Any, protocol: Any) -> None:
        super().__init__()
        self._transport = transport
        self._protocol = protocol
        self._violation: OSError | None = None

    def violated(self, violation: OSError) -> None:
        """What was received cannot be: the connection ends, with this as its reason."""
        self._violation = violation
        self.abort()

    def eof_received(self) -> bool:
        return bool(self._protocol.eof_received())

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.connection_lost(exc or self._violation)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        protocol: asyncio.BaseProtocol = self._protocol
        return protocol

    def get_write_buffer_size(self) -> int:
        return int(self._transport.get_write_buffer_size())

    def can_write_eof(self) -> bool:
        return False

    def is_reading(self) -> bool:
        return bool(self._transport.is_reading())

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def is_closing(self) -> bool:
        return bool(self._transport.is_closing())

    def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()


class CompressedTransport(Layer):
    """The compressed connection `under` which lies a transport that may be encrypted."""

    def __init__(self, under: Any, protocol: Any) -> None:
        super().__init__(under, protocol)
        self.under = under
        self._received = bytearray()
        self._unwritten = b""
        self._sequence = 0
        under.set_protocol(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Each whole packet has a frame of its own; one that begins an exchange begins the sequence."""
        data, place, frames = self._unwritten + bytes(data), 0, bytearray()
        while len(data) - place >= PACKET_HEADER_BYTES:
            end = place + PACKET_HEADER_BYTES + int.from_bytes(data[place : place + 3], "little")
            if end > len(data):
                break
            if data[place + 3] == 0:
                self._sequence = 0
            for start in range(place, end, MOST_FRAME_BYTES):
                frames += self._frame(data[start : min(end, start + MOST_FRAME_BYTES)])
            place = end
        self._unwritten = data[place:]
        if frames:
            self._transport.write(bytes(frames))

    def _frame(self, payload: bytes) -> bytes:
        length = 0
        if len(payload) >= LEAST_COMPRESSED_BYTES:
            packed = zlib.compress(payload, 1)
            if len(packed) < len(payload):
                length, payload = len(payload), packed
        head = len(payload) | self._sequence << 24 | length << 32
        self._sequence = (self._sequence + 1) & 0xFF
        return head.to_bytes(FRAME_HEADER_BYTES, "little") + payload

    def data_received(self, data: bytes) -> None:
        self._received += data
        unpacked = bytearray()
        try:
            while (payload := self._take_frame()) is not None:
                unpacked += payload
        except (zlib.error, ValueError) as error:
            self.violated(ConnectionResetError(f"what the server sends is not compressed as agreed: {error}"))
            return
        if unpacked:
            feed(self._protocol, bytes(unpacked))

    def _take_frame(self) -> bytes | None:
        """The payload of the first frame received; None if it is not complete."""
        head = int.from_bytes(self._received[:FRAME_HEADER_BYTES], "little")
        end = FRAME_HEADER_BYTES + (head & MOST_FRAME_BYTES)
        if len(self._received) < max(FRAME_HEADER_BYTES, end):
            return None
        payload, length = bytes(self._received[FRAME_HEADER_BYTES:end]), head >> 32
        del self._received[:end]
        self._sequence = ((head >> 24 & 0xFF) + 1) & 0xFF
        if not length:
            return payload
        inflater = zlib.decompressobj()
        unpacked = inflater.decompress(payload, length)
        if len(unpacked) != length or not inflater.eof:
            raise ValueError("a frame has another length than it says")
        return unpacked
