"""`--ab`: which two values are tried against each other, and for how long."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec
import typer

from tuibench.errors import UsageError
from tuibench.metrics.pairs import FEWEST_PAIRS
from tuibench.model.command import ApplyPreset, SetThreads
from tuibench.model.plan import Plan
from tuibench.model.trial import Trial
from tuibench.session.ranges import checked_threads
from tuibench.session.trialling import PRESET, THREADS, command_for
from tuibench.tuning import catalogue, own_presets, presets

FEWEST_CYCLES, MOST_CYCLES = FEWEST_PAIRS, 1000
FEWEST_SAMPLES = 5
"""A window needs so many samples: some of them may be lost to settling."""

LEAD_SECONDS = 5.0
"""A trial has at most so much warm-up, when nobody says how much."""


@dataclass(frozen=True)
class TrialOptions:
    """Options of every command that can run a trial."""

    SECTION: ClassVar = "A/B trial"

    ab: Annotated[
        str,
        typer.Option(
            "--ab",
            help="Try two values against each other: SETTING=V1,V2, preset=NAME1,NAME2 or threads=N1,N2. "
            "The length of the run follows from --cycles and --window.",
        ),
    ] = ""
    cycles: Annotated[int, typer.Option("--cycles", help="With --ab: how often each value has its turn.")] = 5
    window: Annotated[float, typer.Option("--window", help="With --ab: seconds of each turn.")] = 10.0

    def plan(self, plan: Plan, given_seconds: float | None) -> Plan:
        """The plan with its trial, if there is one; `given_seconds` is what --time says, if it was given.

        Raises UsageError for what cannot be tried, and for a --time that says something else.
        """
        if not self.ab:
            return plan
        if plan.schedule:
            raise UsageError("--ab does not go with a plan or a ramp", "its windows must have the same load")
        trial = self._trial(plan.interval_seconds)
        if given_seconds is not None and given_seconds != trial.seconds:
            raise UsageError(
                f"--time={given_seconds:g} does not go with --ab: {trial.cycles} cycles of 2 windows "
                f"of {trial.window_seconds:g} s are {trial.seconds:g} s",
                "leave --time out, or change --cycles and --window",
            )
        lead = plan.warmup_seconds or min(LEAD_SECONDS, trial.window_seconds)
        threads = max(int(trial.a), int(trial.b)) if trial.subject == THREADS else plan.threads
        return msgspec.structs.replace(
            plan, trial=trial, seconds=trial.seconds, warmup_seconds=lead, threads=threads
        )

    def _trial(self, interval_seconds: float) -> Trial:
        subject, a, b = parsed(self.ab)
        if not FEWEST_CYCLES <= self.cycles <= MOST_CYCLES:
            raise UsageError(
                f"--cycles must be between {FEWEST_CYCLES} and {MOST_CYCLES:,}, not {self.cycles}",
                "fewer give no interval",
            )
        if self.window < FEWEST_SAMPLES * interval_seconds:
            raise UsageError(
                f"--window={self.window:g} is too short: a window needs {FEWEST_SAMPLES} samples, "
                f"one every {interval_seconds:g} s",
                f"take --window={FEWEST_SAMPLES * interval_seconds:g} or more, or a shorter --interval",
            )
        return Trial(subject=subject, a=a, b=b, cycles=self.cycles, window_seconds=self.window)


def parsed(text: str) -> tuple[str, str, str]:
    """Subject and both values of `SETTING=V1,V2`. Raises UsageError for anything else, and unknown names."""
    name, equals, values = text.partition("=")
    subject = name.strip().lower().replace("-", "_")
    parts = [value.strip() for value in values.split(",")]
    if not equals or len(parts) != 2 or not all(parts):
        raise UsageError(
            f"--ab takes SETTING=V1,V2, not '{text}'", "for example --ab innodb_flush_log_at_trx_commit=1,0"
        )
    if parts[0] == parts[1]:
        raise UsageError(f"--ab needs two different values, not {parts[0]} twice")
    return known(subject, parts), parts[0], parts[1]


def known(subject: str, values: list[str]) -> str:
    """The subject by its own name. Raises UsageError for one that is none, or a value that cannot be."""
    for value in values:
        command = command_for(subject, value)
        if isinstance(command, SetThreads):
            checked_threads(command.threads)
        if isinstance(command, ApplyPreset):
            presets.find(own_presets.presets(), value)
    return subject if subject in (PRESET, THREADS) else catalogue.find(subject).name


def announcement(plan: Plan) -> str:
    """What a trial is going to do, and how long it takes; empty without one."""
    trial = plan.trial
    if trial is None:
        return ""
    return (
        f"A/B: {trial.subject} {trial.a} against {trial.b}, {trial.cycles} cycles of 2 windows of "
        f"{trial.window_seconds:g} s: {trial.seconds:g} s after {plan.warmup_seconds:g} s of warm-up"
    )
