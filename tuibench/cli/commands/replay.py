"""`tuibench replay`: a recorded run in the live screens, without any server."""

from typing import Annotated

from tuibench import paths
from tuibench.cli.options.run_dir import RunDir
from tuibench.cli.options.screen_options import ScreenOptions
from tuibench.cli.parsing.declarations import Argument, Option
from tuibench.cli.runner.viewer import require_terminal
from tuibench.errors import RunError, UsageError
from tuibench.model.message import REPLAY_SPEEDS
from tuibench.record.files.loading import load_run
from tuibench.record.files.store import find_run

SLOWEST, FASTEST = 0.01, REPLAY_SPEEDS[-1]
DETAILS = (
    "The run is named by its id or a unique part of it, by its folder, or as 'latest'. p pauses, , and . go "
    "10 s back and on, < and > a minute, ^ and $ to the ends, { and } change the speed, q leaves."
)


def replay(
    run: Annotated[str, Argument(metavar="RUN", help="Which run.")],
    *,
    speed: Annotated[float, Option("--speed", help="How many times as fast as it was.")] = 1,
    screen: ScreenOptions,
    run_dir: RunDir = "",
) -> None:
    if not SLOWEST <= speed <= FASTEST:
        raise UsageError(f"--speed must be between {SLOWEST:g} and {FASTEST:g}, not {speed:g}")
    paths.keep_records_in(run_dir)
    found = load_run(find_run(run))
    if not found.samples:
        raise RunError(f"nothing was recorded of {found.id}: its load never began")
    require_terminal(f"tuibench report {run}")
    look = screen.look()
    from tuibench.session.replay import ReplayClient
    from tuibench.tui import app

    app.run_replay(ReplayClient(found, speed), look)
