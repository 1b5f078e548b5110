"""Text that takes over a terminal which prints it, and a server that says nothing else.

`HostileServer` speaks just enough of the protocol to be logged in to: a greeting, a login, an answer to each
statement. `attack` chooses where its text comes.
"""

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Iterator
from enum import Enum
from typing import BinaryIO

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


class HostileServer:
    """Listens on loopback until it is closed; each connection has a thread."""

    def __init__(self, attack: Attack, text: str = HOSTILE) -> None:
        self._attack = attack
        self._text = text.encode("utf-8")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def options(self) -> list[str]:
        return ["--host=127.0.0.1", f"--port={self.port}", "--user=u", "--ssl-mode=disabled"]

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        with caller, contextlib.suppress(OSError), caller.makefile("rb") as stream:
            if self._attack is Attack.GREETING:
                caller.sendall(_packet(0, b"\xff" + struct.pack("<H", 1130) + self._text))
                stream.read()
                return
            caller.sendall(_packet(0, self._greeting()))
            number, _ = _read(stream)
            if self._attack is Attack.VERSION:
                caller.sendall(_packet(number + 1, _error(1045, b"28000", self._text)))
                return
            caller.sendall(_packet(number + 1, OK))
            while True:
                number, said = _read(stream)
                caller.sendall(_packet(number + 1, self._answer(said)))

    def _greeting(self) -> bytes:
        version = self._text.replace(b"\0", b"") if self._attack is Attack.VERSION else b""
        return (
            b"\x0a" + GREETED.encode() + version + b"\0" + struct.pack("<I", 7) + b"12345678\0"
            + struct.pack("<HBHH", MODEST_CAPABILITIES & 0xFFFF, 45, AUTO_COMMIT, MODEST_CAPABILITIES >> 16)
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


def _read(stream: BinaryIO) -> tuple[int, bytes]:
    """One packet: its number and its body. Raises OSError at the end."""
    head = stream.read(4)
    if len(head) < 4:
        raise OSError("closed the connection")
    return head[3], stream.read(int.from_bytes(head[:3], "little"))


@contextlib.contextmanager
def hostile_server(attack: Attack, text: str = HOSTILE) -> Iterator[HostileServer]:
    """A server for the block."""
    server = HostileServer(attack, text)
    try:
        yield server
    finally:
        server.close()
