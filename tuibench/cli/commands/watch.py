"""`tuibench watch`: opens the live screen on a server's own traffic, without a load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import click

from tuibench.cli.options.run_options import SessionOptions, make_plan
from tuibench.cli.options.screen_options import ScreenOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.options.session_options import BackgroundOptions, MetricsOptions
from tuibench.cli.output.formats import JSON, TEXT, check_format
from tuibench.cli.parsing.click_command import PlanValues, Takes
from tuibench.errors import UsageError
from tuibench.model.option import Option
from tuibench.model.plan import WATCH, RunPlan

__all__ = ["watch"]


JSON_LINES = "jsonl"
FORMATS = (TEXT, JSON, JSON_LINES)


@dataclass(frozen=True)
class WatchOptions:
    """Output of watching without a screen."""

    SECTION: ClassVar = "Output"

    form: Annotated[
        str,
        Option("--format", metavar="FORMAT", help="Without a screen: text, json or jsonl."),
    ] = ""


def watch_plan(options: PlanValues) -> RunPlan:
    """The plan of a session without load. Raises UsageError for invalid options."""
    return make_plan(options, WATCH, {}, is_watch=True, threads=0)


def watch(
    server: ServerOptions,
    options: Annotated[PlanValues, Takes("watch")],
    output: WatchOptions,
    session: SessionOptions,
    background: BackgroundOptions,
    metrics: MetricsOptions,
    screen: ScreenOptions,
) -> None:
    """Throughput, commits and statement times are counted by the server, for all of its clients. Settings
    can be changed as in every session: changes are journalled, and restored at the end. Nothing is
    enabled in the server. Without --format the live screen opens; with it, there is no screen: interval
    lines and a summary (text), the summary alone (json), or a line for each sample and event, then the
    summary (jsonl).
    """
    from tuibench.cli.runner.event_loop import run_async
    from tuibench.cli.runner.headless import warn_leftovers
    from tuibench.cli.runner.headless_watch import run_headless_watch
    from tuibench.cli.runner.new_session import new_session_spec, run_session
    from tuibench.cli.runner.viewer import require_terminal

    session.keep_records()
    plan = watch_plan(options)
    if output.form:
        check_format(output.form, FORMATS)
    if output.form and (background.detach or background.grace is not None):
        raise UsageError(
            "--format cannot be combined with a session in the background", "use tuibench ctl status"
        )
    if not (output.form or background.detach):
        require_terminal("--format=text, or --detach")
    warn_leftovers()
    display = None if output.form or background.detach else screen.display_options()
    spec = metrics.spec(new_session_spec(plan, server.target(), yes_this_server=session.yes_this_server))
    if output.form:
        raise click.exceptions.Exit(run_async(run_headless_watch(spec, output.form)))
    raise click.exceptions.Exit(run_session(spec, background, display))
