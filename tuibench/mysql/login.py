"""Login: handshake, TLS, passwords by plugin or command.

The steps of a login are implemented here, not by the driver. The driver would request TLS whether or not the
server offers it, and would move the socket to another transport, which loses packets under uvloop; here the
greeting is read first, and the transport is upgraded in place. Plugins that the driver lacks, or that would
send a password unencrypted, are refused by name.

The driver would also encrypt the password with any RSA key that the server sends, so that an impostor could
read it. So the plugins with SHA-256 are implemented here: without TLS, they accept a key only from a file, or
from the server if the user allows it.

The properties of the first login at each server are kept (`FirstLogin`), and a later login accepts no less.
An attacker who gets between tuibench and the server during a run can neither turn TLS off, nor request a
weaker proof of the password, nor present another RSA key.

Passwords may be printed by a command, for servers whose tokens expire. The command runs in a shell, once for
all simultaneous logins; its output is valid for a few seconds, and is sent only to the server.
"""

import asyncio
import os
import signal
import ssl
import struct
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from tuibench.base import files, sanitize
from tuibench.base.clock import wait_with_timeout
from tuibench.base.errors import ProtocolError, ServerUnavailableError, TuibenchError, UsageError
from tuibench.model.server import Target
from tuibench.mysql import errors
from tuibench.mysql.driver import CLIENT, auth, charset_by_name
from tuibench.mysql.errors import PlainPasswordError, TLSError, tls_error
from tuibench.mysql.transport import tls_name

NATIVE_PLUGIN = "mysql_native_password"
CACHING_PLUGIN = "caching_sha2_password"
SHA256_PLUGIN = "sha256_password"
ED25519_PLUGIN = "client_ed25519"

CLEARTEXT_PLUGINS = frozenset({"mysql_clear_password", "dialog"})
"""The plugins that send the password as it is."""

STRENGTHS = {
    **dict.fromkeys(CLEARTEXT_PLUGINS, 0),
    "": 1,
    NATIVE_PLUGIN: 1,
    SHA256_PLUGIN: 2,
    CACHING_PLUGIN: 2,
    ED25519_PLUGIN: 2,
}
"""The plugins that tuibench supports, by what an eavesdropper learns: 0 the password, 1 its SHA-1, 2 less. A
server without plugins ("") uses SHA-1.
"""


class FirstLogin(msgspec.Struct, frozen=True, kw_only=True):
    """The first login of a user at a server."""

    where: str
    """The server's address."""
    user: str
    tls: str = ""
    """Protocol and cipher; empty without TLS."""
    plugin: str
    key: bytes = b""
    """The RSA key that the server sent; empty if none."""

    @property
    def is_encrypted(self) -> bool:
        return bool(self.tls)

    @property
    def strength(self) -> int:
        """The strength of its plugin, as in `STRENGTHS`."""
        return STRENGTHS.get(self.plugin, 0)


class FirstLogins:
    """The first logins of one event loop: of a session or a worker."""

    def __init__(self) -> None:
        self.serving: dict[Target, int] = {}
        """The number of the address at which the last login succeeded, for targets with several."""
        self._by_account: dict[tuple[str, str], FirstLogin] = {}

    def of(self, target: Target) -> FirstLogin | None:
        """The first login at the target; None before it."""
        return self._by_account.get((target.for_connection(0).where, target.user))

    def learn(self, logins: Iterable[FirstLogin]) -> None:
        """Remember logins, of this process or another, unless there was an earlier one. The first key is
        kept.
        """
        for login in logins:
            first = self._by_account.setdefault((login.where, login.user), login)
            if login.key and not first.key:
                self._by_account[login.where, login.user] = msgspec.structs.replace(first, key=login.key)

    def all(self) -> tuple[FirstLogin, ...]:
        """All first logins, for the workers that this process starts."""
        return tuple(self._by_account.values())


_PER_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, FirstLogins] = WeakKeyDictionary()


def first_logins() -> FirstLogins:
    """The first logins of the running event loop."""
    return _PER_LOOP.setdefault(asyncio.get_running_loop(), FirstLogins())


CLIENT_MYSQL = 1
"""MariaDB reads extended capabilities from clients that do not set this flag."""

BULK_STATEMENTS = 1 << 2
"""MariaDB's bulk statements: the only extended capability that the driver uses."""

CACHED_METADATA = 1 << 4
"""MariaDB omits the columns of a prepared statement's result as long as they do not change."""

EXTENDED_CAPABILITIES_OFFSET = 28
"""The position of the extended capabilities in a login: four bytes."""

MAX_PACKET_BYTES = 2**24 - 1
ED25519_LIBRARY = "nacl"
"""The driver signs with PyNaCl, which comes with the extra `tuibench[ed25519]`."""

SCRAMBLE_BYTES = 20
"""Length of the server's random number that a proof of the password contains."""

FAST_LOGIN, WHOLE_PASSWORD = b"\x03", b"\x04"
"""caching_sha2_password: the server knows the password and accepts the login, or requests the whole
password.
"""

_auth: Any = auth
"""Untyped in the driver."""

KEY_REQUESTS = {CACHING_PLUGIN: b"\x02", SHA256_PLUGIN: b"\x01"}
"""The request for the server's RSA key, by plugin."""


class Handshake:
    """Controls one connection of the driver during the login."""

    def __init__(
        self,
        raw: Any,
        target: Target,
        tls_seconds: float,
        first: FirstLogin | None = None,
        records: Any = None,
    ) -> None:
        """`first` is the first login at the server: this one accepts no less. `records` encrypt a connection
        that is handed to the native engine.
        """
        self._raw = raw
        self._records = records
        self._target = target
        self._tls_seconds = tls_seconds
        self._first = first
        self._write_packet = raw.write_packet
        self._read_packet: Callable[..., Any] = raw.read_packet
        self._is_greeted = False
        self._last: Any = None
        self._plugin = ""
        self._known_key = _read_key(target.server_public_key_path)
        self._sent_key = b""
        raw.login_steps = self

    def login(self) -> FirstLogin:
        """The properties of this login. The session of its TLS is kept for the next login."""
        if self._raw.is_encrypted:
            self._raw.keep_tls_session()
        return FirstLogin(
            where=self._target.for_connection(0).where,
            user=self._target.user,
            tls=tls_name(self._raw.transport) if self._raw.is_encrypted else "",
            plugin=self._plugin,
            key=self._sent_key,
        )

    def release(self) -> None:
        """Detach from the connection, so that the two do not keep each other alive."""
        self._raw.login_steps = None
        self._raw.__dict__.pop("write_packet", None)

    async def read_greeting(self) -> None:
        """Read the server's greeting; encrypt the connection if the target requires it and the server
        supports it.
        """
        raw, first = self._raw, self._first
        await raw.driver_read_greeting()
        # The driver needs a number at the start of the version.
        version = raw.get_server_info()
        number = version.partition(".")[0]
        if not (number.isascii() and number.isdecimal()):
            raise ServerUnavailableError(
                f"the server at {self._target.where} has no version that starts with a number: "
                f"'{sanitize.excerpt(version)}'",
                "check --host and --port; a proxy's version can be configured",
            )
        self._is_greeted = True
        if self._target.compress:
            # After the login, the driver compresses packets if both sides agreed on it.
            if not raw.server_capabilities & CLIENT.COMPRESS:
                raise ServerUnavailableError(
                    f"the server at {self._target.where} offers no compression with zlib",
                    "leave --compress out, or allow it there (MySQL: protocol_compression_algorithms)",
                )
            raw.client_flags |= CLIENT.COMPRESS
        await self._secure()
        self._plugin = raw.login_plugin
        if first is not None and STRENGTHS.get(self._plugin, 0) < first.strength:
            self._plugin = first.plugin
        if self._plugin == SHA256_PLUGIN:
            self._plugin = CACHING_PLUGIN  # its first packet has the password, or requests a key
        raw.login_plugin = self._plugin
        if self._extended:
            self._raw.write_packet = self.send_login

    async def authenticate(self) -> Any:
        """Log in; the driver would accept any last packet except an error as OK."""
        self._raw.read_packet = self._read_for_driver
        try:
            answer = await self._raw.driver_authenticate()
        finally:
            del self._raw.read_packet
        if self._last is None or not self._last.is_ok_packet():
            raise ProtocolError("it ends the login with neither OK nor error", self._target.where)
        self._raw.compress()
        return answer

    async def _read_for_driver(self, *kind: Any) -> Any:
        """A packet of the server for the driver, after the additional packets of caching_sha2_password."""
        packet = await self._read_packet(*kind)
        if self._plugin == CACHING_PLUGIN and packet.is_extra_auth_data():
            said = packet.get_all_data()[1:2]
            if said == WHOLE_PASSWORD:
                self._raw.write_packet(await self._whole_password())
            elif said != FAST_LOGIN:
                raise ProtocolError(f"{CACHING_PLUGIN} does not know {said.hex()}", self._target.where)
            packet = await self._read_packet()
        self._last = packet
        return packet

    async def _whole_password(self) -> bytes:
        """The password for a plugin with SHA-256: unchanged over TLS or a socket, otherwise encrypted.

        Raises PlainPasswordError unless the user has allowed a key.
        """
        raw, target = self._raw, self._target
        password = raw.login_password
        if raw.is_secure or not password:
            return bytes(password + b"\0")
        if self._known_key:
            key = self._known_key
        elif target.get_server_public_key:
            key = await self._ask_for_key()
        else:
            raise PlainPasswordError(
                f"the server at {target.where} asks for the whole password of '{target.user}' "
                f"({self._plugin}), on a connection without TLS",
                "encrypt it with --ssl-mode=required, or with the server's RSA key: "
                "--server-public-key-path=FILE, or --get-server-public-key to trust whatever key it sends",
                is_tls_offered=self._is_tls_offered,
            )
        try:
            return bytes(_auth.sha2_rsa_encrypt(password, raw.salt[:SCRAMBLE_BYTES], key))
        except (ValueError, TypeError, AttributeError) as error:
            raise ServerUnavailableError(
                f"{target.server_public_key_path or f'what {target.where} sends'} is no RSA key that the "
                "password can be encrypted with",
                "the server's is public_key.pem in its data directory",
            ) from error

    async def _ask_for_key(self) -> bytes:
        """The RSA key that the server sends. Raises ServerUnavailableError if it differs from that of the
        first login.
        """
        self._raw.write_packet(KEY_REQUESTS[self._plugin])
        packet = await self._read_packet()
        if not packet.is_extra_auth_data():
            raise ProtocolError("it sends no RSA key", self._target.where)
        self._sent_key = bytes(packet.get_all_data()[1:])
        if self._first is not None and self._first.key not in (b"", self._sent_key):
            raise ServerUnavailableError(
                f"the server at {self._target.where} sends another RSA key than at the first login",
                "if its key was replaced, start again; --ssl-mode=verify-ca makes sure who answers",
            )
        return self._sent_key

    def failure(self, error: BaseException) -> TuibenchError:
        """The error for an exception of the driver, by the progress of the login."""
        if not errors.is_malformed(error):
            is_plain = not self._raw.is_secure and self._is_greeted and self._is_tls_offered
            return errors.connect_error(error, self._target, could_encrypt=is_plain)
        if not self._is_greeted:
            return errors.not_a_server_error(self._target)
        return ProtocolError(sanitize.excerpt(str(error)) or type(error).__name__, self._target.where)

    def send_login(self, packet: bytes) -> None:
        """Sends the login, with the extended capabilities that tuibench uses; the driver knows only one."""
        del self._raw.write_packet
        extended = struct.pack("<I", self._extended)
        self._write_packet(
            packet[:EXTENDED_CAPABILITIES_OFFSET]
            + extended
            + packet[EXTENDED_CAPABILITIES_OFFSET + len(extended) :]
        )

    @property
    def _extended(self) -> int:
        """Extended capabilities of both sides. The driver announces them only with bulk statements."""
        offered: int = self._raw.mariadb_capabilities
        return offered & (BULK_STATEMENTS | CACHED_METADATA) if offered & BULK_STATEMENTS else 0

    @property
    def _is_tls_offered(self) -> bool:
        return bool(self._raw.server_capabilities & CLIENT.SSL)

    async def _secure(self) -> None:
        raw = self._raw
        if raw.tls_context is None:
            return
        if self._is_tls_offered:
            name = self._target.ssl_server_name or self._target.host
            raw.write_packet(self._request())
            try:
                is_encrypted = await wait_with_timeout(
                    raw.upgrade_to_tls(name, self._records), self._tls_seconds
                )
            except (OSError, ssl.SSLError, TimeoutError) as error:
                raise tls_error(error, self._target) from error
            if not is_encrypted:
                raise tls_error(ConnectionResetError("the server closed the connection"), self._target)
            if raw.receiver.length != raw.receiver.pos:
                raise ProtocolError(
                    "it sends data before TLS that would count as encrypted", self._target.where
                )
        elif self._target.ssl_mode == "preferred" and self._first is None:
            raw.tls_context = None
            raw.client_flags &= ~CLIENT.SSL
        elif self._target.ssl_mode == "preferred":
            raise TLSError(
                f"the server at {self._target.where} offers no TLS any more; the first login was encrypted",
                "if TLS was turned off there, start again",
            )
        else:
            raise TLSError(
                f"the server at {self._target.where} offers no TLS, "
                f"and --ssl-mode={self._target.ssl_mode} requires it",
                "give the server a certificate (ssl_cert, ssl_key), or use --ssl-mode=disabled",
            )

    async def authenticate_with_plugin(self, name: bytes | str, packet: Any) -> Any:
        """Log in with the account's plugin. Raises ServerUnavailableError if it is not supported, or not
        allowed.
        """
        raw, target = self._raw, self._target
        plugin = name.decode(errors="replace") if isinstance(name, bytes) else name
        who = f"'{target.user}' at {target.where}"
        if not plugin or plugin not in STRENGTHS:
            raise ServerUnavailableError(
                f"the account {who} logs in with the plugin '{sanitize.excerpt(plugin)}', which is not "
                "supported here",
                errors.OTHER_PLUGIN_HINT,
            )
        if self._first is not None and STRENGTHS[plugin] < self._first.strength:
            raise ServerUnavailableError(
                f"the account {who} logs in with '{plugin}' now, which protects its password less than "
                f"'{self._first.plugin}' at the first login",
                "if the account was changed, start again",
            )
        if plugin == ED25519_PLUGIN and find_spec(ED25519_LIBRARY) is None:
            raise ServerUnavailableError(
                f"the account {who} logs in with ed25519, which needs PyNaCl",
                "install it with pip install 'tuibench[ed25519]', or use another account",
            )
        if plugin in CLEARTEXT_PLUGINS and not target.enable_cleartext_plugin:
            raise ServerUnavailableError(
                f"the account {who} requires its password in clear text ('{plugin}')",
                "--enable-cleartext-plugin allows it, over TLS or the unix socket; "
                "--ssl-mode=verify-identity makes sure who gets it",
            )
        if plugin in CLEARTEXT_PLUGINS and not raw.is_secure:
            raise PlainPasswordError(
                f"the account {who} requires its password in clear text ('{plugin}'), on a connection "
                "without TLS",
                "encrypt it with --ssl-mode=required, or use the unix socket",
                is_tls_offered=self._is_tls_offered,
            )
        self._plugin = plugin
        if plugin not in KEY_REQUESTS:
            return await raw.driver_authenticate_with_plugin(name, packet)
        raw.salt = packet.read_all()
        if plugin == SHA256_PLUGIN:
            proof = await self._whole_password()
        else:
            proof = _auth.scramble_caching_sha2(raw.login_password, raw.salt[:SCRAMBLE_BYTES])
        raw.write_packet(proof)
        return await raw.read_packet()

    def _request(self) -> bytes:
        """The packet that requests TLS: the start of the login, with the flags that will be in the login."""
        raw = self._raw
        raw.client_flags |= CLIENT.MULTI_RESULTS | (raw.server_capabilities & CLIENT.DEPRECATE_EOF)
        flags = raw.client_flags & ~(CLIENT_MYSQL if self._extended else 0)
        return struct.pack(
            "<IIB19xI", flags, MAX_PACKET_BYTES, charset_by_name(raw.charset_name).id, self._extended
        )


def _read_key(path: str) -> bytes:
    """The server's RSA key in a file of the user; empty without a file. Raises UsageError if it cannot be
    read.
    """
    if not path:
        return b""
    try:
        return files.read_text(files.expand_path(path)).encode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"cannot read the server's public key {path}: {reason}") from error


CACHE_SECONDS = 10.0
COMMAND_TIMEOUT_SECONDS = 30.0

HINT = "run it manually: it must print the password and exit with 0"


class PasswordCache:
    """The last outputs of the password commands of one event loop."""

    def __init__(self, good_for_seconds: float = CACHE_SECONDS) -> None:
        self._good_for_seconds = good_for_seconds
        self._printed: dict[str, tuple[float, str]] = {}
        self._running: dict[str, asyncio.Task[str]] = {}

    async def of(self, target: Target) -> str:
        """The target's current password. Raises ServerUnavailableError if its command fails."""
        command = target.password_command
        if not command:
            return target.password
        printed = self._printed.get(command)
        if printed and time.monotonic() - printed[0] < self._good_for_seconds:
            return printed[1]
        return await asyncio.shield(self._run(command))

    def forget(self, target: Target, password: str, since: float) -> bool:
        """Discard a password that the server refused; `since` is the time of the request (monotonic seconds).

        True if another attempt may succeed: the password was printed for an earlier login, or there is a
        newer one.
        """
        command = target.password_command
        if not command:
            return False
        printed = self._printed.get(command)
        if printed and printed[1] == password:
            del self._printed[command]
            return printed[0] < since
        return True

    def _run(self, command: str) -> "asyncio.Task[str]":
        """The task of a command that is running, otherwise a new one."""
        if command not in self._running:
            task = self._running[command] = asyncio.create_task(self._remembered(command))
            task.add_done_callback(lambda done: self._ended(command, done))
        return self._running[command]

    def _ended(self, command: str, task: "asyncio.Task[str]") -> None:
        """Removes the task of a command, and retrieves its error, because no other task may be waiting for
        it.
        """
        del self._running[command]
        if not task.cancelled():
            task.exception()

    async def _remembered(self, command: str) -> str:
        password = await run_password_command(command)
        self._printed[command] = (time.monotonic(), password)
        return password


_PASSWORDS_PER_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, PasswordCache] = WeakKeyDictionary()


def password_cache() -> PasswordCache:
    """The password cache of the running event loop."""
    return _PASSWORDS_PER_LOOP.setdefault(asyncio.get_running_loop(), PasswordCache())


async def run_password_command(command: str, longest_seconds: float = COMMAND_TIMEOUT_SECONDS) -> str:
    """The output of a command, without the newline at its end. Raises ServerUnavailableError if it fails."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, complaint = await wait_with_timeout(process.communicate(), longest_seconds)
    except TimeoutError:
        raise ServerUnavailableError(
            f"the password command took longer than {longest_seconds:g} s", HINT
        ) from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        how = (
            f"ended with {process.returncode}"
            if process.returncode > 0
            else f"was ended by signal {-process.returncode}"
        )
        words = sanitize.excerpt(" ".join(complaint.decode(errors="replace").split()))
        raise ServerUnavailableError(f"the password command {how}" + (f": {words}" if words else ""), HINT)
    try:
        password = out.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ServerUnavailableError("the password command does not print text", HINT) from None
    if not password:
        raise ServerUnavailableError("the password command prints nothing", HINT)
    if "\n" in password:
        raise ServerUnavailableError("the password command prints more than one line", HINT)
    return password


def is_wanted(target: Target, first: FirstLogin | None) -> bool:
    """True if a login is to request TLS. The `first` login at the server decides for all later ones.

    `preferred` encrypts connections to other hosts.
    """
    if target.ssl_mode == "preferred":
        return first.is_encrypted if first is not None else not target.is_local
    return target.ssl_mode != "disabled"
