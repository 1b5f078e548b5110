"""Values that a server has from its start: an A/B test over starts.

Each value is a private server of its own, with new tables, and one observation is a start: a comparison of
builds (`sweep/versions.py`) that differ in one option of the command line.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click
from msgspec.structs import replace

from tuibench import paths
from tuibench.ab.experiment import PRESET, THREADS
from tuibench.cli.options import PrivateServerOptions, StartOptions
from tuibench.cli.output import info
from tuibench.cli.runner import record_folder, run_async
from tuibench.errors import ExitCode, UsageError
from tuibench.model.plan import RunPlan
from tuibench.model.sweep import ServerBuild, SweepPlan, SweepVariant
from tuibench.sweep.execution import run_and_print, run_on_private_servers, versions_notes
from tuibench.sweep.formats import versions_text
from tuibench.sweep.planning import build_cases
from tuibench.sweep.versions import create_versions, crossed, parse_builds, start_axes, versions_setup


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


def _new_folder(plan: RunPlan, what: str) -> Path:
    return record_folder(paths.sweeps_dir(), f"{time.strftime('%Y%m%d-%H%M%S')}-{plan.profile}-{what}")


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
    folder = run_async(create_versions(whole, builds, private.limits(), _new_folder(plan, trial.subject)))
    with closing(folder):
        return run_and_print(
            folder,
            run_on_private_servers(folder, versions_setup(folder.sweep)),
            lambda known: click.echo(versions_text(known), nl=False),
            versions_notes,
        )
