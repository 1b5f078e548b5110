"""The first packets of a connection, where the driver needs help: TLS before the login, and login plugins.

The driver would ask for TLS whether or not the server offers it, and would move the socket to another
transport, which loses packets under uvloop. Here the server is asked first, and the transport in place is
upgraded. Plugins that the driver has not, or would send a password in plain sight with, are told in words.
"""

import ssl
import struct
from typing import Any

from asyncmy import auth
from asyncmy.charset import charset_by_name
from asyncmy.constants.CLIENT import DEPRECATE_EOF, MULTI_RESULTS, SSL

from tuibench.deadline import in_time
from tuibench.errors import ServerUnavailableError
from tuibench.model.target import Target
from tuibench.mysql import ed25519, errors
from tuibench.mysql.errors import TLSError, tls_error

CLIENT_MYSQL = 1
"""MariaDB reads extended capabilities from clients that do not set this flag."""

BULK_STATEMENTS = 1 << 2
"""MariaDB's bulk statements: the one extended capability that the driver uses."""

KNOWN_COLUMNS = 1 << 4
"""MariaDB leaves out the columns of a prepared statement's result as long as they are what they were."""

EXTENDED_PLACE = 28
"""Where a login has the extended capabilities, in four bytes."""

MOST_BYTES = 2**24 - 1
PLUGINS = frozenset(
    {
        "mysql_native_password",
        "caching_sha2_password",
        "sha256_password",
        "client_ed25519",
        "mysql_clear_password",
        "dialog",
    }
)
"""What the driver can log in with."""

PLAIN_PLUGINS = frozenset({"mysql_clear_password", "dialog"})
"""Those that send the password as it is."""

if auth._nacl_bindings is None:
    auth._nacl_bindings = ed25519  # type: ignore[assignment]


class Handshake:
    """Watches over one connection of the driver while it logs in."""

    def __init__(self, raw: Any, target: Target, tls_seconds: float) -> None:
        self._raw = raw
        self._target = target
        self._tls_seconds = tls_seconds
        self._write_packet = raw.write_packet
        self._read_greeting = raw._get_server_information
        self._answer_plugin = raw._process_auth
        raw._get_server_information = self.greet
        raw._process_auth = self.answer_plugin

    def let_go(self) -> None:
        """Leaves the connection to itself, so that the two do not keep each other alive."""
        del self._raw._get_server_information, self._raw._process_auth
        self._raw.__dict__.pop("write_packet", None)

    async def greet(self) -> None:
        """Reads the server's greeting; encrypts the connection if the target wants it and the server can."""
        await self._read_greeting()
        await self._secure()
        if self._extended:
            self._raw.write_packet = self.log_in

    def log_in(self, packet: bytes) -> None:
        """Sends the login, with the extended capabilities that we want; the driver knows but one."""
        del self._raw.write_packet
        extended = struct.pack("<I", self._extended)
        self._write_packet(packet[:EXTENDED_PLACE] + extended + packet[EXTENDED_PLACE + len(extended) :])

    @property
    def _extended(self) -> int:
        """Those that both sides have; the driver tells of any only with bulk statements."""
        offered = int(self._raw._mariadb_ext_caps)
        return offered & (BULK_STATEMENTS | KNOWN_COLUMNS) if offered & BULK_STATEMENTS else 0

    async def _secure(self) -> None:
        raw = self._raw
        if raw._ssl_context is None:
            return
        if raw.server_capabilities & SSL:
            await self._encrypt()
        elif self._target.ssl_mode == "preferred":
            raw._ssl_context = None
            raw._client_flag &= ~SSL
        else:
            raise TLSError(
                f"the server at {self._target.where} offers no TLS, "
                f"and --ssl-mode={self._target.ssl_mode} asks for it",
                "give the server a certificate (ssl_cert, ssl_key), or use --ssl-mode=disabled",
            )

    async def answer_plugin(self, name: bytes | str, packet: Any) -> Any:
        """Logs in with the plugin that the account has. Raises ServerUnavailableError for one we have not."""
        plugin = name.decode() if isinstance(name, bytes) else name
        who = f"'{self._target.user}' at {self._target.where}"
        if plugin not in PLUGINS:
            raise ServerUnavailableError(
                f"the account {who} logs in with the plugin '{plugin}', which is not supported here",
                errors.OTHER_PLUGIN,
            )
        if plugin in PLAIN_PLUGINS and not self._raw._secure:
            raise ServerUnavailableError(
                f"the account {who} wants its password as it is ('{plugin}'), on a connection without TLS",
                "encrypt it with --ssl-mode=required, or use the unix socket",
            )
        return await self._answer_plugin(name, packet)

    async def _encrypt(self) -> None:
        raw = self._raw
        raw.write_packet(self._request())
        try:
            transport = await in_time(
                raw._loop.start_tls(
                    raw._transport, raw._proto, raw._ssl_context, server_hostname=self._target.host
                ),
                self._tls_seconds,
            )
        except (OSError, ssl.SSLError, TimeoutError) as error:
            raise tls_error(error, self._target) from error
        if transport is None:
            raise tls_error(ConnectionResetError("the server hung up"), self._target)
        raw._transport = raw._proto.transport = transport
        raw._secure = raw._tls_established = True

    def _request(self) -> bytes:
        """The packet that asks for TLS: the login's beginning, with the flags that will be in the login."""
        raw = self._raw
        raw._client_flag |= MULTI_RESULTS | (raw.server_capabilities & DEPRECATE_EOF)
        flags = raw._client_flag & ~(CLIENT_MYSQL if self._extended else 0)
        return struct.pack("<IIB19xI", flags, MOST_BYTES, charset_by_name(raw._charset).id, self._extended)
