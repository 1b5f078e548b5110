"""Connections whose records the native engine has: against OpenSSL, with each protocol and cipher."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.integration.support import certificates
from tests.integration.support.certificates import Files
from tuibench.base import installation
from tuibench.model.server import Target
from tuibench.mysql.transport import LoggingContext, RecordTransport, tls_context, tls_name

pytestmark = pytest.mark.skipif(
    installation.native_module() is None, reason="tuibench-native is not installed"
)

SUITES = [
    ("TLSv1.3", "TLS_AES_256_GCM_SHA384"),
    ("TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256"),
    ("TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384"),
    ("TLSv1.2", "ECDHE-RSA-CHACHA20-POLY1305"),
]
"""Python's ssl cannot choose among the ciphers of TLS 1.3; the unit tests in Rust have the others."""

SIZES = (1, 300, 16_384, 16_385, 1_000_000)
DEADLINE_SECONDS = 20

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return certificates.make(tmp_path_factory.mktemp("tls"), "localhost")


Talk = Callable[[socket.socket, ssl.SSLContext], None]


@contextmanager
def listening(
    files: Files, talk: Talk, suite: tuple[str, str] = SUITES[0], restarts: tuple[bool, ...] = (True,)
) -> Iterator[int]:
    """A server in a thread; its port. It is restarted, and has no old session, before each connection for
    which `restarts` is true.
    """
    listener = socket.create_server(("127.0.0.1", 0))

    def new_context() -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.cert, files.key)
        if suite[0] == "TLSv1.2":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(suite[1])
        return context

    def serve() -> None:
        for is_restarted in restarts:
            if is_restarted:
                context = new_context()
            caller, _ = listener.accept()
            caller.settimeout(DEADLINE_SECONDS)
            with caller, suppress(OSError):
                talk(caller, context)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    thread.join()
    listener.close()


def echo(caller: socket.socket, context: ssl.SSLContext) -> None:
    """Says what it hears."""
    with context.wrap_socket(caller, server_side=True) as encrypted:
        while heard := encrypted.recv(1 << 20):
            encrypted.sendall(heard)


class Heard(asyncio.Protocol):
    """What came, and how it ended."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self._grown = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.data += data
        self._grown.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set_result(exc)

    async def bytes(self, count: int) -> bytes:
        """So many bytes, when they are there."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len(self.data) < count:
                self._grown.clear()
                await self._grown.wait()
        taken = bytes(self.data[:count])
        del self.data[:count]
        return taken


async def opened(port: int, target: Target) -> tuple[RecordTransport, Heard]:
    heard = Heard()
    loop = asyncio.get_running_loop()
    plain, _ = await loop.create_connection(lambda: heard, "127.0.0.1", port)
    context = tls_context(target, hands_over=True)
    assert isinstance(context, LoggingContext)
    transport = RecordTransport(plain, heard, context, target.host, installation.native_module().TlsRecords)
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await transport.shake_hands()
    except OSError:
        plain.abort()
        await heard.ended
        raise
    return transport, heard


def verifying(files: Files, host: str = "localhost", port: int = 3306) -> Target:
    return Target(host=host, port=port, ssl_mode="verify-identity", ssl_ca=str(files.ca))


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite[1])
def test_what_is_said_comes_back(run: Run, files: Files, suite: tuple[str, str]) -> None:
    async def talk(port: int) -> None:
        transport, heard = await opened(port, verifying(files))
        assert tls_name(transport) == " ".join(suite)
        for size in SIZES:
            said = bytes(range(256)) * (size // 256 + 1)
            transport.write(said[:size])
            assert await heard.bytes(size) == said[:size]
        transport.close()
        assert await heard.ended is None

    with listening(files, echo, suite) as port:
        run(talk(port))


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite[1])
def test_a_later_login_resumes_the_session_unless_the_server_has_lost_it(
    run: Run, files: Files, suite: tuple[str, str]
) -> None:
    restarts = (True, False, False, True, False)
    reused: list[bool | None] = []

    def echo_and_note(caller: socket.socket, context: ssl.SSLContext) -> None:
        with context.wrap_socket(caller, server_side=True) as encrypted:
            reused.append(encrypted.session_reused)
            while heard := encrypted.recv(1 << 20):
                encrypted.sendall(heard)

    async def talk(port: int) -> None:
        for is_restarted in restarts:
            transport, heard = await opened(port, verifying(files, port=port))
            for size in (1, 16_385):
                transport.write(bytes(size))
                assert await heard.bytes(size) == bytes(size)
            assert transport.is_resumed != is_restarted
            transport.close()
            await heard.ended

    with listening(files, echo_and_note, suite, restarts) as port:
        run(talk(port))
    assert reused == [not each for each in restarts]


def test_a_certificate_is_verified_before_anything_is_said(files: Files, run: Run, tmp_path: Path) -> None:
    async def talk(port: int, target: Target) -> None:
        with pytest.raises(ssl.SSLCertVerificationError):
            await opened(port, target)

    other = certificates.make(tmp_path, "localhost")
    for target in (verifying(files, "elsewhere.example"), verifying(other)):
        with listening(files, echo) as port:
            run(talk(port, target))


def test_a_cipher_without_aead_is_refused_by_name(files: Files, run: Run) -> None:
    async def talk(port: int) -> None:
        with pytest.raises(ssl.SSLError, match="ECDHE-RSA-AES256-SHA384 is not supported by the native"):
            await opened(port, verifying(files))

    with listening(files, echo, ("TLSv1.2", "ECDHE-RSA-AES256-SHA384")) as port:
        run(talk(port))


def hang_up(caller: socket.socket, _: ssl.SSLContext) -> None:
    """After the first message."""
    caller.recv(1 << 16)


def test_a_server_that_hangs_up_during_the_handshake(files: Files, run: Run) -> None:
    async def talk(port: int) -> None:
        with pytest.raises(ConnectionResetError, match="the server closed the connection"):
            await opened(port, verifying(files))

    with listening(files, hang_up) as port:
        run(talk(port))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (b"\x17\x03\x03\x00\x20" + bytes(32), "cannot be decrypted"),
        (b"\x17\x03\x03\xff\xff", "too long"),
        (b"\x07\x00\x00\x01\x00", "unexpected"),
    ],
)
def test_what_was_changed_on_the_way_ends_the_connection(
    files: Files, run: Run, record: bytes, words: str
) -> None:
    def forge(caller: socket.socket, context: ssl.SSLContext) -> None:
        encrypted = context.wrap_socket(caller, server_side=True)
        encrypted.recv(100)
        with socket.socket(fileno=encrypted.detach()) as plain:
            plain.sendall(record)
            plain.recv(100)

    async def talk(port: int) -> None:
        transport, heard = await opened(port, verifying(files))
        transport.write(b"SELECT 1")
        error = await heard.ended
        assert isinstance(error, ssl.SSLError)
        assert words in str(error)
        assert not heard.data

    with listening(files, forge) as port:
        run(talk(port))


def test_a_server_says_that_it_ends(files: Files, run: Run) -> None:
    def leave(caller: socket.socket, context: ssl.SSLContext) -> None:
        with context.wrap_socket(caller, server_side=True) as encrypted:
            encrypted.sendall(b"goodbye")
            encrypted.unwrap()

    async def talk(port: int) -> None:
        _, heard = await opened(port, verifying(files))
        assert await heard.ended is None
        assert heard.data == b"goodbye"

    with listening(files, leave) as port:
        run(talk(port))


def test_the_secrets_are_taken_with_each_handshake(files: Files) -> None:
    """A pipe that fills up would stop the process."""

    async def talk(port: int) -> None:
        transport, _ = await opened(port, verifying(files))
        context = tls_context(verifying(files), hands_over=True)
        assert isinstance(context, LoggingContext)
        assert context.take_secrets() == {}
        transport.close()

    for _ in range(3):
        with listening(files, echo) as port:
            asyncio.run(talk(port))
