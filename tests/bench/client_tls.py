"""Record how `mariadb` and `mysql` encrypt and verify, for the options of TLS in option files.

`python -m tests.bench.client_tls NAME=CLIENT …` writes `tests/data/client_tls.json`, which the unit tests
compare with tuibench. Each client connects by TCP to four servers of this process, which have no data: one
without TLS, and three with certificates: of another authority, for another host, and the right one. The
answer is what came of it: `plain` or `tls` if a statement arrived so, `refused` if none did.
"""

import json
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.hostile import Listener
from tests.integration.support import certificates
from tests.paths import DATA
from tests.scripted_server import CAPABILITIES, SSL, SSL_REQUEST_BYTES

RECORD = DATA / "client_tls.json"
SERVERS = ("plain", "unknown", "other-host", "right")
MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
CASES: tuple[tuple[str, ...], ...] = (
    (), ("ssl",), ("ssl=1",), ("ssl=0",), ("skip-ssl",),
    ("ssl-verify-server-cert",), ("ssl-verify-server-cert=0",), ("skip-ssl-verify-server-cert",),
    ("ssl-ca=CA",), ("ssl-ca=CA", "ssl"), ("ssl-ca=CA", "ssl=0"), ("ssl=0", "ssl-ca=CA"),
    ("ssl-ca=CA", "ssl-verify-server-cert"), ("ssl-ca=CA", "ssl-verify-server-cert=0"),
    ("ssl=0", "ssl-verify-server-cert"), ("ssl", "ssl-verify-server-cert=0"),
    ("ssl-cert=CERT", "ssl-key=KEY"), ("ssl-cipher=AES128-SHA256:ECDHE-RSA-AES128-GCM-SHA256",),
    ("tls-version=TLSv1.2",),
    *((f"ssl-mode={mode}", *more) for more in ((), ("ssl-ca=CA",)) for mode in MODES),
    ("ssl-ca=CA", "ssl-mode=REQUIRED"),
)  # fmt: skip
"""Lines of [client]; CA, CERT and KEY stand for files."""


class Server(Listener):
    """Lets everybody in, and notes how the last statement came."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        self.seen = "refused"
        self.ended = threading.Event()
        super().__init__(self._talk)

    def _talk(self, caller: socket.socket) -> None:
        with caller:
            caller.settimeout(20)
            try:
                self._greet(caller)
            except OSError:
                pass
            finally:
                self.ended.set()

    def _greet(self, caller: socket.socket) -> None:
        capabilities = CAPABILITIES | SSL * (self._context is not None)
        caller.sendall(
            _packet(
                0,
                b"\x0a8.4.0\0"
                + struct.pack("<I", 7)
                + b"saltsalt\0"
                + struct.pack("<HBHHB", capabilities & 0xFFFF, 45, 2, capabilities >> 16, 21)
                + bytes(10)
                + b"moresaltmore\0caching_sha2_password\0",
            )
        )
        number, said = _read(caller)
        if len(said) != SSL_REQUEST_BYTES or self._context is None:
            self._let_in(caller, number, "plain")
            return
        with self._context.wrap_socket(caller, server_side=True) as encrypted:
            self._let_in(encrypted, _read(encrypted)[0], "tls")

    def _let_in(self, caller: socket.socket, number: int, how: str) -> None:
        caller.sendall(_packet(number + 1, b"\0\0\0\2\0\0\0"))
        if _read(caller)[1]:
            self.seen = how


def _packet(number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number]) + body


def _read(caller: socket.socket) -> tuple[int, bytes]:
    head = _exactly(caller, 4)
    return head[3], _exactly(caller, int.from_bytes(head[:3], "little"))


def _exactly(caller: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        if not (more := caller.recv(length - len(found))):
            raise OSError("closed the connection")
        found += more
    return found


@contextmanager
def servers(folder: Path) -> Iterator[tuple[certificates.Files, dict[str, Server]]]:
    """The four servers, and the files of the right one. The one for another host is reached by an address
    that its certificate lacks.
    """
    (folder / "unknown").mkdir()
    right = certificates.make(folder, "localhost")
    contexts: dict[str, ssl.SSLContext | None] = {"plain": None}
    for name, files in zip(
        SERVERS[1:], (certificates.make(folder / "unknown", "localhost"), right, right), strict=True
    ):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.cert, files.key)
        contexts[name] = context
    with ExitStack() as stack:
        found = {name: Server(context) for name, context in contexts.items()}
        for each in found.values():
            stack.callback(each.close)
        yield right, found


HOSTS = {"other-host": "127.0.0.1"}


def option_file(case: tuple[str, ...], files: certificates.Files) -> str:
    """The text of the case's option file."""
    places = {"CA": files.ca, "CERT": files.cert, "KEY": files.key}
    lines = [
        f"{name}={places.get(value, value)}" if sign else name
        for name, sign, value in (each.partition("=") for each in case)
    ]
    return "\n".join(["[client]", *lines, ""])


def answers(client: str, options: Path, every: dict[str, Server]) -> list[str]:
    """What came of it on each of `SERVERS`; empty if the client does not know an option."""
    found = []
    for name, server in every.items():
        server.seen = "refused"
        server.ended.clear()
        words = [f"--host={HOSTS.get(name, 'localhost')}", f"--port={server.port}", "--protocol=tcp"]
        ended = subprocess.run(
            [client, f"--defaults-file={options}", *words, "--user=ann", "--execute=SELECT 1"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if "unknown variable" in ended.stderr or "unknown option" in ended.stderr:
            return []
        server.ended.wait(20)
        found.append(server.seen)
    return found


def main() -> None:
    clients = dict(each.split("=", 1) for each in sys.argv[1:])
    lines = []
    with tempfile.TemporaryDirectory(prefix="client-tls-") as folder, servers(Path(folder)) as (files, every):
        options = Path(folder) / "my.cnf"
        for case in CASES:
            options.write_text(option_file(case, files))
            found = {name: answers(client, options, every) for name, client in clients.items()}
            lines.append(json.dumps({"options": case, **found}))
            print(lines[-1], flush=True)
    RECORD.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
