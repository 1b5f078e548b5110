"""Text that takes over a terminal which prints it, a server that says nothing else, and a proxy that puts it
into what a server says.

`HostileServer` speaks just enough of the protocol to be logged in to: a greeting, TLS if it `encrypts`, a
login, an answer to each statement. `attack` chooses where its text comes.
"""

import contextlib
import functools
import re
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from enum import Enum

import msgspec

from tests.scripted_server import SSL, SSL_REQUEST_BYTES, tls_of_server
from tuibench.model.server import Target

SIGN = "PWNED"
HOSTILE = f"ev\x1b]0;{SIGN}\x07\x1b]52;c;UFdORUQ=\x07\x1b[2J\x1b[H\x9b31m\u202e\r\nil[bold red]{SIGN}[/]\x7f"
"""Sets the title and the clipboard, clears the screen, turns the writing round; and Rich's markup."""

VISIBLE = rf"ev\x1b]0;{SIGN}\x07"
"""How it begins where it is shown."""

PERILS = {b"\x1b]0;", b"\x1b]52", *(chr(code).encode() for code in (*range(0x80, 0xA0), 0x202E))}
"""What of it no screen of ours sends by itself."""

MOVES = re.compile(rb"\x1b\[[0-9;?]*[A-Zhlm]")
"""What a bar that is drawn on a line sends: colours, the cursor's line and visibility."""

GREETED = "8.4.0"
MODEST_CAPABILITIES = 0x000AA28D | 1 << 3
AUTO_COMMIT = 2


class Attack(Enum):
    """Where the text is."""

    GREETING = "an error instead of a greeting"
    VERSION = "the version, and the refusal of a login"
    ANSWER = "the answer to each statement"


def harmful(output: bytes, *, draws: bool = False) -> list[bytes]:
    """What in a terminal's bytes is more than text; with `draws`, apart from what draws a bar."""
    plain = MOVES.sub(b"", output) if draws else output
    text = plain.decode("utf-8", "surrogateescape")
    found = [character for character in text if character not in "\r\n\t" and _acts(character)]
    return [character.encode("utf-8", "surrogateescape") for character in found]


def _acts(character: str) -> bool:
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0x202A <= code <= 0x202E or 0xD800 <= code < 0xE000


class Listener:
    """Listens on loopback until it is closed; each connection has a thread, which serves and closes it."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()


class HostileServer(Listener):
    """Says a hostile text to each caller."""

    def __init__(self, attack: Attack, text: str = HOSTILE, *, encrypts: bool = False) -> None:
        self.encrypts = encrypts
        self._attack = attack
        self._text = text.encode("utf-8")
        super().__init__(self._greet)

    @property
    def options(self) -> list[str]:
        mode = "required" if self.encrypts else "disabled"
        return ["--host=127.0.0.1", f"--port={self.port}", "--user=u", f"--ssl-mode={mode}"]

    def _greet(self, caller: socket.socket) -> None:
        with caller, contextlib.suppress(OSError):
            if self._attack is Attack.GREETING:
                caller.sendall(_packet(0, b"\xff" + struct.pack("<H", 1130) + self._text))
                caller.recv(1)
                return
            caller.sendall(_packet(0, self._greeting()))
            number, said = _read(caller)
            if len(said) != SSL_REQUEST_BYTES:
                self._talk(caller, number)
                return
            with tls_of_server().wrap_socket(caller, server_side=True) as encrypted:
                self._talk(encrypted, _read(encrypted)[0])

    def _talk(self, caller: socket.socket, number: int) -> None:
        """Answers the login, which had this number, and all that comes after it."""
        if self._attack is Attack.VERSION:
            caller.sendall(_packet(number + 1, _error(1045, b"28000", self._text)))
            return
        caller.sendall(_packet(number + 1, OK))
        while True:
            number, said = _read(caller)
            caller.sendall(_packet(number + 1, self._answer(said)))

    def _greeting(self) -> bytes:
        capabilities = MODEST_CAPABILITIES | SSL * self.encrypts
        version = self._text.replace(b"\0", b"") if self._attack is Attack.VERSION else b""
        return (
            b"\x0a" + GREETED.encode() + version + b"\0" + struct.pack("<I", 7) + b"12345678\0"
            + struct.pack("<HBHH", capabilities & 0xFFFF, 45, AUTO_COMMIT, capabilities >> 16)
            + b"\x15" + bytes(10) + b"123456789012\0" + b"mysql_native_password\0"
        )  # fmt: skip

    def _answer(self, said: bytes) -> bytes:
        return _error(1105, b"HY000", self._text) if said[:1] in QUERIES else OK


OK = b"\x00\x00\x00\x02\x00\x00\x00"
QUERIES = (b"\x03", b"\x16")


def _packet(number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number & 0xFF]) + body


def _error(code: int, state: bytes, text: bytes) -> bytes:
    return b"\xff" + struct.pack("<H", code) + b"#" + state + text


def _read(caller: socket.socket) -> tuple[int, bytes]:
    """One packet: its number and its body, and no byte more, which may be TLS. Raises OSError at the end."""
    head = _exactly(caller, 4)
    return head[3], _exactly(caller, int.from_bytes(head[:3], "little"))


def _exactly(caller: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        if not (more := caller.recv(length - len(found))):
            raise OSError("closed the connection")
        found += more
    return found


STAND_IN = "h" * len(HOSTILE.encode())
"""What a server says for the proxy to replace: servers escape control characters in messages of their own."""


class HostileProxy(Listener):
    """Leads to a server's socket. It takes TLS off, and puts it on again."""

    def __init__(self, target: Target) -> None:
        self._target = target
        super().__init__(self._lead)

    def through(self, target: Target) -> Target:
        """The same login, by way of the proxy."""
        return msgspec.structs.replace(target, host="127.0.0.1", port=self.port, socket="")

    def _lead(self, caller: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            server.connect(self._target.socket)
            caller.sendall(_packet(*_read(server)))
            number, said = _read(caller)
            server.sendall(_packet(number, said))
            if len(said) == SSL_REQUEST_BYTES:
                caller = tls_of_server().wrap_socket(caller, server_side=True)
                server = tls_of_anybody().wrap_socket(server)
            self._pass_on(caller, server)
        for end in (caller, server):
            end.close()

    def _pass_on(self, caller: socket.socket, server: socket.socket) -> None:
        """Passes on what either says, until one of them ends."""
        ways = {caller: server, server: caller}
        while True:
            for end in select.select(list(ways), [], [])[0]:
                while data := end.recv(CHUNK):
                    ways[end].sendall(data.replace(STAND_IN.encode(), HOSTILE.encode()))
                    if not (isinstance(end, ssl.SSLSocket) and end.pending()):
                        break
                else:
                    return


CHUNK = 1 << 16


@functools.cache
def tls_of_anybody() -> ssl.SSLContext:
    """What a client encrypts with that does not ask whom it talks to."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@contextlib.contextmanager
def hostile_proxy(target: Target) -> Iterator[HostileProxy]:
    """A proxy for the block."""
    proxy = HostileProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()


@contextlib.contextmanager
def hostile_server(attack: Attack, text: str = HOSTILE, *, encrypts: bool = False) -> Iterator[HostileServer]:
    """A server for the block."""
    server = HostileServer(attack, text, encrypts=encrypts)
    try:
        yield server
    finally:
        server.close()
