"""`tuibench sessions`: lists this user's running sessions on this machine."""

import shutil
import sys
from collections.abc import Sequence

import click
import msgspec

from tuibench.cli.output.formats import (
    JSON,
    TEXT,
    TextOrJson,
    align_columns,
    check_format,
    echo_json,
    table_width,
)
from tuibench.cli.output.log import info
from tuibench.cli.runner.event_loop import run_async
from tuibench.metrics.figures import read
from tuibench.model.message import Hello
from tuibench.session.service import registry
from tuibench.session.service.registry import SessionEntry
from tuibench.units import DASH, count, decimal, hms

NO_ANSWER = "no answer"


class SessionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One session; unknown values are None. `note` is the reason why one does not answer."""

    session: str
    profile: str | None = None
    server: str | None = None
    user: str | None = None
    state: str = NO_ANSWER
    threads: int | None = None
    rate: float | None = None
    elapsed_seconds: float | None = None
    transactions_per_second: float | None = None
    viewers: int | None = None
    pid: int
    socket: str
    run_directory: str | None = None
    note: str = ""
    metrics: str | None = None


def sessions(
    output: TextOrJson = TEXT,
) -> None:
    """Sessions that do not answer are listed with the reason; files of ended ones are removed."""
    check_format(output)
    lines = [session_line(entry) for entry in run_async(registry.running_sessions())]
    if output == JSON:
        echo_json(lines)
        return
    if not lines:
        info("no session is running (start one with tuibench live … or run … --detach)")
        return
    click.echo(sessions_table(lines, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    for line in lines:
        if line.note:
            info(f"{line.session}, process {line.pid}: {line.note}")


def session_line(entry: SessionEntry) -> SessionLine:
    """Line of a session in the list."""
    silent = SessionLine(session=entry.name, pid=entry.pid, socket=str(entry.path), note=entry.error)
    return silent if entry.hello is None else _with_hello(silent, entry.hello)


def _with_hello(line: SessionLine, hello: Hello) -> SessionLine:
    figures = hello.samples[-1].throughput if hello.samples else None
    return msgspec.structs.replace(
        line,
        profile=hello.plan.profile,
        server=hello.target.where,
        user=hello.target.user,
        state=str(hello.status.state),
        threads=hello.status.threads,
        rate=hello.status.rate,
        elapsed_seconds=hello.elapsed_seconds,
        transactions_per_second=read("tps", figures),
        viewers=hello.viewers,
        run_directory=hello.run_directory,
        metrics=hello.metrics or None,
    )


HEADINGS = ("session", "profile", "target", "state", "threads", "elapsed", "TPS", "viewers")
FIRST_NUMERIC_COLUMN, TARGET = HEADINGS.index("threads"), HEADINGS.index("target")
MIN_TARGET_WIDTH = 12


def sessions_table(lines: Sequence[SessionLine], room: int | None = None) -> str:
    """The list as text: heading, one line each, numbers right-aligned; targets are shortened to the room."""
    rows = [HEADINGS, *(_cells(line) for line in lines)]
    if room is not None:
        widest = max(len(row[TARGET]) for row in rows)
        width = max(MIN_TARGET_WIDTH, widest - max(0, table_width(rows) - room))
        rows = [(*row[:TARGET], _shorten_start(row[TARGET], width), *row[TARGET + 1 :]) for row in rows]
    return align_columns(rows, FIRST_NUMERIC_COLUMN)


def _shorten_start(text: str, width: int) -> str:
    """Shorten a path at its start: its end identifies it better."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def _cells(line: SessionLine) -> tuple[str, ...]:
    elapsed = DASH if line.elapsed_seconds is None else hms(line.elapsed_seconds)
    return (
        line.session,
        line.profile or DASH,
        DASH if line.server is None else f"{line.user}@{line.server}",
        line.state,
        count(line.threads),
        elapsed,
        decimal(line.transactions_per_second, 1),
        count(line.viewers),
    )
