"""The settings journal: one file per session, written and synced before a change.

Line 1 is a `JournalHeader`. A `SettingChange` is written before the statement is sent; `ChangeConfirmed` says
that the server confirmed it; `ChangeHandedOver` leaves it to another session; `ChangeSettled` closes it. A
change that is not settled is to be restored. docs/settings.md has the rules for users.

Whose value: the statement of a written change may have been sent or not, executed or not, and a lost reply
does not tell. Until a change is confirmed, the setting may have the value before it, the requested value, or
what the server rounds that to: all of them count as this session's. After the confirmation, only the value
that was read back does. Any other value is another client's after a confirmed change; after an unconfirmed
one its origin is unknown, and the setting is neither changed nor settled.

The file exists from the first change until the last one is settled. It appears under its name complete and
locked. The process that may settle its changes holds the lock: the session as long as it lives, then the
guardian or `tuibench restore`. The kernel releases the lock with the process, so unlike a process id, a lock
is never that of another process. It tells nothing about a session on another host, whose file system may not
share locks: the header names host and boot.

A file that was deleted or moved while it is open is written again from the ledger. Only regular files of this
account are read.
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, assert_never

import msgspec

from tuibench.base import paths
from tuibench.base.errors import RunError
from tuibench.base.files import DECODE_ERRORS
from tuibench.model.server import Flavour, Target
from tuibench.tuning import catalogue
from tuibench.tuning.connection import manual_statement

FORMAT = 1


class JournalError(RunError):
    """A journal cannot be read or written; the message names the file."""


class JournalHeader(msgspec.Struct, frozen=True, tag="journal", kw_only=True):
    """The session and the server of the changes."""

    format: int = FORMAT
    session: str
    pid: int
    started: float
    """Unix seconds."""
    target: Target
    identity: str
    """The server instance, see `connection.AdminConnection.identity`."""
    flavour: Flavour
    host: str = ""
    """The name of the session's host; empty if unknown."""
    boot: str = ""
    """The boot of that host; empty if the system does not report one."""

    @property
    def is_of_this_host(self) -> bool:
        """False if the session ran on another host, or before this one was started: then the lock of the file
        does not tell whether it is alive.
        """
        return not self.host or (self.host, self.boot) == this_host()


def this_host() -> tuple[str, str]:
    """The name of this host, and its boot; the latter is empty if the system does not report one."""
    try:
        return socket.gethostname(), Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname(), ""


class SettingChange(msgspec.Struct, frozen=True, tag="change", kw_only=True):
    """A change that is about to be sent to the server."""

    seq: int
    """Increases over all journals of one server, so it shows which change came first."""
    at: float
    """Unix seconds."""
    setting: str
    old: str
    new: str
    server_start: int = 0
    """The start of the server, in seconds by its own clock; 0 if unknown."""


class ChangeConfirmed(msgspec.Struct, frozen=True, tag="applied"):
    """The server confirmed this change when it was read back."""

    seq: int


class ChangeHandedOver(msgspec.Struct, frozen=True, tag="handed", kw_only=True):
    """The session has ended; the session `successor`, which changed the same settings, restores these."""

    seqs: tuple[int, ...]
    successor: str
    at: float


class Settlement(StrEnum):
    """Why changes no longer need a restore."""

    RESTORED = "restored"
    UNCHANGED = "unchanged"
    LEFT = "left"
    REFUSED = "refused"


class ChangeSettled(msgspec.Struct, frozen=True, tag="settled", kw_only=True):
    """These changes are closed."""

    seqs: tuple[int, ...]
    how: Settlement
    at: float
    why: str = ""
    """Why they were not restored; otherwise empty."""


JournalEntry = SettingChange | ChangeConfirmed | ChangeHandedOver | ChangeSettled

_encoder = msgspec.json.Encoder()
_header_decoder = msgspec.json.Decoder(JournalHeader)
_entry_decoder = msgspec.json.Decoder(JournalEntry)


def encode_line(record: JournalHeader | JournalEntry) -> bytes:
    """One line, with its newline."""
    return _encoder.encode(record) + b"\n"


def complete_length(data: bytes) -> int:
    """The number of bytes up to the end of the last complete line."""
    return data.rfind(b"\n") + 1


def decode_journal(data: bytes, name: str) -> tuple[JournalHeader, list[JournalEntry], tuple[str, ...]]:
    """The journal `name` from its bytes: header, entries, and faults, which name the lines that could not be
    read.

    A half-written last line is dropped: no statement was sent for it. Any other invalid line is skipped and
    named, so that the valid ones count. Raises JournalError if the server of the journal is unknown; the
    message then has what can be restored manually.
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
    return _header(lines[0], name, entries), entries, tuple(faults)


def _header(line: bytes, name: str, entries: list[JournalEntry]) -> JournalHeader:
    # The oldest value of each setting that the entries leave open.
    settled = {seq for entry in entries if isinstance(entry, ChangeSettled) for seq in entry.seqs}
    oldest: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, SettingChange) and entry.seq not in settled:
            oldest.setdefault(entry.setting, entry.old)
    rescue = (
        "; ".join([manual_statement(setting, value) for setting, value in oldest.items()])
        or "it holds no change"
    )
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


class OpenChange(NamedTuple):
    """A change that is not settled."""

    change: SettingChange
    applied: bool
    handed: bool
    """True once its session has ended and left it to another one."""

    def is_lost(self, server_start: int) -> bool:
        """True if the server, started at this time, was started after the change; False if unknown."""
        known = self.change.server_start
        is_kept = catalogue.survives_restart(self.change.setting)
        return bool(known and server_start) and known != server_start and not is_kept

    def may_have_set(self, value: str) -> bool:
        """True if the server may have this value because of this change."""
        change = self.change
        return value == change.new or (
            not self.applied and catalogue.may_become(change.setting, change.new, value)
        )


class OpenChanges:
    """The open changes of one journal."""

    def __init__(self, entries: Iterable[JournalEntry] = ()) -> None:
        self._open: dict[int, SettingChange] = {}
        self._applied: set[int] = set()
        self._handed: set[int] = set()
        self.next_seq = 1
        for entry in entries:
            self.add(entry)

    def add(self, entry: JournalEntry) -> None:
        """Adds an entry, in the order of the journal."""
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

    @property
    def open_entries(self) -> Iterator[JournalEntry]:
        """Entries that result in the same open changes."""
        for change in self._changes():
            yield change
            if change.seq in self._applied:
                yield ChangeConfirmed(change.seq)
            if change.seq in self._handed:
                yield ChangeHandedOver(seqs=(change.seq,), successor="", at=change.at)

    def original(self, setting: str) -> str | None:
        """The value to restore, according to this journal; None if there is nothing to restore."""
        changes = self.changes_of(setting)
        return original_and_ours(changes)[0] if changes else None

    def _changes(self) -> tuple[SettingChange, ...]:
        """A copy: the journal's thread may add a change while a screen asks."""
        return tuple(self._open.values())


class OurValues(NamedTuple):
    """The values of a setting that come from this session."""

    setting: str = ""
    exact: frozenset[str] = frozenset()
    asked: str = ""
    """The value of an unconfirmed change; empty without one."""

    @property
    def is_confirmed(self) -> bool:
        return not self.asked

    def has(self, value: str) -> bool:
        return value in self.exact or (
            bool(self.asked) and catalogue.may_become(self.setting, self.asked, value)
        )


def original_and_ours(changes: Iterable[OpenChange]) -> tuple[str, OurValues]:
    """The original value, and the values that are this session's if the server has them now. There must be a
    change.

    If the value before a change was not this session's, another client had set it meanwhile: it becomes the
    original. If it was the original again, after a restart of the server, that stays the original.
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


UNWRITABLE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""Errors of opening a file for writing that can only be read, as on a failed disk."""

_SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_FLAGS = os.O_RDWR | os.O_APPEND | _SAFELY


class ForeignFileError(OSError):
    """Not a regular file of this account."""


def create_locked(path: Path, lines: bytes) -> int:
    """Creates the file with its first lines; returns its descriptor. Raises FileExistsError if it exists."""
    paths.ensure_private(path.parent)
    if os.path.lexists(path):
        raise FileExistsError(0, "the file exists already")
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    fd = os.open(draft, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        append(fd, lines, sync=True)
        draft.rename(path)
        _sync_directory(path.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        os.close(fd)
        raise
    return fd


def open_locked(path: Path) -> int | None:
    """A locked descriptor of the file that has this name now; None if there is none.

    It is read-only if the file cannot be written. Raises BlockingIOError if a live process holds the lock.
    """
    while True:
        try:
            fd = _opened(path)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:
                return fd
        except OSError:
            os.close(fd)
            raise
        os.close(fd)


def _opened(path: Path) -> int:
    try:
        return open_own(path, _FLAGS)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        return open_own(path, os.O_RDONLY | _SAFELY)


def open_own(path: Path, flags: int = os.O_RDONLY | _SAFELY) -> int:
    """A descriptor of the file, without waiting. Raises ForeignFileError for a link, a pipe, a device, a
    folder, or a file of another account.
    """
    try:
        fd = os.open(path, flags)
    except OSError as error:
        if error.errno in _ODD_FILES:
            raise ForeignFileError(error.errno, _ODD_FILES[error.errno]) from error
        raise
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise ForeignFileError(errno.EINVAL, "it is not a regular file")
    if found.st_uid != os.geteuid():
        os.close(fd)
        raise ForeignFileError(errno.EPERM, f"it is owned by the account with the number {found.st_uid}")
    return fd


_ODD_FILES = {
    errno.ELOOP: "it is a link",
    errno.EISDIR: "it is not a regular file",
    errno.ENXIO: "it is not a regular file",
    errno.ENODEV: "it is not a regular file",
}

MAX_JOURNAL_BYTES = 256 << 20


def read_all(fd: int) -> bytes:
    """The whole file. Raises OSError for one that is too large to be a journal."""
    if os.fstat(fd).st_size > MAX_JOURNAL_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MAX_JOURNAL_BYTES >> 20} MiB")
    blocks, place = list[bytes](), 0
    while block := os.pread(fd, 1 << 20, place):
        blocks.append(block)
        place += len(block)
    return b"".join(blocks)


def read_journal(path: Path) -> bytes:
    """The content of a journal of this account. Raises OSError."""
    fd = open_own(path)
    try:
        return read_all(fd)
    finally:
        os.close(fd)


def is_locked(path: Path) -> bool:
    """True if a live process has the file's lock."""
    try:
        fd = open_own(path)
    except (FileNotFoundError, ForeignFileError):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def append(fd: int, line: bytes, *, sync: bool) -> None:
    """Appends a line, whole or not at all; with `sync`, it is on disk when this returns."""
    if not _is_writable(fd):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
    before = os.fstat(fd).st_size
    try:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(fd, rest) :]
        if sync:
            os.fsync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, before)
        raise


def truncate(fd: int, length: int) -> None:
    """Removes what follows this many bytes, if the file can be written."""
    if _is_writable(fd):
        os.ftruncate(fd, length)


def _is_writable(fd: int) -> bool:
    return fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def remove(path: Path) -> None:
    """Deletes the file durably."""
    path.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


SUFFIX = ".jsonl"
DAMAGED_SUFFIX = ".damaged"
"""Suffix of a journal that had unreadable lines, after everything else in it is settled."""

CLAIM_ATTEMPTS, CLAIM_PAUSE_SECONDS = 20, 0.01
"""Attempts to lock a journal: another process's check of the lock holds it for a moment."""


class JournalBusyError(JournalError):
    """Another process, alive, holds the journal."""


def journal_path(session: str) -> Path:
    """The path of a session's journal."""
    return paths.journal_dir() / f"{session}{SUFFIX}"


class Journal:
    """One session's journal. Its methods block on the disk, so call them in a thread; any thread may."""

    def __init__(self, path: Path, header: JournalHeader) -> None:
        """Creates a journal, whose file is created with the first change."""
        self.path = path
        self.header = header
        self.ledger = OpenChanges()
        self.faults: tuple[str, ...] = ()
        self.on_file: Callable[[int], None] = lambda fd: None
        """Called with the descriptor of each new file, before the first change returns, and with -1 when the
        file is closed.
        """
        self._fd = -1
        self._torn_at: int | None = None
        self._notes: list[str] = []
        self._lock = threading.Lock()

    @classmethod
    def claim(cls, path: Path) -> "Journal | None":
        """Takes over the journal of a session that has ended; None if the file does not exist (any more).

        Lines that cannot be read are in `faults`. Raises JournalBusyError if a live process holds it,
        JournalError if it cannot be used.
        """
        with _translated(path):
            fd = _claim_file(path)
            if fd is None:
                return None
            try:
                return cls._read(path, fd)
            except BaseException:
                os.close(fd)
                raise

    @classmethod
    def adopt(cls, path: Path, held: int) -> "Journal":
        """Takes over a journal by the descriptor `held` of its file, which stays open.

        Raises JournalBusyError if a live process holds it, JournalError if it cannot be used.
        """
        with _translated(path):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fd = os.dup(held)
            try:
                return cls._read(path, fd)
            except BaseException:
                os.close(fd)
                raise

    @classmethod
    def _read(cls, path: Path, fd: int) -> "Journal":
        data = read_all(fd)
        header, entries, faults = decode_journal(data, str(path))
        journal = cls(path, header)
        journal.ledger = OpenChanges(entries)
        journal.faults = faults
        journal._fd = fd
        whole = complete_length(data)
        journal._torn_at = whole if whole < len(data) else None
        return journal

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def identify(self, identity: str) -> None:
        """Sets the server instance of the changes, before the first change."""
        self.header = msgspec.structs.replace(self.header, identity=identity)

    def change(
        self, setting: str, old: str, new: str, at: float, seq: int = 0, server_start: int = 0
    ) -> SettingChange:
        """Writes that a setting is about to be changed. When this returns, the line is on disk.

        Its number is `seq`, or greater if this journal already has it. Raises JournalError if it cannot be
        written to the journal's path.
        """
        with self._lock:
            change = SettingChange(
                seq=max(seq, self.ledger.next_seq),
                at=at,
                setting=setting,
                old=old,
                new=new,
                server_start=server_start,
            )
            with _translated(self.path):
                self._keep()
            self._append(change, sync=True)
            return change

    def keep(self) -> str:
        """Writes the file again if it was deleted or moved.

        Returns what happened since the last call, as a sentence; empty if nothing did. Raises JournalError if
        that is not possible.
        """
        with self._lock:
            with _translated(self.path):
                self._keep()
            notes, self._notes = self._notes, []
            return "; ".join(notes)

    def _keep(self) -> None:
        if self._fd < 0 or self._is_in_place():
            return
        lines = b"".join(map(encode_line, (self.header, *self.ledger.open_entries)))
        lost, self._fd = self._fd, create_locked(self.path, lines)
        self._torn_at = None
        self.on_file(self._fd)
        seqs = tuple(one.seq for one in self.ledger.open_entries if isinstance(one, SettingChange))
        closing = ChangeSettled(
            seqs=seqs, how=Settlement.LEFT, at=time.time(), why=f"continued in {self.path}"
        )
        with contextlib.suppress(OSError):
            append(lost, encode_line(closing), sync=True)
            if (place := place_of(lost)) is not None:
                remove(place)
        os.close(lost)
        self._notes.append(
            f"the settings journal {self.path} was deleted or moved; it has been written again, with the "
            "changes that are still to be restored"
        )

    def _is_in_place(self) -> bool:
        """True if the open file is the one at the journal's path. Raises OSError if that cannot be
        determined.
        """
        here = os.fstat(self._fd)
        try:
            there = os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)

    def applied(self, change: SettingChange) -> None:
        """Writes that the server confirmed a change."""
        with self._lock:
            self._append(ChangeConfirmed(change.seq), sync=False)

    def settle(self, seqs: tuple[int, ...], how: Settlement, at: float, why: str = "") -> None:
        """Closes changes finally; the file is deleted with the last of them."""
        if not seqs:
            return
        with self._lock:
            self._append(ChangeSettled(seqs=seqs, how=how, at=at, why=why), sync=True)
            if not self.ledger.open_settings:
                self._remove()

    def hand_over(self, seqs: tuple[int, ...], successor: str, at: float) -> None:
        """Hands changes over to a running session that has changed the same settings."""
        with self._lock:
            self._append(ChangeHandedOver(seqs=seqs, successor=successor, at=at), sync=True)

    def close(self) -> None:
        """Unlocks the journal. A file with changes to restore stays; one without is removed, unless it may be
        that of a live session on another host.

        One that cannot be removed is harmless; the next check tries again.
        """
        with self._lock:
            if self._fd < 0:
                return
            if self.ledger.open_settings or not self.header.is_of_this_host:
                self._release()
                return
            with contextlib.suppress(JournalError):
                self._remove()

    def _append(self, entry: JournalEntry, *, sync: bool) -> None:
        with _translated(self.path):
            if self._fd < 0:
                self._fd = create_locked(self.path, encode_line(self.header))
                self.on_file(self._fd)
            if self._torn_at is not None:
                truncate(self._fd, self._torn_at)
                self._torn_at = None
            append(self._fd, encode_line(entry), sync=sync)
        self.ledger.add(entry)

    def _remove(self) -> None:
        try:
            with _translated(self.path):
                if not self._is_in_place():
                    # Already deleted or moved; another file of this name belongs to another journal.
                    return
                if self.faults:
                    # Keep the file under another name, for inspection.
                    with contextlib.suppress(FileNotFoundError):
                        self.path.rename(self.path.with_name(self.path.name + DAMAGED_SUFFIX))
                    _sync_directory(self.path.parent)
                else:
                    remove(self.path)
        finally:
            self._release()

    def _release(self) -> None:
        self.on_file(-1)
        os.close(self._fd)
        self._fd = -1


def place_of(fd: int) -> Path | None:
    """The current path of an open file, if the system reports it; None for a deleted file."""
    try:
        place = Path(os.readlink(f"/proc/self/fd/{fd}"))
        here, there = os.fstat(fd), os.lstat(place)
    except OSError:
        return None
    return place if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino) else None


def _claim_file(path: Path) -> int | None:
    for attempt in range(CLAIM_ATTEMPTS):
        if attempt:
            time.sleep(CLAIM_PAUSE_SECONDS)
        with contextlib.suppress(BlockingIOError):
            return open_locked(path)
    raise BlockingIOError


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Converts errors of the disk to JournalError."""
    try:
        yield
    except BlockingIOError as error:
        raise JournalBusyError(f"the settings journal {path} is in use by a live process") from error
    except ForeignFileError as error:
        raise JournalError(
            f"{path} is not a settings journal of this account: {error.strerror}", "move it elsewhere"
        ) from error
    except OSError as error:
        raise JournalError(
            f"cannot use the settings journal {path}: {error.strerror or error}",
            "without it no setting is changed; TUIBENCH_HOME sets another place",
        ) from error
