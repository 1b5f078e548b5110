"""First packets of a connection that the driver does not handle: TLS before login, and login plugins.

The driver would request TLS whether or not the server offers it, and would move the socket to another
transport, which loses packets under uvloop. Here the server is asked first, and the transport in place is
upgraded. Plugins that the driver lacks, or that would send a password unencrypted, are refused by name.
"""

import ssl
import struct
from importlib.util import find_spec
from typing import Any

from tuibench.deadline import wait_with_timeout
from tuibench.errors import ProtocolError, ServerUnavailableError, TuibenchError
from tuibench.model.target import Target
from tuibench.mysql import errors
from tuibench.mysql.driver import CLIENT, charset_by_name
from tuibench.mysql.errors import TLSError, tls_error

CLIENT_MYSQL = 1
"""MariaDB reads extended capabilities from clients that do not set this flag."""

BULK_STATEMENTS = 1 << 2
"""MariaDB's bulk statements: the one extended capability that the driver uses."""

CACHED_METADATA = 1 << 4
"""MariaDB omits the columns of a prepared statement's result as long as they do not change."""

EXTENDED_CAPABILITIES_OFFSET = 28
"""Where a login has the extended capabilities, in four bytes."""

MAX_PACKET_BYTES = 2**24 - 1
ED25519_PLUGIN = "client_ed25519"
ED25519_LIBRARY = "nacl"
"""The driver signs with PyNaCl, which comes with the extra `tuibench[ed25519]`."""

SUPPORTED_PLUGINS = frozenset(
    {
        "mysql_native_password",
        "caching_sha2_password",
        "sha256_password",
        ED25519_PLUGIN,
        "mysql_clear_password",
        "dialog",
    }
)
"""What the driver can log in with."""

CLEARTEXT_PLUGINS = frozenset({"mysql_clear_password", "dialog"})
"""Those that send the password as it is."""


class Handshake:
    """Controls one connection of the driver during the login."""

    def __init__(self, raw: Any, target: Target, tls_seconds: float) -> None:
        self._raw = raw
        self._target = target
        self._tls_seconds = tls_seconds
        self._write_packet = raw.write_packet
        self._is_greeted = False
        raw.login_steps = self

    def release(self) -> None:
        """Leaves the connection to itself, so that the two do not keep each other alive."""
        self._raw.login_steps = None
        self._raw.__dict__.pop("write_packet", None)

    async def read_greeting(self) -> None:
        """Read the server's greeting; encrypt the connection if the target requires it and the server
        supports it.
        """
        await self._raw.driver_read_greeting()
        self._is_greeted = True
        await self._secure()
        if self._extended:
            self._raw.write_packet = self.send_login

    async def authenticate(self) -> Any:
        """Log in; the driver would accept any last packet except an error as OK."""
        read, last = self._raw.read_packet, None

        async def noted(*kind: Any) -> Any:
            nonlocal last
            last = await read(*kind)
            return last

        self._raw.read_packet = noted
        try:
            answer = await self._raw.driver_authenticate()
        finally:
            del self._raw.read_packet
        if last is None or not last.is_ok_packet():
            raise ProtocolError("it ends the login with neither OK nor error", self._target.where)
        return answer

    def failure(self, error: BaseException) -> TuibenchError:
        """The error for an exception of the driver, by the progress of the login."""
        if not errors.is_malformed(error):
            return errors.connect_error(error, self._target)
        if not self._is_greeted:
            return errors.not_a_server_error(self._target)
        return ProtocolError(str(error) or type(error).__name__, self._target.where)

    def send_login(self, packet: bytes) -> None:
        """Sends the login, with the extended capabilities that we want; the driver knows but one."""
        del self._raw.write_packet
        extended = struct.pack("<I", self._extended)
        self._write_packet(
            packet[:EXTENDED_CAPABILITIES_OFFSET]
            + extended
            + packet[EXTENDED_CAPABILITIES_OFFSET + len(extended) :]
        )

    @property
    def _extended(self) -> int:
        """Capabilities of both sides; the driver announces any only with bulk statements."""
        offered: int = self._raw.mariadb_capabilities
        return offered & (BULK_STATEMENTS | CACHED_METADATA) if offered & BULK_STATEMENTS else 0

    async def _secure(self) -> None:
        raw = self._raw
        if raw.tls_context is None:
            return
        if raw.server_capabilities & CLIENT.SSL:
            await self._encrypt()
        elif self._target.ssl_mode == "preferred":
            raw.tls_context = None
            raw.client_flags &= ~CLIENT.SSL
        else:
            raise TLSError(
                f"the server at {self._target.where} offers no TLS, "
                f"and --ssl-mode={self._target.ssl_mode} requires it",
                "give the server a certificate (ssl_cert, ssl_key), or use --ssl-mode=disabled",
            )

    async def authenticate_with_plugin(self, name: bytes | str, packet: Any) -> Any:
        """Log in with the account's plugin. Raises ServerUnavailableError if it is not supported."""
        plugin = name.decode() if isinstance(name, bytes) else name
        who = f"'{self._target.user}' at {self._target.where}"
        if plugin not in SUPPORTED_PLUGINS:
            raise ServerUnavailableError(
                f"the account {who} logs in with the plugin '{plugin}', which is not supported here",
                errors.OTHER_PLUGIN_HINT,
            )
        if plugin == ED25519_PLUGIN and find_spec(ED25519_LIBRARY) is None:
            raise ServerUnavailableError(
                f"the account {who} logs in with ed25519, which needs PyNaCl",
                "install it with pip install 'tuibench[ed25519]', or use another account",
            )
        if plugin in CLEARTEXT_PLUGINS and not self._raw.is_secure:
            raise ServerUnavailableError(
                f"the account {who} requires its password in clear text ('{plugin}'), on a connection "
                "without TLS",
                "encrypt it with --ssl-mode=required, or use the unix socket",
            )
        return await self._raw.driver_authenticate_with_plugin(name, packet)

    async def _encrypt(self) -> None:
        raw = self._raw
        raw.write_packet(self._request())
        try:
            is_encrypted = await wait_with_timeout(raw.upgrade_to_tls(self._target.host), self._tls_seconds)
        except (OSError, ssl.SSLError, TimeoutError) as error:
            raise tls_error(error, self._target) from error
        if not is_encrypted:
            raise tls_error(ConnectionResetError("the server closed the connection"), self._target)

    def _request(self) -> bytes:
        """The packet that requests TLS: the start of the login, with the flags that will be in the login."""
        raw = self._raw
        raw.client_flags |= CLIENT.MULTI_RESULTS | (raw.server_capabilities & CLIENT.DEPRECATE_EOF)
        flags = raw.client_flags & ~(CLIENT_MYSQL if self._extended else 0)
        return struct.pack(
            "<IIB19xI", flags, MAX_PACKET_BYTES, charset_by_name(raw.charset_name).id, self._extended
        )
