"""Text of the history of a plan: a line for each run with a bar, and the changes."""

from tuibench.document import Table, Text, write_text
from tuibench.metrics.figures import figure_named
from tuibench.model.results.comparison import History, LevelChange
from tuibench.units import local_time, signed

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
            figure.text(run.value),
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
    """A change in percent, or both levels if the figure was zero before."""
    if change.percent is not None:
        return f"{signed(change.percent, 1)} %"
    write = figure_named(found.figure).text
    return f"{write(change.before)} → {write(change.after)}"
