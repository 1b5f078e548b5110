"""Settings journal: one file per session, written and synced before a change.

The file exists from the first change until the last one is settled. The process that may settle its changes
holds its lock: the session as long as it lives, then the guardian or `tuibench restore`.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from tuibench import paths
from tuibench.tuning.undo import durable_file, journal_entries
from tuibench.tuning.undo.journal_entries import (
    ChangeConfirmed,
    ChangeHandedOver,
    ChangeSettled,
    JournalEntry,
    JournalError,
    JournalHeader,
    Ledger,
    SettingChange,
    Settlement,
)

SUFFIX = ".jsonl"
DAMAGED_SUFFIX = ".damaged"
"""Is put behind the name of a journal that had unreadable lines, once all else in it is settled."""

CLAIM_ATTEMPTS, CLAIM_PAUSE_SECONDS = 20, 0.01
"""A check whether a journal is locked locks it for a moment."""


class JournalBusyError(JournalError):
    """Another process, alive, holds the journal."""


def journal_path(session: str) -> Path:
    """Where the journal of a session is."""
    return paths.journal_dir() / f"{session}{SUFFIX}"


class Journal:
    """One session's journal. Its methods block on the disk, so call them in a thread; any thread may."""

    def __init__(self, path: Path, header: JournalHeader) -> None:
        """A journal that makes its file at the first change."""
        self.path = path
        self.header = header
        self.ledger = Ledger()
        self.faults: tuple[str, ...] = ()
        self._fd = -1
        self._lock = threading.Lock()

    @classmethod
    def claim(cls, path: Path) -> "Journal | None":
        """Takes over a journal whose session is gone; None if there is no such file (any more).

        Lines that cannot be read are in `faults`. Raises JournalBusyError if a live process holds it,
        JournalError when it cannot be used.
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
    def _read(cls, path: Path, fd: int) -> "Journal":
        data = path.read_bytes()
        contents = journal_entries.decode_journal(data, str(path))
        durable_file.truncate(fd, journal_entries.complete_length(data))
        journal = cls(path, contents.header)
        journal.ledger = Ledger(contents.entries)
        journal.faults = contents.faults
        journal._fd = fd
        return journal

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def identify(self, identity: str) -> None:
        """Says which server instance the changes are made on; before the first change."""
        self.header = msgspec.structs.replace(self.header, identity=identity)

    def change(self, setting: str, old: str, new: str, at: float, seq: int = 0) -> SettingChange:
        """Writes that a setting is about to be changed. When this returns, the line is on the disk.

        Its number is `seq`, or greater if this journal has got further.
        """
        with self._lock:
            change = SettingChange(
                seq=max(seq, self.ledger.next_seq), at=at, setting=setting, old=old, new=new
            )
            self._append(change, sync=True)
            return change

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
        """Unlocks the journal. A file with changes to restore stays, one without is removed.

        One that cannot be removed is harmless; the next check tries again.
        """
        with self._lock:
            if self._fd < 0:
                return
            if self.ledger.open_settings:
                self._release()
                return
            with contextlib.suppress(JournalError):
                self._remove()

    def _append(self, entry: JournalEntry, *, sync: bool) -> None:
        with _translated(self.path):
            if self._fd < 0:
                self._fd = durable_file.create_locked(self.path, journal_entries.encode_line(self.header))
            durable_file.append(self._fd, journal_entries.encode_line(entry), sync=sync)
        self.ledger.add(entry)

    def _remove(self) -> None:
        try:
            with _translated(self.path):
                if self.faults:
                    durable_file.rename_with_suffix(self.path, DAMAGED_SUFFIX)
                else:
                    durable_file.remove(self.path)
        finally:
            self._release()

    def _release(self) -> None:
        os.close(self._fd)
        self._fd = -1


def _claim_file(path: Path) -> int | None:
    for attempt in range(CLAIM_ATTEMPTS):
        if attempt:
            time.sleep(CLAIM_PAUSE_SECONDS)
        with contextlib.suppress(BlockingIOError):
            return durable_file.open_locked(path)
    raise BlockingIOError


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """The disk's errors in our own tree."""
    try:
        yield
    except BlockingIOError as error:
        raise JournalBusyError(f"the settings journal {path} is in use by a live process") from error
    except OSError as error:
        raise JournalError(
            f"cannot use the settings journal {path}: {error.strerror or error}",
            "without it no setting is changed; TUIBENCH_HOME sets another place",
        ) from error
