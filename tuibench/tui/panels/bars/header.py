"""Header of two lines, server and state of the run, and the tab line.

The tab line lists every screen with its key, marks the visible one, and ends with a note on a frozen view. If
space is short, the names are shortened; finally only the marked tab has a name.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.metrics.figures import read
from tuibench.model.counters import Counter
from tuibench.model.message import ReplayState, RunState
from tuibench.model.notation import format_delay, format_weights
from tuibench.model.schedule import PlanPhase
from tuibench.tui.text.spans import (
    TextLine,
    TextSpan,
    join_parts,
    justify,
    line_width,
    pad_line,
    shorten_start,
)
from tuibench.tui.view import View
from tuibench.units import DASH, count, duration, hms

DOT_SEPARATOR = TextSpan(" · ", "faint")
_PLAN_PHASES = {PlanPhase.HELD: "held (H)", PlanPhase.PAUSED: "paused", PlanPhase.WAITING: "waits"}
WIDE_HEADER = 100
_STATE_SPANS = {
    RunState.STARTING: TextSpan("○ starting", "muted"),
    RunState.WARMING: TextSpan("◐ warming up", "warn"),
    RunState.RUNNING: TextSpan("● running", "ok"),
    RunState.PAUSED: TextSpan("‖ paused", "warn"),
    RunState.STOPPING: TextSpan("■ stopping", "warn"),
    RunState.ENDED: TextSpan("■ ended", "muted"),
}


def header(view: View, width: int, height: int) -> list[TextLine]:
    """Server line and run line."""
    return [_server_line(view, width), _run_line(view, width)][:height]


def _server_line(view: View, width: int) -> TextLine:
    info = view.server_info
    brand = TextSpan(" tuibench ", "brand")
    name: TextLine = (TextSpan(f"{info.flavour} {info.version}", "strong"),)
    up: TextLine = (_uptime(view),)
    tls: TextLine = (TextSpan("TLS", "muted"),) if info.is_encrypted else ()
    state = _state_part(view, width)
    taken = sum(line_width(part) for part in ((brand,), name, tls, up, state)) + 10 + 3 * bool(tls)
    where: TextLine = (TextSpan(shorten_start(info.where, max(width - taken, 8)), "muted"),)
    return justify((brand, TextSpan("  "), *join_parts((name, where, tls, up), DOT_SEPARATOR)), state, width)


def _uptime(view: View) -> TextSpan:
    """Uptime of the server, or a note that it did not answer."""
    if view.sample is not None and view.server is None:
        return TextSpan("no answer", "warn")
    uptime = view.server.levels.get(Counter.UPTIME) if view.server else view.server_info.uptime_seconds
    return TextSpan(f"up {DASH if uptime is None else duration(uptime)}", "muted")


def _state_part(view: View, width: int) -> TextLine:
    if view.replay is not None:
        return _replay_part(view, view.replay, width)
    limit = f" of {hms(view.plan.seconds)}" if view.plan.seconds else ""
    return (
        _STATE_SPANS[view.status.state],
        TextSpan("  "),
        TextSpan(hms(view.run_seconds), "strong"),
        TextSpan(limit, "muted"),
    )


def _replay_part(view: View, replay: ReplayState, width: int) -> TextLine:
    """Replay indicator: speed and position, and the recorded state of the run unless it was running."""
    still = width >= WIDE_HEADER and view.status.state is not RunState.RUNNING
    return (
        *((_STATE_SPANS[view.status.state], TextSpan("  ")) if still else ()),
        TextSpan("‖ replay" if replay.paused else "▶ replay", "warn"),
        TextSpan(f" ×{replay.speed:g}", "muted"),
        TextSpan("  "),
        TextSpan(hms(replay.position_seconds), "strong"),
        TextSpan(f" of {hms(replay.last_seconds)}", "muted"),
        *((TextSpan(", cut short", "risk"),) if replay.cut_short else ()),
    )


def _watch_line(view: View, width: int) -> TextLine:
    """Run line of a session without load: title, and number of running threads."""
    server, traffic = view.server, view.sample.traffic if view.sample else None
    running = (
        (
            TextSpan(f"{count(read('threads_running', server))} ", "strong"),
            TextSpan("threads running", "muted"),
        )
        if server
        else ()
    )
    why = traffic.missing.get("latency") if traffic else None
    note = f"times: {why}" if why else ""
    if server is not None and Counter.QUESTIONS not in server.levels:
        note = "no traffic: the server does not count its statements"
    times: TextLine = (TextSpan(note, "muted"),) if note else ()
    title: TextLine = (TextSpan("watch", "strong"), TextSpan(" no load of ours", "muted"))
    return pad_line(_drop_until_fits((times,), (title, running, times), width), width)


def _run_line(view: View, width: int) -> TextLine:
    if view.is_watch:
        return _watch_line(view, width)
    status = view.status
    data: TextLine = (TextSpan(view.data_set, "muted"),) if view.data_set else ()
    engine = f"{view.engine} " if view.engine else ""
    workers: TextLine = (
        TextSpan(f"{count(status.workers)} {engine}{_plural('worker', status.workers)}", "muted"),
    )
    why = view.engine_reason.partition(":")[0]
    reason: TextLine = (TextSpan(why, "muted"),) if why else ()
    mix: TextLine = (TextSpan(f"mix {format_weights(status.weights)}", "muted"),) if status.weights else ()
    parts = (
        (TextSpan(view.plan.profile.rsplit("/", 1)[-1], "strong"),),
        data,
        (
            TextSpan(f"{count(status.threads)} ", "strong"),
            TextSpan(_plural("thread", status.threads), "muted"),
        ),
        (TextSpan(f"{count(view.plan.users)} ", "strong"), TextSpan("users", "muted"))
        if view.plan.users
        else (),
        (TextSpan("rate ", "muted"), TextSpan(f"{status.rate:,g}/s", "strong")) if status.rate else (),
        mix,
        _delay_part(view, width),
        _plan_part(view),
        workers,
        reason,
    )
    dispensable = (data, reason, workers, mix) if why else (workers, data, mix)
    return pad_line(_drop_until_fits(dispensable, parts, width), width)


def _drop_until_fits(dispensable: Sequence[TextLine], parts: Sequence[TextLine], room: int) -> TextLine:
    """The parts in one line; if space is short, without the dispensable ones."""
    line = join_parts(parts, DOT_SEPARATOR)
    for least in dispensable:
        if line_width(line) > room:
            parts = [part for part in parts if part is not least]
            line = join_parts(parts, DOT_SEPARATOR)
    return line


def _plan_part(view: View) -> TextLine:
    """Next stage of the plan and its time, or the phase of a plan without a next stage, such as held."""
    plan = view.plan_under_way
    if plan is None:
        return (TextSpan("plan done", "muted"),) if view.status.plan else ()
    place = f"plan {plan.stage}/{len(plan.stages)}"
    if plan.due_seconds is None:
        return (
            TextSpan(f"{place} {_PLAN_PHASES[plan.phase]}", "warn"),
            TextSpan(f", {hms(plan.left_seconds)} left", "muted"),
        )
    coming = f" → {plan.following}" if plan.following else " ends"
    left = hms(max(0.0, plan.due_seconds - view.elapsed_seconds))
    return (TextSpan(place, "muted"), TextSpan(coming, "strong"), TextSpan(f", {left}", "muted"))


def _delay_part(view: View, width: int) -> TextLine:
    delay_ms = view.status.client_delay_ms
    what = "simulated network delay " if width >= WIDE_HEADER else "simulated +"
    return (TextSpan(f"{what}{format_delay(delay_ms)}", "warn"),) if delay_ms else ()


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"


TAB_GAP = TextSpan(" ")
_WIDE_TABS = 110
_MIN_GAP = 3
"""Minimum gap between the tabs and the note at the end."""


class TabLabel(NamedTuple):
    """Label of one screen: key, internal name, displayed name, and its short form."""

    key: str
    name: str
    label: str
    short: str


VisibleTabs = Callable[[View], Sequence[TabLabel]]


def tab_line(offered: VisibleTabs, here: str, view: View, width: int, height: int) -> list[TextLine]:
    """Tab line of the offered screens; a click has the effect of the key."""
    ending = _frozen_notice(view, width)
    room = width - (line_width(ending) + _MIN_GAP if ending else 0)
    line: TextLine = ()
    for write in _TAB_STYLES:
        line = join_parts((write(tab, tab.name == here) for tab in offered(view)), TAB_GAP)
        if line_width(line) <= room:
            break
    return [justify(line, ending, width)][:height]


def _frozen_notice(view: View, width: int) -> TextLine:
    """Notice that the view is frozen, with the key that resumes it."""
    if view.picture_of is None:
        return ()
    when = hms(view.elapsed_seconds)
    long = f" ‖ PICTURE FROZEN AT {when} · v resumes "
    return (
        TextSpan(long if width >= _WIDE_TABS else f" ‖ FROZEN {when} (v) ", "frozen", "app.act('freeze')"),
    )


def _full_tab(tab: TabLabel, here: bool) -> TextLine:
    return _tab_spans(tab, tab.label, here, margin=" ")


def _tight_tab(tab: TabLabel, here: bool) -> TextLine:
    return _tab_spans(tab, tab.label, here)


def _short_tab(tab: TabLabel, here: bool) -> TextLine:
    return _tab_spans(tab, tab.short, here)


def _key_tab(tab: TabLabel, here: bool) -> TextLine:
    return _tab_spans(tab, tab.short if here else "", here)


_TAB_STYLES = (_full_tab, _tight_tab, _short_tab, _key_tab)


def _tab_spans(tab: TabLabel, label: str, here: bool, margin: str = "") -> TextLine:
    action = f"app.go('{tab.name}')"
    name = f" {label}" if label else ""
    if here:
        return (TextSpan(f"{margin}{tab.key}{name}{margin}", "here", action),)
    return (TextSpan(f"{margin}{tab.key}", "key", action), TextSpan(f"{name}{margin}", "muted", action))
