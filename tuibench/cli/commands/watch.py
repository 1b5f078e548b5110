"""`tuibench watch`: opens the live screen on a server's own traffic, without a load."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import click

from tuibench.cli.options.ab_test_options import AbTestOptions
from tuibench.cli.options.screen_options import ScreenOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.options.session_options import BackgroundOptions, MetricsOptions, SightOptions
from tuibench.cli.output.formats import JSON, TEXT, check_format
from tuibench.cli.parsing.declarations import Option
from tuibench.cli.parsing.option_values import check_range, parse_percentiles
from tuibench.errors import UsageError

if TYPE_CHECKING:
    from tuibench.model.plan import RunPlan

__all__ = ["watch"]

DETAILS = (
    "Throughput, commits and statement times are counted by the server, for all of its clients. Settings "
    "can be changed as in every session: changes are journalled, and restored at the end. Nothing is "
    "enabled in the server. Without --format the live screen opens; with it, there is no screen: interval "
    "lines and a "
    "summary (text), the summary alone (json), or a line for each sample and event, then the summary (jsonl)."
)

JSON_LINES = "jsonl"
FORMATS = (TEXT, JSON, JSON_LINES)
MAX_SEED = 2**32


@dataclass(frozen=True)
class WatchOptions:
    """Duration of watching, and sampling interval."""

    SECTION: ClassVar = "Output"

    time: Annotated[
        float | None,
        Option("--time", help="Seconds to watch; 0 for no limit."),
    ] = None
    interval: Annotated[float, Option("--interval", help="Seconds between samples.")] = 1
    percentile: Annotated[
        str, Option("--percentile", help="Percentiles of the summary, the first also of the lines; 0: none.")
    ] = "95"
    form: Annotated[
        str,
        Option("--format", help="Without a screen: text, json or jsonl."),
    ] = ""
    yes_this_server: Annotated[
        bool,
        Option("--yes-this-server", help="Allow setting changes although the server looks like production."),
    ] = False
    run_dir: Annotated[str, Option("--run-dir", help="Folder for records instead of the default.")] = ""

    def plan(self) -> RunPlan:
        """The plan. Raises UsageError for numbers out of range, and for an unknown format."""
        from tuibench import paths
        from tuibench.model.plan import WATCH, RunPlan

        check_range("--time", self.time or 0, 0)
        check_range("--interval", self.interval, 0.1, 3600)
        if self.form:
            check_format(self.form, FORMATS)
        paths.keep_records_in(self.run_dir)
        return RunPlan(
            profile=WATCH,
            is_watch=True,
            threads=0,
            seconds=self.time or None,
            interval_seconds=self.interval,
            percentiles=parse_percentiles(self.percentile),
            seed=secrets.randbelow(MAX_SEED),
        )


def watch(
    server: ServerOptions,
    options: WatchOptions,
    trial: AbTestOptions,
    background: BackgroundOptions,
    metrics: MetricsOptions,
    sight: SightOptions,
    screen: ScreenOptions,
) -> None:
    from tuibench.cli.runner.event_loop import run_async
    from tuibench.cli.runner.headless import warn_leftovers
    from tuibench.cli.runner.headless_watch import run_headless_watch
    from tuibench.cli.runner.new_session import new_session_spec, run_session
    from tuibench.cli.runner.viewer import require_terminal

    plan = trial.plan(options.plan(), options.time)
    if options.form and (background.detach or background.grace is not None):
        raise UsageError(
            "--format cannot be combined with a session in the background", "use tuibench ctl status"
        )
    if not (options.form or background.detach):
        require_terminal("tuibench watch --format text, or --detach")
    warn_leftovers()
    display = None if options.form or background.detach else screen.display_options()
    spec = new_session_spec(plan, server.target(), yes_this_server=options.yes_this_server)
    spec = sight.spec(metrics.spec(spec))
    if options.form:
        raise click.exceptions.Exit(run_async(run_headless_watch(spec, options.form)))
    raise click.exceptions.Exit(run_session(spec, background, display))
