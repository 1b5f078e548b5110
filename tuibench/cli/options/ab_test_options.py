"""`--ab`: the two values that are compared, and the duration of the test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from tuibench.cli.parsing.declarations import Option
from tuibench.errors import UsageError
from tuibench.model.plan import RunPlan

if TYPE_CHECKING:
    from tuibench.model.effect import AbTestPlan, EffectFigure

MIN_CYCLES, MAX_CYCLES = 4, 1000
DEFAULT_CYCLES, FIXED_WINDOW, UNTIL_WINDOW, DEFAULT_MAX_SECONDS = 5, 10.0, 5.0, 600.0
MAX_TOLERANCE = 50.0
_TOLERANCE = re.compile(r"\s*(?:±|\+-|\+/-)?\s*(\d+(?:\.\d+)?)\s*%?\s*")

MIN_WINDOW_SAMPLES = 5
"""A window needs so many samples: some of them may be lost to settling."""

MAX_DEFAULT_WARMUP_SECONDS = 5.0
"""The default warm-up of an A/B test is at most this."""


@dataclass(frozen=True)
class AbTestOptions:
    """Options of every command that can run a trial."""

    SECTION: ClassVar = "A/B trial"

    ab: Annotated[
        str,
        Option(
            "--ab",
            help="Compare two values in turns: SETTING=V1,V2, preset=NAME1,NAME2 or threads=N1,N2. "
            "The length of the run follows from --cycles and --window, or from what --until finds.",
        ),
    ] = ""
    cycles: Annotated[int | None, Option("--cycles", help="With --ab: windows of each value [5].")] = None
    window: Annotated[
        float | None,
        Option("--window", help="With --ab: seconds of each window [10; 5 with --until]."),
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
        """The plan with its trial, if there is one; `given_seconds` is what --time says, if it was given.

        Raises UsageError for what cannot be tried, and for a --time that says something else.
        """
        from tuibench.session.effects.ab_test import THREADS

        if not self.ab:
            if self.until:
                raise UsageError("--until needs --ab", "for example --ab sync_binlog=1,0 --until ±2%")
            return plan
        if plan.schedule:
            raise UsageError("--ab does not go with a plan or a ramp", "its windows must have the same load")
        trial = self._trial(plan, given_seconds)
        if given_seconds is not None and not trial.is_sequential and given_seconds != trial.seconds:
            raise UsageError(
                f"--time={given_seconds:g} does not go with --ab: {trial.cycles} cycles of 2 windows "
                f"of {trial.window_seconds:g} s are {trial.seconds:g} s",
                "leave --time out, or change --cycles and --window",
            )
        usual = 0.0 if plan.is_watch else min(MAX_DEFAULT_WARMUP_SECONDS, trial.window_seconds)
        lead = plan.warmup_seconds or usual
        threads = max(int(trial.a), int(trial.b)) if trial.subject == THREADS else plan.threads
        return msgspec.structs.replace(
            plan, trial=trial, seconds=trial.seconds, warmup_seconds=lead, threads=threads
        )

    def _trial(self, plan: RunPlan, given_seconds: float | None) -> AbTestPlan:
        from tuibench.model.effect import AbTestPlan

        subject, a, b = parse_ab(self.ab)
        window = self.window if self.window is not None else self._usual_window(plan.interval_seconds)
        least = MIN_WINDOW_SAMPLES * plan.interval_seconds
        if window < least:
            raise UsageError(
                f"--window={window:g} is too short: a window needs {MIN_WINDOW_SAMPLES} samples, "
                f"one every {plan.interval_seconds:g} s",
                f"take --window={least:g} or more, or a shorter --interval",
            )
        tolerance = {"tolerance_percent": parse_tolerance(self.until)} if self.until else {}
        return AbTestPlan(
            subject=subject,
            a=a,
            b=b,
            cycles=self._most_cycles(window, given_seconds) if self.until else self._fixed_cycles(),
            window_seconds=window,
            seed=plan.seed,
            is_sequential=bool(self.until),
            primary=_primary_figure(plan),
            **tolerance,
        )

    def _usual_window(self, interval_seconds: float) -> float:
        return max(UNTIL_WINDOW, MIN_WINDOW_SAMPLES * interval_seconds) if self.until else FIXED_WINDOW

    def _fixed_cycles(self) -> int:
        cycles = DEFAULT_CYCLES if self.cycles is None else self.cycles
        if not MIN_CYCLES <= cycles <= MAX_CYCLES:
            raise UsageError(
                f"--cycles must be between {MIN_CYCLES} and {MAX_CYCLES:,}, not {cycles}",
                "fewer give no interval",
            )
        return cycles

    def _most_cycles(self, window: float, given_seconds: float | None) -> int:
        """The whole cycles that --time (--max-time) has room for."""
        if self.cycles is not None:
            raise UsageError("--cycles does not go with --until", "--max-time limits how long it takes")
        seconds = given_seconds or DEFAULT_MAX_SECONDS
        cycles = int(seconds / (2 * window))
        if not MIN_CYCLES <= cycles <= MAX_CYCLES:
            raise UsageError(
                f"--time (or --max-time) must be between {2 * window * MIN_CYCLES:g} and "
                f"{2 * window * MAX_CYCLES:g} s with windows of {window:g} s, not {seconds:g}"
            )
        return cycles


def _primary_figure(plan: RunPlan) -> EffectFigure:
    """The figure that decides: queries where there is no load, p95 at a fixed rate, else transactions."""
    from tuibench.model.effect import EffectFigure

    if plan.is_watch:
        return EffectFigure.QPS
    return EffectFigure.P95 if plan.rate else EffectFigure.TPS


def parse_tolerance(text: str) -> float:
    """The percentage of `±2%`. Raises UsageError for anything else."""
    written = _TOLERANCE.fullmatch(text)
    percent = float(written[1]) if written else 0.0
    if not 0 < percent <= MAX_TOLERANCE:
        raise UsageError(
            f"--until takes a percentage of at most {MAX_TOLERANCE:g}, not '{text}'",
            "for example --until ±2%",
        )
    return percent


def parse_ab(text: str) -> tuple[str, str, str]:
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
    return resolve_subject(subject, parts), parts[0], parts[1]


def resolve_subject(subject: str, values: list[str]) -> str:
    """The subject by its own name. Raises UsageError for one that is none, or a value that cannot be."""
    from tuibench.model.command import ApplyPreset, SetThreads
    from tuibench.session.control.limits import checked_threads
    from tuibench.session.effects.ab_test import PRESET, THREADS, command_for
    from tuibench.tuning.catalogue import preset_lookup, setting_lookup

    for value in values:
        command = command_for(subject, value)
        if isinstance(command, SetThreads):
            checked_threads(command.threads)
        if isinstance(command, ApplyPreset):
            preset_lookup.find_preset(preset_lookup.all_presets(), value)
    return subject if subject in (PRESET, THREADS) else setting_lookup.find_setting(subject).name


def ab_test_announcement(plan: RunPlan) -> str:
    """What a trial is going to do, and how long it takes; empty without one."""
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
