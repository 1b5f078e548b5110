"""The lines of a settings journal: their shape, and how bytes become lines and lines bytes. No I/O.

Line 1 is a `Header`. Each `Change` is written before the server is asked; `Applied` says the server confirmed
it; `Settled` closes changes for good. A change that is not settled is one to put back.
"""

from enum import StrEnum
from typing import TypeVar

import msgspec

from tuibench.errors import RunError
from tuibench.model.server import Flavour
from tuibench.model.target import Target

FORMAT = 1

T = TypeVar("T")


class JournalError(RunError):
    """A journal cannot be read or written; the message names the file."""


class Header(msgspec.Struct, frozen=True, tag="journal", kw_only=True):
    """Whose changes these are. `identity` names the server instance, see `control.Control.identity`."""

    format: int = FORMAT
    session: str
    pid: int
    started: float
    target: Target
    identity: str
    flavour: Flavour


class Change(msgspec.Struct, frozen=True, tag="change", kw_only=True):
    """About to be asked of the server: `setting` from `old` to `new`, at a wall clock time."""

    seq: int
    at: float
    setting: str
    old: str
    new: str


class Applied(msgspec.Struct, frozen=True, tag="applied"):
    """The server confirmed this change when read back."""

    seq: int


class Settlement(StrEnum):
    """Why changes need not be put back any more."""

    RESTORED = "restored"
    UNCHANGED = "unchanged"
    LEFT = "left"
    REFUSED = "refused"


class Settled(msgspec.Struct, frozen=True, tag="settled", kw_only=True):
    """These changes are closed; `why` is empty or says why they were not restored."""

    seqs: tuple[int, ...]
    how: Settlement
    at: float
    why: str = ""


Entry = Change | Applied | Settled
Record = Header | Entry

_encoder = msgspec.json.Encoder()
_header_decoder = msgspec.json.Decoder(Header)
_entry_decoder = msgspec.json.Decoder(Entry)


def encode(record: Record) -> bytes:
    """One line, with its newline."""
    return _encoder.encode(record) + b"\n"


def whole_length(data: bytes) -> int:
    """The number of bytes up to the end of the last complete line; what follows is half-written."""
    return data.rfind(b"\n") + 1


def decode(data: bytes, name: str) -> tuple[Header, list[Entry]]:
    """The journal `name` from its bytes, without a half-written last line.

    Such a line can be dropped: the server is asked only after its line is safely on disk.
    Raises JournalError naming file and line for anything else that is not as written.
    """
    lines = data[: whole_length(data)].splitlines()
    if not lines:
        raise _damaged(name, 1, "there is no complete line")
    header = _decode(_header_decoder, lines[0], name, 1)
    if header.format != FORMAT:
        raise JournalError(
            f"{name} is a settings journal of format {header.format}, and this tuibench reads {FORMAT}",
            "restore it with the tuibench that wrote it",
        )
    return header, [_decode(_entry_decoder, line, name, number) for number, line in enumerate(lines[1:], 2)]


def _decode(decoder: msgspec.json.Decoder[T], line: bytes, name: str, number: int) -> T:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(name, number, str(error)) from error


def _damaged(name: str, number: int, why: str) -> JournalError:
    return JournalError(
        f"the settings journal {name} is damaged in line {number}: {why}",
        "its lines name each setting and its old value: put them back by hand, then remove the file",
    )
