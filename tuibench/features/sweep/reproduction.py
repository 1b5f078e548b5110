"""`tuibench bundle` and `tuibench reproduce`: a measurement in one file, and the same measurement here.

A bundle is reproduced on private servers, each start with new tables, even if the original server was not a
private one. Each figure is compared over the starts. The verdict is *reproduced* if the interval of the
difference is within ±10 %, *differs* if it excludes zero, otherwise *cannot tell*.
"""

import getpass
import math
import os
import socket
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal, NamedTuple

import typer
from msgspec.structs import replace

from tuibench import __version__
from tuibench.base import paths, sanitize, units
from tuibench.base.document import Block, Table, write_text
from tuibench.base.errors import ExitCode, ServerUnavailableError, UsageError
from tuibench.cli.options import RunDir
from tuibench.cli.output import check_writable, info
from tuibench.cli.runner import record_folder, run_async
from tuibench.features.compare.audit import audit, audit_table, caveat
from tuibench.features.compare.comparison import by_start
from tuibench.features.sweep import foreign
from tuibench.features.sweep.execution import run_and_print, run_on_private_servers
from tuibench.features.sweep.formats import sweep_text, versions_text
from tuibench.features.sweep.planning import build_cases, with_servers
from tuibench.features.sweep.runner import cell_figures
from tuibench.features.sweep.tables import SIDE_FIGURES
from tuibench.features.sweep.versions import (
    create_server_sweep,
    create_versions,
    parse_builds,
    private_servers,
)
from tuibench.metrics import inference
from tuibench.metrics.inference import mean_with_interval
from tuibench.model.option import check_range, parse_words
from tuibench.model.server import ServerInfo, ServerLimits
from tuibench.model.sweep import (
    ServerBuild,
    Sweep,
    SweepEnvironment,
    SweepPlan,
    SweepVariant,
)
from tuibench.record.bundle import MANIFEST, REMOVED, Manifest, Redaction, pack, unpack
from tuibench.record.reader import Run, load_run
from tuibench.record.store import find_recorded
from tuibench.record.sweep_folder import is_sweep, load_sweep
from tuibench.report.reproduce import reproduction_commands
from tuibench.report.run_report import html_report, run_markdown
from tuibench.servers.binaries import Binary, binary_candidates, inspect_binary

TOLERANCE = 0.10
STARTS, MAX_STARTS = 3, 100
REPRODUCED, DIFFERS, CANNOT_TELL = "reproduced", "differs", "cannot tell"


def bundle(
    record: Annotated[
        str,
        typer.Argument(
            metavar="RUN[,RUN…]|SWEEP", help="Runs of one plan, each on its own start; or a sweep."
        ),
    ],
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help="The bundle; default: NAME.tar.gz, in this folder."),
    ] = "",
    run_dir: RunDir = "",
) -> None:
    """Packs plan, samples, environment, commands and report into one file to publish. Logins, host names,
    addresses and paths are removed from all of it; what was removed is listed. tuibench reproduce FILE runs
    it elsewhere.
    """
    paths.keep_records_in(run_dir)
    folders = [find_recorded(word) for word in parse_words("bundle", record)]
    kind: Literal["runs", "sweep"] = "sweep" if is_sweep(folders[0]) else "runs"
    if len(folders) > 1 and any(map(is_sweep, folders)):
        raise UsageError("a bundle has one sweep, or runs", "bundle each sweep on its own")
    for folder in folders:
        (load_sweep if kind == "sweep" else load_run)(folder)
    out = out or f"{folders[0].name}.tar.gz"
    check_writable(out)
    manifest = Manifest(tuibench=__version__, kind=kind, records=tuple(folder.name for folder in folders))
    with tempfile.TemporaryDirectory(prefix="tuibench-bundle-") as scratch:
        done = pack(
            Path(out),
            {folder.name: folder for folder in folders},
            Redaction(_of_this_host()),
            manifest,
            lambda cleaned: _pages(cleaned, manifest),
            Path(scratch),
        )
    kinds = Counter(line.partition(" ")[0] for line in done.removed)
    listed = ", ".join(units.pluralize(count, kind) for kind, count in kinds.items())
    info(f"removed, as listed in {MANIFEST}: {listed or 'nothing'}")
    info(f"{out}: {units.pluralize(len(done.files), 'file')}, {units.binary_size(Path(out).stat().st_size)}")


def _of_this_host() -> dict[str, str]:
    """Names that identify this host and its user, by their kind."""
    found = {socket.gethostname(): "host", os.path.expanduser("~"): "path"}
    with suppress(OSError, KeyError):
        found[getpass.getuser()] = "user"
    return found


def _pages(folder: Path, manifest: Manifest) -> dict[str, str]:
    """The pages of the bundle, report and commands, made from the cleaned records; by file name."""
    pages: dict[str, str] = {}
    commands: list[str] = []
    for name in manifest.records:
        if manifest.kind == "sweep":
            sweep = load_sweep(folder / name)
            pages["report.html"] = (versions_text if sweep.record.versions else sweep_text)(
                sweep, form="html"
            )
            runs = [load_run(folder / name / one.run) for one in sweep.done if one.cell.repeat == 1]
        else:
            runs = [load_run(folder / name)]
            pages[f"{name}.html"], pages[f"{name}.md"] = html_report(runs[0]), run_markdown(runs[0])
        for run in runs:
            found = reproduction_commands(run)
            remarks = (*(f"beside the load: {each}" for each in found.acting), *found.by_hand)
            commands += [f"# {run.id}", *(f"# {sanitize.text(each)}" for each in remarks)]
            commands += filter(None, (found.prepare, found.tuibench))
    return pages | {"commands.txt": "\n".join(commands) + "\n"}


def reproduce(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A bundle.")],
    server_programs: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="FILE,…",
            help="Server programs to run it on, one for each of the bundle; default: of the same versions.",
        ),
    ] = "",
    starts: Annotated[
        int, typer.Option(help="Starts of each server, each with new tables; default: as in the bundle.")
    ] = 0,
    allow_commands: Annotated[
        bool,
        typer.Option(
            "--allow-commands",
            help="Run also what the bundle has beside its load: commands and statements of --at, server "
            "options that are no settings, other SQL. Without it, they are listed, and nothing is run.",
        ),
    ] = False,
) -> None:
    """Runs the measurement of a bundle here, on private servers, and says for each figure: reproduced (the
    difference is within ±10 %), differs, or cannot tell, with both intervals. What differs in effect between
    there and here is listed. The exit code is 4 if a figure differs.
    """
    if starts:
        check_range("--starts", starts, 2, MAX_STARTS)
    with tempfile.TemporaryDirectory(prefix="tuibench-bundle-") as scratch:
        manifest = unpack(Path(file), Path(scratch))
        folders = [Path(scratch) / "record" / name for name in manifest.records]
        is_one = manifest.kind == "sweep"
        there = _sweep_there(folders[0]) if is_one else _runs_there([load_run(each) for each in folders])
    there = _consented(there, allow_commands=allow_commands)
    for each in there.by_hand:
        info(f"not done here: {sanitize.excerpt(each)}")
    plan = replace(there.plan, repeats=starts or max(there.plan.repeats, 2))
    builds = _builds_here(there.builds, server_programs)
    info(f"starting each server once: {', '.join(build.words for build in builds)}")
    directory = record_folder(paths.sweeps_dir(), "reproduced")
    create = create_versions if there.is_versions else create_server_sweep
    folder = run_async(create(plan, builds, there.limits, directory))
    differs: list[bool] = []

    def show(known: Sweep) -> None:
        blocks, any_differs = reproduction(there, known)
        typer.echo(write_text(blocks), nl=False)
        differs.append(any_differs)

    with closing(folder):
        run = run_on_private_servers(folder, private_servers(folder.sweep))
        code = run_and_print(folder, run, show)
    raise typer.Exit(ExitCode.THRESHOLD_CROSSED if code is ExitCode.DONE and any(differs) else code)


def _consented(there: "There", *, allow_commands: bool) -> "There":
    """The part of the bundle that may be run here, see `foreign`.

    Raises UsageError, which names the parts that need consent, unless `allow_commands` gives it.
    """
    found = foreign.checked(there.plan, there.builds, MAX_STARTS)
    for each in found.left_out:
        info(f"left out, as it is of the host there: {sanitize.excerpt(each)}")
    asks = [sanitize.excerpt(each) for each in found.asks]
    if asks and not allow_commands:
        raise UsageError(
            "\n  ".join(["the bundle would run more than a load on this host:", *asks]),
            "nothing was run; --allow-commands runs it, if you trust whoever made the bundle",
        )
    for each in asks:
        info(f"allowed by --allow-commands: {each}")
    return there._replace(plan=found.plan, builds=found.builds)


Figures = dict[str, float]
Levels = dict[tuple[str, int, int], list[list[Figures]]]
"""The figures of the runs of each start, by case, index of the variant, and threads."""


class There(NamedTuple):
    """The measurement of a bundle."""

    plan: SweepPlan
    """The plan that reproduces it on private servers."""
    builds: tuple[ServerBuild, ...]
    """The server programs that it needs."""
    levels: Levels
    """The figures that were measured."""
    around: list[list[SweepEnvironment]]
    """For each build, the environments of its starts."""
    limits: ServerLimits = ServerLimits()
    is_versions: bool = False
    """True for a comparison of server programs."""
    by_hand: tuple[str, ...] = ()
    """What was done to the load there and is not done here: simulated hardware, changes during the run."""


def _runs_there(runs: Sequence[Run]) -> There:
    """Runs of one plan as a sweep with one combination, whose repeats are the starts.

    Raises UsageError for runs of different plans, or with an experiment.
    """
    first = runs[0].plan
    if len({(run.plan.profile_digest, run.plan.plan.threads) for run in runs}) > 1:
        raise UsageError("the runs of the bundle do not have the same plan", "bundle runs of one plan")
    if first.plan.is_watch or first.plan.sql_words or first.plan.trial or first.plan.tune or first.plan.probe:
        raise UsageError(
            "only a load of a profile, without an experiment, can be reproduced",
            "commands.txt in the bundle has the commands",
        )
    base = replace(first.plan, seconds=first.plan.seconds or runs[0].summary.seconds)
    build = _build_of(first.server)
    cases = build_cases([first.plan.profile], first.options, first.plan.threads, first.profile_text)
    plan = SweepPlan(
        cases=cases,
        variants=with_servers([SweepVariant(name="")], [build.name]),
        threads=(first.plan.threads,),
        repeats=max(STARTS, len(runs)),
        base=replace(base, profile_text=first.profile_text),
        prepare=True,
    )
    measured = [
        [cell_figures(run.summary, [one for one in run.samples if one.elapsed_seconds > 0]) for run in start]
        for start in by_start(runs)
    ]
    around = [
        SweepEnvironment(server=run.plan.server, environment=run.environment)
        for run in runs
        if run.environment
    ]
    by_hand = tuple(dict.fromkeys(each for run in runs for each in reproduction_commands(run).by_hand))
    levels = {(cases[0].name, 0, first.plan.threads): measured}
    return There(plan, (build,), levels, [around], by_hand=by_hand)


def _build_of(server: ServerInfo) -> ServerBuild:
    return ServerBuild(
        name=f"{server.flavour} {server.version}", path="", flavour=server.flavour, version=server.version
    )


def _sweep_there(folder: Path) -> There:
    sweep = load_sweep(folder)
    record = sweep.record
    setup = record.versions or record.servers
    plan = replace(record.plan, prepare=True, cleanup=False)
    if setup is not None:
        around = [
            [start.around for start in sweep.starts if start.build == build.name and start.around]
            for build in setup.builds
        ]
        return There(plan, setup.builds, _levels(sweep), around, setup.limits, record.versions is not None)
    build = _build_of(record.surroundings.server)
    private = replace(plan, variants=with_servers(plan.variants, [build.name]))
    # All cells ran on the same start of the server.
    levels = {key: [[each for start in starts for each in start]] for key, starts in _levels(sweep).items()}
    return There(private, (build,), levels, [[record.surroundings]])


def _levels(sweep: Sweep) -> Levels:
    """The figures of a sweep on private servers, where each repeat is a start."""
    names = [variant.name for variant in sweep.record.plan.variants]
    found: Levels = {}
    for result in sorted(sweep.done, key=lambda result: result.cell.repeat):
        if result.figures:
            cell = result.cell
            place = names.index(cell.variant.name) if cell.variant.name in names else -1
            found.setdefault((cell.case.name, place, cell.threads), []).append([result.figures])
    return found


def _builds_here(builds: Sequence[ServerBuild], programs: str) -> list[ServerBuild]:
    """The builds with server programs of this host. Raises UsageError if there is no program for one."""
    if programs:
        given = parse_builds(parse_words("--server", programs))
        if len(given) != len(builds):
            raise UsageError(
                f"the bundle has {units.pluralize(len(builds), 'server')}, --server names {len(given)}",
                f"in this order: {', '.join(f'{build.flavour} {build.version}' for build in builds)}",
            )
        return [_with_program(build, binary) for build, (_, binary) in zip(builds, given, strict=True)]
    here = list(_binaries_here())
    found = []
    for build in builds:
        same = [one for one in here if (one.flavour, one.version) == (build.flavour, build.version)]
        if not same:
            raise UsageError(
                f"there is no {build.flavour} {build.version} here", "--server=FILE names another program"
            )
        found.append(_with_program(build, same[0]))
    return found


def _binaries_here() -> Iterator[Binary]:
    for path in binary_candidates():
        with suppress(ServerUnavailableError):
            yield inspect_binary(path)


def _with_program(build: ServerBuild, binary: Binary) -> ServerBuild:
    """The build with a program of this host, without options whose path was removed from the bundle."""
    options = tuple(option for option in build.options if not REMOVED.search(option))
    for option in set(build.options) - set(options):
        info(f"{build.name}: left out, as its path was removed: {option}")
    return replace(
        build,
        path=binary.path,
        flavour=binary.flavour,
        version=binary.version,
        options=options,
        variables={},
    )


def reproduction(there: There, here: Sweep) -> tuple[list[Block], bool]:
    """The tables of the comparison, and True if any figure differs."""
    surroundings = [
        [start.around for start in here.starts if start.build == build.name and start.around]
        for build in there.builds
    ]
    found = [
        audit([one, other]) if one and other else ()
        for one, other in zip(there.around, surroundings, strict=True)
    ]
    names = [build.name for build in there.builds]
    buts = {
        name: "but the load there was changed by hand" if there.by_hand else caveat(each, 1)
        for name, each in zip(names, found, strict=True)
    }
    measured = _levels(here)
    rows = [
        row
        for case, (place, variant), threads in product(
            there.plan.cases, enumerate(there.plan.variants), there.plan.threads
        )
        for row in _rows(
            ", ".join(filter(None, (case.name, variant.name, units.pluralize(threads, "thread")))),
            there.levels.get((case.name, place, threads), []),
            measured.get((case.name, place, threads), []),
            buts.get(variant.server or variant.name, ""),
        )
    ]
    by_chance = (
        f"of {len(rows)} figures about {len(rows) / 20:.0f} differ by chance" if len(rows) >= 20 else ""
    )
    result = Table(
        header=("", "figure", "there", "here", "difference", "95 % interval", "verdict"),
        rows=tuple(rows),
        words=2,
        remarks=1,
        notes=("means with 95 % intervals over starts", *([by_chance] if by_chance else [])),
    )
    audits = [
        replace(audit_table(each, ("there", "here")), title=f"{name}: differences in effect")
        for name, each in zip(names, found, strict=True)
        if each
    ]
    return [result, *audits], any(row[-1].startswith(DIFFERS) for row in rows)


def _rows(
    name: str, there: Sequence[Sequence[Figures]], here: Sequence[Sequence[Figures]], but: str
) -> Iterator[tuple[str, ...]]:
    """A row for each figure that both sides have."""
    for figure, title, write in SIDE_FIGURES:
        values = [
            [[one[figure] for one in start if figure in one] for start in side] for side in (there, here)
        ]
        if not all(side and all(side) for side in values):
            continue
        means = [mean_with_interval([fmean(start) for start in side]) for side in values]
        texts = (
            write(mean.mean) + (f" ± {write(mean.half_width)}" if mean.half_width is not None else "")
            for mean in means
        )
        yield (name, title, *texts, *_verdict(values[0], values[1], but))
        name = ""


def _verdict(
    there: Sequence[Sequence[float]], here: Sequence[Sequence[float]], but: str
) -> tuple[str, str, str]:
    """Difference, interval and verdict of a figure over the starts."""
    if not any(value for start in (*there, *here) for value in start):
        return units.DASH, units.DASH, REPRODUCED
    percent = inference.compare(there, here).percent
    if not (math.isfinite(percent.low) and math.isfinite(percent.high)):
        return units.difference(percent.estimate), units.DASH, CANNOT_TELL
    if percent.low / 100 >= -TOLERANCE and percent.high / 100 <= TOLERANCE:
        verdict = REPRODUCED
    elif percent.low > 0 or percent.high < 0:
        verdict = f"{DIFFERS}, {but}" if but else DIFFERS
    else:
        verdict = CANNOT_TELL
    return (*units.difference_and_interval(*percent), verdict)
