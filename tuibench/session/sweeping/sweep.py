"""A sweep on a real server: its folder, its tables, its cells, put together for the command line."""

import re
from collections.abc import Callable
from pathlib import Path

from tuibench.clock import Clock, SystemClock
from tuibench.errors import UsageError
from tuibench.model.differences import differences
from tuibench.model.message import Downward
from tuibench.model.sweep import Cell, Surroundings, SweepPlan, SweepRecord, Variant
from tuibench.model.target import Target
from tuibench.mysql.connection import connect
from tuibench.record.sweep import SweepFolder
from tuibench.session.spec import SessionSpec
from tuibench.session.sweeping.cell import CellRun
from tuibench.session.sweeping.conductor import SweepConductor, Witness
from tuibench.session.sweeping.data import DataKeeper, ServerTables, Showing
from tuibench.session.sweeping.matrix import plan_of
from tuibench.session.sweeping.surroundings import look_around
from tuibench.tuning import catalogue, own_presets, presets

CELLS = "cells"


async def begin(plan: SweepPlan, target: Target, directory: Path, clock: Clock | None = None) -> SweepFolder:
    """A new sweep in a new folder. Raises what its server would refuse, before anything is written."""
    clock = clock or SystemClock()
    around = await look_around(target, clock)
    for variant in plan.variants:
        demand_possible(variant, around)
    return SweepFolder.create(
        directory,
        SweepRecord(
            name=directory.name,
            started_at=clock.wall_seconds(),
            plan=plan,
            target=target.without_password(),
            surroundings=around,
        ),
    )


async def demand_same_server(folder: SweepFolder, target: Target, clock: Clock | None = None) -> None:
    """Raises UsageError when the sweep began on another server: its cells could not be compared."""
    there = folder.sweep.record.surroundings.server
    here = (await look_around(target, clock or SystemClock())).server
    if (there.identity, there.version_text) != (here.identity, here.version_text):
        raise UsageError(
            f"the sweep began on {there.flavour} {there.version_text} ({there.identity}), "
            f"this is {here.flavour} {here.version_text} ({here.identity})",
            "begin a new one; tuibench sweep --compare DIR DIR puts both beside each other",
        )


def demand_same_plan(there: SweepPlan, here: SweepPlan, *, any_seed: bool) -> None:
    """Raises UsageError with each difference between a sweep's plan and the one that was asked for now.

    With `any_seed` nobody asked for a seed: the sweep's own is meant.
    """
    found = differences(there, here, ("base.seed",) if any_seed else ())
    if found:
        raise UsageError(
            f"the sweep has another plan: {'; '.join(found)}", "resume it without any options of the plan"
        )


def demand_possible(variant: Variant, around: Surroundings) -> None:
    """Raises UsageError for a setting or value that this server does not have."""
    wanted = dict(variant.settings)
    if variant.preset:
        presets.find(own_presets.presets(), variant.preset)
    for name, value in wanted.items():
        catalogue.validate(catalogue.find(name), around.server, value)


def conductor(
    folder: SweepFolder,
    target: Target,
    witness: Witness,
    *,
    hear: Callable[[Downward], None],
    show: Showing | None = None,
    yes_this_server: bool = False,
) -> SweepConductor:
    """What runs the sweep. `hear` gets the messages of each cell's session, `show` the progress of loads."""
    clock = SystemClock()
    plan = folder.sweep.record.plan

    def attempt(cell: Cell) -> CellRun:
        run, number = free_name(folder.directory, cell)
        spec = SessionSpec(
            session=f"{folder.directory.name}-{run}",
            plan=plan_of(plan, cell),
            target=target,
            run_directory=str(folder.directory / CELLS / run),
            yes_this_server=yes_this_server,
        )
        return CellRun(cell, spec, clock, attempt=number, run=f"{CELLS}/{run}", hear=hear)

    async def reach() -> None:
        await (await connect(target)).close()

    keeper = DataKeeper(plan, ServerTables(target, plan, show, witness.tell), witness.tell)
    return SweepConductor(folder, keeper, attempt, reach, witness, clock)


def free_name(directory: Path, cell: Cell) -> tuple[str, int]:
    """The folder of a cell's next attempt, and the number of that attempt."""
    words = f"{cell.case.name} {cell.variant.name} {cell.threads} threads {cell.repeat}"
    stem = f"{cell.number:03d}-" + re.sub(r"[^A-Za-z0-9_.=]+", "-", words).strip("-")[:100]
    attempt = 1
    name = stem
    while (directory / CELLS / name).exists():
        attempt += 1
        name = f"{stem}-again-{attempt}"
    return name, attempt
