"""Entries of a settings journal: types, encoding and decoding. No I/O.

Line 1 is a `JournalHeader`. Each `Change` is written before the server is asked; `ChangeConfirmed` says the
server confirmed it; `ChangeHandedOver` leaves it to another session; `ChangeSettled` closes it finally. A
change that is not settled is to be restored. docs/journal.md describes the format.

What one journal still has to restore: entries in, open changes out. No I/O.

Whose a value is: a change whose line is written may have been sent or not, executed or not, and a lost reply
says nothing. Until it is confirmed, the setting may have the value before it, the requested value, or what
the server rounds that to: all of them are ours. After the confirmation only the value that was read back is.
Any other value is another client's after a confirmed change; after an unconfirmed one it is not known whose
it is: then nothing is touched and nothing is settled.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple, assert_never

import msgspec

from tuibench.errors import RunError
from tuibench.files import DECODE_ERRORS
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.tuning.catalogue import setting_lookup
from tuibench.tuning.statements import manual_statement

FORMAT = 1


class JournalError(RunError):
    """A journal cannot be read or written; the message names the file."""


class JournalHeader(msgspec.Struct, frozen=True, tag="journal", kw_only=True):
    """Whose changes these are.

    `identity` names the server instance, see `control.AdminConnection.identity`.
    """

    format: int = FORMAT
    session: str
    pid: int
    started: float
    target: Target
    identity: str
    flavour: Flavour


class SettingChange(msgspec.Struct, frozen=True, tag="change", kw_only=True):
    """About to be asked of the server: `setting` from `old` to `new`, at a wall clock time.

    `seq` grows over all journals of one server: it shows which change came first.
    """

    seq: int
    at: float
    setting: str
    old: str
    new: str


class ChangeConfirmed(msgspec.Struct, frozen=True, tag="applied"):
    """The server confirmed this change when read back."""

    seq: int


class ChangeHandedOver(msgspec.Struct, frozen=True, tag="handed", kw_only=True):
    """The session has ended; the session `successor`, which changed the same settings, restores these."""

    seqs: tuple[int, ...]
    successor: str
    at: float


class Settlement(StrEnum):
    """Why changes need no restore any more."""

    RESTORED = "restored"
    UNCHANGED = "unchanged"
    LEFT = "left"
    REFUSED = "refused"


class ChangeSettled(msgspec.Struct, frozen=True, tag="settled", kw_only=True):
    """These changes are closed; `why` is empty or says why they were not restored."""

    seqs: tuple[int, ...]
    how: Settlement
    at: float
    why: str = ""


JournalEntry = SettingChange | ChangeConfirmed | ChangeHandedOver | ChangeSettled
JournalLine = JournalHeader | JournalEntry

_encoder = msgspec.json.Encoder()
_header_decoder = msgspec.json.Decoder(JournalHeader)
_entry_decoder = msgspec.json.Decoder(JournalEntry)


def encode_line(record: JournalLine) -> bytes:
    """One line, with its newline."""
    return _encoder.encode(record) + b"\n"


def complete_length(data: bytes) -> int:
    """The number of bytes up to the end of the last complete line; what follows is half-written."""
    return data.rfind(b"\n") + 1


class JournalContents(NamedTuple):
    """A journal that was read. `faults` says which of its lines could not be."""

    header: JournalHeader
    entries: list[JournalEntry]
    faults: tuple[str, ...]


def decode_journal(data: bytes, name: str) -> JournalContents:
    """The journal `name` from its bytes, without a half-written last line.

    Such a line can be dropped: the server is asked only after its line is safely on disk. Any other line that
    cannot be read is passed over and named, so that the good ones count. Raises JournalError when it is not
    known which server the journal is about; the message then has all that can be done by hand.
    """
    lines = data[: complete_length(data)].splitlines()
    if not lines:
        raise JournalError(f"the settings journal {name} is empty", "it is empty: remove the file")
    entries, faults = list[JournalEntry](), list[str]()
    for number, line in enumerate(lines[1:], 2):
        try:
            entries.append(_entry_decoder.decode(line))
        except DECODE_ERRORS as error:
            faults.append(f"line {number} cannot be read: {error}")
    return JournalContents(_header(lines[0], name, entries), entries, tuple(faults))


def _header(line: bytes, name: str, entries: list[JournalEntry]) -> JournalHeader:
    rescue = "; ".join(_manual_statements(entries)) or "it holds no change"
    try:
        header = _header_decoder.decode(line)
    except DECODE_ERRORS as error:
        raise JournalError(
            f"the settings journal {name} does not name its server: line 1 cannot be read: {error}",
            f"restore it manually and remove the file: {rescue}",
        ) from error
    if header.format != FORMAT:
        raise JournalError(
            f"{name} is a settings journal of format {header.format}, and this tuibench reads {FORMAT}",
            f"restore it with the version of tuibench that wrote it, or manually: {rescue}",
        )
    return header


def _manual_statements(entries: list[JournalEntry]) -> list[str]:
    """The oldest value of each setting that the entries leave open."""
    settled = {seq for entry in entries if isinstance(entry, ChangeSettled) for seq in entry.seqs}
    oldest: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, SettingChange) and entry.seq not in settled:
            oldest.setdefault(entry.setting, entry.old)
    return [manual_statement(setting, value) for setting, value in oldest.items()]


class OpenChange(NamedTuple):
    """A change that is not settled. `handed` once its session has ended and left it to another one."""

    change: SettingChange
    applied: bool
    handed: bool

    def may_have_set(self, value: str) -> bool:
        """True if the server may have this value because of this change."""
        change = self.change
        return value == change.new or (
            not self.applied and setting_lookup.may_become(change.setting, change.new, value)
        )


class Ledger:
    """The open changes of one journal."""

    def __init__(self, entries: Iterable[JournalEntry] = ()) -> None:
        self._open: dict[int, SettingChange] = {}
        self._applied: set[int] = set()
        self._handed: set[int] = set()
        self.next_seq = 1
        for entry in entries:
            self.add(entry)

    def add(self, entry: JournalEntry) -> None:
        """Learns one entry, in the order of the journal."""
        match entry:
            case SettingChange():
                self._open[entry.seq] = entry
                self.next_seq = max(self.next_seq, entry.seq + 1)
            case ChangeConfirmed():
                self._applied.add(entry.seq)
            case ChangeHandedOver():
                self._handed.update(entry.seqs)
            case ChangeSettled():
                for seq in entry.seqs:
                    self._open.pop(seq, None)
                    self._applied.discard(seq)
                    self._handed.discard(seq)
            case _:
                assert_never(entry)

    @property
    def open_settings(self) -> tuple[str, ...]:
        """The settings with changes to restore, in the order of their first one."""
        return tuple(dict.fromkeys(change.setting for change in self._changes()))

    def changes_of(self, setting: str) -> list[OpenChange]:
        """The open changes of a setting, the oldest first."""
        return [
            OpenChange(change, change.seq in self._applied, change.seq in self._handed)
            for change in self._changes()
            if change.setting == setting
        ]

    def original(self, setting: str) -> str | None:
        """The value to go back to, as far as this journal knows; None if there is nothing to restore."""
        changes = self.changes_of(setting)
        return original_and_ours(changes)[0] if changes else None

    def last(self, setting: str) -> str | None:
        """The value we asked for last; None if there is nothing to restore."""
        changes = self.changes_of(setting)
        return changes[-1].change.new if changes else None

    def _changes(self) -> tuple[SettingChange, ...]:
        """A copy: the journal's thread may add a change while a screen asks."""
        return tuple(self._open.values())


class OurValues(NamedTuple):
    """The values of a setting that are ours. `asked` is that of an unconfirmed change, empty without one."""

    setting: str = ""
    exact: frozenset[str] = frozenset()
    asked: str = ""

    @property
    def is_confirmed(self) -> bool:
        return not self.asked

    def has(self, value: str) -> bool:
        return value in self.exact or (
            bool(self.asked) and setting_lookup.may_become(self.setting, self.asked, value)
        )


def original_and_ours(changes: Iterable[OpenChange]) -> tuple[str, OurValues]:
    """The original value, and the values that are ours if the server has them now. There must be a change.

    An old value that was not ours was set by somebody else since, who must find it again: it becomes the
    original. A server that fell back to the original by a restart keeps it.
    """
    original: str | None = None
    ours = OurValues()
    for change, applied, _ in changes:
        kept = {change.old} if ours.has(change.old) else set[str]()
        if original is None or not kept:
            original = change.old
        exact = frozenset({change.new} if applied else {change.new, *kept})
        ours = OurValues(change.setting, exact, "" if applied else change.new)
    if original is None:
        raise ValueError("nothing to fold")
    return original, ours
