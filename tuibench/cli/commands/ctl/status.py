"""Status of a session, as text and JSON."""

from typing import Literal

import msgspec
from msgspec.structs import asdict

from tuibench import sanitize
from tuibench.metrics.figures import read
from tuibench.model.experiments.effect import AbTestResult, EffectProgress
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import Hello, RunState, Status
from tuibench.model.notation import format_delay, format_weights
from tuibench.model.schedule import PlanPhase, PlanProgress, format_schedule
from tuibench.model.settings import SettingState
from tuibench.model.tick import Tick
from tuibench.units import hms, milliseconds


class ServerSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Server of a session."""

    where: str
    flavour: str
    version: str


class SessionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a session as JSON, with the newest sample, None before the first.

    `rate` is in transactions per second, 0 for no limit; `plan` is the progress of a planned load, `ab` the
    result of an A/B test so far.
    """

    schema: Literal["tuibench.status/1"] = "tuibench.status/1"
    session: str
    pid: int
    version: str
    profile: str
    server: ServerSummary
    elapsed_seconds: float
    viewers: int
    run_directory: str
    state: RunState
    threads: int
    rate: float
    weights: dict[str, float]
    client_delay_ms: float
    plan: PlanProgress | None
    workers: int
    settings: tuple[SettingState, ...]
    production_signs: tuple[str, ...]
    warnings: tuple[str, ...]
    ab: AbTestResult | None
    effect: EffectProgress | None
    sample: Sample | None


def session_status(hello: Hello) -> SessionStatus:
    """Status for programs, from a session's hello message."""
    now = {name: value for name, value in asdict(hello.status).items() if name != "presets"}
    return SessionStatus(
        session=hello.session,
        pid=hello.pid,
        version=hello.version,
        profile=hello.plan.profile,
        server=ServerSummary(
            where=hello.target.where, flavour=hello.server.flavour, version=hello.server.version
        ),
        elapsed_seconds=hello.elapsed_seconds,
        viewers=hello.viewers,
        run_directory=hello.run_directory,
        sample=hello.samples[-1] if hello.samples else None,
        **now,
    )


def status_text(hello: Hello) -> str:
    """Status as text of a few lines."""
    now, plan, server = hello.status, hello.plan, hello.server
    limit = f" of {hms(plan.seconds)}" if plan.seconds else ""
    figures = hello.samples[-1].throughput if hello.samples else None
    lines = [
        f"{hello.session}: {now.state}, {hms(hello.elapsed_seconds)}{limit}, viewers: {hello.viewers}",
        f"{plan.profile} on {server.flavour} {server.version}, {hello.target.user}@{hello.target.where}",
        *([] if plan.is_watch else [_asked_text(now)]),
        *([f"plan: {_plan_text(now.plan)}"] if now.plan else []),
        *([f"weights: {format_weights(now.weights)}"] if now.weights else []),
        *([f"simulated network delay: {format_delay(now.client_delay_ms)}"] if now.client_delay_ms else []),
        *([] if figures is None else [_figures_text(figures)]),
        *(
            f"{setting.name}: {setting.value}" + (f" (was {setting.original})" if setting.changed else "")
            for setting in now.settings
            if setting.changed or setting.at_risk
        ),
        *([f"A/B: {now.ab.sentence}"] if now.ab else []),
        *([f"measuring the effect of {now.effect.change}"] if now.effect else []),
        *(f"warning: {warning}" for warning in now.warnings),
    ]
    return "\n".join(map(sanitize.text, lines))


def _plan_text(plan: PlanProgress) -> str:
    """Stages of the plan, and the current one."""
    stages = format_schedule(plan.stages)
    if plan.phase is PlanPhase.OVER:
        return f"{stages}, over"
    following = f"{plan.following} in" if plan.following else "ends in"
    place = f"stage {plan.stage} of {len(plan.stages)}"
    return f"{stages}, {place}, {plan.phase}, {following} {hms(plan.left_seconds)}"


def _asked_text(now: Status) -> str:
    """Current load settings."""
    return f"threads: {now.threads:,}" + (f", rate: {now.rate:,g}/s" if now.rate else "")


def _figures_text(load: Tick) -> str:
    p95 = milliseconds(read("p95", load))
    tps, qps, errors = (read(name, load) or 0.0 for name in ("tps", "qps", "errors_per_second"))
    if "rollbacks" in load.sums:
        return f"commits/s: {tps:,.1f}, QPS: {qps:,.1f}, p95: {p95}"
    backlog = f", backlog: {read('backlog', load) or 0:,.0f}" if read("target_rate", load) else ""
    return f"TPS: {tps:,.1f}, QPS: {qps:,.1f}, p95: {p95}, errors/s: {errors:,.1f}{backlog}"
