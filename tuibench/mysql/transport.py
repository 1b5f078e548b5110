"""Layers over a transport of the event loop: TLS and compression.

Python's `ssl` does every handshake and verifies every certificate, with the options of the MySQL clients. The
native engine needs the connection after it, and an `ssl.SSLObject` cannot leave Python. So a connection that
will be handed over uses it for the handshake only: its context logs the secrets of the handshake to a pipe of
this process, as OpenSSL does for debuggers, and the engine's `TlsRecords` gets them. Programs hand TLS over
to the kernel (kTLS) in the same way.

    handshake (ssl.SSLObject) ──secrets──> TlsRecords, used by RecordTransport <──> a thread of the engine

`RecordTransport` replaces the event loop's transport for TLS without a change to the login. While a thread
has the connection, it has the records, too. As in the MySQL clients, the end of TLS is not announced
(close_notify): packets have a length, so a truncation is noticed.

With compression, packets travel in frames: three bytes of length, one of sequence number, three of the length
before compression, or 0 for an uncompressed payload (MySQL's and MariaDB's compressed protocol, with zlib).
It begins after the login, inside TLS if there is TLS.
"""

import asyncio
import os
import ssl
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import finalize

from tuibench.base import files
from tuibench.base.errors import UsageError
from tuibench.model.server import VERIFYING, SslMode, Target

FRAME_HEADER_BYTES = 7
PACKET_HEADER_BYTES = 4
LEAST_COMPRESSED_BYTES = 50
"""A shorter payload is sent uncompressed, as in the MySQL clients."""

MOST_FRAME_BYTES = 0xFFFFFF


def feed(protocol: Any, data: bytes) -> None:
    """Passes bytes to a protocol; to a buffered one in pieces that fit its buffer."""
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
    """A transport over another one, for a protocol that is not aware of it."""

    def __init__(self, transport: Any, protocol: Any) -> None:
        super().__init__()
        self._transport = transport
        self._protocol = protocol
        self._violation: OSError | None = None

    def violated(self, violation: OSError) -> None:
        """Ends the connection because invalid bytes were received; `violation` is the reason."""
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
    """A compressed connection over the transport `under`, which may be encrypted."""

    def __init__(self, under: Any, protocol: Any) -> None:
        super().__init__(under, protocol)
        self.under = under
        self._received = bytearray()
        self._unwritten = b""
        self._sequence = 0
        under.set_protocol(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Sends each whole packet in a frame of its own. A packet that begins an exchange restarts the
        sequence numbers.
        """
        data, place, frames = self._unwritten + bytes(data), 0, bytearray()
        while len(data) - place >= PACKET_HEADER_BYTES:
            end = place + PACKET_HEADER_BYTES + int.from_bytes(data[place : place + 3], "little")
            if end > len(data):
                break
            if data[place + 3] == 0:
                self._sequence = 0
            for start in range(place, end, MOST_FRAME_BYTES):
                payload = data[start : min(end, start + MOST_FRAME_BYTES)]
                length = 0
                if len(payload) >= LEAST_COMPRESSED_BYTES:
                    packed = zlib.compress(payload, 1)
                    if len(packed) < len(payload):
                        length, payload = len(payload), packed
                head = len(payload) | self._sequence << 24 | length << 32
                self._sequence = (self._sequence + 1) & 0xFF
                frames += head.to_bytes(FRAME_HEADER_BYTES, "little") + payload
            place = end
        self._unwritten = data[place:]
        if frames:
            self._transport.write(bytes(frames))

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
        if self.has_partial and hasattr(self._protocol, "expect_rest"):
            self._protocol.expect_rest()

    @property
    def has_partial(self) -> bool:
        """True if part of a frame has been received."""
        return bool(self._received)

    def _take_frame(self) -> bytes | None:
        """The payload of the first received frame; None if it is not complete."""
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


class ResumingContext(ssl.SSLContext):
    """A TLS context of one server, whose connections resume an earlier session if there is one."""

    _session: ssl.SSLSession | None = None

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        return super().wrap_bio(*arguments, **{"session": self._session, **options})

    def keep_session(self, connection: ssl.SSLObject) -> bool:
        """Keeps the session of a connection with a full handshake, for later connections.

        Returns False while it cannot be resumed yet, because the ticket of TLS 1.3 comes after the handshake.
        """
        session = connection.session
        if session is None or not (session.has_ticket or connection.version() != "TLSv1.3"):
            return False
        if not connection.session_reused:
            self._session = session
        return True


class LoggingContext(ResumingContext):
    """A context that reveals the secrets of its handshakes. It is used by one thread only."""

    _log: int

    def log_secrets(self) -> None:
        """Starts logging. Raises OSError if the pipe cannot be opened by its path."""
        self._log, writer = os.pipe()
        os.set_blocking(self._log, False)
        finalize(self, os.close, self._log)
        try:
            self.keylog_filename = f"/dev/fd/{writer}"
        finally:
            os.close(writer)

    def take_secrets(self) -> dict[str, bytes]:
        """The secrets since the last call, by their names in the key log's format."""
        try:
            lines = os.read(self._log, 1 << 16).decode().splitlines()
        except BlockingIOError:
            return {}
        return {name: bytes.fromhex(secret) for name, _, secret in map(str.split, lines)}


def tls_context(target: Target, *, hands_over: bool = False) -> ResumingContext:
    """The TLS context for the first server of a target; `hands_over` makes a LoggingContext.

    Raises UsageError for certificate files that cannot be read.
    """
    server = f"{target.for_connection(0).where} {target.ssl_server_name}"
    return _shared_context(
        server, target.ssl_mode, target.ssl_ca, target.ssl_cert, target.ssl_key, hands_over
    )


@lru_cache(maxsize=32)
def _shared_context(
    server: str, mode: SslMode, ca: str, cert: str, key: str, hands_over: bool
) -> ResumingContext:
    """One context for all equal connections, because reading this host's trusted certificates takes 50 ms."""
    for path in filter(None, (ca, cert, key)):
        # OpenSSL's error does not name the file that it cannot read.
        try:
            files.open_regular(Path(path), limit=files.MAX_FILE_BYTES).close()
        except OSError as error:
            raise UsageError(f"cannot read the TLS file {path}: {error.strerror}") from error
    try:
        made = (LoggingContext if hands_over else ResumingContext)(ssl.PROTOCOL_TLS_CLIENT)
        made.check_hostname = mode == "verify-identity"
        made.verify_mode = ssl.CERT_REQUIRED if mode in VERIFYING else ssl.CERT_NONE
        if ca:
            made.load_verify_locations(cafile=ca)
        elif mode in VERIFYING:
            made.load_default_certs()
        if cert:
            made.load_cert_chain(cert, key or None)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"cannot use the TLS files of this connection: {error}",
            "they must be PEM, and the key unencrypted",
        ) from error
    if isinstance(made, LoggingContext):
        try:
            made.log_secrets()
        except OSError as error:
            raise UsageError(
                f"connections with TLS cannot be handed to the native engine: {error}",
                "/dev/fd must be there; --engine=asyncio needs it not",
            ) from error
    return made


def tls_name(transport: Any) -> str:
    """Protocol and cipher of a transport: TLSv1.3 TLS_AES_256_GCM_SHA384; empty without TLS."""
    cipher = transport.get_extra_info("cipher")
    if cipher is None:
        return ""
    name, protocol, _ = cipher
    encrypted = transport.get_extra_info("ssl_object")
    return f"{encrypted.version() if encrypted is not None else protocol} {name}"


HELLO_RANDOM = slice(11, 43)
"""The random number of a client or server hello: after the headers of record and message, and the version."""

FINISHED_NONCE = slice(-40, -32)
"""The explicit nonce of the client's last record of a handshake of TLS 1.2; 16 bytes and a tag follow it."""


class RecordTransport(Layer):
    """A TLS connection over a transport of the event loop. `layer` is the engine's `TlsRecords`, `records`
    that of this connection.
    """

    def __init__(self, transport: Any, protocol: Any, context: LoggingContext, host: str, layer: Any) -> None:
        super().__init__(transport, protocol)
        self.records: Any = None
        self._context = context
        self._layer = layer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: Any = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self.is_resumed = False
        self._secrets: dict[str, bytes] = {}
        self._sent = self._received = b""
        self._shaken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._cipher: tuple[str, str, int] | None = None

    async def shake_hands(self) -> None:
        """Performs the handshake. Raises OSError, including ssl.SSLError."""
        self._transport.set_protocol(self)
        self._continue()
        await self._shaken

    def _continue(self) -> None:
        """The next step of the handshake. The secrets that it logs are those of this connection."""
        try:
            self._tls.do_handshake()
            is_over = True
        except ssl.SSLWantReadError:
            is_over = False
        except ssl.SSLError as error:
            self._fail(error)
            is_over = False
        self._secrets |= self._context.take_secrets()
        if said := self._outgoing.read():
            self._sent += said
            self._transport.write(said)
        if is_over:
            try:
                self._switch()
            except ValueError as error:
                self._fail(ssl.SSLError(str(error)))

    def _switch(self) -> None:
        """Replaces OpenSSL by the records, which get the bytes that it has not read."""
        self._cipher = cipher, protocol, _ = self._tls.cipher()
        if protocol == "TLSv1.3":
            secrets = (self._secrets[f"{side}_TRAFFIC_SECRET_0"] for side in ("CLIENT", "SERVER"))
            self.records = self._layer.of_tls13(cipher, *secrets)
        elif not self._layer.supports(protocol, cipher):
            raise ValueError(f"{cipher} is not supported by the native engine")
        else:
            self.records = self._layer.of_tls12(
                cipher,
                self._secrets["CLIENT_RANDOM"],
                self._sent[HELLO_RANDOM],
                self._received[HELLO_RANDOM],
                int.from_bytes(self._sent[FINISHED_NONCE], "big"),
            )
        rest = self._incoming.read()
        self._secrets = {}
        self._sent = self._received = b""
        self.is_resumed = bool(self._tls.session_reused)
        if self._context.keep_session(self._tls):
            self._tls = None
        self._shaken.set_result(None)
        if rest:
            self.data_received(rest)

    def _look_for_ticket(self, data: bytes) -> None:
        """Also passes what the server sends to OpenSSL, until it has the ticket, or the server's next packet
        arrives: tickets come before that.
        """
        self._incoming.write(data)
        try:
            self._tls.read(1 << 14)
        except ssl.SSLWantReadError:
            if not self._context.keep_session(self._tls):
                return
        except ssl.SSLError:
            pass
        else:
            self._context.keep_session(self._tls)
        self._tls = None

    def _fail(self, error: OSError) -> None:
        if not self._shaken.done():
            self._shaken.set_exception(error)

    def data_received(self, data: bytes) -> None:
        if self.records is None:
            self._received += data[: HELLO_RANDOM.stop]
            self._incoming.write(data)
            if not self._shaken.done():
                self._continue()
            return
        if self._tls is not None:
            self._look_for_ticket(data)
        try:
            opened, is_closed = self.records.open(data)
        except ValueError as error:
            self.violated(ssl.SSLError(str(error)))
            return
        if opened:
            feed(self._protocol, opened)
        if is_closed:
            self.eof_received()
            self.close()

    def eof_received(self) -> bool:
        if self.records is None:
            self._fail(ConnectionResetError("the server closed the connection"))
            return False
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionResetError(str(exc or "the server closed the connection")))
        super().connection_lost(exc)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._cipher if name == "cipher" else super().get_extra_info(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._transport.write(self.records.seal(bytes(data)))
