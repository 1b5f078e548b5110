"""History of the recorded runs of a plan: levels over time, their changes, a regression; text and chart.

A history contains the runs with the same statements, options, load and server address as the newest run of a
profile.

- `change_points` analyses the whole history: E-divisive (Matteson and James, JASA 109, 2014) finds the best
  split of a stretch by the energy distance of its two sides, without an assumption about the distribution.
  Student's t on both sides decides whether the split is significant, as in Hunter (Fleming et al., ICPE 2023;
  apache-otava), and both sides are searched recursively.
- `first_alarm` finds a change that has few runs after it: a cumulative sum (Page, Biometrika 41, 1954) of the
  evidence that the level has shifted by `shift` against the runs before. The evidence is a ratio of t
  densities, because the level before and its noise are estimates.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev, variance
from typing import Any, NamedTuple

import msgspec

from tuibench.base.document import Table, Text, write_text
from tuibench.base.errors import RunError, UsageError
from tuibench.base.units import axis_maximum, local_time, signed
from tuibench.metrics.figures import Better, Figure, figure_named
from tuibench.metrics.inference import Scale, two_sided
from tuibench.model.plan import part_options
from tuibench.model.summary import History, HistoryRun, LevelChange, Summary
from tuibench.record import reader, store
from tuibench.record.recorder import PLAN, SUMMARY, PlanRecord
from tuibench.record.store import RecordedRun
from tuibench.report.html_chart import Markup, tag

SHIFT = 0.05
"""The relative change that the search for a regression is tuned to detect."""

ROUNDING = 1e-9
"""A level below this share of another one counts as zero."""

NOT_THE_PLAN = {"deviations"} | {each.field for each in part_options("") if not each.option.affects_load}
"""Fields of a plan in which the runs of a history may differ: they do not affect the load."""


def recorded_runs(profile: str, on_damage: Callable[[str], object]) -> list[RecordedRun]:
    """The finished runs of a profile, the oldest first, without interrupted and failed ones.

    A record that cannot be read is omitted, and `on_damage` is called with the reason.
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
    """The scale of a history: logarithms, or shares of the mean if the figure of some run is near zero."""
    return Scale.of((run.value for run in runs), ())


def _change(scale: Scale, after: Sequence[float], difference: float) -> dict[str, Any]:
    """The fields of a `LevelChange`: `after` are the values after it, `difference` is on the scale."""
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
        regression = LevelChange(
            run=found.runs[alarm.place].run,
            seen=found.runs[alarm.seen].run,
            **_change(scale, levels[alarm.place : alarm.seen + 1], alarm.change),
        )
    return msgspec.structs.replace(found, since=found.runs[place].run, regression=regression)


SIGNIFICANCE = 0.001
"""Significance level of the t test. The best of many splits is tested, so the rate of false alarms is much
higher than this level.
"""

FEWEST_RUNS = 3
"""Minimum number of runs on each side of a change point."""

LONGEST_STRETCH = 400
"""Number of runs that are searched at a time: the duration of the search grows with its square."""

BASELINE = 100
FEWEST_BASELINE = 8
EVIDENCE = 4.1
"""The logarithm of the likelihood ratio at which the newest runs raise an alarm.

There is a false alarm once in 200 runs. A fall by 5 % in noise of 3 % is detected within five runs with a
probability of 77, 81 and 84 % (after 20, 40 and 100 runs). A sum with known level and noise, which is optimal
(Moustakides, Annals of Statistics 14, 1986), detects it with 86 % at the same rate of false alarms.
"""

LEAST_NOISE = 0.003
"""The least standard deviation that is assumed, as a share of the level: runs that agree better do so by
chance.
"""


class ChangePoint(NamedTuple):
    """A change of level."""

    place: int
    """The index of the first run at the new level."""
    change: float
    """The difference of the levels' logarithms; for an alarm, as estimated so far."""
    seen: int = 0
    """For an alarm, the index of the run at which it was raised."""


def change_points(levels: Sequence[float]) -> list[ChangePoint]:
    """All changes of level, in time order."""
    start = max(0, len(levels) - LONGEST_STRETCH)
    places = [start, *_places(levels, start, len(levels)), len(levels)]
    return [
        ChangePoint(place, fmean(levels[place:after]) - fmean(levels[before:place]))
        for before, place, after in zip(places, places[1:], places[2:], strict=False)
    ]


def first_alarm(levels: Sequence[float], shift: float, since: int = 0) -> ChangePoint | None:
    """The first shift of the level that begins at run `since` or later; None without one.

    `shift` is the difference of levels to be detected, negative for a fall. The baseline consists of up to
    `BASELINE` runs before the shift, since the last change of level.
    """
    changed = [point.place for point in change_points(levels[:since])]
    begin = changed[-1] if changed else 0
    evidence, first = 0.0, max(since, begin + FEWEST_BASELINE)
    for place in range(first, len(levels)):
        if evidence <= 0:
            evidence, first = 0.0, place
        baseline = levels[max(begin, first - BASELINE) : first]
        evidence += _evidence(levels[place], baseline, shift)
        if evidence > EVIDENCE:
            return ChangePoint(first, fmean(levels[first : place + 1]) - fmean(baseline), place)
    return None


def _places(levels: Sequence[float], start: int, end: int) -> list[int]:
    place = _best_split(levels[start:end])
    if place is None:
        return []
    middle = start + place
    left, right = levels[start:middle], levels[middle:end]
    degrees = len(left) + len(right) - 2
    pooled = (variance(left) * (len(left) - 1) + variance(right) * (len(right) - 1)) / degrees
    error = math.sqrt(max(pooled, LEAST_NOISE**2) * (1 / len(left) + 1 / len(right)))
    if abs(fmean(right) - fmean(left)) <= two_sided(SIGNIFICANCE, degrees) * error:
        return []
    return [*_places(levels, start, middle), middle, *_places(levels, middle, end)]


def _best_split(levels: Sequence[float]) -> int | None:
    """The index that splits the levels with the largest weighted energy distance; None for too few levels."""
    count = len(levels)
    inside_left, inside_right, whole = 0.0, _distances(levels), _distances(levels)
    best: tuple[float, int] | None = None
    for place, level in enumerate(levels[: count - FEWEST_RUNS], 1):
        inside_left += math.fsum(abs(level - other) for other in levels[: place - 1])
        inside_right -= math.fsum(abs(level - other) for other in levels[place:])
        if place < FEWEST_RUNS:
            continue
        left, right = place, count - place
        between = 2 * (whole - inside_left - inside_right) / (left * right)
        energy = between - 2 * inside_left / (left * (left - 1)) - 2 * inside_right / (right * (right - 1))
        best = max(best or (-math.inf, 0), (energy * left * right / count, place))
    return best[1] if best else None


def _distances(levels: Sequence[float]) -> float:
    """The sum of |x − y| over all pairs."""
    return math.fsum((2 * place - len(levels) + 1) * level for place, level in enumerate(sorted(levels)))


def _evidence(level: float, baseline: Sequence[float], shift: float) -> float:
    """The logarithm of the likelihood ratio of a shift of the level against no shift.

    The ratio of two t densities has a maximum beyond the shift, and decreases after it. A level beyond the
    maximum has the evidence of the maximum, because it is no weaker evidence.
    """
    count = len(baseline)
    noise = max(stdev(baseline), LEAST_NOISE)
    scale = noise * noise * (1 + 1 / count) * (count - 1)
    size, off = abs(shift), math.copysign(1.0, shift) * (level - fmean(baseline))
    off = min(off, (size + math.sqrt(size * size + 4 * scale)) / 2)
    return count / 2 * (math.log1p(off * off / scale) - math.log1p((off - size) ** 2 / scale))


BAR_WIDTH = 40


def history_text(found: History) -> str:
    """The text for the terminal, ending in a newline."""
    figure = figure_named(found.figure)
    highest = max((run.value for run in found.runs), default=0.0)
    changed = {change.run for change in found.changes}
    rows = tuple(
        (
            "*" if run.run in changed else " ",
            local_time(run.started_at),
            run.run,
            figure.text(run.value, in_column=True),
            "#" * max(1, round(BAR_WIDTH * run.value / highest)) if run.value else "",
        )
        for run in found.runs
    )
    lines = [
        f"from {change.run} on: {change_text(change, found)} against the runs before"
        for change in found.changes
    ] or [found.note or "no change of level"]
    if found.regression is not None:
        lines.append(
            f"regression: {change_text(found.regression, found)} from {found.regression.run} on, "
            f"evident at {found.regression.seen}"
        )
    elif found.since is not None:
        lines.append(f"no regression since {found.since}")
    if found.other_plans:
        lines.append(f"left out: {found.other_plans} runs of the profile with another plan or server")
    title = f"{found.profile}: {figure.heading} of {len(found.runs)} runs of one plan"
    header = ("", "started", "run", figure.title, "")
    table = Table(header=header, rows=rows, words=3, remarks=1)
    return write_text((Text((title,)), *[table] * bool(rows), Text(tuple(lines))))


def change_text(change: LevelChange, found: History) -> str:
    """A change in words: in percent, or both levels if the figure was zero before."""
    if change.percent is not None:
        return f"{signed(change.percent, 1)} %"
    write = figure_named(found.figure).text
    return f"{write(change.before)} → {write(change.after)}"


WIDTH, HEIGHT = 960, 360
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 56, 40
RULES = 4
STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #444; }
    .title { font-size: 16px; font-weight: 600; fill: #111; }
    .rule { stroke: #ddd; } .run { fill: #2563eb; } .level { stroke: #111; stroke-width: 2; }
    .change { stroke-dasharray: 4 3; }
    .worse { fill: #b91c1c; stroke: none; } line.worse { stroke: #b91c1c; }
    .better { fill: #15803d; stroke: none; } line.better { stroke: #15803d; }
"""


def history_chart(found: History) -> str:
    """A self-contained SVG file: a point for each run, the levels between changes, the regression.

    It ends in a newline. For a history without runs it contains a title with the reason.
    """
    children = [
        tag("style", Markup(STYLE)),
        tag("rect", width=WIDTH, height=HEIGHT, fill="#fff"),
        tag("text", _title(found), x=LEFT, y=26, class_="title"),
        *(_drawn(found) if found.runs else ()),
    ]
    box = f"0 0 {WIDTH} {HEIGHT}"
    picture = tag(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=box,
        width=WIDTH,
        height=HEIGHT,
        role="img",
    )
    return f"{picture}\n"


def _title(found: History) -> str:
    title = f"{found.profile}: {figure_named(found.figure).title} of {len(found.runs)} runs"
    return f"{title}; {found.note}" if found.note else title


def _drawn(found: History) -> Iterator[Markup]:
    top = axis_maximum(max(run.value for run in found.runs))
    yield from _rules(found, top)
    places = [_place_of(found, change.run) for change in found.changes]
    yield from _levels(found, [0, *places, len(found.runs)], top)
    for place, run in enumerate(found.runs):
        words = f"{run.run}: {figure_named(found.figure).text(run.value)}"
        x, y = _x(found, place), _y(run.value, top)
        yield tag("circle", tag("title", words), cx=x, cy=y, r=4.0, class_="run")
    for change, place in zip(found.changes, places, strict=True):
        yield from _mark(found, place, change, change_text(change, found))
    if found.regression is not None:
        place = _place_of(found, found.regression.run)
        text = f"regression {change_text(found.regression, found)}"
        yield from _mark(found, place, found.regression, text, lower=True)


def _rules(found: History, top: float) -> Iterator[Markup]:
    for number in range(RULES + 1):
        value = top * number / RULES
        y = _y(value, top)
        yield tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="rule")
        label = figure_named(found.figure).text(value) if value else "0"
        yield tag("text", label, x=LEFT - 8, y=y + 4, text_anchor="end")
    ends = ((0, "start"), (len(found.runs) - 1, "end"))
    for place, anchor in ends[: len(found.runs)]:
        words = local_time(found.runs[place].started_at)
        yield tag("text", words, x=_x(found, place), y=HEIGHT - 14, text_anchor=anchor)


def _levels(found: History, edges: Sequence[int], top: float) -> Iterator[Markup]:
    """A line for the mean level between two changes, computed on the scale of the history."""
    scale = scale_of(found.runs)
    for start, end in pairwise(edges):
        level = scale.level(fmean(scale(run.value) for run in found.runs[start:end]))
        y = _y(level, top)
        yield tag("line", x1=_x(found, start), x2=_x(found, end - 1), y1=y, y2=y, class_="level")


def _mark(
    found: History, place: int, change: LevelChange, text: str, *, lower: bool = False
) -> Iterator[Markup]:
    is_better = (change.after > change.before) is (figure_named(found.figure).better is Better.HIGHER)
    name, x = "better" if is_better else "worse", _x(found, place)
    at_the_end = x > WIDTH / 2
    yield tag("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, class_=f"change {name}")
    yield tag(
        "text",
        text,
        x=x - 6 if at_the_end else x + 6,
        y=TOP + (28 if lower else 12),
        text_anchor="end" if at_the_end else "start",
        class_=name,
    )


def _place_of(found: History, run: str) -> int:
    return next(place for place, each in enumerate(found.runs) if each.run == run)


def _x(found: History, place: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (place + 0.5) / len(found.runs)


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top
