"""The commands of a running session that every session has: what they do to load, settings and server.

The conditions of each are in its declaration (`session.dispatch`).
"""

from tuibench.base.errors import UsageError
from tuibench.metrics.measurement_warnings import time_limit_warning
from tuibench.model.event import EventKind
from tuibench.model.hardware import Hardware, changed_hardware, hardware_change
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    CloseConnection,
    HoldPlan,
    KeepSettings,
    KillQuery,
    Mark,
    Pause,
    RecordCpuProfile,
    ResetStats,
    RestoreSettings,
    Resume,
    ResumePlan,
    RunSql,
    RunState,
    SetCallers,
    SetDelay,
    SetHardware,
    SetPlan,
    SetRate,
    SetThreads,
    SetWeights,
    StartBurst,
    Stop,
    StopExperiment,
    TrustServer,
    Undo,
    Watch,
)
from tuibench.model.plan import changed_policy, policy_texts
from tuibench.model.schedule import (
    Quantity,
    checked_delay_ms,
    checked_rate,
    checked_threads,
    format_delay,
    format_rate,
    format_weights,
    parse_burst,
)
from tuibench.session.dispatch import Needs, Origin, SteeredSession, handles
from tuibench.session.events import ONE_CHANGE_SECONDS
from tuibench.session.interventions import BURST, Intervene
from tuibench.session.laboratory import LoadLevel, experiment_kinds
from tuibench.session.timeline import FollowPlan

# The load.


@handles(SetThreads, needs=Needs.LOAD, undoable=True, coalesces_seconds=ONE_CHANGE_SECONDS)
async def set_threads(session: SteeredSession, command: SetThreads) -> str:
    load = session.load.controller
    before, threads = load.threads, checked_threads(command.threads, load.fewest_threads)
    if threads == before:
        return f"threads: {threads}, as before"
    load.accepted_connections = None
    await load.set_threads(threads)
    session.log.emit_threads(before, threads)
    return f"threads: {threads}" + _override(session, Quantity.THREADS)


@handles(SetRate, needs=Needs.LOAD, undoable=True)
async def set_rate(session: SteeredSession, command: SetRate) -> str:
    load, rate = session.load.controller, checked_rate(command.rate)
    if load.users:
        raise UsageError(
            f"{load.users:,} users share the connections: a rate cannot be set",
            "change the threads, or start a load without --users",
        )
    before = load.rate
    load.set_rate(rate)
    session.log.emit(EventKind.RATE, f"rate {format_rate(before)} → {format_rate(rate)}")
    return f"rate: {format_rate(rate)}" + _override(session, Quantity.RATE)


def _override(session: SteeredSession, quantity: Quantity) -> str:
    """End a probe, or hold a plan, whose load the operator has changed; returns an addition to the reply."""
    of_experiment = session.laboratory.on_manual_load(quantity)
    return of_experiment + session.load.plan_runner.on_manual_change(quantity)


@handles(SetWeights, needs=Needs.LOAD, undoable=True)
async def set_weights(session: SteeredSession, command: SetWeights) -> str:
    load = session.load.controller
    before = load.weights
    load.set_weights(command.weights)
    after = load.weights
    if after == before:
        return f"weights: {format_weights(after)}, as before"
    changed = ", ".join(
        f"{name} {before[name]:g} → {weight:g}" for name, weight in after.items() if weight != before[name]
    )
    session.log.emit(EventKind.WEIGHTS, f"weights: {changed}")
    return f"weights: {format_weights(after)}"


@handles(SetDelay, needs=Needs.LOAD, undoable=True)
async def set_delay(session: SteeredSession, command: SetDelay) -> str:
    load, delay_ms = session.load.controller, checked_delay_ms(command.milliseconds)
    change = f"{format_delay(load.client_delay_ms)} → {format_delay(delay_ms)}"
    load.set_delay(delay_ms)
    session.log.emit(EventKind.DELAY, f"simulated network delay {change} on each round trip")
    return f"simulated network delay: {format_delay(delay_ms)} on each round trip"


@handles(SetHardware, needs=Needs.SETTINGS, undoable=True)
async def set_hardware(session: SteeredSession, command: SetHardware) -> str:
    hardware = session.parts.hardware
    before = hardware.present or Hardware()
    after = changed_hardware(before, command.change)
    await hardware.set(after)
    if after == before:
        return f"simulated hardware: {after}, as before"
    return _reported(session, EventKind.HARDWARE, hardware_change(before, after))


@handles(SetCallers, needs=Needs.LOAD, undoable=True)
async def set_callers(session: SteeredSession, command: SetCallers) -> str:
    load, option = session.load.controller, command.option
    before, after = load.callers, changed_policy(load.callers, option, command.value, users=load.users)
    was, now = policy_texts(before)[option], policy_texts(after)[option]
    if before == after:
        return f"{option}: {now}, as before"
    load.set_callers(after)
    session.log.emit(EventKind.CALLERS, f"{option} {was} → {now}")
    limits = time_limit_warning(after, session.parts.server)
    if limits == time_limit_warning(before, session.parts.server):
        return f"{option}: {now}"
    for limit in limits:
        session.log.emit(EventKind.WARNING, limit)
    return "; ".join([f"{option}: {now}", *limits])


@handles(SetPlan, needs=Needs.FREE_LOAD)
async def set_plan(session: SteeredSession, command: SetPlan) -> str:
    return session.load.plan_runner.set(command.stages)


@handles(HoldPlan, needs=Needs.LOAD)
async def hold_plan(session: SteeredSession, command: HoldPlan) -> str:
    return session.load.plan_runner.hold()


@handles(ResumePlan, needs=Needs.FREE_LOAD)
async def resume_plan(session: SteeredSession, command: ResumePlan) -> str:
    return session.load.plan_runner.resume()


@handles(FollowPlan, needs=Needs.LOAD)
async def follow_plan(session: SteeredSession, command: FollowPlan) -> str:
    await session.load.plan_runner.make_due_changes()
    return ""


@handles(LoadLevel, needs=Needs.LOAD)
async def set_level(session: SteeredSession, command: LoadLevel) -> str:
    if command.text:
        session.log.emit(EventKind.PROBE, command.text)
    load = session.load.controller
    await load.set_level(command.threads, command.rate, keeps_backlog=command.keeps_backlog)
    return ""


@handles(Pause, needs=Needs.LOAD)
async def pause(session: SteeredSession, command: Pause) -> str:
    lifecycle = session.lifecycle
    if lifecycle.state is RunState.STARTING:
        raise UsageError("the load has not started yet")
    if lifecycle.state is RunState.WARMING:
        raise UsageError("the load is still warming up", "pause it after the warm-up")
    if lifecycle.state is RunState.PAUSED:
        return "already paused"
    session.load.controller.pause()
    session.load.plan_runner.pause()
    lifecycle.state = RunState.PAUSED
    session.log.emit(EventKind.PAUSE, "paused")
    return "paused"


@handles(Resume, needs=Needs.LOAD)
async def resume(session: SteeredSession, command: Resume) -> str:
    lifecycle = session.lifecycle
    if lifecycle.state is not RunState.PAUSED:
        return "not paused"
    session.load.controller.resume()
    session.load.plan_runner.unpause()
    lifecycle.state = RunState.RUNNING
    session.log.emit(EventKind.RESUME, "resumed")
    return "resumed"


@handles(ResetStats, needs=Needs.LOAD)
async def reset_stats(session: SteeredSession, command: ResetStats) -> str:
    if session.lifecycle.state in (RunState.STARTING, RunState.WARMING):
        raise UsageError("nothing has been measured yet")
    await session.load.reset_stats()
    session.log.emit(EventKind.RESET, "figures of the run are reset")
    return "the figures of the run are reset"


# Settings of the server.


@handles(ChangeSetting, needs=Needs.SETTINGS, undoable=True)
async def change_setting(session: SteeredSession, command: ChangeSetting) -> str:
    settings = session.settings
    settings.guard.require_confirmation()
    return _reported(session, EventKind.SETTING, await settings.change(command.name, command.value))


@handles(ApplyPreset, needs=Needs.SETTINGS, undoable=True)
async def apply_preset(session: SteeredSession, command: ApplyPreset) -> str:
    settings = session.settings
    settings.guard.require_confirmation()
    return _reported(session, EventKind.SETTING, await settings.apply(command.name))


@handles(RestoreSettings, needs=Needs.SETTINGS, undoable=True)
async def restore_settings(session: SteeredSession, command: RestoreSettings) -> str:
    if not (texts := await session.settings.restore_named(command.names)):
        return "nothing was changed, so there is nothing to restore"
    return _reported(session, EventKind.SETTING, "; ".join(texts))


@handles(KeepSettings, needs=Needs.SETTINGS)
async def keep_settings(session: SteeredSession, command: KeepSettings) -> str:
    if (present := session.laboratory.present) is not None:
        raise UsageError(f"{present.name} changes settings now; they cannot be kept", "end it first")
    return _reported(session, EventKind.RESTORE, await session.settings.keep_named(command.names))


@handles(TrustServer, needs=Needs.SETTINGS)
async def trust_server(session: SteeredSession, command: TrustServer) -> str:
    return _reported(session, EventKind.WARNING, session.settings.guard.confirm())


def _reported(session: SteeredSession, kind: EventKind, text: str) -> str:
    """Emits the reply as an event, too."""
    session.log.emit(kind, text)
    return text


# The server, and the session itself.


@handles(Undo, needs=Needs.NOTHING)
async def undo(session: SteeredSession, command: Undo) -> str:
    return await session.undo.undo(lambda reversal: session.submit(reversal, Origin.UNDO))


@handles(StopExperiment, needs=Needs.EXPERIMENT)
async def stop_experiment(session: SteeredSession, command: StopExperiment) -> str:
    kind = next(each for each in experiment_kinds() if each.kind == command.kind)
    session.laboratory.running(kind)
    session.laboratory.stop("stopped by the operator")
    return f"the {kind.called} is stopped"


@handles(KillQuery, needs=Needs.SESSION)
async def kill_query(session: SteeredSession, command: KillQuery) -> str:
    return _reported(session, EventKind.KILL, await session.activity_monitor.kill(command.id))


@handles(CloseConnection, needs=Needs.SESSION)
async def close_connection(session: SteeredSession, command: CloseConnection) -> str:
    return _reported(session, EventKind.KILL, await session.activity_monitor.close_connection(command.id))


@handles(RunSql, needs=Needs.SESSION)
async def run_sql(session: SteeredSession, command: RunSql) -> str:
    await session.laboratory.give_way()
    return session.interventions.run_sql(command.sql)


@handles(Intervene, needs=Needs.SESSION)
async def intervene(session: SteeredSession, command: Intervene) -> str:
    if command.what.startswith(BURST):
        factor, seconds = parse_burst(command.what.removeprefix(BURST))
        return await session.submit(StartBurst(factor, seconds), Origin.SESSION)
    session.interventions.begin(command.what)
    return ""


@handles(RecordCpuProfile, needs=Needs.SESSION)
async def record_cpu_profile(session: SteeredSession, command: RecordCpuProfile) -> str:
    return await session.record_cpu_profile(command.seconds)


@handles(Mark, needs=Needs.SESSION)
async def mark(session: SteeredSession, command: Mark) -> str:
    session.log.emit(EventKind.MARK, command.text or "mark")
    return "marked"


@handles(Watch, needs=Needs.NOTHING, read_only=True)
async def watch(session: SteeredSession, command: Watch) -> str:
    match command.what:
        case "activity":
            session.activity_monitor.renew(command.connection)
            return "watching"
        case "statements":
            session.statement_monitor.renew(command.statement)
            return "reading statements"
        case "time":
            session.watch_time()
            return "reading who waits"


@handles(Stop, needs=Needs.NOTHING)
async def stop(session: SteeredSession, command: Stop) -> str:
    if command.keeps:
        await session.submit(KeepSettings(), Origin.OPERATOR)
    session.lifecycle.request_stop()
    return "stopping"
