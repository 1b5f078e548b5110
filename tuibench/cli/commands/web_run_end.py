"""End of a watched session: whether it has come, and the pages shown then.

A session that ends by itself leaves a summary. One that was killed leaves none, and no viewer can attach any
more: its page says what happened, what of the run is recorded, and whether settings are still changed.
"""

import contextlib
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from tuibench import paths
from tuibench.document import Shape, Text
from tuibench.errors import RunError
from tuibench.record.reader import Run, is_being_written, load_run
from tuibench.record.recorder import SUMMARY
from tuibench.report.html_chart import Markup, block_markup, join_markup, tag
from tuibench.report.html_page import html_page
from tuibench.report.run_report import html_report
from tuibench.service.client import connect_unix
from tuibench.tuning import journal
from tuibench.tuning.journal import journal_path
from tuibench.tuning.restore import Leftover, leftovers
from tuibench.units import hms, pluralize

RELOAD = tag("script", Markup("setTimeout(() => location.reload(), 2000);"))


"""Reloads the page, as long as settings are not restored."""


class SessionState(StrEnum):
    """`LOST`: the session is gone and has left no summary."""

    RUNNING = "running"
    FINISHED = "finished"
    LOST = "lost"


class SettingsLeft(NamedTuple):
    """What became of the settings that a lost session had changed; `is_open` if some are not restored."""

    text: str
    is_open: bool = False


class WatchedSession(NamedTuple):
    """A session and the record of its run."""

    name: str
    socket: Path
    directory: Path

    def state(self) -> SessionState:
        """The state now. The order matters: a session writes its summary before it goes."""
        is_alive = is_listening(self.socket) or is_being_written(self.directory)
        if (self.directory / SUMMARY).exists():
            return SessionState.FINISHED
        return SessionState.RUNNING if is_alive else SessionState.LOST

    def report_page(self) -> str:
        """The report, also of a session that was killed; while the run continues, a page that says so.

        Raises RunError if the record cannot be read.
        """
        run = load_run(self.directory)
        if not run.is_live:
            return html_report(run)
        words = "The run continues. Its report appears here when the run has ended."
        return html_page("The run continues", tag("main", tag("p", words)))

    def lost_page(self) -> str:
        """The page of a session that has ended without a summary."""
        left = settings_left(self.name)
        return html_page(
            f"{self.name} has ended",
            tag(
                "main",
                tag("h1", "This session has ended without a summary"),
                tag(
                    "p",
                    f"The process of session {self.name} was killed, or it could not write its record. "
                    "Its load has ended with it.",
                ),
                _record_section(self.directory),
                tag("h2", "Settings"),
                tag("p", left.text),
            ),
            RELOAD if left.is_open else None,
        )


def is_listening(socket: Path) -> bool:
    """True while a process listens there."""
    try:
        connect_unix(socket).close()
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True


def settings_left(session: str) -> SettingsLeft:
    """What a session that is gone has left changed, by its journal."""
    path = journal_path(session)
    if not path.exists():
        return SettingsLeft("This session has left no setting of the server changed.")
    if journal.is_locked(path):
        return SettingsLeft("The guardian process is restoring the settings now.", is_open=True)
    found = [each for each in leftovers() if each.path == path]
    if found:
        return SettingsLeft(_leftover_text(found), is_open=True)
    return SettingsLeft("Another session has changed the same settings, and restores them at its end.")


def _leftover_text(found: Sequence[Leftover]) -> str:
    texts = "; ".join(each.text for each in found)
    return f"Not restored yet: {texts}. The command tuibench restore restores them."


def _record_section(directory: Path) -> Markup:
    """What is recorded, and how to see it."""
    title = tag("h2", "Record")
    run: Run | None = None
    with contextlib.suppress(RunError):
        run = load_run(directory)
    if run is None or not run.samples:
        return join_markup(title, tag("p", f"Nothing of the run is recorded in {directory}."))
    seconds = run.samples[-1].elapsed_seconds
    words = f"{pluralize(len(run.samples), 'sample')} up to {hms(seconds)} are recorded in {directory}."
    is_known = directory.parent == paths.runs_dir()
    name = shlex.quote(directory.name if is_known else str(directory))
    return join_markup(
        title,
        tag("p", words),
        tag("p", tag("a", "Open the report of these samples", href="/report")),
        tag("p", "On the host of the session:"),
        block_markup(Text((f"tuibench replay {name}", f"tuibench report {name}"), Shape.CODE)),
    )
