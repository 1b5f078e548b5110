"""Execution of a sweep and of `tuibench versions` from the command line.

It creates the sweep's folder or resumes it, shows progress on stderr (a line per finished cell, and on a
terminal a progress bar), and prints the table. `versions` compares server programs over several starts of
each.
"""

import re
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from os.path import exists
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer
from msgspec.structs import replace

from tuibench.base import paths, sanitize, units
from tuibench.base.errors import ExitCode, RunError, TuibenchError, UsageError
from tuibench.base.units import pluralize, significant
from tuibench.cli import candidates
from tuibench.cli.headless import warn_leftovers
from tuibench.cli.options import (
    CONTEXT,
    AdhocSqlOptions,
    PrivateServerOptions,
    SessionOptions,
    StartOptions,
    make_plan,
    parse_profile_options,
)
from tuibench.cli.output import JSON, check_writable, info, timestamp, write_output
from tuibench.cli.parameters import is_given
from tuibench.cli.runner import on_ending_signals, record_folder, run_async
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.typer_command import OmitOptions, PlanValues, Takes
from tuibench.features.sweep import foreign
from tuibench.features.sweep import runner as sweeping
from tuibench.features.sweep.beginning import beginning_line
from tuibench.features.sweep.bisection import sweep_step
from tuibench.features.sweep.formats import check_format, compare_sweeps, sweep_text, versions_text
from tuibench.features.sweep.options import AllowCommands, ResultOptions, SweepOptions
from tuibench.features.sweep.planning import (
    all_cells,
    build_cases,
    parse_profiles,
    parse_threads,
    remaining_seconds,
    starting_seconds,
    with_servers,
)
from tuibench.features.sweep.runner import InterruptedSweep
from tuibench.features.sweep.tables import ping_ms
from tuibench.features.sweep.versions import (
    SUITE,
    BuildAxis,
    create_server_sweep,
    create_versions,
    crossed,
    limits_axis,
    parse_builds,
    start_axes,
    suite_cases,
    versions_runner,
    versions_setup,
)
from tuibench.load.tables import LoadProgress, ensure_database
from tuibench.model.event import Event, EventKind
from tuibench.model.message import SessionMessage
from tuibench.model.option import check_range, parse_words
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.schedule import checked_threads
from tuibench.model.server import Target
from tuibench.model.sweep import (
    SUMMARY,
    Cell,
    CellResult,
    ServerBuild,
    Sweep,
    SweepPlan,
    SweepVariant,
    VersionsSetup,
)
from tuibench.model.tick import Sample
from tuibench.mysql.errors import NoDatabaseError
from tuibench.record import store
from tuibench.record.store import has_tables
from tuibench.record.sweep_folder import SweepFolder, is_sweep, load_sweep
from tuibench.servers.binaries import Binary
from tuibench.tuning.trial_subject import PRESET, THREADS

REPORTED_CELL_EVENTS = frozenset({EventKind.RESTART, EventKind.FOREIGN, EventKind.RECONNECT})
"""Kinds of a cell's events that are reported immediately."""

SWEEP_WORDS = ("cell", "case", "variant", "run")
VERSIONS_WORDS = ("run", "test", "server", "start")
"""The words for a cell and its axes in a comparison of versions."""

BarUpdate = Callable[[float, str], None]
"""Receives the number of finished cells, and the current activity."""


class SweepProgress:
    """Reports the progress of a sweep. `print_line` prints a line, `move` updates the bar, if any."""

    def __init__(
        self, plan: SweepPlan, print_line: Callable[[str], None] = info, move: BarUpdate | None = None
    ) -> None:
        self._plan = plan
        self._total = len(all_cells(plan))
        self._print = print_line
        self._move: BarUpdate = move or (lambda done, words: None)
        self._words = ""
        self._done = 0

    def outlook(self, sweep: Sweep) -> str:
        """Number of cells and estimated duration, which includes the creation of tables on private servers
        only.
        """
        left = self._total - len(sweep.done)
        self._done = len(sweep.done)
        plan, base = self._plan, self._plan.base
        took = units.hms(remaining_seconds(base, sweep.done, left) + starting_seconds(sweep))
        already = f", {self._done} of them done" if self._done else ""
        cell, case, variant, repeat = VERSIONS_WORDS if sweep.record.versions else SWEEP_WORDS
        order = "" if sweep.record.versions else f", {plan.order}"
        return (
            f"{pluralize(self._total, cell)}{already}: {pluralize(len(plan.cases), case)} × "
            f"{pluralize(len(plan.variants), variant)} × "
            f"{pluralize(len(plan.threads), 'number')} of threads × "
            f"{pluralize(plan.repeats, repeat)}{order}, "
            f"{base.warmup_seconds:g} + {base.seconds or 0:g} s each{_starts_text(sweep)}: "
            f"about {took} to go"
        )

    def on_cell_start(self, cell: Cell, place: int) -> None:
        self._words = f"{place}/{self._total} {cell.words}"
        self._move(self._done, self._words)

    def on_message(self, message: SessionMessage) -> None:
        """Handle a message of the current cell's session."""
        if isinstance(message, Sample):
            load = self._plan.base.warmup_seconds + (self._plan.base.seconds or 0)
            gone = message.elapsed_seconds + self._plan.base.warmup_seconds
            self._move(self._done + min(0.99, gone / load), self._words)
        elif isinstance(message, Event) and message.kind in REPORTED_CELL_EVENTS:
            self.report(f"{timestamp(message.elapsed_seconds)} {message.text}")

    def ended(self, result: CellResult, place: int, sweep: Sweep) -> None:
        self._done = len(sweep.done)
        left = units.hms(
            remaining_seconds(self._plan.base, sweep.done, self._total - len(sweep.results))
            + starting_seconds(sweep, is_running=True)
        )
        self._print(f"[{place:>{len(str(self._total))}}/{self._total}] {result.cell.words}: "
                  f"{cell_result_text(result)}; {left} left")  # fmt: skip
        self._move(self._done, self._words)

    def report(self, text: str) -> None:
        self._print(text)

    def loading(self, progress: LoadProgress) -> None:
        """Report the progress of loading tables."""
        self._move(self._done, f"loading {progress.rows:,.0f} of {progress.total_rows:,.0f} rows")


def _starts_text(sweep: Sweep) -> str:
    seconds = starting_seconds(sweep)
    return f", and {units.hms(seconds)} for starts and tables" if seconds else ""


def cell_result_text(result: CellResult) -> str:
    """A cell's result in a few words."""
    figures = result.figures
    if not figures:
        return f"failed: {result.failure}"
    limited = ", client-limited" if result.limited else ""
    p95 = units.milliseconds(figures.get("p95_ms"))
    return f"{significant(figures['headline'], 3)} {result.headline}, p95 {p95}{limited}"


@contextmanager
def show_sweep_progress(plan: SweepPlan) -> Iterator[SweepProgress]:
    """Progress of a sweep, with a bar if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield SweepProgress(plan)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(file=sanitize.unsafe(sys.stderr))
    columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task("", total=len(all_cells(plan)))
        yield SweepProgress(
            plan,
            lambda text: console.print(sanitize.text(text), markup=False, highlight=False, soft_wrap=True),
            lambda done, words: bars.update(task, completed=done, description=sanitize.text(words)),
        )


def show_recorded(directory: Path, *, as_json: bool) -> bool:
    """Print a sweep: its table, its progress, and how to resume it. Returns False if the folder has none."""
    if not is_sweep(directory):
        return False
    known, line = load_sweep(directory), store.describe_sweep(directory)
    if as_json:
        typer.echo(sweep_text(known, form=JSON), nl=False)
        return True
    state = "complete" if line.cells_done == line.cells else line.outcome
    typer.echo(f"{line.id}: {state}, {line.cells_done} of {line.cells} cells")
    if known.done:
        typer.echo(sweep_text(known), nl=False)
    for text in filter(None, (line.error, *sweep_notes(known, directory))):
        info(text)
    return True


def sweep_notes(known: Sweep, directory: Path) -> list[str]:
    """Notes below the tables: failed cells, warnings, how to continue, location of the files."""
    lines = [f"failed: {one.cell.words}: {one.failure}" for one in known.results if one.outcome == "failed"]
    lines += [*sweep_warnings(known), *filter(None, [beginning_line(known)])]
    versions = known.record.versions
    left = known.record.plan.cell_count - len(known.done)
    if versions is not None and versions.bisect:
        left = len(sweep_step(known).wanted)
    command, cell = ("versions", "run") if versions is not None else ("sweep", "cell")
    if left:
        are = f"1 {cell} is" if left == 1 else f"{left} {cell}s are"
        lines.append(f"{are} left; continue with: tuibench {command} --resume {directory}")
    if has_tables(known):
        lines.append("the tables that the sweep created still exist")
    if (directory / PAGE).exists():
        lines.append(f"page with charts: {directory / PAGE}")
    lines.append(f"recorded in {directory}")
    return lines


def sweep_warnings(known: Sweep) -> list[str]:
    """One warning of each kind, in the wording of the first cell: its figures differ from cell to cell."""
    kinds: dict[str, list[str]] = {}
    for result in known.done:
        for warning in result.warnings:
            kinds.setdefault(warning.partition(":")[0], []).append(warning)
    return [f"warning: {same[0]} ({len(same)} of {len(known.done)} cells)" for same in kinds.values()]


def recorded_sweeps_text(places: list[str], results: ResultOptions) -> str:
    """Table of earlier sweeps."""
    sweeps = [load_sweep(sweep_folder(place)) for place in places if place]
    if not sweeps:
        raise UsageError("no sweep is named", "give its folder; they are in " + str(paths.sweeps_dir()))
    if results.compare:
        return compare_sweeps(sweeps, results.form)
    if len(sweeps) > 1:
        raise UsageError("--show takes one sweep", "--compare compares several")
    return sweep_text(sweeps[0], results.table, results.form)


def sweep_folder(place: str) -> Path:
    """Folder of a sweep, given as a path or by its name among all sweeps."""
    named = paths.sweeps_dir() / place
    return named if not exists(place) and exists(named) else Path(place)


def resumed(place: str, *, allow_commands: bool) -> SweepFolder:
    """The folder of a sweep to go on with.

    Raises UsageError if its plan is not one that this account has recorded, with what it would run, unless
    `allow_commands` gives consent.
    """
    folder = SweepFolder.resume(sweep_folder(place))
    if folder.is_own() or allow_commands:
        return folder
    folder.close()
    runs = [sanitize.excerpt(each) for each in foreign.acting(folder.sweep.record)]
    raise UsageError(
        "\n  ".join([f"the plan in {place} is not one that this account has recorded; it would run:", *runs]),
        "nothing was run; --allow-commands continues it, if you trust whoever made it. "
        "bundle, there, and reproduce, here, take only the load out of it",
    )


def run_sweep(
    context: typer.Context,
    server: ServerOptions,
    adhoc: AdhocSqlOptions,
    axes: SweepOptions,
    options: PlanValues,
    session: SessionOptions,
    private: PrivateServerOptions,
    start: StartOptions,
    results: ResultOptions,
    profile: str,
) -> None:
    """Execute the command. Raises typer's Exit with the exit code."""
    check_format(results.table, results.form)
    session.keep_records()
    login = Target()
    if results.show or results.compare:
        results.write(recorded_sweeps_text([profile, *context.args], results))
        return
    check_writable(results.out)
    programs = _programs(axes, private)
    at_start, live = start_axes(axes.setting or [], programs)
    if programs:
        axes = msgspec.structs.replace(axes, setting=live)
    plan = _plan_from_options(context, profile, adhoc, axes, options)
    if plan is not None:
        plan = start.applied(plan, is_private=bool(axes.server_programs))
    if options["host_metrics"] and axes.server_programs:
        raise UsageError("--host-metrics is for a server on another host", "private servers are on this host")
    if private.is_given and not axes.server_programs:
        raise UsageError(
            "--cpus, --memory, --my-cnf and --mysqld-option are for private servers",
            "--server=mariadbd starts them",
        )
    warn_leftovers()
    if results.resume:
        folder = resumed(results.resume, allow_commands=results.allow_commands)
        if folder.sweep.record.versions is not None:
            folder.close()
            raise UsageError(
                f"{folder.directory} is a comparison of versions",
                "tuibench versions --resume continues it",
            )
    elif plan is not None and axes.server_programs:
        login = Target()
        folder = _create_on_private_servers(plan, programs, at_start, private)
    elif plan is not None:
        login = server.target()
        folder = run_async(_create_sweep(plan, login, create_database=axes.create_database))
    else:
        raise UsageError("no profile is named", "give one, such as oltp_read_write, --sql, or --resume DIR")
    with closing(folder):
        is_resumed = results.resume and folder.sweep.record.servers is None
        target = _resumed_target(folder, plan, server, options) if is_resumed else login
        code = run_and_print(
            folder,
            _run(folder, target, yes_this_server=session.yes_this_server),
            lambda known: results.write(sweep_text(known, results.table, results.form)),
            keeps_tables=True,
        )
    raise typer.Exit(code)


def _programs(axes: SweepOptions, private: PrivateServerOptions) -> list[ServerBuild]:
    """The programs of the private servers, each combined with every option file."""
    if not axes.server_programs:
        return []
    return with_option_files(parse_builds(parse_words("--server", axes.server_programs)), private)


def with_option_files(
    named: Sequence[tuple[str, Binary]], private: PrivateServerOptions
) -> list[ServerBuild]:
    """Each program combined with each of the option files."""
    return [
        replace(
            build, name=", ".join([*([name] * (len(named) > 1 or not has_several)), *[word] * has_several])
        )
        for name, binary in named
        for found in [private.builds(name, binary)]
        for has_several in [len(found) > 1]
        for word, build in found
    ]


def _create_on_private_servers(
    plan: SweepPlan,
    programs: Sequence[ServerBuild],
    at_start: Sequence[BuildAxis],
    private: PrivateServerOptions,
) -> SweepFolder:
    """Create a sweep on private servers of these programs, each started once as a check."""
    limits = private.every_limit()
    builds = crossed(programs, [*at_start, limits_axis(limits)])
    variants = with_servers(plan.variants, [build.name for build in builds])
    info(f"starting each server once: {', '.join(build.words for build in builds)}")
    plan = replace(plan, variants=variants, prepare=True, cleanup=False)
    return run_async(create_server_sweep(plan, builds, limits[0], _new_folder(plan)))


async def _create_sweep(plan: SweepPlan, target: Target, *, create_database: bool) -> SweepFolder:
    """Create a sweep, and its database if requested."""
    if create_database:
        await ensure_database(target)
    try:
        return await sweeping.create_sweep(plan, target, _new_folder(plan))
    except NoDatabaseError as error:
        if plan.prepare:
            error.hint = "--create-database creates it, too"
        raise


def _resumed_target(
    folder: SweepFolder, plan: SweepPlan | None, server: ServerOptions, options: PlanValues
) -> Target:
    """Server of a resumed sweep. Raises UsageError if the plan or the server differs."""
    record = folder.sweep.record
    if plan is not None:
        sweeping.check_same_plan(record.plan, plan, any_seed=not options["rand_seed"])
    target = server.over(record.target, server.target())
    run_async(sweeping.check_same_server(folder, target))
    return target


def _plan_from_options(
    context: typer.Context, profile: str, adhoc: AdhocSqlOptions, axes: SweepOptions, options: PlanValues
) -> SweepPlan | None:
    """Plan given on the command line; None without one."""
    if profile or adhoc.is_given:
        return axes.plan(*adhoc.profile_and_options(profile, context.args), options, adhoc)
    own = [one.name for group in (AdhocSqlOptions, SweepOptions) for one in msgspec.structs.fields(group)]
    given = [name for name in own if is_given(context, name)] + sorted(options.given)
    if given or context.args:
        name = given[0].removesuffix("_programs").replace("_", "-") if given else ""
        option = context.args[0] if context.args else f"--{name}"
        raise UsageError(
            f"{option} is part of a plan, but no profile is named", "give the whole plan, or none"
        )
    return None


def run_and_print(
    folder: SweepFolder,
    run: Coroutine[Any, Any, None],
    write: Callable[[Sweep], None],
    *,
    write_page: Callable[[Sweep], None] | None = None,
    keeps_tables: bool = False,
) -> ExitCode:
    """Run the rest of a sweep, then write its page, its notes and its results, even if it fails or is
    interrupted. The results come last, because they are the answer.

    A new sweep that fails before its first result is discarded, unless it left tables on the server.
    """
    failure: TuibenchError | None = None
    interrupted = False
    try:
        run_async(run)
    except InterruptedSweep:
        interrupted = True
    except TuibenchError as error:
        failure = error
    known = folder.sweep
    has_tables = keeps_tables and any(one.prepared for one in known.data)
    if failure is not None and not known.results and not has_tables:
        folder.discard()
        raise failure
    if known.done and write_page is not None:
        write_page(known)
    for line in sweep_notes(known, folder.directory):
        info(line)
    if known.done:
        write(known)
    if failure is not None:
        raise failure
    if interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.RUN_FAILED if len(known.done) < len(known.results) else ExitCode.DONE


async def _run(folder: SweepFolder, target: Target, *, yes_this_server: bool) -> None:
    record = folder.sweep.record
    if record.servers is not None:
        await run_on_private_servers(folder, record.servers)
        return
    server = record.surroundings.server
    with show_sweep_progress(record.plan) as progress:
        conductor = sweeping.build_runner(
            folder,
            target,
            progress,
            on_message=progress.on_message,
            show=progress.loading,
            yes_this_server=yes_this_server,
        )
        on_ending_signals(conductor.interrupt)
        progress.report(
            f"{server.version_text} at {target.where}, ping {units.milliseconds(ping_ms(folder.sweep))}"
        )
        progress.report(progress.outlook(folder.sweep))
        await conductor.run()


async def run_on_private_servers(folder: SweepFolder, setup: VersionsSetup) -> None:
    """Run the rest of a sweep, each start on a new private server."""
    with show_sweep_progress(folder.sweep.record.plan) as progress:
        async with versions_runner(
            folder, progress, on_message=progress.on_message, show=progress.loading
        ) as conductor:
            on_ending_signals(conductor.interrupt)
            for line in setup.limit_lines:
                progress.report(line)
            if not setup.bisect:
                progress.report(progress.outlook(folder.sweep))
                await conductor.run()
            while setup.bisect and (wanted := sweep_step(folder.sweep).wanted):
                known = len(folder.sweep.results)
                await conductor.run(wanted)
                if len(folder.sweep.done) == known:
                    raise RunError(f"{wanted[0][0]} cannot be measured", "leave it out of the list")


def _new_folder(plan: SweepPlan) -> Path:
    first, *others = dict.fromkeys(case.name.partition(",")[0] for case in plan.cases)
    more = f"-and-{len(others)}-more" if others else ""
    return record_folder(paths.sweeps_dir(), f"{first}{more}")


__all__ = ["CONTEXT", "versions"]


PAGE = "versions.html"


STARTS = 5

MAX_STARTS, MAX_RUNS = 100, 10_000


class VersionsOptions(msgspec.Struct, frozen=True):
    """The tests of a comparison, and their repetitions."""

    profile: Annotated[
        str,
        typer.Option(
            autocompletion=candidates.profiles,
            metavar="PROFILE",
            help="Tests: oltp_read_only,tpcc; default: nine tests of the classic suite.",
        ),
    ] = ""
    starts: Annotated[int, typer.Option(help="Starts of each server, each with new tables.")] = STARTS
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect", help="Find the step in a list in order: measure the ends, then halve the rest."
        ),
    ] = False
    first_bad: Annotated[
        bool, typer.Option("--first-bad", help="With --bisect: only a step after which it is worse.")
    ] = False
    threads: Annotated[
        str, typer.Option("--threads", "--num-threads", help="Concurrent connections: 1,4,16.")
    ] = "4"

    @property
    def is_bisection(self) -> bool:
        return self.bisect or self.first_bad

    def plan(self, names: Sequence[str], given: dict[str, OptionValue], options: PlanValues) -> SweepPlan:
        """The plan for servers with these names. Raises UsageError for invalid options."""
        check_range("--starts", self.starts, 1, MAX_STARTS)
        threads = parse_threads(self.threads)
        for each in threads:
            checked_threads(each)
        profiles = parse_profiles(self.profile) if self.profile else (SUITE[0][0],)
        base = make_plan(options, profiles[0], {})
        if base.seconds is None:
            raise UsageError("each run of a comparison needs a time limit", "give --time, in seconds")
        most = max(threads)
        plan = SweepPlan(
            cases=build_cases(profiles, given, most) if self.profile else suite_cases(given, most),
            variants=tuple(SweepVariant(name=name) for name in names),
            threads=threads,
            repeats=self.starts,
            base=base,
            prepare=True,
        )
        if plan.cell_count > MAX_RUNS:
            raise UsageError(f"a comparison has {MAX_RUNS:,} runs at most, this one {plan.cell_count:,}")
        return plan


class OutputOptions(msgspec.Struct, frozen=True):
    """Destination of the result, and selection of a comparison."""

    resume: Annotated[str, typer.Option(metavar="DIR", help="Resume the comparison in this folder.")] = ""
    allow_commands: AllowCommands = False
    show: Annotated[str, typer.Option(metavar="DIR", help="Print the comparison in this folder.")] = ""
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, markdown, csv, json, or html.")
    ] = "text"
    out: Annotated[
        str, typer.Option(metavar="FILE", help="Write the result to this file, not to stdout.")
    ] = ""

    def write(self, text: str) -> None:
        """Print or write the result. Raises UsageError if the file cannot be written."""
        write_output(self.out, (text,))


def versions(
    context: typer.Context,
    tests: VersionsOptions,
    servers: PrivateServerOptions,
    start: StartOptions,
    options: Annotated[PlanValues, Takes("versions")],
    session: Annotated[SessionOptions, OmitOptions("yes_this_server")],
    output: OutputOptions,
    binary: Annotated[
        str, typer.Argument(help="mariadb:/usr/sbin/mariadbd mysql:/usr/sbin/mysqld", metavar="[BINARY…]")
    ] = "",
) -> None:
    """Each server is a program, as NAME:PATH or PATH. The first one is the reference (1). Continue an
    interrupted comparison with --resume DIR. Options of the tests: --tables=4 --table-size=100000.
    """
    check_format(SUMMARY, output.form)
    session.keep_records()
    words, rest = _split_binaries([binary, *context.args])
    if output.show:
        known = load_sweep(sweep_folder(output.show))
        versions_setup(known)
        output.write(versions_text(known, output.form))
        return
    check_writable(output.out)
    if output.resume:
        if words or rest:
            raise UsageError("--resume takes no other options", "the comparison's plan is in its folder")
        folder = resumed(output.resume, allow_commands=output.allow_commands)
    else:
        folder = _new_comparison(words, rest, tests, servers, start, options)
    with closing(folder):
        run = run_on_private_servers(folder, versions_setup(folder.sweep))
        code = run_and_print(
            folder,
            run,
            lambda known: output.write(versions_text(known, output.form)),
            write_page=partial(_write_page, folder),
        )
    raise typer.Exit(code)


def _split_binaries(words: list[str]) -> tuple[list[str], list[str]]:
    """Split words into server programs, and profile options with their values."""
    binaries: list[str] = []
    rest: list[str] = []
    for word in filter(None, words):
        is_value = bool(rest) and rest[-1].startswith("--") and "=" not in rest[-1]
        (rest if word.startswith("--") or (is_value and "/" not in word) else binaries).append(word)
    return binaries, rest


def _new_comparison(
    words: list[str],
    rest: list[str],
    tests: VersionsOptions,
    servers: PrivateServerOptions,
    start: StartOptions,
    options: PlanValues,
) -> SweepFolder:
    if not words:
        raise UsageError(
            "no server program is named", "tuibench versions mariadb:/usr/sbin/mariadbd mysql:/path/mysqld"
        )
    limits = servers.limits()
    found = parse_builds(words)
    if tests.is_bisection:
        builds = with_option_files(found, servers)
    else:
        builds = [servers.build(name, binary) for name, binary in found]
    if tests.is_bisection and len(builds) < 3:
        raise UsageError("a bisection needs three servers or more", "name them in their order")
    plan = tests.plan([build.name for build in builds], parse_profile_options(rest), options)
    plan = start.applied(plan, is_private=True)
    tried = [builds[0], builds[-1]] if tests.is_bisection else builds
    info(f"starting each server once: {', '.join(build.words for build in tried)}")
    names = "-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", build.name) for build in builds)
    directory = record_folder(paths.sweeps_dir(), f"versions-{names[:80]}")
    bisect: Literal["", "changed", "bad"] = "bad" if tests.first_bad else "changed" if tests.bisect else ""
    return run_async(create_versions(plan, builds, limits, directory, bisect=bisect))


def _write_page(folder: SweepFolder, known: Sweep) -> None:
    """Write the page with charts; a bisection has none."""
    if versions_setup(known).bisect:
        return
    (folder.directory / PAGE).write_text(versions_text(known, "html"), encoding="utf-8")


def one_build(program: str, private: PrivateServerOptions) -> ServerBuild:
    """The private server of one program. Raises UsageError for several."""
    ((name, binary),) = parse_builds([program])
    return private.build(name, binary)


def plan_over_starts(plan: RunPlan, builds: Sequence[ServerBuild], starts: int, seconds: float) -> SweepPlan:
    """A comparison of builds under the load of a run."""
    base = replace(plan, trial=None, tune=None, seconds=seconds)
    return SweepPlan(
        cases=build_cases([plan.profile], plan.options, plan.threads, plan.profile_text),
        variants=tuple(SweepVariant(name=build.name) for build in builds),
        threads=(plan.threads,),
        repeats=starts,
        base=base,
        prepare=True,
    )


def ab_over_starts(
    plan: RunPlan, program: str, private: PrivateServerOptions, start: StartOptions
) -> ExitCode:
    """Run the A/B test of a plan over starts, each value an option of a private server's start."""
    trial = plan.trial
    if trial is None:
        raise UsageError(
            "--server is for --ab, each value on private servers that start with it",
            "tuibench demo --headless runs a load once on a private server",
        )
    if trial.subject in (PRESET, THREADS):
        raise UsageError(f"a server does not start with {trial.subject}", "leave --server out")
    if trial.is_sequential:
        raise UsageError("--until is for values that change while the server runs", "--cycles are starts")
    build = one_build(program, private)
    axes, _ = start_axes([f"{trial.subject}={trial.a},{trial.b}"], [build], every=True)
    builds = crossed([build], axes)
    info(f"starting each server once: {', '.join(each.words for each in builds)}")
    whole = plan_over_starts(plan, builds, trial.cycles, trial.window_seconds)
    whole = start.applied(whole, is_private=True)
    directory = record_folder(paths.sweeps_dir(), f"{plan.profile}-{trial.subject}")
    folder = run_async(create_versions(whole, builds, private.limits(), directory))
    with closing(folder):
        return run_and_print(
            folder,
            run_on_private_servers(folder, versions_setup(folder.sweep)),
            lambda known: typer.echo(versions_text(known), nl=False),
        )
