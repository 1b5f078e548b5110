"""Runs a headless session in this process, for commands that print their own progress."""

import asyncio
from collections.abc import Callable

from tuibench.cli.runner.event_loop import ENDING_SIGNALS
from tuibench.errors import ExitCode
from tuibench.model.message import SessionMessage
from tuibench.model.results.summary import Summary
from tuibench.session.load_run import LoadRun
from tuibench.session.spec import SessionSpec


async def run_in_process(
    spec: SessionSpec, listener: Callable[[SessionMessage], None], announce: Callable[[LoadRun], None]
) -> tuple[Summary, ExitCode]:
    """Run a session to its end; a signal ends it early, with its results so far.

    `listener` receives every message, `announce` the run before its load starts. Raises the error of a run
    that ended before it measured anything.
    """
    run = LoadRun(spec)
    run.watcher.bus.listeners.append(listener)
    lifecycle = run.watcher.lifecycle
    async with run:
        loop = asyncio.get_running_loop()
        for number in ENDING_SIGNALS:
            loop.add_signal_handler(number, run.request_stop, "interrupted")
        announce(run)
        summary = await run.run()
    if lifecycle.error is not None and not summary.seconds:
        raise lifecycle.error
    return summary, lifecycle.exit_code
