"""The two lines at the top: which server, and what is running on it."""

from collections.abc import Sequence

from tuibench.model.duration import delay_text
from tuibench.model.message import RunState
from tuibench.model.progress import PlanPhase
from tuibench.model.replay import Replaying
from tuibench.model.weights import weights_text
from tuibench.tui.spans import Line, Span, fit, joined, shorten, shorten_start, spread, width_of
from tuibench.tui.view import View
from tuibench.units import clock, count, duration

DOT = Span(" · ", "faint")
_STILL = {PlanPhase.HELD: "held (H)", PlanPhase.PAUSED: "paused", PlanPhase.WAITING: "waits"}
WIDE = 100
LEAST_WARNING = len("   ▲ client-limited (? help)")
LEAST_WORDS = 12
"""Fewer characters than these of a warning's text say nothing: then it is its name alone."""
_STATES = {
    RunState.STARTING: Span("○ starting", "muted"),
    RunState.WARMING: Span("◐ warming up", "warn"),
    RunState.RUNNING: Span("● running", "ok"),
    RunState.PAUSED: Span("‖ paused", "warn"),
    RunState.STOPPING: Span("■ stopping", "warn"),
    RunState.ENDED: Span("■ ended", "muted"),
}


def head(view: View, width: int, height: int) -> list[Line]:
    """Server line and run line."""
    return [_server_line(view, width), _run_line(view, width)][:height]


def _server_line(view: View, width: int) -> Line:
    info = view.server_info
    brand = Span(" tuibench ", "brand")
    name: Line = (Span(f"{info.flavour} {info.version}", "strong"),)
    up: Line = (_up(view),)
    state = _state(view, width)
    taken = sum(width_of(part) for part in ((brand,), name, up, state)) + 10
    where: Line = (Span(shorten_start(info.where, max(width - taken, 8)), "muted"),)
    return spread((brand, Span("  "), *joined((name, where, up), DOT)), state, width)


def _up(view: View) -> Span:
    """How long the server is up; that it does not say so, once it was asked."""
    if view.sample is not None and view.server is None:
        return Span("no answer", "warn")
    uptime = view.server.uptime_seconds if view.server else view.server_info.uptime_seconds
    return Span(f"up {duration(uptime)}", "muted")


def _state(view: View, width: int) -> Line:
    if view.replay is not None:
        return _replay(view, view.replay, width)
    limit = f" of {clock(view.plan.seconds)}" if view.plan.seconds else ""
    return (
        _STATES[view.status.state],
        Span("  "),
        Span(clock(view.run_seconds), "strong"),
        Span(limit, "muted"),
    )


def _replay(view: View, replay: Replaying, width: int) -> Line:
    """That it is a replay, how fast, where; and how the run stood then, unless it just ran."""
    still = width >= WIDE and view.status.state is not RunState.RUNNING
    return (
        *((_STATES[view.status.state], Span("  ")) if still else ()),
        Span("‖ replay" if replay.paused else "▶ replay", "warn"),
        Span(f" ×{replay.speed:g}", "muted"),
        Span("  "),
        Span(clock(replay.position_seconds), "strong"),
        Span(f" of {clock(replay.last_seconds)}", "muted"),
        *((Span(", cut short", "risk"),) if replay.cut_short else ()),
    )


def _run_line(view: View, width: int) -> Line:
    status = view.status
    data: Line = (Span(view.data_set, "muted"),) if view.data_set else ()
    workers: Line = (Span(f"{count(status.workers)} {_plural('worker', status.workers)}", "muted"),)
    mix: Line = (Span(f"mix {weights_text(status.weights)}", "muted"),) if status.weights else ()
    parts = (
        (Span(view.plan.profile.rsplit("/", 1)[-1], "strong"),),
        data,
        (Span(f"{count(status.threads)} ", "strong"), Span(_plural("thread", status.threads), "muted")),
        (Span("rate ", "muted"), Span(f"{status.rate:,g}/s", "strong")) if status.rate else (),
        mix,
        _delay(view, width),
        _plan(view),
        workers,
    )
    room = width - LEAST_WARNING if status.warnings else width
    left = fit(_without((workers, data, mix), parts, room), width)
    return spread(left, _warnings(view, width - width_of(left) - 3), width)


def _without(dispensable: Sequence[Line], parts: Sequence[Line], room: int) -> Line:
    """The parts in one line; where there is no room for all, without those that are least missed."""
    line = joined(parts, DOT)
    for least in dispensable:
        if width_of(line) > room:
            parts = [part for part in parts if part is not least]
            line = joined(parts, DOT)
    return line


def _plan(view: View) -> Line:
    """What comes next by the plan, and when; that it is held, if it is."""
    plan = view.plan_under_way
    if plan is None:
        return (Span("plan done", "muted"),) if view.status.plan else ()
    place = f"plan {plan.stage}/{len(plan.stages)}"
    if plan.due_seconds is None:
        return (
            Span(f"{place} {_STILL[plan.phase]}", "warn"),
            Span(f", {clock(plan.left_seconds)} left", "muted"),
        )
    coming = f" → {plan.following}" if plan.following else " ends"
    left = clock(max(0.0, plan.due_seconds - view.elapsed_seconds))
    return (Span(place, "muted"), Span(coming, "strong"), Span(f", {left}", "muted"))


def _delay(view: View, width: int) -> Line:
    delay_ms = view.status.client_delay_ms
    what = "simulated network delay " if width >= WIDE else "simulated +"
    return (Span(f"{what}{delay_text(delay_ms)}", "warn"),) if delay_ms else ()


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"


def _warnings(view: View, room: int) -> Line:
    """The newest warning as far as there is room, and where to read the rest."""
    warnings = view.status.warnings
    if not warnings:
        return ()
    more = f" +{len(warnings) - 1}" if len(warnings) > 1 else ""
    pointer = f"{more} (? help)"
    return (Span(_warning(warnings[-1], room - len(pointer)), "warn"), Span(pointer, "muted"))


def _warning(words: str, room: int) -> str:
    """As much of it as says something: the words, or their first one, or what they are."""
    name = words.partition(":")[0]
    if len(name) + LEAST_WORDS <= room:
        return shorten(f"▲ {words}", room)
    return f"▲ {name}" if len(name) + 2 <= room else "▲ warning"
