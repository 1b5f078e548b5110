"""`tuibench replay`: shows a recorded run in the live screens."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tuibench import paths
from tuibench.cli.options.screen_options import ScreenOptions
from tuibench.cli.options.session_options import RunDir
from tuibench.cli.output.files import writing_to
from tuibench.cli.output.log import info
from tuibench.cli.output.run_notes import load_noted
from tuibench.cli.parsing.click_command import Argument
from tuibench.cli.runner.event_loop import run_async
from tuibench.cli.runner.viewer import require_terminal
from tuibench.errors import RunError, UsageError
from tuibench.model.message import REPLAY_SPEEDS
from tuibench.model.option import Option
from tuibench.record.files.run import Run
from tuibench.record.files.store import find_run

if TYPE_CHECKING:
    from tuibench.tui.terminal.styled_app import DisplayOptions

CAST_SIZE = "120x36"
MOST_CELLS = 500
SLOWEST, FASTEST = 0.01, REPLAY_SPEEDS[-1]


def replay(
    run: Annotated[
        str, Argument(metavar="RUN", help="Id of the run, a unique part of it, its folder, or latest.")
    ],
    *,
    speed: Annotated[
        float, Option("--speed", help="Speed relative to the run: 4 is four times as fast.")
    ] = 1,
    cast: Annotated[
        str, Option("--cast", metavar="FILE", help="Write an asciinema cast instead of opening the screen.")
    ] = "",
    size: Annotated[
        str,
        Option("--size", metavar="WxH", help="Columns and rows of the cast [120x36].", show_default=False),
    ] = "",
    screen: ScreenOptions,
    run_dir: RunDir = "",
) -> None:
    """Name the run by its id or a unique part of it, by its folder, or as 'latest'. p pauses; , and . go 10
    s back and forward, < and > a minute, ^ and $ to the start and the end; { and } change the speed; q
    quits.
    """
    if not SLOWEST <= speed <= FASTEST:
        raise UsageError(f"--speed must be between {SLOWEST:g} and {FASTEST:g}, not {speed:g}")
    paths.keep_records_in(run_dir)
    found = load_noted(find_run(run))
    if not found.samples:
        raise RunError(f"{found.id} has no samples: its load never started")
    if cast:
        display = screen.display_options()
        run_async(_write_cast(found, cast, parse_size(size or CAST_SIZE), speed, display))
        return
    if size:
        raise UsageError("--size applies to a cast", "give --cast FILE, too")
    require_terminal(f"tuibench report {run}")
    display = screen.display_options()
    from tuibench.session.replay import ReplayClient
    from tuibench.tui import viewer

    viewer.run_replay(ReplayClient(found, speed), display)


def parse_size(text: str) -> tuple[int, int]:
    """Parse columns and rows. Raises UsageError for an invalid size, or one too small for the screens."""
    from tuibench.tui.screens.base import MIN_SIZE

    width, by, height = text.partition("x")
    if not (by and width.isdecimal() and height.isdecimal()):
        raise UsageError(f"--size: '{text}' is not a size", "columns and rows: 120x36")
    found = int(width), int(height)
    if found[0] < MIN_SIZE[0] or found[1] < MIN_SIZE[1] or max(found) > MOST_CELLS:
        raise UsageError(f"--size: from {MIN_SIZE[0]}x{MIN_SIZE[1]} to {MOST_CELLS}x{MOST_CELLS}, not {text}")
    return found


async def _write_cast(
    run: Run, name: str, size: tuple[int, int], speed: float, display: "DisplayOptions"
) -> None:
    """Write the frames to the file, or to stdout."""
    from tuibench.session.replay import ReplayClient, timed_messages
    from tuibench.tui.cast import write_cast

    messages = [(each.at_seconds, each.message) for each in timed_messages(run)]
    with writing_to(name), Path(name).open("w", encoding="utf-8") as file:  # noqa: ASYNC230
        await write_cast(file, ReplayClient(run).hello, messages, display, size, speed)
    info(f"{name}: {len(run.samples)} samples; asciinema play {name}, or agg {name} run.gif")
