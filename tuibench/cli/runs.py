"""`tuibench runs`: what was recorded, one of them in short, and taking them away."""

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from tuibench import paths
from tuibench.cli.columns import aligned, width_of
from tuibench.cli.finding import RunDir, look_in
from tuibench.cli.formats import JSON, TEXT, TextOrJson, demand_format, echo_json
from tuibench.cli.notes import notes
from tuibench.cli.sweep_results import afterwards
from tuibench.cli.talk import say
from tuibench.errors import UsageError
from tuibench.model.environment import Environment
from tuibench.model.summary import Summary
from tuibench.record import collection
from tuibench.record.lines import PlanRecord
from tuibench.record.run import load
from tuibench.record.shelf import RUNNING, RunLine
from tuibench.record.sweep import is_sweep
from tuibench.record.sweep import load as load_sweep
from tuibench.record.sweep_text import written
from tuibench.record.transcript import ending
from tuibench.units import DASH, clock, data, decimal, from_to
from tuibench.workload import nearest

DETAILS = (
    "list: runs and sweeps that were recorded, the newest last. show RUN: its plan, where it was, its "
    "result; of a sweep its table and how far it is. remove RUN …: takes records away for good. A run is "
    "named by its id or a unique part of it, by its folder, or as 'latest', a sweep's cell as SWEEP/CELL. "
    "More of one: tuibench report, replay, sweep --show."
)
HEADINGS = ("run", "started", "profile", "outcome", "threads", "time", "TPS", "p95 ms")


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded run: its plan, where it was, its result."""

    plan: PlanRecord
    environment: Environment | None
    summary: Summary


TABLES_STAY = "; the tables that it made stay on their server"
IN_ID = ("started", "profile")
FIRST_NUMBER = HEADINGS.index("threads")


def runs(
    action: Annotated[str, typer.Argument(metavar="list|show|remove", help="What to do.")] = "list",
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN…", help="Which.", show_default=False)
    ] = None,
    output: TextOrJson = TEXT,
    yes: Annotated[bool, typer.Option("--yes", help="remove: do not ask.")] = False,
    run_dir: RunDir = "",
) -> None:
    demand_format(output)
    if action not in ACTIONS:
        raise UsageError(f"runs cannot '{action}'", nearest.hint(action, ACTIONS))
    look_in(run_dir)
    ACTIONS[action](run or [], output == JSON, yes)


def _list(named: Sequence[str], as_json: bool, _: bool) -> None:
    if named:
        raise UsageError("runs list takes no run", f"tuibench runs show {named[0]}")
    lines = collection.lines()
    if as_json:
        echo_json(lines)
    elif lines:
        typer.echo(table(lines, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
        for line in lines:
            if line.trouble:
                say(f"{line.id}: {line.trouble}")
    else:
        say(f"no run is recorded in {paths.runs_dir()} (tuibench run … makes one)")


def table(lines: Sequence[RunLine], room: int | None = None) -> str:
    """The list for people. Where it does not fit the room, what the id says already is left out."""
    rows: list[Sequence[str]] = [HEADINGS, *map(_cells, lines)]
    if room is None or width_of(rows) <= room:
        return aligned(rows, FIRST_NUMBER)
    shorter = [(row[0], *row[1 + len(IN_ID) :]) for row in rows]
    return aligned(shorter, FIRST_NUMBER - len(IN_ID))


def _cells(line: RunLine) -> tuple[str, ...]:
    started = line.started_at
    return (
        line.id,
        DASH if started is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(started)),
        line.profile or DASH,
        _outcome(line),
        from_to(line.threads_at_start, line.threads),
        DASH if line.seconds is None else clock(line.seconds),
        decimal(line.transactions_per_second, 1),
        decimal(line.p95_ms),
    )


def _outcome(line: RunLine) -> str:
    """How it ended; of a sweep, how far it has come."""
    if line.outcome is None or line.cells is None:
        return line.outcome or "damaged"
    if line.cells_done == line.cells:
        return f"sweep: {line.cells} cells"
    running = f"{line.outcome}, " if line.outcome == RUNNING else ""
    return f"sweep: {running}{line.cells_done} of {line.cells} cells"


def _show(named: Sequence[str], as_json: bool, _: bool) -> None:
    if len(named) != 1:
        raise UsageError("runs show takes one run", "tuibench runs list says which there are")
    directory = collection.find(named[0])
    if is_sweep(directory):
        _show_sweep(directory, as_json)
        return
    run = load(directory)
    if as_json:
        echo_json(Shown(plan=run.plan, environment=run.environment, summary=run.summary))
        return
    plan, seen = run.plan, run.environment
    typer.echo(f"{run.id}: {run.summary.outcome} after {clock(run.summary.seconds)}")
    threads = from_to(plan.plan.threads, run.summary.threads)
    noun = "thread" if threads == "1" else "threads"
    typer.echo(f"{plan.plan.profile}, {plan.data_set or 'tables not described'}, {threads} {noun}")
    typer.echo(f"{plan.server.version_text} at {plan.server.where}, as {plan.target.user or 'nobody'}")
    if seen is not None:
        host = seen.host
        typer.echo(f"from {host.name} ({seen.location}): {host.cpu_model}, {host.cores} cores, {host.os}")
    typer.echo(ending(run), nl=False)
    for line in notes(run.summary, str(run.directory)):
        say(line)


def _show_sweep(directory: Path, as_json: bool) -> None:
    """Its table, how far it is, and how it goes on."""
    known, line = load_sweep(directory), collection.line_of_sweep(directory)
    if as_json:
        typer.echo(written(known, form=JSON), nl=False)
        return
    state = "complete" if line.cells_done == line.cells else line.outcome
    typer.echo(f"{line.id}: {state}, {line.cells_done} of {line.cells} cells")
    if known.done:
        typer.echo(written(known), nl=False)
    for text in afterwards(known, directory):
        say(text)


def _remove(named: Sequence[str], as_json: bool, yes: bool) -> None:
    if not named:
        raise UsageError("runs remove takes at least one run", "tuibench runs list says which there are")
    if as_json:
        raise UsageError("runs remove has no --format json")
    directories = list(dict.fromkeys(collection.find(name) for name in named))
    for directory in directories:
        if yes or _agreed(directory):
            has_tables = collection.has_tables(load_sweep(directory)) if is_sweep(directory) else False
            collection.remove(directory)
            say(f"removed {directory}" + (TABLES_STAY if has_tables else ""))


def _agreed(directory: Path) -> bool:
    """Asks the user. Raises UsageError where there is nobody to ask."""
    if not sys.stdin.isatty():
        raise UsageError("whether to remove runs cannot be asked here", "add --yes")
    line = collection.line_of(directory)
    what = f"the sweep {line.id}" if line.kind == "sweep" else line.id
    return typer.confirm(f"remove {what} ({line.profile}, {data(line.bytes)}) for good?", err=True)


ACTIONS: dict[str, Callable[[Sequence[str], bool, bool], None]] = {
    "list": _list,
    "show": _show,
    "remove": _remove,
}
