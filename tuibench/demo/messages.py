"""Messages between a private server's owner and its supervisor: JSON lines over pipes."""

import msgspec

from tuibench.demo.binaries import Binary
from tuibench.model.server import ServerLimits

MIB = 1024 * 1024


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The server to create. The password is sent through a pipe only and is not in the repr.

    `template` is a data directory, created by the same server program, that is copied; by default a new one
    is created. `no_scope` is the reason why the supervisor of a limited server is in no scope of systemd.
    """

    binary: Binary
    base: str
    user: str
    password: str
    database: str
    keep: bool = False
    options: tuple[str, ...] = ()
    buffer_pool_bytes: int = 256 * MIB
    redo_log_bytes: int = 128 * MIB
    template: str = ""
    limits: ServerLimits = ServerLimits()
    no_scope: str = ""

    def __repr__(self) -> str:
        return f"Spec({self.binary} in {self.base})"


class CreateServer(msgspec.Struct, frozen=True, tag="create"):
    """Create and initialise the directory, start the server. Always the first request."""

    spec: ServerSpec


class StartServer(msgspec.Struct, frozen=True, tag="start"):
    """Start the server again on the same directory, socket and port."""


class ShutDownServer(msgspec.Struct, frozen=True, tag="halt"):
    """Shut the server down cleanly, keep the directory."""


class KillServer(msgspec.Struct, frozen=True, tag="kill"):
    """Kill the server with SIGKILL, keep the directory."""


class CheckServer(msgspec.Struct, frozen=True, tag="check"):
    """Check that the server's process runs; the reply is its state, or the reason for its end."""


class EndSupervisor(msgspec.Struct, frozen=True, tag="end"):
    """Stop the server, optionally remove the directory, and end. The reply is the end of the supervisor."""

    remove: bool


class ServerRunning(msgspec.Struct, frozen=True, tag="running"):
    """The server accepts connections. `limited` describes its limits, empty without limits."""

    pid: int
    port: int
    directory: str
    limited: str = ""


class ServerStopped(msgspec.Struct, frozen=True, tag="halted"):
    """The server's process has ended."""


class RequestFailed(msgspec.Struct, frozen=True, tag="failed"):
    """The request failed; with the error's message and hint."""

    message: str
    hint: str


SupervisorRequest = CreateServer | StartServer | ShutDownServer | KillServer | CheckServer | EndSupervisor
SupervisorReply = ServerRunning | ServerStopped | RequestFailed

_requests: msgspec.json.Decoder[SupervisorRequest] = msgspec.json.Decoder(SupervisorRequest)
_replies: msgspec.json.Decoder[SupervisorReply] = msgspec.json.Decoder(SupervisorReply)


def encode_message(message: SupervisorRequest | SupervisorReply) -> bytes:
    """The encoded message."""
    return msgspec.json.encode(message) + b"\n"


def decode_request(data: bytes) -> SupervisorRequest:
    return _requests.decode(data)


def decode_reply(data: bytes) -> SupervisorReply:
    return _replies.decode(data)
