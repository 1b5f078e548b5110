"""Text of the history of a plan: a line for each run with a bar, and the changes."""

from collections.abc import Iterator

from tuibench.metrics.figures import figure_named
from tuibench.model.results.comparison import History, HistoryRun, LevelChange
from tuibench.units import decimal, local_time, signed

BAR_WIDTH = 40


def history_text(found: History) -> str:
    """The text for the terminal, ending in a newline."""
    lines = [
        f"{found.profile}: {figure_named(found.figure).heading} of {len(found.runs)} runs of one plan",
        "",
    ]
    lines += _chart(found)
    lines += [""] * bool(found.runs)
    lines += [
        f"from {change.run} on: {change_text(change, found)} against the runs before"
        for change in found.changes
    ]
    if not found.changes:
        lines.append(found.note or "no change of level")
    if found.regression is not None:
        lines.append(
            f"regression: {change_text(found.regression, found)} from {found.regression.run} on, "
            f"evident at {found.regression.seen}"
        )
    elif found.since is not None:
        lines.append(f"no regression since {found.since}")
    if found.other_plans:
        lines.append(f"left out: {found.other_plans} runs of the profile with another plan or server")
    return "\n".join(lines) + "\n"


def change_text(change: LevelChange, found: History) -> str:
    """A change in percent, or both levels if the figure was zero before."""
    if change.percent is not None:
        return f"{signed(change.percent, 1)} %"
    write = figure_named(found.figure).text
    return f"{write(change.before)} → {write(change.after)}"


def _chart(found: History) -> Iterator[str]:
    highest = max((run.value for run in found.runs), default=0.0)
    changed = {change.run for change in found.changes}
    width = max((len(run.run) for run in found.runs), default=0)
    for run in found.runs:
        mark = "*" if run.run in changed else " "
        value = decimal(run.value, 1)
        yield f"{mark} {local_time(run.started_at)}  {run.run:<{width}}  {value:>10}  {_bar(run, highest)}"


def _bar(run: HistoryRun, highest: float) -> str:
    return "#" * max(1, round(BAR_WIDTH * run.value / highest)) if run.value else ""
