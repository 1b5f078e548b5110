"""The plan of a run, made from the options of a command: what follows from several of them together.

The options themselves are declared on the fields of the plan, see `model/plan.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace

from tuibench.cli.output.log import info
from tuibench.cli.parsing.click_command import PlanValues
from tuibench.errors import UsageError
from tuibench.model.cluster.places import DASK_SCHEMES, parse_places
from tuibench.model.cluster.plan import ClusterPlan
from tuibench.model.experiments import effect
from tuibench.model.experiments.probe import MAX_SECONDS, MIN_SECONDS, ProbeOrder
from tuibench.model.option import Option, check_range
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.schedule import Quantity, Schedule, first_level, total_seconds

if TYPE_CHECKING:
    from tuibench.model.experiments.effect import AbTestPlan
    from tuibench.model.experiments.tune import TunePlan

MAX_DEFAULT_WARMUP_SECONDS = 5.0
"""Maximum of the default warm-up of an A/B test or a screening."""
SLOTS_PER_WINDOW = 10
"""Samples in a window of a screening."""
MEASURED = ("tps", "p95")
"""Figures of a window of a screening that an objective may refer to."""
REPLICA_HINT = "add --replica=HOST:PORT, or --replica=auto"


@dataclass(frozen=True)
class SessionOptions:
    """Options of every command that drives a load, beside its plan."""

    yes_this_server: Annotated[
        bool,
        Option("--yes-this-server", help="Allow setting changes although the server looks like production."),
    ] = False
    run_dir: Annotated[
        str, Option("--run-dir", metavar="DIR", help="Folder for records instead of the default.")
    ] = ""

    def keep_records(self) -> None:
        """Select the folder for records."""
        from tuibench import paths

        paths.keep_records_in(self.run_dir)


def make_plan(values: PlanValues, profile: str, options: dict[str, OptionValue], **fixed: Any) -> RunPlan:
    """The plan; `fixed` are fields without an option.

    Raises UsageError for options that exclude each other, and for invalid names.
    """
    schedule = _schedule(values)
    fields = values.of_part("") | {"profile": profile, "options": options, "schedule": schedule}
    if planned := first_level(schedule, Quantity.THREADS):
        if "threads" in values.given and values["threads"] != planned:
            text = f"--threads={values['threads']} is not used: the plan begins with {planned:g} threads"
            info(f"tuibench: {text}")
        fields["threads"] = int(planned)
    if schedule and schedule[0].quantity is Quantity.RATE:
        fields["rate"] = first_level(schedule, Quantity.RATE) or 0.0
    if "time" not in values.given and schedule and values["time"]:
        fields["seconds"] = total_seconds(schedule)
    if "time" not in values:
        fields["seconds"] = None
    fields["seed"] = seed_or_random(values.get("rand_seed", 0))
    plan = RunPlan(**fields | fixed, cluster=make_cluster(values))
    if plan.users and (plan.rate or any(stage.quantity is Quantity.RATE for stage in schedule)):
        raise UsageError("--users and a rate exclude each other", "use only one of them")
    _check_sources(plan)
    if "ab" in values:
        return _with_trial(plan, values)
    if "by" in values:
        return _with_probe(plan, values)
    return _with_tune(plan, values) if "budget" in values else plan


def seed_or_random(given: int) -> int:
    """Seed of a run; 0 selects a random one. Avoids `secrets`, which is slow to import."""
    return given or int.from_bytes(os.urandom(4)) >> 1 or 1


def _schedule(values: PlanValues) -> Schedule:
    """The schedule; empty without one. Raises UsageError for more than one."""
    given = {
        f"--{key.replace('_', '-')}": values[key] for key in ("plan", "ramp", "ramp_rate") if values.get(key)
    }
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)}: one plan at a time", "--plan takes any sequence: 1..64/1m,64:2m"
        )
    return next(iter(given.values()), ())


def _check_sources(plan: RunPlan) -> None:
    """Raises UsageError for invalid sources beside the server, or options without them."""
    if plan.host_metrics:
        from tuibench.observe.host.remote.source import parse_host_metrics

        parse_host_metrics(plan.host_metrics)
    if plan.max_lag_seconds and not plan.replicas:
        raise UsageError("--max-lag requires --replica", REPLICA_HINT)
    if plan.max_lag_seconds and plan.is_watch:
        raise UsageError("--max-lag pauses a load, but watch has none")


def check_lag_objectives(plan: RunPlan, texts: Sequence[str]) -> None:
    """Raises UsageError for an objective on lag without replicas."""
    if not plan.replicas and any(text.strip().lower().startswith("lag") for text in texts):
        raise UsageError("an objective on lag requires --replica", REPLICA_HINT)


# Several hosts


def make_cluster(values: PlanValues) -> ClusterPlan | None:
    """The load hosts, None for this host alone. Raises UsageError for an invalid list."""
    if "cluster" not in values:
        return None
    fields = values.of_part("cluster")
    if not fields["places"]:
        unused = [key for key, (part, _) in values.command.options.items() if part == "cluster"]
        for key in unused:
            if values[key] != values.command.default(key):
                name = values.command.options[key][1].name
                raise UsageError(f"{name} is for a load from several hosts", "add --cluster=ssh:HOST,HOST")
        return None
    plan = ClusterPlan(**fields | {"places": parse_places(fields["places"])})
    for scheduler in (place for place in plan.places if place.startswith(DASK_SCHEMES)):
        from tuibench.load.cluster.dask_carrier import check_address

        check_address(scheduler, plan)
    return plan


# A/B tests


def _with_trial(plan: RunPlan, values: PlanValues) -> RunPlan:
    """The plan with its A/B test, if any. Raises UsageError for values that cannot be tested."""
    from tuibench.session.effects.ab_test import THREADS

    if "ab" not in values.given:
        if "until" in values.given:
            raise UsageError("--until needs --ab", "for example --ab sync_binlog=1,0 --until ±2%")
        return plan
    if plan.schedule:
        raise UsageError(
            "--ab cannot be combined with a plan or a ramp", "its windows must have the same load"
        )
    given_seconds = (values["time"] or 0.0) if "time" in values.given else None
    trial = _trial(plan, values, given_seconds)
    if given_seconds is not None and not trial.is_sequential and given_seconds != trial.seconds:
        raise UsageError(
            f"--time={given_seconds:g} cannot be combined with --ab: {trial.cycles} cycles of 2 windows "
            f"of {trial.window_seconds:g} s are {trial.seconds:g} s",
            "leave --time out, or change --cycles and --window",
        )
    warmup = plan.warmup_seconds
    if "warmup_time" not in values.given and "warmup_time" in values:
        warmup = min(MAX_DEFAULT_WARMUP_SECONDS, trial.window_seconds)
    threads = max(int(trial.a), int(trial.b)) if trial.subject == THREADS else plan.threads
    return replace(plan, trial=trial, seconds=trial.seconds, warmup_seconds=warmup, threads=threads)


def _trial(plan: RunPlan, values: PlanValues, given_seconds: float | None) -> AbTestPlan:
    from tuibench.session.effects.ab_test import resolve_subject

    subject, a, b = values["ab"]
    subject = resolve_subject(subject, [a, b])
    is_sequential = "until" in values.given
    usual = effect.until_window_seconds(plan.interval_seconds) if is_sequential else values["window"]
    window = values["window"] if "window" in values.given else usual
    least = effect.MIN_WINDOW_SAMPLES * plan.interval_seconds
    if window < least:
        raise UsageError(
            f"--window={window:g} is too short: a window needs {effect.MIN_WINDOW_SAMPLES} samples, "
            f"one every {plan.interval_seconds:g} s",
            f"take --window={least:g} or more, or a shorter --interval",
        )
    primary = effect.primary_figure(is_watch=plan.is_watch, rate=plan.rate)
    if not is_sequential:
        return effect.AbTestPlan(
            subject=subject,
            a=a,
            b=b,
            cycles=values["cycles"],
            window_seconds=window,
            seed=plan.seed,
            primary=primary,
        )
    if "cycles" in values.given:
        raise UsageError("--cycles cannot be combined with --until", "--max-time limits how long it takes")
    return effect.AbTestPlan.until_decided(
        subject,
        a,
        b,
        tolerance_percent=values["until"],
        max_seconds=given_seconds or effect.DEFAULT_MAX_SECONDS,
        window_seconds=window,
        seed=plan.seed,
        primary=primary,
    )


def ab_test_announcement(plan: RunPlan) -> str:
    """Description and duration of the A/B test; empty without one."""
    trial = plan.trial
    if trial is None:
        return ""
    warmup = f" after {plan.warmup_seconds:g} s of warm-up" if plan.warmup_seconds else ""
    if trial.is_sequential:
        return (
            f"A/B: {trial.subject} {trial.a} against {trial.b}, windows of {trial.window_seconds:g} s, "
            f"until one is better or they are equal within ±{trial.tolerance_percent:g} %: "
            f"at most {trial.seconds:g} s{warmup}"
        )
    return (
        f"A/B: {trial.subject} {trial.a} against {trial.b}, {trial.cycles} cycles of 2 windows of "
        f"{trial.window_seconds:g} s: {trial.seconds:g} s{warmup}"
    )


# A probe, and a screening of settings


def _with_probe(plan: RunPlan, values: PlanValues) -> RunPlan:
    """The plan of a probe. Raises UsageError for limits that exclude each other, and invalid objectives."""
    from tuibench.metrics.thresholds.absolute import parse_objectives

    by, warmup = values["by"], plan.warmup_seconds
    check_range("--max-time", values["max_time"], MIN_SECONDS + warmup, MAX_SECONDS + warmup)
    least, most = values[f"min_{by}"], values[f"max_{by}"]
    if most and most < least:
        raise UsageError(f"--max-{by} is below --min-{by}")
    parse_objectives(values["slo"])
    order = ProbeOrder(
        **values.of_part("probe")
        | {"least": float(least), "most": float(most), "seconds": values["max_time"] - warmup}
    )
    return replace(plan, probe=order, threads=int(least) if by is Quantity.THREADS else plan.threads)


def _with_tune(plan: RunPlan, values: PlanValues) -> RunPlan:
    """The plan of a run that screens settings. Raises UsageError for names and objectives it cannot have."""
    if plan.schedule:
        raise UsageError(
            "tune cannot be combined with a plan or a ramp", "its windows must have the same load"
        )
    order = _tune_order(plan, values.of_part("tune"))
    is_warm = "warmup_time" in values.given
    return replace(
        plan,
        tune=order,
        warmup_seconds=plan.warmup_seconds if is_warm else MAX_DEFAULT_WARMUP_SECONDS,
        interval_seconds=max(0.1, min(plan.interval_seconds, order.window_seconds / SLOTS_PER_WINDOW)),
    )


def _tune_order(plan: RunPlan, fields: dict[str, Any]) -> TunePlan:
    from tuibench.metrics.thresholds.absolute import parse_threshold
    from tuibench.model.experiments.tune import TunePlan
    from tuibench.session.tune.candidates import wanted_settings

    wanted_settings(fields["only"])
    for text in fields["objectives"]:
        if parse_threshold(text).figure not in MEASURED:
            raise UsageError(
                f"--slo: windows measure {' and '.join(MEASURED)}, not '{text}'", 'for example "p95<20ms"'
            )
    if fields["resume"]:
        from tuibench.record.files.store import find_run

        fields["resume"] = str(find_run(fields["resume"]))
    figure = effect.EffectFigure.P95 if plan.rate else effect.EffectFigure.TPS
    return TunePlan(**fields, primary=figure, seed=plan.seed)
