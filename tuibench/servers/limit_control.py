"""How a session changes the limits of a private server while it runs.

The supervisor listens on a socket in the server's directory. A connection that changes limits holds them:
when it ends, by exit or by kill -9 of the session, the supervisor goes back to the limits that the server was
started with. Messages are JSON lines, a reply for each request.
"""

import contextlib
import socket
from pathlib import Path

import msgspec

from tuibench.base.errors import RunError, UsageError
from tuibench.model.findings import ErrorMessage
from tuibench.model.server import ServerLimits

TIMEOUT_SECONDS = 30.0
"""To free memory for a lower limit, the kernel may write many pages."""
CHUNK_BYTES = 65_536


class LimitRequest(msgspec.Struct, frozen=True):
    """New limits; None asks for the present ones."""

    limits: ServerLimits | None = None


class LimitState(msgspec.Struct, frozen=True, tag="limits"):
    """The present limits of a server."""

    limits: ServerLimits
    words: str
    """With the method; empty without limits."""


LimitReply = LimitState | ErrorMessage

_requests: msgspec.json.Decoder[LimitRequest] = msgspec.json.Decoder(LimitRequest)
_replies: msgspec.json.Decoder[LimitReply] = msgspec.json.Decoder(LimitReply)


def decode_request(data: bytes) -> LimitRequest:
    """The request of a line. Raises ValueError for another line."""
    return _requests.decode(data)


def encode_reply(reply: LimitReply) -> bytes:
    return msgspec.json.encode(reply) + b"\n"


class LimitControl:
    """The connection of one session; its calls block."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if no supervisor listens there."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(TIMEOUT_SECONDS)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise

    def ask(self, limits: ServerLimits | None = None) -> LimitState:
        """Change the limits, or ask for them. Raises UsageError for limits that cannot be applied, RunError
        if the supervisor does not answer.
        """
        data = b""
        try:
            self._socket.sendall(msgspec.json.encode(LimitRequest(limits)) + b"\n")
            while not data.endswith(b"\n"):
                chunk = self._socket.recv(CHUNK_BYTES)
                if not chunk:
                    raise RunError("the supervisor of the private server has ended")
                data += chunk
        except OSError as error:
            raise RunError(f"the supervisor of the private server does not answer: {error}") from error
        reply = _replies.decode(data)
        if isinstance(reply, ErrorMessage):
            raise UsageError(reply.message, reply.hint)
        return reply

    def close(self) -> None:
        """The server goes back to its first limits."""
        with contextlib.suppress(OSError):
            self._socket.close()
