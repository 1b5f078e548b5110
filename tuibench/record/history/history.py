"""History of one plan: the level of its recorded runs over time, changes of level, and a regression.

One plan is the statements, options and load of the newest run of a profile, on the same server address: runs
that differ in any of these belong to another history.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from tuibench.errors import RunError, UsageError
from tuibench.metrics.figures import Better, Figure, figure_named
from tuibench.metrics.inference.change_points import FEWEST_BASELINE, FEWEST_RUNS, change_points, first_alarm
from tuibench.metrics.inference.scale import Scale
from tuibench.model.plan_options import part_options
from tuibench.model.results.comparison import History, HistoryRun, LevelChange, Regression
from tuibench.model.results.summary import Summary
from tuibench.record.files import reader, store
from tuibench.record.files.recorder import PLAN, SUMMARY
from tuibench.record.files.schema import PlanRecord

SHIFT = 0.05
"""The change that the search for a regression is tuned to detect."""

ROUNDING = 1e-9
"""The share of a level below which another one is zero."""

NOT_THE_PLAN = {"deviations"} | {each.field for each in part_options("") if not each.option.affects_load}
"""Fields of a plan that do not affect a second of the load."""


class RecordedRun(msgspec.Struct, frozen=True):
    """The data of a run that the history uses."""

    id: str
    plan: PlanRecord
    summary: Summary


def recorded_runs(profile: str, on_damage: Callable[[str], object]) -> list[RecordedRun]:
    """The finished runs of a profile, the oldest first; interrupted and failed runs are omitted.

    `on_damage` is called with the reason for each record that cannot be read, and is omitted, too.
    """
    found = []
    for entry in store.list_runs():
        directory = Path(entry.directory)
        try:
            if entry.error:
                raise RunError(entry.error)
            if entry.profile != profile or entry.outcome != "done":
                continue
            plan = reader.read_document(directory / PLAN, PlanRecord)
            summary = reader.read_document(directory / SUMMARY, Summary)
        except RunError as error:
            on_damage(f"{entry.id} is left out: {error}")
            continue
        if plan is not None and summary is not None:
            found.append(RecordedRun(entry.id, plan, summary))
    return found


def history(profile: str, runs: Sequence[RecordedRun], figure: Figure, since: str = "") -> History:
    """The history of the newest run's plan. Raises UsageError if `since` is not one of its runs."""
    wanted = _plan_key(runs[-1]) if runs else ()
    same = [run for run in runs if _plan_key(run) == wanted]
    kept = [
        HistoryRun(run=run.id, started_at=run.plan.started_at, value=value)
        for run in same
        if (value := run.summary.figures.get(figure.name)) is not None
    ]
    found = History(
        profile=profile,
        figure=figure.name,
        runs=tuple(kept),
        changes=_changes(kept),
        other_plans=len(runs) - len(same),
        note=_note(kept),
    )
    return _with_regression(found, _place(kept, since)) if since else found


def _plan_key(run: RecordedRun) -> tuple[object, ...]:
    plan = msgspec.to_builtins(run.plan.plan)
    load = {name: value for name, value in plan.items() if name not in NOT_THE_PLAN}
    options = run.plan.options or run.plan.plan.options
    return (
        run.plan.profile_digest,
        run.plan.target.where,
        msgspec.json.encode([load, options], order="sorted"),
    )


def _note(runs: Sequence[HistoryRun]) -> str:
    if len(runs) >= 2 * FEWEST_RUNS:
        return ""
    return f"{len(runs)} runs of this plan are too few to find a change; at least {2 * FEWEST_RUNS}"


def scale_of(runs: Sequence[HistoryRun]) -> Scale:
    """Logarithms; or shares of the mean if the figure of some run is near zero."""
    return Scale.of((run.value for run in runs), ())


def _change(scale: Scale, after: Sequence[float], difference: float) -> dict[str, Any]:
    """A change to the mean of these values by a difference, both on the scale, in the figure's unit."""
    new = fmean(after)
    before, now = scale.level(new - difference), scale.level(new)
    if abs(before) < ROUNDING * abs(now):
        return {"before": 0.0, "after": now, "percent": None}
    return {"before": before, "after": now, "percent": 100 * (now / before - 1)}


def _changes(runs: Sequence[HistoryRun]) -> tuple[LevelChange, ...]:
    if len(runs) < 2 * FEWEST_RUNS:
        return ()
    scale = scale_of(runs)
    levels = [scale(run.value) for run in runs]
    points = change_points(levels)
    ends = [*(point.place for point in points), len(levels)][1:]
    return tuple(
        LevelChange(run=runs[point.place].run, **_change(scale, levels[point.place : end], point.change))
        for point, end in zip(points, ends, strict=True)
    )


def _place(runs: Sequence[HistoryRun], since: str) -> int:
    places = [place for place, run in enumerate(runs) if run.run.startswith(since)]
    if not places:
        raise UsageError(
            f"--since: '{since}' is not a run of this plan", "tuibench history PROFILE lists its runs"
        )
    if places[0] < FEWEST_BASELINE:
        raise UsageError(
            f"--since: {places[0]} runs before '{since}' are too few for a comparison",
            f"it takes {FEWEST_BASELINE}",
        )
    return places[0]


def _with_regression(found: History, place: int) -> History:
    worse = -SHIFT if figure_named(found.figure).better is Better.HIGHER else SHIFT
    scale = scale_of(found.runs)
    levels = [scale(run.value) for run in found.runs]
    alarm = first_alarm(levels, math.log1p(worse) if scale.unit is None else worse, place)
    regression = None
    if alarm is not None:
        regression = Regression(
            run=found.runs[alarm.place].run,
            seen=found.runs[alarm.seen].run,
            **_change(scale, levels[alarm.place : alarm.seen + 1], alarm.change),
        )
    return msgspec.structs.replace(found, since=found.runs[place].run, regression=regression)
