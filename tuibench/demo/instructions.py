"""What the owner of a private server and its keeper say to each other: one JSON object a line, over pipes."""

import msgspec

from tuibench.demo.binaries import Binary

MIB = 1024 * 1024


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """The server to make. The password travels over a pipe only, and is left out of the repr.

    `template` is a data directory that this program made, to be copied; without one, a new one is made.
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

    def __repr__(self) -> str:
        return f"Spec({self.binary} in {self.base})"


class Create(msgspec.Struct, frozen=True, tag="create"):
    """Make the directory, fill it, start the server. Always the first instruction."""

    spec: Spec


class Start(msgspec.Struct, frozen=True, tag="start"):
    """Start the server again on the same directory, socket and port."""


class Halt(msgspec.Struct, frozen=True, tag="halt"):
    """Shut the server down in order, keep the directory."""


class Kill(msgspec.Struct, frozen=True, tag="kill"):
    """Kill the server with SIGKILL, keep the directory."""


class End(msgspec.Struct, frozen=True, tag="end"):
    """Stop the server, remove the directory if asked, and end. Answered by the end of the keeper."""

    remove: bool


class Running(msgspec.Struct, frozen=True, tag="running"):
    """The server takes connections."""

    pid: int
    port: int
    directory: str


class Halted(msgspec.Struct, frozen=True, tag="halted"):
    """The server's process is gone."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The instruction could not be carried out: an error's message and hint."""

    message: str
    hint: str


Instruction = Create | Start | Halt | Kill | End
Answer = Running | Halted | Failed

_instructions: msgspec.json.Decoder[Instruction] = msgspec.json.Decoder(Instruction)
_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def line(message: Instruction | Answer) -> bytes:
    """A message as it goes over the pipe."""
    return msgspec.json.encode(message) + b"\n"


def instruction(data: bytes) -> Instruction:
    return _instructions.decode(data)


def answer(data: bytes) -> Answer:
    return _answers.decode(data)
