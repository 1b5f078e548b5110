"""The report hooks of a Lua script: what they print takes the place of sysbench's interval lines and report.

As in sysbench, the hooks have Lua states of their own: one for the intervals, one for each checkpoint and the
end. A hook that computes does not hold up the run: they are called on a thread of their own, one by one.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tuibench import sanitize
from tuibench.cli.output import Write, info
from tuibench.installation import native_module
from tuibench.model.plan import RunPlan
from tuibench.model.tick import Tick
from tuibench.record.sysbench_report import FullReport, interval_stat, report_stat
from tuibench.workload import script
from tuibench.workload.compiler import THREADS
from tuibench.workload.program import Program


class ScriptReporter:
    """Calls the report hooks that a script has. `write` gets what they print."""

    def __init__(self, program: Program, plan: RunPlan, write: Write) -> None:
        own = program.script
        self._hooks = script.declared(own).hooks if own is not None else ()
        self._write = write
        self._threads = plan.threads
        self._percentile = plan.percentiles[0] if plan.percentiles else 0.0
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="report hook")
        self._calls: set[asyncio.Future[str]] = set()
        self._intervals: Any = None
        if own is not None:
            general = {
                "events": plan.events or 0,
                "histogram": plan.histogram,
                "percentile": self._percentile,
                "rand_seed": plan.seed,
                "rate": plan.rate,
                "report_interval": plan.report_seconds,
                "time": plan.seconds or 0,
            }
            options = {**program.options, THREADS: plan.threads}
            self._settings = script.native_settings(own, options, general=general)

    @property
    def reports_intervals(self) -> bool:
        return script.REPORT_INTERMEDIATE in self._hooks

    @property
    def reports_totals(self) -> bool:
        return script.REPORT_CUMULATIVE in self._hooks

    def interval(self, tick: Tick) -> None:
        """Reports an interval of the run."""
        stat = interval_stat(tick, self._percentile)
        self._call(self._report_interval, script.REPORT_INTERMEDIATE, stat)

    def checkpoint(self, report: FullReport) -> None:
        """Reports the time since the last checkpoint."""
        stat = report_stat(report, self._threads)
        self._call(self._report_totals, script.REPORT_CUMULATIVE, stat, self._threads)

    async def end(self, report: FullReport | None = None) -> None:
        """Ends the intervals, and reports the time since the last checkpoint, if there is a report of it."""
        self._call(self._report_interval, None, {})
        if report is not None and self.reports_totals:
            self._call(self._report_totals, script.REPORT_CUMULATIVE, report_stat(report, 0), 0)
        await asyncio.gather(*self._calls, return_exceptions=True)
        self._pool.shutdown()

    def _call(self, call: Any, *arguments: object) -> None:
        called = asyncio.get_running_loop().run_in_executor(self._pool, call, *arguments)
        self._calls.add(called)
        called.add_done_callback(self._called)

    def _called(self, call: "asyncio.Future[str]") -> None:
        self._calls.discard(call)
        error = call.exception()
        if error is None:
            self._write(call.result())
        else:
            info(f"tuibench: {sanitize.excerpt(str(error))}")

    def _report_interval(self, hook: str | None, stat: Mapping[str, float]) -> str:
        if hook is None and self._intervals is None:
            return ""
        if self._intervals is None:
            self._intervals = native_module().ScriptReport(self._settings, self._threads)
        return str(self._intervals.call(hook, list(stat.items())))

    def _report_totals(self, hook: str, stat: Mapping[str, float], tid: int) -> str:
        return str(native_module().ScriptReport(self._settings, tid).call(hook, list(stat.items())))
