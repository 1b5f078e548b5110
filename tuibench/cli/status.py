"""How a session stands, in words and for programs."""

from typing import Literal

import msgspec
from msgspec.structs import asdict

from tuibench.model.duration import delay_text
from tuibench.model.message import Hello, RunState
from tuibench.model.progress import PlanPhase, PlanState
from tuibench.model.sample import LoadPart, Sample
from tuibench.model.schedule_text import schedule_text
from tuibench.model.setting import SettingState
from tuibench.model.weights import weights_text
from tuibench.units import clock, milliseconds


class ServerInShort(msgspec.Struct, frozen=True, kw_only=True):
    """Which server a session drives."""

    where: str
    flavour: str
    version: str


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How a session stands, for programs: what holds now, and the newest sample, None before the first.

    `rate` is in transactions a second, 0 for as many as can be; `plan` is where a planned load stands.
    """

    schema: Literal["tuibench.status/1"] = "tuibench.status/1"
    session: str
    pid: int
    version: str
    profile: str
    server: ServerInShort
    elapsed_seconds: float
    viewers: int
    run_directory: str
    state: RunState
    threads: int
    rate: float
    weights: dict[str, float]
    client_delay_ms: float
    plan: PlanState | None
    workers: int
    settings: tuple[SettingState, ...]
    caution: tuple[str, ...]
    warnings: tuple[str, ...]
    sample: Sample | None


def standing(hello: Hello) -> Standing:
    """What a session's first word tells, for programs."""
    now = {name: value for name, value in asdict(hello.status).items() if name != "presets"}
    return Standing(
        session=hello.session,
        pid=hello.pid,
        version=hello.version,
        profile=hello.plan.profile,
        server=ServerInShort(
            where=hello.target.where, flavour=hello.server.flavour, version=hello.server.version
        ),
        elapsed_seconds=hello.elapsed_seconds,
        viewers=hello.viewers,
        run_directory=hello.run_directory,
        sample=hello.samples[-1] if hello.samples else None,
        **now,
    )


def status_text(hello: Hello) -> str:
    """For people: a few lines."""
    now, plan, server = hello.status, hello.plan, hello.server
    limit = f" of {clock(plan.seconds)}" if plan.seconds else ""
    load = hello.samples[-1].load if hello.samples else None
    lines = [
        f"{hello.session}: {now.state}, {clock(hello.elapsed_seconds)}{limit}, viewers: {hello.viewers}",
        f"{plan.profile} on {server.flavour} {server.version}, {hello.target.user}@{hello.target.where}",
        f"threads: {now.threads:,}" + (f", rate: {now.rate:,g}/s" if now.rate else ""),
        *([f"plan: {_plan(now.plan)}"] if now.plan else []),
        *([f"weights: {weights_text(now.weights)}"] if now.weights else []),
        *([f"simulated network delay: {delay_text(now.client_delay_ms)}"] if now.client_delay_ms else []),
        *([] if load is None else [_load(load)]),
        *(
            f"{setting.name}: {setting.value}" + (f" (was {setting.original})" if setting.changed else "")
            for setting in now.settings
            if setting.changed or setting.at_risk
        ),
        *(f"warning: {warning}" for warning in now.warnings),
    ]
    return "\n".join(lines)


def _plan(plan: PlanState) -> str:
    """The stages, and where among them it is."""
    stages = schedule_text(plan.stages)
    if plan.phase is PlanPhase.OVER:
        return f"{stages}, over"
    following = f"{plan.following} in" if plan.following else "ends in"
    place = f"stage {plan.stage} of {len(plan.stages)}"
    return f"{stages}, {place}, {plan.phase}, {following} {clock(plan.left_seconds)}"


def _load(load: LoadPart) -> str:
    p95 = milliseconds(load.latency.p95) if load.latency else "–"
    backlog = f", backlog: {load.backlog:,}" if load.rate else ""
    return (
        f"TPS: {load.transactions_per_second:,.1f}, QPS: {load.queries_per_second:,.1f}, p95: {p95}, "
        f"errors/s: {load.errors_per_second:,.1f}{backlog}"
    )
