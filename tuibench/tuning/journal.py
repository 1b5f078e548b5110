"""The settings journal on disk: one file per session, written and synced before the server is asked.

The file exists from the first change until the last one is settled. Whoever may settle its changes holds its
lock: the session as long as it lives, then the guardian or `tuibench restore`.
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
from tuibench.tuning import disk, records
from tuibench.tuning.ledger import Ledger
from tuibench.tuning.records import Applied, Change, Entry, Handed, Header, JournalError, Settled, Settlement

SUFFIX = ".jsonl"
DAMAGED = ".damaged"
"""Is put behind the name of a journal that had unreadable lines, once all else in it is settled."""

CLAIM_ATTEMPTS, CLAIM_PAUSE_SECONDS = 20, 0.01
"""Somebody who only looks whether a journal is held holds it himself for a moment."""


class JournalBusyError(JournalError):
    """Another process, alive, holds the journal."""


def path_of(session: str) -> Path:
    """Where the journal of a session is."""
    return paths.journal_dir() / f"{session}{SUFFIX}"


class Journal:
    """One session's journal. Its methods block on the disk, so call them in a thread; any thread may."""

    def __init__(self, path: Path, header: Header) -> None:
        """A journal that makes its file at the first change."""
        self.path = path
        self.header = header
        self.ledger = Ledger()
        self.faults: tuple[str, ...] = ()
        self._fd = -1
        self._turn = threading.Lock()

    @classmethod
    def claim(cls, path: Path) -> "Journal | None":
        """Takes over a journal whose session is gone; None if there is no such file (any more).

        Lines that cannot be read are in `faults`. Raises JournalBusyError when somebody alive holds it,
        JournalError when it cannot be used.
        """
        with _translated(path):
            fd = _take_over(path)
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
        contents = records.decode(data, str(path))
        disk.cut(fd, records.whole_length(data))
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

    def change(self, setting: str, old: str, new: str, at: float, seq: int = 0) -> Change:
        """Writes that a setting is about to be changed. When this returns, the line is on the disk.

        Its number is `seq`, or greater if this journal has got further.
        """
        with self._turn:
            change = Change(seq=max(seq, self.ledger.next_seq), at=at, setting=setting, old=old, new=new)
            self._append(change, sync=True)
            return change

    def applied(self, change: Change) -> None:
        """Writes that the server confirmed a change."""
        with self._turn:
            self._append(Applied(change.seq), sync=False)

    def settle(self, seqs: tuple[int, ...], how: Settlement, at: float, why: str = "") -> None:
        """Closes changes for good; the file goes with the last of them."""
        if not seqs:
            return
        with self._turn:
            self._append(Settled(seqs=seqs, how=how, at=at, why=why), sync=True)
            if not self.ledger.open_settings:
                self._remove()

    def hand_over(self, seqs: tuple[int, ...], heir: str, at: float) -> None:
        """Leaves changes to a session that has changed the same settings and goes on."""
        with self._turn:
            self._append(Handed(seqs=seqs, heir=heir, at=at), sync=True)

    def close(self) -> None:
        """Lets go of the journal. A file with changes to put back stays, one without goes.

        One that cannot be taken away harms nobody; whoever looks next tries again.
        """
        with self._turn:
            if self._fd < 0:
                return
            if self.ledger.open_settings:
                self._release()
                return
            with contextlib.suppress(JournalError):
                self._remove()

    def _append(self, entry: Entry, *, sync: bool) -> None:
        with _translated(self.path):
            if self._fd < 0:
                self._fd = disk.create(self.path, records.encode(self.header))
            disk.append(self._fd, records.encode(entry), sync=sync)
        self.ledger.take(entry)

    def _remove(self) -> None:
        try:
            with _translated(self.path):
                if self.faults:
                    disk.set_aside(self.path, DAMAGED)
                else:
                    disk.remove(self.path)
        finally:
            self._release()

    def _release(self) -> None:
        os.close(self._fd)
        self._fd = -1


def _take_over(path: Path) -> int | None:
    for attempt in range(CLAIM_ATTEMPTS):
        if attempt:
            time.sleep(CLAIM_PAUSE_SECONDS)
        with contextlib.suppress(BlockingIOError):
            return disk.take_over(path)
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
            "without it no setting is changed; TUIBENCH_HOME moves it elsewhere",
        ) from error
