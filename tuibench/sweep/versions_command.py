"""`tuibench versions`: compares server programs over several starts of each, in one table."""

import re
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import click

from tuibench import paths
from tuibench.cli.click_command import Argument, OmitOptions, PlanValues, Takes
from tuibench.cli.options import (
    CONTEXT,
    PrivateServerOptions,
    SessionOptions,
    make_plan,
    parse_profile_options,
)
from tuibench.cli.output import check_writable, info, write_output
from tuibench.cli.runner import record_folder, run_async
from tuibench.errors import UsageError
from tuibench.model.option import Option, check_range
from tuibench.model.plan import OptionValue
from tuibench.model.schedule import checked_threads
from tuibench.model.sweep import SUMMARY, ServerBuild, Sweep, SweepPlan, SweepVariant
from tuibench.sweep.execution import run_and_print, run_on_private_servers, sweep_folder, sweep_warnings
from tuibench.sweep.folder import SweepFolder, load_sweep
from tuibench.sweep.formats import check_format, versions_text
from tuibench.sweep.planning import build_cases, parse_profiles, parse_threads
from tuibench.sweep.versions import SUITE, create_versions, parse_builds, suite_cases, versions_setup

__all__ = ["CONTEXT", "versions"]


PAGE = "versions.html"


STARTS = 5

MAX_STARTS, MAX_RUNS = 100, 10_000


@dataclass(frozen=True)
class VersionsOptions:
    """Tests, and their repetitions."""

    profile: Annotated[
        str,
        Option(
            "--profile",
            metavar="PROFILE",
            help="Tests: oltp_read_only,tpcc; default: nine tests of the classic suite.",
        ),
    ] = ""
    starts: Annotated[int, Option("--starts", help="Starts of each server, each with new tables.")] = STARTS
    threads: Annotated[str, Option("--threads", "--num-threads", help="Concurrent connections: 1,4,16.")] = (
        "4"
    )

    def plan(self, names: Sequence[str], given: dict[str, OptionValue], options: PlanValues) -> SweepPlan:
        """Plan for servers with these names. Raises UsageError for invalid options."""
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


@dataclass(frozen=True)
class OutputOptions:
    """Destination of the result, and selection of a comparison."""

    resume: Annotated[
        str, Option("--resume", metavar="DIR", help="Resume the comparison in this folder.")
    ] = ""
    show: Annotated[str, Option("--show", metavar="DIR", help="Print the comparison in this folder.")] = ""
    form: Annotated[str, Option("--format", metavar="FORMAT", help="text, markdown, csv, json, or html.")] = (
        "text"
    )
    out: Annotated[
        str, Option("--out", metavar="FILE", help="Write the result to this file, not to stdout.")
    ] = ""

    def write(self, text: str) -> None:
        """Print or write the result. Raises UsageError if the file cannot be written."""
        write_output(self.out, (text,))


def versions(
    context: click.Context,
    tests: VersionsOptions,
    servers: PrivateServerOptions,
    options: Annotated[PlanValues, Takes("versions")],
    session: Annotated[SessionOptions, OmitOptions("yes_this_server")],
    output: OutputOptions,
    binary: Annotated[
        str, Argument(help="mariadb:/usr/sbin/mariadbd mysql:/usr/sbin/mysqld", metavar="[BINARY…]")
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
        folder = SweepFolder.resume(sweep_folder(output.resume))
    else:
        folder = _new_comparison(words, rest, tests, servers, options)
    with closing(folder):
        run = run_on_private_servers(folder, versions_setup(folder.sweep))
        code = run_and_print(folder, run, partial(_write, folder, output), _notes)
    raise click.exceptions.Exit(code)


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
    options: PlanValues,
) -> SweepFolder:
    if not words:
        raise UsageError(
            "no server program is named", "tuibench versions mariadb:/usr/sbin/mariadbd mysql:/path/mysqld"
        )
    limits = servers.limits()
    found = parse_builds(words)
    plan = tests.plan([name for name, _ in found], parse_profile_options(rest), options)
    builds = [servers.build(name, binary) for name, binary in found]
    info(f"starting each server once: {', '.join(build.words for build in builds)}")
    directory = record_folder(paths.sweeps_dir(), _stem(builds))
    return run_async(create_versions(plan, builds, limits, directory))


def _stem(builds: list[ServerBuild]) -> str:
    names = "-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", build.name) for build in builds)
    return f"{time.strftime('%Y%m%d-%H%M%S')}-versions-{names[:80]}"


def _write(folder: SweepFolder, output: OutputOptions, known: Sweep) -> None:
    """Write the result, and the page with charts."""
    output.write(versions_text(known, output.form))
    (folder.directory / PAGE).write_text(versions_text(known, "html"), encoding="utf-8")


def _notes(known: Sweep, directory: Path) -> list[str]:
    """Notes below the table."""
    lines = [f"failed: {one.cell.words}: {one.failure}" for one in known.results if one.outcome == "failed"]
    lines += sweep_warnings(known)
    if left := known.record.plan.cell_count - len(known.done):
        are = "1 run is" if left == 1 else f"{left} runs are"
        lines.append(f"{are} left; continue with: tuibench versions --resume {directory}")
    if known.done:
        lines.append(f"page with charts: {directory / PAGE}")
    lines.append(f"recorded in {directory}")
    return lines
