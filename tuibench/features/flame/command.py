"""`tuibench flame`: the CPU profile of a recorded run, of a part of it, or before and after a change."""

from typing import Annotated

import typer

from tuibench.base import paths
from tuibench.base.document import write_text
from tuibench.base.errors import UsageError
from tuibench.cli.options import RunDir
from tuibench.cli.output import TEXT, check_format, info
from tuibench.model.effect import Effect, latest_effects
from tuibench.observe.cpu_profile import (
    difference_blocks,
    flame_page,
    folded_text,
    function_blocks,
    load_profile,
    missing_symbols,
    speedscope,
)
from tuibench.record.reader import Run, load_run
from tuibench.record.store import find_run

FORMATS = (TEXT, "html", "folded", "speedscope")
EDGE = 2.0
"""Seconds that a profile of the whole run may miss at its start and end."""


def flame(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run as in runs list, latest, or a folder.")],
    effect: Annotated[
        int, typer.Option(metavar="NUMBER", help="Before and after the change with this marker.")
    ] = 0,
    start: Annotated[
        float, typer.Option("--from", metavar="SECONDS", help="From this second of the run on; 0: its start.")
    ] = 0.0,
    end: Annotated[
        float, typer.Option("--to", metavar="SECONDS", help="Up to this second; 0: its end.")
    ] = 0.0,
    output: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="text, html, folded (flamegraph.pl), or speedscope."),
    ] = TEXT,
    run_dir: RunDir = "",
) -> None:
    """Prints which functions of the server used the processor in a run with --cpu-profile, or in windows that
    the key C or ctl cpu-profile recorded. With --effect, prints the functions whose share changed beyond the
    noise, with 95 % intervals, and draws both windows into one flame graph.
    """
    check_format(output, FORMATS)
    if effect and (start or end):
        raise UsageError("--effect has windows of its own", "leave out --from and --to")
    paths.keep_records_in(run_dir)
    found = load_run(find_run(run))
    profile = load_profile(found.directory)
    # Unix time of the run's second 0.
    sample = next((sample for sample in found.measured), None)
    begun = sample.at - sample.elapsed_seconds if sample is not None else found.plan.started_at
    spans = _windows_of(_effect(found, effect)) if effect else {"run": (start, end or found.summary.seconds)}
    windows = {name: profile.window(begun + first, begun + last) for name, (first, last) in spans.items()}
    compared = list(windows.values())
    text = write_text(difference_blocks(*compared) if effect else function_blocks(compared[0]))
    if output == TEXT:
        written = text
    elif output == "html":
        written = flame_page(f"CPU of {found.plan.server.flavour} in {found.id}", windows, text)
    elif output == "folded":
        written = folded_text(list(windows.values()))
    else:
        written = speedscope(windows)
    typer.echo(written, nl=False)
    recorded = [(first - begun, last - begun) for first, last in profile.spans()]
    if len(recorded) > 1 or any(a > EDGE or b < found.summary.seconds - EDGE for a, b in recorded):
        known = ", ".join(f"{max(first, 0.0):.0f}..{last:.0f}" for first, last in recorded)
        info(f"tuibench: recorded seconds of the run: {known}")
    if gap := missing_symbols(profile):
        info(f"tuibench: {gap}")


def _effect(run: Run, marker: int) -> Effect:
    known = latest_effects(event.effect for event in run.events if event.effect)
    found = next((each for each in known if marker in each.markers), None)
    if found is None:
        numbers = ", ".join(str(each.markers[-1]) for each in known) or "none"
        raise UsageError(f"{run.id} has no effect {marker}", f"effects of this run: {numbers}")
    return found


def _windows_of(effect: Effect) -> dict[str, tuple[float, float]]:
    settled = effect.at_seconds + effect.settling_seconds
    return {
        "before": (effect.at_seconds - effect.window_seconds, effect.at_seconds),
        "after": (settled, settled + effect.window_seconds),
    }
