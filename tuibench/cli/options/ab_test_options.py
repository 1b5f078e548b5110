"""`--ab`: the two values to compare, and the duration of the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from tuibench.cli.parsing.declarations import Option
from tuibench.errors import UsageError
from tuibench.model import notation
from tuibench.model.plan import RunPlan

if TYPE_CHECKING:
    from tuibench.model.experiments.effect import AbTestPlan

DEFAULT_CYCLES, FIXED_WINDOW = 5, 10.0

MAX_DEFAULT_WARMUP_SECONDS = 5.0
"""Maximum of the default warm-up of an A/B test."""


@dataclass(frozen=True)
class AbTestOptions:
    """Options of every command that can run an A/B test."""

    SECTION: ClassVar = "A/B trial"

    ab: Annotated[
        str,
        Option(
            "--ab",
            help="Alternate two values: SETTING=V1,V2, preset=NAME1,NAME2 or threads=N1,N2. The duration "
            "follows from --cycles and --window; with --until, the test ends with its verdict.",
        ),
    ] = ""
    cycles: Annotated[int | None, Option("--cycles", help="With --ab: windows of each value [5].")] = None
    window: Annotated[
        float | None,
        Option("--window", help="With --ab: seconds of each window [10; 4 with --until]."),
    ] = None
    until: Annotated[
        str,
        Option(
            "--until",
            help="With --ab: stop as soon as B is higher, lower, or equal within this, as in ±2%; "
            "--max-time limits it [600].",
        ),
    ] = ""

    def plan(self, plan: RunPlan, given_seconds: float | None) -> RunPlan:
        """The plan with its A/B test, if any; `given_seconds` is the value of --time, if given.

        Raises UsageError for values that cannot be tested, and for a conflicting --time.
        """
        from tuibench.session.effects.ab_test import THREADS

        if not self.ab:
            if self.until:
                raise UsageError("--until needs --ab", "for example --ab sync_binlog=1,0 --until ±2%")
            return plan
        if plan.schedule:
            raise UsageError(
                "--ab cannot be combined with a plan or a ramp", "its windows must have the same load"
            )
        trial = self._trial(plan, given_seconds)
        if given_seconds is not None and not trial.is_sequential and given_seconds != trial.seconds:
            raise UsageError(
                f"--time={given_seconds:g} cannot be combined with --ab: {trial.cycles} cycles of 2 windows "
                f"of {trial.window_seconds:g} s are {trial.seconds:g} s",
                "leave --time out, or change --cycles and --window",
            )
        usual = 0.0 if plan.is_watch else min(MAX_DEFAULT_WARMUP_SECONDS, trial.window_seconds)
        warmup = plan.warmup_seconds or usual
        threads = max(int(trial.a), int(trial.b)) if trial.subject == THREADS else plan.threads
        return msgspec.structs.replace(
            plan, trial=trial, seconds=trial.seconds, warmup_seconds=warmup, threads=threads
        )

    def _trial(self, plan: RunPlan, given_seconds: float | None) -> AbTestPlan:
        from tuibench.model.experiments import effect

        subject, a, b = parse_ab(self.ab)
        window = self.window if self.window is not None else self._usual_window(plan.interval_seconds)
        least = effect.MIN_WINDOW_SAMPLES * plan.interval_seconds
        if window < least:
            raise UsageError(
                f"--window={window:g} is too short: a window needs {effect.MIN_WINDOW_SAMPLES} samples, "
                f"one every {plan.interval_seconds:g} s",
                f"take --window={least:g} or more, or a shorter --interval",
            )
        primary = effect.primary_figure(is_watch=plan.is_watch, rate=plan.rate)
        if self.until:
            if self.cycles is not None:
                raise UsageError(
                    "--cycles cannot be combined with --until", "--max-time limits how long it takes"
                )
            return effect.AbTestPlan.until_decided(
                subject,
                a,
                b,
                tolerance_percent=notation.parse_tolerance(self.until),
                max_seconds=given_seconds or effect.DEFAULT_MAX_SECONDS,
                window_seconds=window,
                seed=plan.seed,
                primary=primary,
            )
        return effect.AbTestPlan(
            subject=subject,
            a=a,
            b=b,
            cycles=self._fixed_cycles(),
            window_seconds=window,
            seed=plan.seed,
            primary=primary,
        )

    def _usual_window(self, interval_seconds: float) -> float:
        from tuibench.model.experiments.effect import until_window_seconds

        return until_window_seconds(interval_seconds) if self.until else FIXED_WINDOW

    def _fixed_cycles(self) -> int:
        from tuibench.model.experiments.effect import MAX_CYCLES, MIN_CYCLES

        cycles = DEFAULT_CYCLES if self.cycles is None else self.cycles
        if not MIN_CYCLES <= cycles <= MAX_CYCLES:
            raise UsageError(
                f"--cycles must be between {MIN_CYCLES} and {MAX_CYCLES:,}, not {cycles}",
                "fewer give no interval",
            )
        return cycles


def parse_ab(text: str) -> tuple[str, str, str]:
    """Subject and both values of `SETTING=V1,V2`. Raises UsageError for anything else or unknown names."""
    from tuibench.session.effects.ab_test import resolve_subject

    subject, a, b = notation.parse_ab(text)
    return resolve_subject(subject, [a, b]), a, b


def ab_test_announcement(plan: RunPlan) -> str:
    """Description and duration of the A/B test; empty without one."""
    trial = plan.trial
    if trial is None:
        return ""
    if trial.is_sequential:
        return (
            f"A/B: {trial.subject} {trial.a} against {trial.b}, windows of {trial.window_seconds:g} s, "
            f"until one is better or they are equal within ±{trial.tolerance_percent:g} %: "
            f"at most {trial.seconds:g} s{_warmup_text(plan)}"
        )
    return (
        f"A/B: {trial.subject} {trial.a} against {trial.b}, {trial.cycles} cycles of 2 windows of "
        f"{trial.window_seconds:g} s: {trial.seconds:g} s{_warmup_text(plan)}"
    )


def _warmup_text(plan: RunPlan) -> str:
    return f" after {plan.warmup_seconds:g} s of warm-up" if plan.warmup_seconds else ""
