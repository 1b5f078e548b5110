"""The lines of a settings journal: their shape, and how bytes become lines and lines bytes. No I/O.

Line 1 is a `Header`. Each `Change` is written before the server is asked; `Applied` says the server confirmed
it; `Handed` leaves it to another session; `Settled` closes it for good. A change that is not settled is one
to put back. docs/journal.md describes the format.
"""

from enum import StrEnum
from typing import NamedTuple

import msgspec

from tuibench.errors import RunError
from tuibench.files import UNREADABLE
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.tuning.statements import by_hand

FORMAT = 1


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
    """About to be asked of the server: `setting` from `old` to `new`, at a wall clock time.

    `seq` grows over all journals of one server: it tells whose change came first.
    """

    seq: int
    at: float
    setting: str
    old: str
    new: str


class Applied(msgspec.Struct, frozen=True, tag="applied"):
    """The server confirmed this change when read back."""

    seq: int


class Handed(msgspec.Struct, frozen=True, tag="handed", kw_only=True):
    """The session has ended; these changes are for the session `heir` to put back, which has changed more."""

    seqs: tuple[int, ...]
    heir: str
    at: float


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


Entry = Change | Applied | Handed | Settled
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


class Contents(NamedTuple):
    """A journal that was read. `faults` says which of its lines could not be."""

    header: Header
    entries: list[Entry]
    faults: tuple[str, ...]


def decode(data: bytes, name: str) -> Contents:
    """The journal `name` from its bytes, without a half-written last line.

    Such a line can be dropped: the server is asked only after its line is safely on disk. Any other line that
    cannot be read is passed over and named, so that the good ones count. Raises JournalError when it is not
    known which server the journal is about; the message then has all that can be done by hand.
    """
    lines = data[: whole_length(data)].splitlines()
    if not lines:
        raise JournalError(f"the settings journal {name} is empty", "there is nothing in it: remove the file")
    entries, faults = list[Entry](), list[str]()
    for number, line in enumerate(lines[1:], 2):
        try:
            entries.append(_entry_decoder.decode(line))
        except UNREADABLE as error:
            faults.append(f"line {number} cannot be read: {error}")
    return Contents(_header(lines[0], name, entries), entries, tuple(faults))


def _header(line: bytes, name: str, entries: list[Entry]) -> Header:
    rescue = "; ".join(_by_hand(entries)) or "it holds no change"
    try:
        header = _header_decoder.decode(line)
    except UNREADABLE as error:
        raise JournalError(
            f"the settings journal {name} does not say its server: line 1 cannot be read: {error}",
            f"put back by hand and remove the file: {rescue}",
        ) from error
    if header.format != FORMAT:
        raise JournalError(
            f"{name} is a settings journal of format {header.format}, and this tuibench reads {FORMAT}",
            f"restore it with the tuibench that wrote it, or by hand: {rescue}",
        )
    return header


def _by_hand(entries: list[Entry]) -> list[str]:
    """The oldest value of each setting that the entries leave open."""
    settled = {seq for entry in entries if isinstance(entry, Settled) for seq in entry.seqs}
    oldest: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, Change) and entry.seq not in settled:
            oldest.setdefault(entry.setting, entry.old)
    return [by_hand(setting, value) for setting, value in oldest.items()]
