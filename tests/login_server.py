"""A server in this process that is after the password: it plays any login plugin, with TLS or without, sends
its own RSA key, and remembers all that a client says.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.integration.support.certificates import Files
from tests.scripted_server import AUTOCOMMIT, CAPABILITIES, DEADLINE_SECONDS
from tests.unit.mysql.server_packets import ok, packet
from tuibench.model.server import Target

PASSWORD = "a secret of 24 letters"
SALT = b"saltsalt" + b"moresaltmore"
TLS_CAPABILITY = 1 << 11
QUIT = 1


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    """The key of a server; its owner can read what is encrypted with its public half."""
    return rsa.generate_private_key(65537, 2048)


def public_pem(key: rsa.RSAPrivateKey) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(encoding, form)


class LoginServer:
    """`plugin` is the account's: by a switch, or with `is_default` from the greeting on. With `is_cached` it
    does not ask for the whole password (caching_sha2_password); with `remembers` not twice. `heard` are the
    packets of all logins, and whether they were encrypted. It keeps its sockets until `may_close` is set.
    """

    def __init__(self, plugin: str, files: Files | None = None) -> None:
        self.plugin = plugin
        self.is_default = False
        self.is_cached = self.remembers = False
        self.key = rsa_key()
        self.version = b"8.4.0"
        self.heard: list[tuple[bytes, bool]] = []
        self.logins: list[bool] = []
        self.may_close = threading.Event()
        self.may_close.set()
        self.context: ssl.SSLContext | None = None
        if files is not None:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(files.cert, files.key)
        self.port = 0

    @property
    def target(self) -> Target:
        return Target(host="127.0.0.1", port=self.port, user="app", password=PASSWORD)

    def knows_password(self) -> bool:
        """Whether it has read the password, as it is or with its own key."""
        secret = PASSWORD.encode()
        return any(secret in said or secret in self._opened(said) for said, _ in self.heard)

    def everybody_knows_password(self) -> bool:
        """Whether it was there to be read on the network."""
        return any(PASSWORD.encode() in said for said, is_encrypted in self.heard if not is_encrypted)

    def _opened(self, said: bytes) -> bytes:
        if len(said) != self.key.key_size // 8:
            return b""
        way = padding.OAEP(mgf=padding.MGF1(algorithm=hashes.SHA1()), algorithm=hashes.SHA1(), label=None)  # noqa: S303
        try:
            hidden = self.key.decrypt(said, way)
        except ValueError:
            return b""
        return bytes(each ^ SALT[place % len(SALT)] for place, each in enumerate(hidden))

    @contextmanager
    def listening(self, port: int = 0) -> Iterator["LoginServer"]:
        """Serves until the block is left; each connection has a thread, because asyncio loses what a client
        sends together with its request for TLS.
        """
        listener = socket.create_server(("127.0.0.1", port))
        self.port = int(listener.getsockname()[1])
        accepting = threading.Thread(target=self._accept, args=(listener,), daemon=True)
        accepting.start()
        try:
            yield self
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            listener.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                caller, _ = listener.accept()
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        talk = _Talk(caller, self.heard)
        with suppress(OSError):
            self._answer(talk)
        self.may_close.wait(DEADLINE_SECONDS)
        talk.close()

    def _answer(self, talk: "_Talk") -> None:
        talk.say(self._greeting())
        said = talk.hear()
        if self.context is not None and len(said) == 32:
            talk.encrypt(self.context)
            said = talk.hear()
        if not self.is_default:
            talk.say(b"\xfe" + self.plugin.encode() + b"\0" + SALT + b"\0")
            said = talk.hear()
        if self.plugin == "caching_sha2_password" and self.is_cached:
            talk.say(b"\x01\x03")
        elif self.plugin == "caching_sha2_password":
            talk.say(b"\x01\x04")
            said = talk.hear()
            self.is_cached = self.remembers
        elif self.plugin == "sha256_password" and self.is_default:
            talk.say(b"\x01" + public_pem(self.key))
            said = talk.hear()
        if said in (b"\x01", b"\x02"):
            talk.say(b"\x01" + public_pem(self.key))
            talk.hear()
        self.logins.append(talk.is_encrypted)
        talk.say(ok(sequence=0)[4:])
        while talk.hear(is_login=False)[0] != QUIT:
            talk.say(ok(sequence=0)[4:])

    def _greeting(self) -> bytes:
        capabilities = CAPABILITIES | (TLS_CAPABILITY if self.context is not None else 0)
        numbers = struct.pack("<HBHHB", capabilities & 0xFFFF, 45, AUTOCOMMIT, capabilities >> 16, 21)
        plugin = self.plugin if self.is_default else "caching_sha2_password"
        first = b"\x0a" + self.version + b"\0" + struct.pack("<I", 7) + SALT[:8] + b"\0" + numbers
        return first + bytes(10) + SALT[8:] + b"\0" + plugin.encode() + b"\0"


class _Talk:
    """One connection, in packets."""

    def __init__(self, caller: socket.socket, heard: list[tuple[bytes, bool]]) -> None:
        self.is_encrypted = False
        self._caller, self._heard = caller, heard
        self._number = -1
        caller.settimeout(DEADLINE_SECONDS)

    def say(self, payload: bytes) -> None:
        self._number += 1
        self._caller.sendall(packet(self._number, payload))

    def hear(self, *, is_login: bool = True) -> bytes:
        header = self._exactly(4)
        self._number = header[3]
        said = self._exactly(int.from_bytes(header[:3], "little"))
        if is_login:
            self._heard.append((said, self.is_encrypted))
        return said

    def _exactly(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            if not (more := self._caller.recv(length - len(found))):
                raise OSError("closed the connection")
            found += more
        return found

    def encrypt(self, context: ssl.SSLContext) -> None:
        self._caller = context.wrap_socket(self._caller, server_side=True)
        self.is_encrypted = True

    def close(self) -> None:
        self._caller.close()


def server_key_file(folder: Path) -> Path:
    """The public key of another server, which the one that pretends to be it cannot use."""
    path = folder / "public_key.pem"
    path.write_bytes(public_pem(rsa.generate_private_key(65537, 2048)))
    return path
