"""The driver asyncmy: the parts that this package uses, with public names for the private ones.

It is imported here only, and quickly. asyncmy imports a library for encryption, of which a login without TLS
uses a part, and reads its own version from the metadata of the installed packages, which takes the parsers of
e-mail and ZIP. That is a third of the time that its import takes, and every process that speaks to a server
imports it. Stand-ins take their places for the time of the import: an encryption module is imported when a
login uses it.

The response parser, the fast path, LOAD DATA LOCAL, TLS under uvloop and the checks of a login need more than
asyncmy's public interface. No other module touches a private name of the driver. pyproject.toml pins asyncmy
to `RELEASE`: before another release is taken, each name is looked up in its `connection.pyx`. A test
compares them.
"""

# ruff: noqa: E402
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from tuibench.errors import ProtocolError
from tuibench.mysql.transport import CompressedTransport, RecordTransport
from tuibench.units import binary_size

RELEASE = "0.2.18"
"""The release of asyncmy that this module was written for; pyproject.toml requires it."""

_PRIMITIVES = "cryptography.hazmat.primitives"
DEFERRED = (f"{_PRIMITIVES}.hashes", f"{_PRIMITIVES}.serialization", f"{_PRIMITIVES}.asymmetric.padding")


class DeferredModule(ModuleType):
    """Imports the module of its name when a part of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


def _import_driver() -> None:
    """Imports asyncmy; does nothing if it has been imported."""
    if "asyncmy" in sys.modules:
        return
    version = ModuleType("asyncmy.version")
    version.__dict__.update(__version__=RELEASE, __VERSION__=RELEASE)
    with _stand_ins([version, *map(DeferredModule, DEFERRED)]):
        import_module("asyncmy")


@contextmanager
def _stand_ins(modules: list[ModuleType]) -> Iterator[None]:
    """What is imported meanwhile finds these, unless the modules themselves are there."""
    added = {module.__name__: module for module in modules if module.__name__ not in sys.modules}
    sys.modules.update(added)
    try:
        yield
    finally:
        for name, module in added.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


_import_driver()

from asyncmy import auth, connection, errors
from asyncmy.charset import charset_by_name
from asyncmy.constants import CLIENT, COMMAND, CR, ER, FIELD_TYPE
from asyncmy.protocol import OKPacketWrapper, pack_binary_params

__all__ = [
    "CLIENT",
    "COMMAND",
    "CR",
    "ER",
    "FIELD_TYPE",
    "RELEASE",
    "OKPacketWrapper",
    "auth",
    "charset_by_name",
    "connection",
    "errors",
    "pack_binary_params",
]


_Driver: Any = connection.Connection
"""Its stubs leave out the private parts."""


class LoginSteps(Protocol):
    """The steps of a login that `login.handshake` takes over from the driver."""

    async def read_greeting(self) -> None: ...
    async def authenticate(self) -> Any: ...
    async def authenticate_with_plugin(self, name: bytes | str, packet: Any) -> Any: ...


class DriverConnection(_Driver):  # type: ignore[misc]
    """A connection of the driver. `login_steps` are set during the login."""

    login_steps: LoginSteps | None = None
    _readable_bytes: int | None = None
    _transport: Any

    @property
    def transport(self) -> Any:
        """The fast path writes to the socket without the driver's buffers, and replaces the protocol."""
        return self._transport

    @property
    def receiver(self) -> Any:
        """The driver's own protocol, which gets what the fast path does not read; its buffer is shrunk."""
        return self._proto

    @property
    def deprecates_eof(self) -> bool:
        """Decides where a result set ends, for this package's parser."""
        return bool(self._deprecate_eof)

    @property
    def is_broken(self) -> bool:
        """A connection cut within a packet is not used again."""
        return bool(self._stream_broken)

    @property
    def statement_encoding(self) -> str:
        """Statements are encoded here, as several are prepared in one packet."""
        return str(self._encoding)

    @property
    def charset_name(self) -> str:
        """Part of the packet that requests TLS."""
        return str(self._charset)

    @property
    def client_flags(self) -> int:
        """SSL is removed where the server has none; MULTI_RESULTS and DEPRECATE_EOF are added."""
        return int(self._client_flag)

    @client_flags.setter
    def client_flags(self, flags: int) -> None:
        self._client_flag = flags

    @property
    def mariadb_capabilities(self) -> int:
        """MariaDB's extended capabilities, of which the driver requests only one."""
        return int(self._mariadb_ext_caps)

    @property
    def supports_bulk(self) -> bool:
        """Whether the server takes MariaDB's bulk statements."""
        return bool(self._bulk_supported)

    @property
    def is_secure(self) -> bool:
        """Whether a plain password may be sent."""
        return bool(self._secure)

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS is in use: a Unix socket is secure without."""
        return bool(self._tls_established)

    @property
    def login_plugin(self) -> str:
        """The server's default plugin, which the driver would obey, even if it takes the password itself."""
        return str(self._auth_plugin_name)

    @login_plugin.setter
    def login_plugin(self, name: str) -> None:
        self._auth_plugin_name = name

    @property
    def login_password(self) -> bytes:
        """The plugins that need the whole password are played here, not by the driver."""
        return bytes(self._password)

    @property
    def tls_context(self) -> Any:
        """Removed where the server offers no TLS and none is required."""
        return self._ssl_context

    @tls_context.setter
    def tls_context(self, context: Any) -> None:
        self._ssl_context = context

    def close(self) -> None:
        """Closes the connection; after a failed login without TLS's closing messages, which a server may
        never answer.
        """
        transport, is_logged_in = self._transport, self._connected
        super().close()
        if transport is not None and not is_logged_in:
            transport.abort()

    def close_on_cancel(self) -> None:
        """A statement cut off by a deadline leaves the connection unusable."""
        self._close_on_cancel()

    async def upgrade_to_tls(self, server_hostname: str, records: Any = None) -> bool:
        """Encrypts the transport in place: the driver's own way loses packets under uvloop. False if it was
        closed meanwhile. With `records`, the native engine's, the connection can be handed over.
        """
        plain, context = self._transport, self._ssl_context
        transport: Any
        if records is None:
            transport = await self.loop.start_tls(
                plain, self._proto, context, server_hostname=server_hostname
            )
        else:
            transport = RecordTransport(plain, self._proto, context, server_hostname, records)
            await transport.shake_hands()
        if transport is None:
            return False
        self._transport = self._proto.transport = transport
        self._secure = self._tls_established = True
        return True

    def compress(self) -> None:
        """After the login: all that follows is compressed, if both sides agreed on it."""
        if self._client_flag & self.server_capabilities & CLIENT.COMPRESS:
            self._transport = self._proto.transport = CompressedTransport(self._transport, self._proto)

    @property
    def is_compressed(self) -> bool:
        """Whether what follows the login is compressed."""
        return isinstance(self._transport, CompressedTransport)

    def keep_tls_session(self) -> None:
        """After the login over TLS: the next one resumes its session. `RecordTransport` does it itself."""
        encrypted = self._transport.get_extra_info("ssl_object")
        if encrypted is not None:
            self._ssl_context.keep_session(encrypted)

    def write_bytes(self, data: bytes) -> None:
        """Several statements are prepared with one write."""
        self._write_bytes(data)

    def expect_response(self, packets: int) -> None:
        """Packets are framed here; the driver counts on from the first packet of a response."""
        self._next_seq_id = packets & 0xFF

    async def send_command(self, command: int, body: Any) -> None:
        """Bulk statements and LOAD DATA LOCAL are commands that the driver does not offer."""
        await self._execute_command(command, body)

    async def read_result(self) -> None:
        """Reads the response to a bulk statement."""
        await self._read_query_result()

    def release_result(self) -> None:
        """Frees the last result, which the driver else keeps."""
        self._result = None

    @contextmanager
    def read_limit(self, max_bytes: int) -> Iterator[None]:
        """Limits what the driver reads meanwhile, so that a server cannot fill the memory.

        Raises ProtocolError for more. All bytes arrive while the driver waits for them, so those are counted.
        """
        self._max_bytes = self._readable_bytes = max_bytes
        try:
            yield
        finally:
            self._readable_bytes = None

    async def _fill_buffer(self, need: int) -> None:
        if self._readable_bytes is None:
            await super()._fill_buffer(need)
            return
        state = self._proto
        before = state.length - state.pos
        if need - before > self._readable_bytes:
            raise self._too_much()
        await super()._fill_buffer(need)
        self._readable_bytes -= state.length - state.pos - before
        if self._readable_bytes < 0:
            raise self._too_much()

    def _too_much(self) -> ProtocolError:
        return ProtocolError(f"it sends more than {binary_size(self._max_bytes)}")

    def _set_keep_alive(self) -> None:
        """A server that refuses and hangs up at once has no socket any more, but has said why."""
        with suppress(RuntimeError, OSError):
            super()._set_keep_alive()

    def _set_nodelay(self, value: bool) -> None:
        """The same."""
        with suppress(RuntimeError, OSError):
            super()._set_nodelay(value)

    async def driver_read_greeting(self) -> None:
        """The driver's own step: it decides about TLS only after the greeting was checked."""
        await super()._get_server_information()

    async def driver_authenticate(self) -> Any:
        """The driver's own step: it takes any last packet but an error for an OK."""
        return await super()._request_authentication()

    async def driver_authenticate_with_plugin(self, name: bytes | str, packet: Any) -> Any:
        """The driver's own step: its refusals do not name the plugin, and it needs no TLS for a password."""
        return await super()._process_auth(name, packet)

    async def _get_server_information(self) -> None:
        await (self.login_steps.read_greeting() if self.login_steps else self.driver_read_greeting())

    async def _request_authentication(self) -> Any:
        steps = self.login_steps
        return await (steps.authenticate() if steps else self.driver_authenticate())

    async def _process_auth(self, name: bytes | str, packet: Any) -> Any:
        steps = self.login_steps
        if steps is None:
            return await self.driver_authenticate_with_plugin(name, packet)
        return await steps.authenticate_with_plugin(name, packet)


def statement_id(prepared: Any) -> int:
    """The server's number of a statement that the driver has prepared: a bulk statement needs it."""
    return int(prepared._statement_id)
