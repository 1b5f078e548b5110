"""`tuibench sessions`: what runs on this machine for this user."""

import shutil
import sys
from collections.abc import Sequence

import msgspec
import typer

from tuibench.cli.columns import aligned, width_of
from tuibench.cli.finding import RunDir, look_in
from tuibench.cli.formats import JSON, TEXT, TextOrJson, demand_format, echo_json
from tuibench.cli.loop import run_async
from tuibench.cli.talk import say
from tuibench.model.message import Hello
from tuibench.session import roster
from tuibench.session.roster import Entry
from tuibench.units import DASH, clock, count, decimal

DETAILS = (
    "Sessions that do not answer are listed with the reason; what dead ones left behind is cleared away."
)
SILENT = "no answer"


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One session; what is not known is None. `note` says why one does not answer."""

    session: str
    profile: str | None = None
    server: str | None = None
    user: str | None = None
    state: str = SILENT
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
    run_dir: RunDir = "",
) -> None:
    demand_format(output)
    look_in(run_dir)
    lines = [line_of(entry) for entry in run_async(roster.sessions())]
    if output == JSON:
        echo_json(lines)
        return
    if not lines:
        say("no session is running (start one with tuibench live … or run … --detach)")
        return
    typer.echo(table(lines, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    for line in lines:
        if line.note:
            say(f"{line.session}, process {line.pid}: {line.note}")


def line_of(entry: Entry) -> Line:
    """What the list says of a session."""
    silent = Line(session=entry.name, pid=entry.pid, socket=str(entry.path), note=entry.trouble)
    return silent if entry.hello is None else _told(silent, entry.hello)


def _told(line: Line, hello: Hello) -> Line:
    load = hello.samples[-1].load if hello.samples else None
    return msgspec.structs.replace(
        line,
        profile=hello.plan.profile,
        server=hello.target.where,
        user=hello.target.user,
        state=str(hello.status.state),
        threads=hello.status.threads,
        rate=hello.status.rate,
        elapsed_seconds=hello.elapsed_seconds,
        transactions_per_second=load.transactions_per_second if load else None,
        viewers=hello.viewers,
        run_directory=hello.run_directory,
        metrics=hello.metrics or None,
    )


HEADINGS = ("session", "profile", "target", "state", "threads", "elapsed", "TPS", "viewers")
FIRST_NUMBER, TARGET = HEADINGS.index("threads"), HEADINGS.index("target")
SHORTEST_TARGET = 12


def table(lines: Sequence[Line], room: int | None = None) -> str:
    """The list for people: a heading, a line each, numbers to the right; targets are cut to fit the room."""
    rows = [HEADINGS, *(_cells(line) for line in lines)]
    if room is not None:
        widest = max(len(row[TARGET]) for row in rows)
        width = max(SHORTEST_TARGET, widest - max(0, width_of(rows) - room))
        rows = [(*row[:TARGET], _ending(row[TARGET], width), *row[TARGET + 1 :]) for row in rows]
    return aligned(rows, FIRST_NUMBER)


def _ending(text: str, width: int) -> str:
    """Of a path, the end tells more than the root."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def _cells(line: Line) -> tuple[str, ...]:
    elapsed = DASH if line.elapsed_seconds is None else clock(line.elapsed_seconds)
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
