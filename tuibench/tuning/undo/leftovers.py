"""Settings that earlier sessions left changed: finding their journals, restoring."""

import asyncio
import os
from functools import partial
from pathlib import Path

import msgspec

from tuibench import paths
from tuibench.clock import Clock, SystemClock
from tuibench.model.target import Target
from tuibench.tuning.admin_connection import AdminConnection, admin_connector
from tuibench.tuning.undo.journal import SUFFIX, Journal, JournalBusyError
from tuibench.tuning.undo.journal_entries import JournalError, JournalHeader
from tuibench.tuning.undo.other_sessions import other_sessions
from tuibench.tuning.undo.restore import Notify, RestoreResult, restore_settings, restore_with_retries


class LeftoverSetting(msgspec.Struct, frozen=True):
    """A setting that a session changed from `original` to `last` and did not restore."""

    name: str
    original: str
    last: str


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """The journal of a session that is gone.

    `problem` says what of the file cannot be used, with a hint. If that is all of it, `header` is None and
    there are no settings.
    """

    path: Path
    header: JournalHeader | None = None
    settings: tuple[LeftoverSetting, ...] = ()
    problem: str = ""

    @property
    def text(self) -> str:
        """What is left, in a line."""
        if self.header is None:
            return self.problem
        changes = ", ".join(f"{one.name} {one.original} → {one.last}" for one in self.settings)
        text = f"{changes or 'nothing'} on {self.header.target.where} (session {self.header.session})"
        return f"{text}; {self.problem}" if self.problem else text

    @property
    def warning(self) -> str:
        """What to know before anything new is begun."""
        return self.problem if self.header is None else f"left changed by an earlier session: {self.text}"


def leftovers(directory: Path | None = None) -> list[Leftover]:
    """The journals that no live process holds, the oldest name first. Empty ones are removed.

    What a live session will restore along with its own changes is not included.
    """
    found = []
    directory = directory or paths.journal_dir()
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(SUFFIX))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [
            Leftover(path=directory, problem=f"cannot read the journals in {directory}: {error.strerror}")
        ]
    for path in (directory / name for name in names):
        try:
            journal = Journal.claim(path)
        except JournalBusyError:
            continue
        except JournalError as error:
            found.append(Leftover(path=path, problem=str(error)))
            continue
        if journal:
            with journal:
                found += _describe(journal)
    return found


async def restore_leftover(
    leftover: Leftover,
    target: Target,
    clock: Clock | None = None,
    retry_seconds: float = 0.0,
    notify: Notify = lambda _: None,
) -> list[RestoreResult]:
    """Restores the settings of a leftover, logged in as `target` says; empty if another process just did.

    While the server is away it tries again for so long, and tells of it. Raises JournalBusyError when a
    guardian is at it now, JournalError when the journal cannot be used.
    """
    journal = await asyncio.to_thread(Journal.claim, leftover.path)
    if journal is None:
        return []
    control, clock = AdminConnection(admin_connector(target)), clock or SystemClock()
    try:
        return await restore_with_retries(
            partial(restore_settings, control, journal, clock), clock, retry_seconds, notify
        )
    finally:
        await control.close()
        await asyncio.to_thread(journal.close)


def _describe(journal: Journal) -> list[Leftover]:
    ledger = journal.ledger
    cared_for = {
        name for other in other_sessions(journal) if other.is_live for name in other.ledger.open_settings
    }
    settings = tuple(
        LeftoverSetting(name, ledger.original(name) or "", ledger.last(name) or "")
        for name in ledger.open_settings
        if name not in cared_for
    )
    if not settings and not journal.faults:
        return []
    problem = f"in {journal.path}, {'; '.join(journal.faults)}" if journal.faults else ""
    return [Leftover(path=journal.path, header=journal.header, settings=settings, problem=problem)]
