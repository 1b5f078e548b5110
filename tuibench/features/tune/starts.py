"""Screening of settings that need a restart: `tune --with-restarts`, on private servers.

Each value is a server of its own with new tables, and one observation is one start: a comparison of builds
(`features/sweep/versions.py`) that differ in one command-line option. It tests the settings of the catalogue
that a running server cannot change; the others are screened on a running server first.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from statistics import fmean

import typer
from msgspec.structs import replace

from tuibench.base import paths, units
from tuibench.base.document import Block, Section, Shape, Table, Text, section, write_text
from tuibench.base.errors import ExitCode, RunError, UsageError
from tuibench.cli.options import PrivateServerOptions
from tuibench.cli.output import info
from tuibench.cli.runner import record_folder, run_async
from tuibench.features.sweep.execution import (
    one_build,
    plan_over_starts,
    run_and_print,
    run_on_private_servers,
)
from tuibench.features.sweep.planning import OVERHEAD_SECONDS, starting_seconds
from tuibench.features.sweep.tables import start_levels
from tuibench.features.sweep.versions import create_versions, start_axes, try_build, versions_setup
from tuibench.features.tune.candidates import start_candidates
from tuibench.features.tune.text import change_text
from tuibench.metrics import inference
from tuibench.metrics.figures import Better, Figure, figure_named
from tuibench.metrics.thresholds import OPERATORS, parse_threshold
from tuibench.model.effect import Verdict
from tuibench.model.plan import RunPlan
from tuibench.model.sweep import ServerBuild, Sweep
from tuibench.model.tune import Candidate, LeftOut, TunePlan
from tuibench.tuning import catalogue
from tuibench.tuning.catalogue import wanted_settings

LEAST_STARTS, MOST_STARTS = 3, 10
NOW = "as it is"
"""The name of the build without an additional option."""


def has_live_candidates(plan: TunePlan, build: ServerBuild) -> bool:
    """False if all settings to be screened need a restart."""
    return any(not catalogue.requires_restart(one, build) for one in wanted_settings(plan.only))


def screen_over_starts(plan: RunPlan, program: str, private: PrivateServerOptions) -> ExitCode:
    """Screen the settings that need a restart, and print the result.

    A server is started once with each value, to leave out those with which it does not start. The budget then
    decides how many values are compared, and in how many starts each.
    """
    tune = plan.tune or TunePlan()
    build, limits = replace(one_build(program, private), name=NOW), private.limits()
    around, seconds = run_async(try_build(build, limits))
    if isinstance(around, str):
        raise UsageError(around, "")
    found, left_out = start_candidates(around.server, around.environment.variables, tune)
    builds, refused = [build], []
    info(f"starting a server with each of {units.pluralize(len(found), 'value')} once")
    for one in found:
        axes, _ = start_axes([f"{one.setting}={one.value}"], [build], every=True)
        [[(_, with_option)]] = axes  # one axis with one value
        with_it = replace(with_option(build), name=f"{one.setting}={one.value}")
        if isinstance(why := run_async(try_build(with_it, limits))[0], str):
            refused.append(LeftOut(setting=one.setting, why=f"{one.value}: {why}"))
        else:
            builds.append(with_it)
    if len(builds) < 2:
        raise UsageError("no value that needs a restart is left to test", "--allow-risk tests more")
    each = seconds + OVERHEAD_SECONDS + plan.warmup_seconds + tune.window_seconds
    most = max(2, int(tune.budget_seconds / each / LEAST_STARTS))
    cut = [
        LeftOut(setting=one.name, why=f"the budget of {tune.budget_seconds:g} s is enough for {most} servers")
        for one in builds[most:]
    ]
    builds = builds[:most]
    starts = min(MOST_STARTS, max(LEAST_STARTS, int(tune.budget_seconds / each / len(builds))))
    whole = plan_over_starts(plan, builds, starts, tune.window_seconds)
    directory = record_folder(paths.sweeps_dir(), f"{plan.profile}-tune-restarts")
    folder = run_async(create_versions(whole, builds, limits, directory))
    info(
        f"{units.pluralize(starts, 'start')} each, {starting_seconds(folder.sweep):.0f} s for them and tables"
    )
    with closing(folder):
        return run_and_print(
            folder,
            run_on_private_servers(folder, versions_setup(folder.sweep)),
            lambda known: typer.echo(
                write_text(tuple(result_blocks(known, found, [*left_out, *refused, *cut], tune))), nl=False
            ),
        )


def result_blocks(
    sweep: Sweep, candidates: Sequence[Candidate], left_out: Sequence[LeftOut], plan: TunePlan
) -> Iterator[Block | Section]:
    """The values with the largest effects first, the option-file lines of the better ones, and what was not
    tested.
    """
    figure = figure_named(plan.primary)
    levels = _levels(sweep, figure)
    first = levels.pop(NOW, [])
    if not first:
        raise RunError(f"{figure.name} was not measured", "--figure has another one")
    by_name = {f"{one.setting}={one.value}": one for one in candidates}
    # Bonferroni: the probability that any verdict is false is at most `false_rate`.
    level = plan.false_rate / max(1, len(levels))
    tolerance = plan.tolerance_percent / 100
    found = [(by_name[name], inference.compare(first, own, level=level)) for name, own in levels.items()]
    found.sort(key=lambda each: -abs(each[1].percent.estimate))
    starts = sweep.record.plan.repeats
    headline = next((result.headline for result in sweep.done), "") if figure.name == "tps" else figure.brief
    misses = {number: missed_over_starts(sweep, one, plan) for number, (one, _) in enumerate(found)}
    yield Text(
        (
            f"Settings that need a restart: {units.pluralize(len(found), 'value')}, "
            f"{units.pluralize(starts, 'start')} each; one observation is a start.",
            f"Intervals at {100 - 100 * level:.1f} %: in {100 - 100 * plan.false_rate:.0f} % of such "
            "screenings all verdicts are right.",
        ),
        role="note",
    )
    yield Table(
        header=("", f"{headline}, relative", "verdict"),
        rows=tuple(
            (
                change_text(one),
                " ".join(units.difference_and_interval(*interval.percent)),
                _words(interval.verdict(tolerance), plan, figure, misses[number]),
            )
            for number, (one, interval) in enumerate(found)
        ),
        words=1,
    )
    wanted = Verdict.HIGHER if figure.better is Better.HIGHER else Verdict.LOWER
    better = [
        one
        for number, (one, interval) in enumerate(found)
        if interval.verdict(tolerance) is wanted and not misses[number]
    ]
    if better:
        server = versions_setup(sweep).builds[0]
        options = (
            catalogue.start_option(catalogue.find_setting(one.setting), server, one.value) for one in better
        )
        lines = tuple(option.removeprefix("--") for option, _ in options)
        yield Text(lines, Shape.CODE, title="To keep these settings, in my.cnf below [mysqld]:")
        risks = tuple(f"{one.setting}: {one.risk}" for one in better)
        yield Text(risks, Shape.LIST, title="Risk:")
    if left_out:
        yield section("Not tested", Table(rows=tuple((one.setting, one.why) for one in left_out), words=2))


def _levels(sweep: Sweep, figure: Figure) -> dict[str, list[list[float]]]:
    """The figure in each start of each measured value; `tps` stands for the profile's headline figure."""
    if figure.name == "tps":
        found = start_levels(sweep)
    else:
        found = {}
        for result in sweep.done:
            cell, figures = result.cell, result.figures
            level = figures.get(figure.name, figures.get(figure.key))
            if level is not None:
                found.setdefault(cell.variant.name, {})[cell.repeat] = level
    return {name: [[own[start]] for start in sorted(own)] for name, own in found.items() if own}


def missed_over_starts(sweep: Sweep, candidate: Candidate, plan: TunePlan) -> str:
    """The first objective that the mean of the value's starts misses; empty if it meets all."""
    for text in plan.objectives:
        threshold = parse_threshold(text)
        starts = _levels(sweep, figure_named(threshold.figure)).get(f"{candidate.setting}={candidate.value}")
        if starts and not OPERATORS[threshold.operator](fmean(each[0] for each in starts), threshold.limit):
            return text
    return ""


def _words(verdict: Verdict, plan: TunePlan, figure: Figure, misses: str) -> str:
    rises, falls = ("better", "worse") if figure.better is Better.HIGHER else ("worse", "better")
    words = {
        Verdict.HIGHER: rises,
        Verdict.LOWER: falls,
        Verdict.EQUAL: f"no effect within ±{plan.tolerance_percent:g} %",
    }
    return words.get(verdict, "cannot tell yet") + (f", misses {misses}" if misses else "")
