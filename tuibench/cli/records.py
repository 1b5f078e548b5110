"""`tuibench runs`, `report`, `replay`: recorded runs as a list, as a report, and in the live screens."""

import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tuibench.base import paths, sanitize
from tuibench.base.errors import RunError, UsageError, did_you_mean
from tuibench.base.feature import installed, resolve
from tuibench.base.units import DASH, binary_size, decimal, first_to_last, hms, local_time
from tuibench.cli import candidates
from tuibench.cli.arguments import STDOUT
from tuibench.cli.options import RunDir, ScreenOptions, TextOrJson
from tuibench.cli.output import (
    JSON,
    ONE_FORMAT_ON_STDOUT,
    TEXT,
    align_columns,
    check_format,
    confirm,
    echo_json,
    info,
    table_width,
    write_output,
    writing_to,
)
from tuibench.cli.runner import require_terminal, run_async
from tuibench.model.message import REPLAY_SPEEDS
from tuibench.record import store
from tuibench.record.reader import Run, load_run
from tuibench.record.recorder import pretty_json
from tuibench.record.store import RUNNING, RecordedEntry, RecordedRun, find_run
from tuibench.record.sweep_folder import is_sweep, load_sweep
from tuibench.report.run_report import html_report, run_markdown
from tuibench.report.text import csv_text, final_report, run_notes, sysbench_text

HEADINGS = ("run", "started", "profile", "outcome", "threads", "time", "TPS", "p95 ms")


COLUMNS_IN_ID = ("started", "profile")
FIRST_NUMERIC_COLUMN = HEADINGS.index("threads")


def runs(
    action: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.words("list", "show", "remove"),
            metavar="list|show|remove",
            help="Action.",
        ),
    ] = "list",
    run: Annotated[
        list[str] | None,
        typer.Argument(
            autocompletion=candidates.object_of_action(candidates.runs),
            metavar="RUN…",
            help="Which.",
            show_default=False,
        ),
    ] = None,
    output: TextOrJson = TEXT,
    yes: Annotated[bool, typer.Option("--yes", help="remove: do not ask for confirmation.")] = False,
    run_dir: RunDir = "",
) -> None:
    """list: recorded runs and sweeps, the newest last. show RUN: plan, environment and figures; of a sweep,
    its table and progress. remove RUN …: deletes records. Name a run by its id or a unique part of it,
    by its folder, or as 'latest'; a sweep's cell as SWEEP/CELL. See also: tuibench report, replay, sweep
    --show.
    """
    check_format(output)
    if action not in ACTIONS:
        raise UsageError(f"runs has no action '{action}'", did_you_mean(action, ACTIONS))
    paths.keep_records_in(run_dir)
    ACTIONS[action](run or [], output == JSON, yes)


def _list(named: Sequence[str], as_json: bool, _: bool) -> None:
    if named:
        raise UsageError("runs list takes no run", f"tuibench runs show {named[0]}")
    lines = store.list_recorded()
    if as_json:
        echo_json(lines)
    elif lines:
        typer.echo(runs_table(lines, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
        for line in lines:
            if line.error:
                info(f"{line.id}: {line.error}")
    else:
        info(f"no run is recorded in {paths.runs_dir()} (tuibench run … records one)")


def runs_table(lines: Sequence[RecordedEntry], room: int | None = None) -> str:
    """The list as text. If it is wider than `room`, columns whose content is part of the id are left out."""
    rows: list[Sequence[str]] = [HEADINGS, *map(_cells, lines)]
    if room is None or table_width(rows) <= room:
        return align_columns(rows, FIRST_NUMERIC_COLUMN)
    shorter = [(row[0], *row[1 + len(COLUMNS_IN_ID) :]) for row in rows]
    return align_columns(shorter, FIRST_NUMERIC_COLUMN - len(COLUMNS_IN_ID))


def _cells(line: RecordedEntry) -> tuple[str, ...]:
    started = line.started_at
    return (
        line.id,
        DASH if started is None else local_time(started, "%Y-%m-%d %H:%M"),
        line.profile or DASH,
        _outcome_text(line),
        first_to_last(line.threads_at_start, line.threads),
        DASH if line.seconds is None else hms(line.seconds),
        decimal(line.transactions_per_second, 1),
        decimal(line.p95_ms),
    )


def _outcome_text(line: RecordedEntry) -> str:
    """The outcome of a run, or the progress of a sweep."""
    if line.outcome is None or line.cells is None:
        return line.outcome or "damaged"
    if line.cells_done == line.cells:
        return f"sweep: {line.cells} cells"
    running = f"{line.outcome}, " if line.outcome == RUNNING else ""
    return f"sweep: {running}{line.cells_done} of {line.cells} cells"


def _show(named: Sequence[str], as_json: bool, _: bool) -> None:
    if len(named) != 1:
        raise UsageError("runs show takes one run", "see tuibench runs list")
    directory = store.find_recorded(named[0])
    shown = (resolve(one.show_recorded) for one in installed() if one.show_recorded)
    if any(show(directory, as_json=as_json) for show in shown):
        return
    run = load_noted(directory)
    if as_json:
        echo_json(RecordedRun(run.id, run.plan, run.summary, run.environment))
        return
    plan, seen = run.plan, run.environment
    threads = first_to_last(plan.plan.threads, run.summary.threads)
    noun = "thread" if threads == "1" else "threads"
    load = f"{plan.plan.profile}, {plan.data_set or 'tables not described'}, {threads} {noun}"
    lines = [
        f"{run.id}: {run.summary.outcome} after {hms(run.summary.seconds)}",
        "the server's own traffic, without a load" if plan.plan.is_watch else load,
        f"{plan.server.version_text} at {plan.server.where}, user {plan.target.user or '(none)'}",
    ]
    if seen is not None:
        host = seen.host
        lines.append(f"from {host.name} ({seen.location}): {host.cpu_model}, {host.cores} cores, {host.os}")
    typer.echo("\n".join(map(sanitize.text, lines)))
    typer.echo(final_report(run), nl=False)
    for line in run_notes(run.summary, str(run.directory)):
        info(line)


def load_noted(directory: Path) -> Run:
    """Load a run, and report lines of its record that were left out."""
    run = load_run(directory)
    if run.refusal:
        info(f"tuibench: {run.id}: {run.refusal}")
    return run


def _remove(named: Sequence[str], as_json: bool, yes: bool) -> None:
    if not named:
        raise UsageError("runs remove takes at least one run", "see tuibench runs list")
    if as_json:
        raise UsageError("runs remove has no --format json")
    directories = list(dict.fromkeys(store.find_recorded(name) for name in named))
    for directory in directories:
        if yes or _confirm_removal(directory):
            has_tables = store.has_tables(load_sweep(directory)) if is_sweep(directory) else False
            store.remove_recorded(directory)
            note = "; the tables that it created stay on the server" if has_tables else ""
            info(f"removed {directory}{note}")


def _confirm_removal(directory: Path) -> bool:
    """Ask for confirmation. Raises UsageError without a terminal."""
    if not sys.stdin.isatty():
        raise UsageError("cannot ask for confirmation without a terminal", "add --yes")
    line = store.describe_recorded(directory)
    what = f"the sweep {line.id}" if line.kind == "sweep" else line.id
    return confirm(f"remove {what} ({sanitize.text(line.profile)}, {binary_size(line.bytes)}) permanently?")


ACTIONS: dict[str, Callable[[Sequence[str], bool, bool], None]] = {
    "list": _list,
    "show": _show,
    "remove": _remove,
}


REPORT_FORMATS: dict[str, Callable[[Run], Iterable[str]]] = {
    "sysbench": sysbench_text,
    "json": lambda run: (pretty_json(run.summary).decode(),),
    "csv": csv_text,
    "markdown": lambda run: (run_markdown(run),),
    "html": lambda run: (html_report(run),),
}
"""For each format of a report, the function that yields its text in pieces."""


def report(
    run: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.runs,
            metavar="RUN",
            help="Id of the run, a unique part of it, its folder, or latest.",
        ),
    ],
    sysbench: Annotated[
        str, typer.Option(help="What the run printed: interval lines and summary.", metavar="[=FILE]")
    ] = "",
    json: Annotated[str, typer.Option(help="The summary, tuibench.summary/1.", metavar="[=FILE]")] = "",
    csv: Annotated[str, typer.Option(help="A row for each interval, as run --csv.", metavar="[=FILE]")] = "",
    markdown: Annotated[
        str,
        typer.Option(help="The sections of the HTML report, without charts, as Markdown.", metavar="[=FILE]"),
    ] = "",
    html: Annotated[str, typer.Option(metavar="FILE", help="Everything with charts, in one HTML file.")] = "",
    form: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="sysbench, json, csv, markdown or html, on stdout."),
    ] = "",
    run_dir: RunDir = "",
) -> None:
    """Name the run by its id or a unique part of it, by its folder, or as 'latest'; a sweep's cell as
    SWEEP/CELL. Each format is printed on stdout, or with =FILE written to a file; the default is
    --sysbench. No server is needed.
    """
    given = {"sysbench": sysbench, "json": json, "csv": csv, "markdown": markdown, "html": html}
    if form:
        check_format(form, tuple(given))
        if given[form]:
            raise UsageError(f"--format={form} and --{form} are the same", "give one of them")
        given[form] = STDOUT
    wanted = {name: place for name, place in given.items() if place} or {"sysbench": STDOUT}
    if list(wanted.values()).count(STDOUT) > 1:
        raise UsageError(ONE_FORMAT_ON_STDOUT, "give the others a file: --csv=run.csv")
    paths.keep_records_in(run_dir)
    found = load_noted(find_run(run))
    for name, place in wanted.items():
        write_output(place, REPORT_FORMATS[name](found))
    if "sysbench" in wanted:
        for line in run_notes(found.summary, str(found.directory)):
            info(line)


CAST_SIZE = "120x36"
MOST_CELLS = 500
SLOWEST, FASTEST = 0.01, REPLAY_SPEEDS[-1]


def replay(
    run: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.runs,
            metavar="RUN",
            help="Id of the run, a unique part of it, its folder, or latest.",
        ),
    ],
    *,
    speed: Annotated[float, typer.Option(help="Speed relative to the run: 4 is four times as fast.")] = 1,
    cast: Annotated[
        str, typer.Option(metavar="FILE", help="Write an asciinema cast instead of opening the screen.")
    ] = "",
    size: Annotated[
        str, typer.Option(metavar="WxH", help="Columns and rows of the cast [120x36].", show_default=False)
    ] = "",
    screen: ScreenOptions,
    run_dir: RunDir = "",
) -> None:
    """Name the run by its id or a unique part of it, by its folder, or as 'latest'. p pauses; , and . go 10
    s back and forward, < and > a minute, ^ and $ to the start and the end; { and } change the speed; q
    quits.
    """
    if not SLOWEST <= speed <= FASTEST:
        raise UsageError(f"--speed must be between {SLOWEST:g} and {FASTEST:g}, not {speed:g}")
    paths.keep_records_in(run_dir)
    found = load_noted(find_run(run))
    if not found.samples:
        raise RunError(f"{found.id} has no samples: its load never started")
    if cast:
        from tuibench.session.replay import ReplayClient, timed_messages
        from tuibench.tui.viewer import write_cast

        display, cells = screen.display_options(), parse_size(size or CAST_SIZE)
        messages = timed_messages(found)
        with writing_to(cast), Path(cast).open("w", encoding="utf-8") as file:
            run_async(write_cast(file, ReplayClient(found).hello, messages, display, cells, speed))
        info(f"{cast}: {len(found.samples)} samples; asciinema play {cast}, or agg {cast} run.gif")
        return
    if size:
        raise UsageError("--size applies to a cast", "give --cast FILE, too")
    require_terminal(f"tuibench report {run}")
    display = screen.display_options()
    from tuibench.session.replay import ReplayClient
    from tuibench.tui import viewer

    viewer.run_replay(ReplayClient(found, speed), display)


def parse_size(text: str) -> tuple[int, int]:
    """Parse columns and rows. Raises UsageError for an invalid size, or one too small for the screens."""
    from tuibench.tui.screens.base import MIN_SIZE

    width, by, height = text.partition("x")
    if not (by and width.isdecimal() and height.isdecimal()):
        raise UsageError(f"--size: '{text}' is not a size", "columns and rows: 120x36")
    found = int(width), int(height)
    if found[0] < MIN_SIZE[0] or found[1] < MIN_SIZE[1] or max(found) > MOST_CELLS:
        raise UsageError(f"--size: from {MIN_SIZE[0]}x{MIN_SIZE[1]} to {MOST_CELLS}x{MOST_CELLS}, not {text}")
    return found
