"""The driver asyncmy: the parts that this package uses, with public names for the private ones.

No other module touches a private name of the driver. The response parser, the fast path, LOAD DATA LOCAL, TLS
under uvloop and the checks of a login need more than its public interface. pyproject.toml pins asyncmy to
`RELEASE`; before another release is used, each name is looked up in its `connection.pyx`. A test compares
them.

The import is made fast, because every process that uses a server imports the driver. asyncmy imports an
encryption library, of which a login without TLS uses a part, and reads its version from the metadata of the
installed packages, which imports the parsers of e-mail and ZIP: a third of the time. Stand-ins replace these
modules during the import. An encryption module is imported when a login uses it.
"""

# ruff: noqa: E402
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from tuibench.base.errors import ProtocolError
from tuibench.base.units import binary_size
from tuibench.mysql.transport import CompressedTransport, RecordTransport

RELEASE = "0.2.18"
"""The release of asyncmy that this module was written for; pyproject.toml requires it."""

_PRIMITIVES = "cryptography.hazmat.primitives"
DEFERRED = (f"{_PRIMITIVES}.hashes", f"{_PRIMITIVES}.serialization", f"{_PRIMITIVES}.asymmetric.padding")


class DeferredModule(ModuleType):
    """Imports the module of its name when one of its attributes is used."""

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
    """Within the context, an import finds these modules, unless the real ones are already imported."""
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
"""Untyped, because the stubs leave out the private parts."""


class LoginSteps(Protocol):
    """The steps of a login that `login.handshake` takes over from the driver."""

    async def read_greeting(self) -> None: ...
    async def authenticate(self) -> Any: ...
    async def authenticate_with_plugin(self, name: bytes | str, packet: Any) -> Any: ...


class DriverConnection(_Driver):  # type: ignore[misc]
    """A connection of the driver."""

    login_steps: LoginSteps | None = None
    """Set during the login."""
    _readable_bytes: int | None = None
    _transport: Any

    @property
    def transport(self) -> Any:
        """Used by the fast path, which writes to the socket without the driver's buffers, and replaces the
        protocol.
        """
        return self._transport

    @property
    def receiver(self) -> Any:
        """The driver's own protocol, which gets what the fast path does not read; its buffer is shrunk."""
        return self._proto

    @property
    def deprecates_eof(self) -> bool:
        """True if EOFs are omitted; this package's parser needs it to find the end of a result set."""
        return bool(self._deprecate_eof)

    @property
    def is_broken(self) -> bool:
        """True for a connection that was cut within a packet: it is not used again."""
        return bool(self._stream_broken)

    @property
    def statement_encoding(self) -> str:
        """For this package, which encodes statements because it prepares several in one packet."""
        return str(self._encoding)

    @property
    def charset_name(self) -> str:
        """Part of the packet that requests TLS."""
        return str(self._charset)

    @property
    def client_flags(self) -> int:
        """SSL is removed if the server lacks it; MULTI_RESULTS and DEPRECATE_EOF are added."""
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
        """True if the server supports MariaDB's bulk statements."""
        return bool(self._bulk_supported)

    @property
    def is_secure(self) -> bool:
        """True if a plain password may be sent."""
        return bool(self._secure)

    @property
    def is_encrypted(self) -> bool:
        """True if TLS is in use. A Unix socket is secure without it."""
        return bool(self._tls_established)

    @property
    def login_plugin(self) -> str:
        """The server's default plugin, which the driver would obey even if it requests the password
        itself.
        """
        return str(self._auth_plugin_name)

    @login_plugin.setter
    def login_plugin(self, name: str) -> None:
        self._auth_plugin_name = name

    @property
    def login_password(self) -> bytes:
        """For the plugins that need the whole password, which this package implements instead of the
        driver.
        """
        return bytes(self._password)

    @property
    def tls_context(self) -> Any:
        """Removed if the server offers no TLS and none is required."""
        return self._ssl_context

    @tls_context.setter
    def tls_context(self, context: Any) -> None:
        self._ssl_context = context

    def close(self) -> None:
        """Closes the connection. After a failed login, TLS's closing messages are left out, because a server
        may never answer them.
        """
        transport, is_logged_in = self._transport, self._connected
        super().close()
        if transport is not None and not is_logged_in:
            transport.abort()

    def close_on_cancel(self) -> None:
        """Close the connection after a statement that a deadline cut off: it is unusable."""
        self._close_on_cancel()

    async def upgrade_to_tls(self, server_hostname: str, records: Any = None) -> bool:
        """Encrypts the transport in place, because the driver's own way loses packets under uvloop. False if
        the connection was closed meanwhile.

        With `records`, the native engine's, the connection can be handed over.
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
        """After the login, compresses all that follows if both sides agreed on it."""
        if self._client_flag & self.server_capabilities & CLIENT.COMPRESS:
            self._transport = self._proto.transport = CompressedTransport(self._transport, self._proto)

    @property
    def is_compressed(self) -> bool:
        """True if packets after the login are compressed."""
        return isinstance(self._transport, CompressedTransport)

    def keep_tls_session(self) -> None:
        """After the login over TLS, keeps its session, which the next login resumes. `RecordTransport` does
        it itself.
        """
        encrypted = self._transport.get_extra_info("ssl_object")
        if encrypted is not None:
            self._ssl_context.keep_session(encrypted)

    def write_bytes(self, data: bytes) -> None:
        """Writes packets as they are: several statements are prepared with one write."""
        self._write_bytes(data)

    def expect_response(self, packets: int) -> None:
        """Sets the driver's packet counter to the first packet of a response, because the request was framed
        here.
        """
        self._next_seq_id = packets & 0xFF

    async def send_command(self, command: int, body: Any) -> None:
        """Sends a command that the driver does not offer: bulk statements and LOAD DATA LOCAL."""
        await self._execute_command(command, body)

    async def read_result(self) -> None:
        """Reads the response to a bulk statement."""
        await self._read_query_result()

    def release_result(self) -> None:
        """Frees the last result, which the driver otherwise keeps."""
        self._result = None

    @contextmanager
    def read_limit(self, max_bytes: int) -> Iterator[None]:
        """Limits the bytes that the driver reads within the context, so that a server cannot fill the memory.

        Raises ProtocolError beyond the limit. All bytes arrive while the driver waits for them, so those are
        counted.
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
        """Ignores the error of a socket that the server has closed already: its refusal has yet to be
        read.
        """
        with suppress(RuntimeError, OSError):
            super()._set_keep_alive()

    def _set_nodelay(self, value: bool) -> None:
        """As `_set_keep_alive`."""
        with suppress(RuntimeError, OSError):
            super()._set_nodelay(value)

    async def driver_read_greeting(self) -> None:
        """The driver's own step, which decides about TLS. It runs after the greeting was checked."""
        await super()._get_server_information()

    async def driver_authenticate(self) -> Any:
        """The driver's own step, which accepts any last packet except an error as an OK."""
        return await super()._request_authentication()

    async def driver_authenticate_with_plugin(self, name: bytes | str, packet: Any) -> Any:
        """The driver's own step, whose refusals do not name the plugin, and which sends a password without
        TLS.
        """
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
    """The server's number of a statement that the driver has prepared; a bulk statement needs it."""
    return int(prepared._statement_id)
