"""Options of `tuibench versions`: tests, starts, threads and times, converted to a sweep plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from tuibench.cli.click_command import PlanValues
from tuibench.cli.options import make_plan
from tuibench.errors import UsageError
from tuibench.model.option import Option, check_range
from tuibench.model.plan import OptionValue
from tuibench.model.schedule import checked_threads
from tuibench.model.sweep import SweepPlan, SweepVariant
from tuibench.sweep.planning import build_cases, parse_profiles, parse_threads
from tuibench.sweep.versions import SUITE, suite_cases

STARTS = 5

MAX_STARTS, MAX_RUNS = 100, 10_000


@dataclass(frozen=True)
class VersionsOptions:
    """Tests, and their repetitions."""

    profile: Annotated[
        str,
        Option(
            "--profile",
            metavar="PROFILE",
            help="Tests: oltp_read_only,tpcc; default: nine tests of the classic suite.",
        ),
    ] = ""
    starts: Annotated[int, Option("--starts", help="Starts of each server, each with new tables.")] = STARTS
    threads: Annotated[str, Option("--threads", "--num-threads", help="Concurrent connections: 1,4,16.")] = (
        "4"
    )

    def plan(self, names: Sequence[str], given: dict[str, OptionValue], options: PlanValues) -> SweepPlan:
        """Plan for servers with these names. Raises UsageError for invalid options."""
        check_range("--starts", self.starts, 1, MAX_STARTS)
        threads = parse_threads(self.threads)
        for each in threads:
            checked_threads(each)
        profiles = parse_profiles(self.profile) if self.profile else (SUITE[0][0],)
        base = make_plan(options, profiles[0], {})
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
