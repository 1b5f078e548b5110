"""`tuibench replay`: a recorded run in the live screens, without any server."""

from typing import Annotated

import typer

from tuibench.cli.finding import RunDir, look_in
from tuibench.cli.groups import grouped
from tuibench.cli.screen_options import ScreenOptions
from tuibench.cli.watching import demand_terminal
from tuibench.errors import RunError, UsageError
from tuibench.model.replay import SPEEDS
from tuibench.record.collection import find_run
from tuibench.record.run import load

SLOWEST, FASTEST = 0.01, SPEEDS[-1]
DETAILS = (
    "The run is named by its id or a unique part of it, by its folder, or as 'latest'. p pauses, , and . go "
    "10 s back and on, < and > a minute, ^ and $ to the ends, { and } change the speed, q leaves."
)


@grouped
def replay(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Which run.")],
    *,
    speed: Annotated[float, typer.Option("--speed", help="How many times as fast as it was.")] = 1,
    screen: ScreenOptions,
    run_dir: RunDir = "",
) -> None:
    if not SLOWEST <= speed <= FASTEST:
        raise UsageError(f"--speed must be between {SLOWEST:g} and {FASTEST:g}, not {speed:g}")
    look_in(run_dir)
    found = load(find_run(run))
    if not found.samples:
        raise RunError(f"nothing was recorded of {found.id}: its load never began")
    demand_terminal(f"tuibench report {run}")
    look = screen.look()
    from tuibench.session.replay import ReplayClient
    from tuibench.tui import app

    app.replay(ReplayClient(found, speed), look)
