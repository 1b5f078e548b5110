"""Options of `tuibench versions`: tests, starts, threads and times, converted to a sweep plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from tuibench.cli.options.run_options import RunOptions
from tuibench.cli.parsing.declarations import Option
from tuibench.cli.parsing.option_values import check_range
from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.model.results.sweep import SweepPlan, SweepVariant
from tuibench.session.control.limits import checked_threads
from tuibench.session.sweep.planning import build_cases, parse_profiles, parse_threads
from tuibench.session.sweep.versions import SUITE, suite_cases

STARTS = 5
CELL_SECONDS, WARMUP_SECONDS = 8.0, 2.0
MAX_STARTS, MAX_RUNS = 100, 10_000


@dataclass(frozen=True)
class VersionsOptions:
    """Tests, and their repetitions."""

    profile: Annotated[
        str,
        Option("--profile", help="Tests: oltp_read_only,tpcc; default: nine tests of the classic suite."),
    ] = ""
    starts: Annotated[int, Option("--starts", help="Starts of each server, each with new tables.")] = STARTS
    threads: Annotated[str, Option("--threads", "--num-threads", help="Concurrent connections: 1,4,16.")] = (
        "4"
    )
    time: Annotated[float, Option("--time", "--max-time", help="Measured seconds of each run.")] = (
        CELL_SECONDS
    )
    warmup_time: Annotated[float, Option("--warmup-time", help="Warm-up seconds of each run.")] = (
        WARMUP_SECONDS
    )

    def plan(self, names: Sequence[str], given: dict[str, OptionValue], options: RunOptions) -> SweepPlan:
        """Plan for servers with these names. Raises UsageError for invalid options."""
        check_range("--starts", self.starts, 1, MAX_STARTS)
        threads = parse_threads(self.threads)
        for each in threads:
            checked_threads(each)
        load = RunOptions(**{**vars(options), "time": self.time, "warmup_time": self.warmup_time})
        profiles = parse_profiles(self.profile) if self.profile else (SUITE[0][0],)
        base = load.plan(profiles[0], {}, CELL_SECONDS)
        if base.seconds is None:
            raise UsageError("each run of a comparison needs a time limit", "give --time, in seconds")
        most = max(threads)
        plan = SweepPlan(
            cases=build_cases(profiles, given, most) if self.profile else suite_cases(given, most),
            variants=tuple(SweepVariant(name=name) for name in names),
            threads=threads,
            repeats=self.starts,
            base=base,
            prepare=True,
        )
        if plan.cell_count > MAX_RUNS:
            raise UsageError(f"a comparison has {MAX_RUNS:,} runs at most, this one {plan.cell_count:,}")
        return plan
