"""Bars of every screen: header, verdict line, tab line, caption of a scene, reply, keys.

The verdict line has the most important fact about the validity of the figures. A cause takes precedence over
its symptom: other programs that use up the host come before a client that is limited by them. If space is
short, the text ends after a clause. The help lists every verdict in full.

The tab line lists every screen with its key, marks the visible one, dims those that have nothing to show yet,
and ends with a note on a frozen view. If space is short, the last names are shortened first; in the end only
the marked tab has a name.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tuibench.base.units import DASH, count, duration, hms, pluralize, time_left
from tuibench.metrics.diagnosis import is_taken_by_others
from tuibench.metrics.figures import read
from tuibench.metrics.measurement_warnings import (
    busy_text,
    collect_evidence,
    is_host_saturated,
    is_host_starved,
)
from tuibench.metrics.series import is_at_rest
from tuibench.model.counters import Counter
from tuibench.model.event import CHANGE_KINDS, EventKind
from tuibench.model.hardware import Hardware
from tuibench.model.message import ReplayState, RunState
from tuibench.model.schedule import PlanPhase, PlanProgress, format_delay, format_weights
from tuibench.tui.action import UserAction
from tuibench.tui.actions import ACTIONS, ACTIONS_BY_NAME, action_key, is_offered, is_possible
from tuibench.tui.panels.effects import progress_text
from tuibench.tui.panels.load import is_untimed
from tuibench.tui.text import (
    TextLine,
    TextSpan,
    fit_line,
    join_parts,
    justify,
    line_width,
    pad_line,
    shorten,
    shorten_start,
    wrap_text,
)
from tuibench.tui.view import Caption, View

MOST_LINES = 4
_INDENT = 1
_HEADS = {
    "say": ("", "strong"),
    "ask": ("YOUR GUESS", "warn"),
    "changed": ("CHANGED", "warn"),
    "reveal": ("FOUND", "good"),
    "nothing": ("FOUND", "muted"),
    "unknown": ("NOT DECIDED", "muted"),
}
"""The heading and the role of a caption, by its kind."""


def caption_lines(view: View, width: int, height: int) -> list[TextLine]:
    """The caption of a scene: title and position, with the text below."""
    caption = view.caption
    if caption is None:
        return []
    _, role = _HEADS[caption.kind]
    body: list[TextLine] = [
        (TextSpan(" " * _INDENT), TextSpan(part, role))
        for part in wrap_text(caption.text, width - 2 * _INDENT)
    ]
    return [pad_line(line, width) for line in (_title_line(caption, width), *body)][:height]


def caption_height(view: View, width: int) -> int:
    """Height of the caption in lines; 0 without a scene."""
    if view.caption is None:
        return 0
    return min(1 + len(wrap_text(view.caption.text, max(width - 2 * _INDENT, 1))), MOST_LINES)


def _title_line(caption: Caption, width: int) -> TextLine:
    head, role = _HEADS[caption.kind]
    left: TextLine = (
        TextSpan(f" {caption.title} ", "brand"),
        TextSpan(f" {caption.place}  ", "muted"),
        TextSpan(head, role),
    )
    if caption.is_over:
        return left
    waiting = f"{caption.waiting} …   " if caption.waiting else ""
    return justify(
        left, (TextSpan(waiting, "muted"), TextSpan("space", "key"), TextSpan(" continues ", "muted")), width
    )


RECENT_SAMPLES = 5
"""Number of the newest samples that are diagnosed."""
CLIENT_LIMITED = "client-limited"
_PERCENTAGE = re.compile(r"\d+ %")
CLAUSE_ENDS = ("; ", ", ", ": ")
_GLYPH_WIDTH = 2
UNSAFE = "unsafe"
"""The preset with the most visible effect."""
TRIED_KINDS = CHANGE_KINDS - {EventKind.MARK, EventKind.RESTART, EventKind.FOREIGN}


class ValidityFact(NamedTuple):
    """A fact about the validity of the figures."""

    text: str
    glyph: str = "▲"
    """Distinguishes its severity without colours."""
    role: str = "warn"


def verdicts(view: View) -> list[ValidityFact]:
    """All verdicts, the most important first; those that differ in a percentage only are listed once."""
    told: dict[str, ValidityFact] = {}
    for each in (*_states(view), *_warnings(view), *_progress(view)):
        told.setdefault(_PERCENTAGE.sub("", each.text), each)
    return list(told.values())


def verdict_line(view: View, width: int, height: int) -> list[TextLine]:
    """The first verdict, and the number of further ones in the help; empty without a verdict."""
    found = verdicts(view)
    if not found:
        return []
    first = found[0]
    key = action_key(ACTIONS_BY_NAME["help"], view)
    more = f"   {len(found) - 1} more: {key}" if len(found) > 1 else ""
    text = fitting_clauses(first.text, width - _GLYPH_WIDTH - len(more))
    if text != first.text and not more:
        more = f"   {key} for all"
        text = fitting_clauses(first.text, width - _GLYPH_WIDTH - len(more))
    line = (TextSpan(f"{first.glyph} {text}", first.role), TextSpan(more, "muted"))
    return [pad_line(line, width)][:height]


def fitting_clauses(text: str, room: int) -> str:
    """Longest prefix of the text that ends at a clause and fits the room."""
    if len(text) <= room:
        return text
    for end in CLAUSE_ENDS:
        shorter = text
        while end in shorter:
            shorter = shorter.rpartition(end)[0]
            if len(shorter) <= room:
                return shorter
    return text.partition(": ")[0] if ": " in text else "a warning about the measurement"


def blocked_text(view: View) -> str:
    """Who blocks most of the sessions now; empty if nobody does."""
    culprit = view.recent[-1].culprit if view.recent else None
    return "" if culprit is None else f"{culprit.name} blocks {pluralize(culprit.blocked, 'session')}"


def _states(view: View) -> Iterator[ValidityFact]:
    """States in which the current figures do not describe the server: paused, host busy, host disturbed."""
    if view.status.state is RunState.PAUSED and view.replay is None:
        key = action_key(ACTIONS_BY_NAME["pause"], view)
        yield ValidityFact(f"paused: no load is running; {key} resumes it", "‖")
    if blocked_text(view) and view.replay is None and (culprit := view.recent[-1].culprit) is not None:
        text = f"{culprit.name} blocks {culprit.blocked:,}; K on Sessions closes it"
        yield ValidityFact(text, role="risk")
    recent, interval = view.recent[-RECENT_SAMPLES:], view.plan.interval_seconds
    if any(is_host_saturated(read("cpu_total", sample.host)) for sample in recent):
        evidence = collect_evidence(recent, is_local=view.server_info.is_local)
        if is_taken_by_others(evidence):
            yield ValidityFact(busy_text(evidence.cpu_others))
    if any(is_host_starved(sample, interval) for sample in recent):
        yield ValidityFact(
            "host disturbed: it was suspended, or tuibench got no CPU time; the last figures are wrong"
        )


def _warnings(view: View) -> Iterator[ValidityFact]:
    """The session's warnings: client limits first, then the newest."""
    newest_first = tuple(reversed(view.status.warnings))
    limits = [text for text in newest_first if text.startswith(CLIENT_LIMITED)]
    yield from map(ValidityFact, [*limits, *(text for text in newest_first if text not in limits)])


def _progress(view: View) -> Iterator[ValidityFact]:
    """Automatic changes: a probe, the plan, and a test of a doubtful effect."""
    if (effect := view.effect_progress) is not None and effect.alternates:
        yield ValidityFact(progress_text(view, effect), "◆", "strong")
    if view.is_probing and view.probe is not None:
        probe = view.probe
        level = f" at {probe.level:,g} {probe.order.by}" if probe.level else ""
        place = f"step {len(probe.steps) + 1}{level}"
        yield ValidityFact(f"probe: {place}, at most {time_left(probe.left_seconds)}", "◆", "strong")
    if view.plan_under_way is not None:
        yield ValidityFact(_plan_text(view, view.plan_under_way), "◆", "strong")


def _plan_text(view: View, plan: PlanProgress) -> str:
    key = action_key(ACTIONS_BY_NAME["plan"], view)
    stage = f"plan: stage {plan.stage} of {len(plan.stages)}"
    if plan.due_seconds is None:
        words = f"held; {key} resumes it" if plan.phase is PlanPhase.HELD else plan.phase.value
        return f"{stage}, {words}"
    left = hms(max(0.0, plan.due_seconds - view.elapsed_seconds))
    return f"{stage}, {plan.following or 'ends'} in {left}; {key} holds it"


SETTLED_SECONDS, RESTLESS_SECONDS = 15.0, 30.0
"""Seconds after which a first change is suggested: if the load has settled, and in any case."""


def _may_be_changed(view: View) -> bool:
    """True if the load has run long enough for the effect of a change to be measured."""
    if view.run_seconds >= RESTLESS_SECONDS:
        return True
    since = view.run_seconds - SETTLED_SECONDS / 2
    points = [point for point in view.points if point.elapsed_seconds > since and point.tps is not None]
    series = [point.tps or 0.0 for point in points], [point.p95_ms or 0.0 for point in points]
    return view.run_seconds >= SETTLED_SECONDS and all(map(is_at_rest, series))


def coach_line(view: View) -> TextLine:
    """The suggestion of a first change. It is shown from the time at which the effect of a change can be
    measured until a change is made; otherwise the line is empty.
    """
    if not view.coach or view.cannot_steer or view.stopping or not view.points or not _can_be_unsafe(view):
        return ()
    if any(event.kind in TRIED_KINDS for event in view.events) or not _may_be_changed(view):
        return ()
    key = action_key(ACTIONS_BY_NAME["durability"], view)
    return (
        TextSpan("Press ", "server"),
        TextSpan(key, "key", "app.act('durability')"),
        TextSpan(f" and choose {UNSAFE}: watch fsyncs fall and TPS rise", "server"),
    )


def _can_be_unsafe(view: View) -> bool:
    preset = next((preset for preset in view.status.presets if preset.name == UNSAFE), None)
    settings = [view.setting(name) for name in preset.values] if preset else []
    return bool(settings) and all(setting and not setting.unavailable for setting in settings)


_BAR_WIDTH = 24
QUIT_AGAIN_HINT = "q again leaves without waiting"


def pending_work(view: View, width: int) -> TextLine:
    """One line about the operation in progress; empty while the load runs."""
    if view.stopping:
        return _stopping_line(view, width)
    match view.status.state:
        case RunState.STARTING:
            work = "connecting" if view.is_watch else f"opening {view.status.threads:,} connections"
            return fit_line(_work_line("○ ", work, "q ends it"), width)
        case RunState.WARMING:
            return fit_line(_warmup_line(view), width)
        case _:
            return ()


def _work_line(glyph: str, words: str, key: str) -> TextLine:
    return (TextSpan(glyph, "warn"), TextSpan(words, "warn"), TextSpan(f"   {key}", "muted"))


def _warmup_line(view: View) -> TextLine:
    """Progress of the warm-up: its time runs from a negative value up to zero."""
    whole = view.plan.warmup_seconds
    left = min(max(-view.elapsed_seconds, 0.0), whole) if view.points else whole
    done = round((whole - left) / whole * _BAR_WIDTH) if whole else _BAR_WIDTH
    bar = (TextSpan("█" * done, "warn"), TextSpan("·" * (_BAR_WIDTH - done), "faint"))
    return (
        TextSpan("◐ ", "warn"),
        TextSpan("warming up ", "warn"),
        *bar,
        TextSpan(f" {time_left(left)}", "strong"),
        TextSpan("   q ends it", "muted"),
    )


def _stopping_line(view: View, width: int) -> TextLine:
    """Progress of stopping: what the session is restoring, with the names if they fit."""
    ours = [setting.name for setting in view.status.settings if setting.changed_by == "us"]
    count = f"{len(ours)} setting{'s' if len(ours) > 1 else ''}"
    what = f"stopping, restoring {count} …" if ours else "stopping, writing the summary …"
    line = _work_line("■ ", what, QUIT_AGAIN_HINT)
    named = (*line, TextSpan(f"   {', '.join(ours)}", "muted"))
    return named if line_width(named) <= width else fit_line(line, width)


KEY_GAP = 2


def message_line(view: View, width: int, height: int) -> list[TextLine]:
    """The session's last reply, verbatim; otherwise the coach line. Pending work takes precedence."""
    if under_way := pending_work(view, width):
        line: TextLine = under_way
    elif view.note is None:
        line = coach_line(view)
    else:
        # The glyph distinguishes a success, a refusal and a hint.
        if view.note.is_hint:
            glyph, role, text_role = "→ ", "server", ""
        else:
            glyph, role, text_role = ("✓ ", "ok", "") if view.note.ok else ("✗ ", "risk", "risk")
        line = (TextSpan(glyph, role), TextSpan(shorten(view.note.text, width - 2), text_role))
    return [pad_line(line, width)][:height]


def footer(view: View, width: int, height: int) -> list[TextLine]:
    """Every key once, clickable; keys that do nothing now are dimmed.

    If space is short, the actions with the highest `rarity` are left out first, of these the last ones, with
    all actions of the same label. The help lists all of them.
    """
    shown = [action for action in ACTIONS if action.in_footer and is_offered(action, view)]
    while line_width(line := _key_row(shown, view)) > width:
        rarest = max(reversed(shown), key=lambda action: action.rarity)
        if not rarest.rarity:
            break
        shown = [each for each in shown if (each.label, each.rarity) != (rarest.label, rarest.rarity)]
    return [pad_line(line, width)][:height]


def screen_keys(entries: Sequence[tuple[str, str]], view: View, width: int, height: int) -> list[TextLine]:
    """Keys that apply to one screen only: key and label; the last one is left out if space is short."""
    parts = [(TextSpan(key, "key"), TextSpan(f" {label}", "muted")) for key, label in entries]
    lines = [join_parts(shown, TextSpan(" " * KEY_GAP)) for shown in (parts, parts[:-1])]
    line = next((line for line in lines if line_width(line) <= width), lines[-1])
    return [pad_line(line, width)][:height]


def _key_row(actions: Sequence[UserAction], view: View) -> TextLine:
    """The keys in a row, without a trailing gap."""
    line: TextLine = ()
    for number, action in enumerate(actions):
        enabled = is_possible(action, view)
        key = TextSpan(action_key(action, view), "key" if enabled else "faint", f"app.act('{action.name}')")
        following = actions[number + 1] if number + 1 < len(actions) else None
        if following is not None and following.label == action.label:
            line = (*line, key, TextSpan(" "))
        else:
            label = TextSpan(f" {_action_label(action, view)}", "muted" if enabled else "faint")
            line = (*line, key, label, TextSpan(" " * KEY_GAP))
    return line[:-1]


def _action_label(action: UserAction, view: View) -> str:
    """Label of an action in the current state: `pause` becomes `resume`, `stop` of a viewer `quit`."""
    paused = view.status.state is RunState.PAUSED if view.replay is None else view.replay.paused
    if action.name == "pause" and paused:
        return "resume"
    if action.name == "mark" and view.caption is not None and not view.caption.is_over:
        return "continue"
    if action.name == "stop" and view.cannot_steer:
        return "quit"
    return action.label


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


WIDTH_OF_CIPHER = 110
"""From this width on, the header names protocol and cipher of TLS."""


def header(view: View, width: int, height: int) -> list[TextLine]:
    """Server line and run line."""
    return [_server_line(view, width), _run_line(view, width)][:height]


def _server_line(view: View, width: int) -> TextLine:
    info = view.server_info
    brand = TextSpan(" tuibench ", "brand")
    name: TextLine = (TextSpan(f"{info.flavour} {info.version}", "strong"),)
    up: TextLine = (_uptime(view),)
    words = info.tls if info.tls and width >= WIDTH_OF_CIPHER else "TLS"
    tls: TextLine = (TextSpan(words, "muted"),) if info.is_encrypted else ()
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
        *(
            (TextSpan(", still recording", "muted"),)
            if replay.is_live
            else (TextSpan(", cut short", "risk"),)
            if replay.cut_short
            else ()
        ),
    )


def _watch_line(view: View, width: int) -> TextLine:
    """Run line of a session without load: title, and number of running threads."""
    server, traffic = view.server, view.sample.traffic if view.sample else None
    running_threads = read("threads_running", server)
    running = (
        (
            TextSpan(f"{count(running_threads)} ", "strong"),
            TextSpan(f"{_plural('thread', int(running_threads or 0))} running", "muted"),
        )
        if server
        else ()
    )
    why = traffic.missing.get("latency") if traffic else None
    title: TextLine = (TextSpan("watch", "strong"), TextSpan(" the server's own traffic", "muted"))
    room = width - line_width(join_parts((title, running, ()), DOT_SEPARATOR)) - len(DOT_SEPARATOR.text)
    note = fitting_clauses(f"no p95: {why}" if is_untimed(view) else f"times: {why}", room) if why else ""
    if server is not None and Counter.QUESTIONS not in server.levels:
        note = "no traffic: the server does not count its statements"
    times: TextLine = (TextSpan(note, "muted"),) if note else ()
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
    delay_ms = view.status.client_delay_ms
    what = "simulated network delay " if width >= WIDE_HEADER else "simulated +"
    slow = "simulated " if width >= WIDE_HEADER else "sim. "
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
        (TextSpan(f"{what}{format_delay(delay_ms)}", "warn"),) if delay_ms else (),
        (TextSpan(f"{slow}{status.hardware}", "warn"),) if status.hardware not in (None, Hardware()) else (),
        _plan_part(view),
        workers,
        reason,
    )
    dispensable = (data, reason, workers, mix) if why else (workers, data, mix)
    return pad_line(_drop_until_fits(dispensable, parts, width), width)


def _drop_until_fits(dispensable: Sequence[TextLine], parts: Sequence[TextLine], room: int) -> TextLine:
    """The parts in one line; if space is short, dispensable ones are left out, the first ones first."""
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
            TextSpan(f", {time_left(plan.left_seconds)}", "muted"),
        )
    coming = f" → {plan.following}" if plan.following else " ends"
    left = hms(max(0.0, plan.due_seconds - view.elapsed_seconds))
    return (TextSpan(place, "muted"), TextSpan(coming, "strong"), TextSpan(f", {left}", "muted"))


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"


TAB_GAP = TextSpan(" ")
_WIDE_TABS = 110
_MIN_GAP = 3
"""Minimum gap between the tabs and the note at the end."""


class TabLabel(NamedTuple):
    """The tab of one screen."""

    key: str
    """Empty for a further screen of the open tab."""
    name: str
    """The internal name of the screen."""
    label: str
    short: str
    """The label if space is short."""
    is_empty: bool = False
    """Whether the screen has nothing to show yet."""


VisibleTabs = Callable[[View], Sequence[TabLabel]]


def tab_line(offered: VisibleTabs, here: str, view: View, width: int, height: int) -> list[TextLine]:
    """Tab line of the offered screens; a click has the effect of the key."""
    ending = _frozen_notice(view, width)
    room = width - (line_width(ending) + _MIN_GAP if ending else 0)
    tabs = offered(view)
    line: TextLine = ()
    for styles in _tab_styles(len(tabs)):
        line = join_parts(
            (write(tab, tab.name == here) for tab, write in zip(tabs, styles, strict=True)), TAB_GAP
        )
        if line_width(line) <= room:
            break
    return [justify(line, ending, width)][:height]


def _frozen_notice(view: View, width: int) -> TextLine:
    """Notice that the view is frozen, with the key that resumes it."""
    if view.picture_of is None:
        return ()
    when = hms(view.elapsed_seconds)
    long = f" ‖ DISPLAY FROZEN AT {when} · v resumes "
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
    return _tab_spans(tab, tab.short if here or not tab.key else "", here)


_TabStyle = Callable[[TabLabel, bool], TextLine]


def _tab_styles(tabs: int) -> Iterator[Sequence[_TabStyle]]:
    """Styles of the tabs, from the widest line to the narrowest: the last tabs are shortened first."""
    yield [_full_tab] * tabs
    for wide, narrow in ((_tight_tab, _short_tab), (_short_tab, _key_tab)):
        for shortened in range(tabs + (narrow is _key_tab)):
            yield [wide] * (tabs - shortened) + [narrow] * shortened


def _tab_spans(tab: TabLabel, label: str, here: bool, margin: str = "") -> TextLine:
    action = f"app.go('{tab.name}')"
    if not tab.key:
        # Another screen of the open tab is close to the one before it.
        return (TextSpan(f"{margin * here}{label}{margin}", "here" if here else "muted", action),)
    name = f" {label}" if label else ""
    if here:
        return (TextSpan(f"{margin}{tab.key}{name}{margin}", "here", action),)
    key = "muted" if tab.is_empty else "key"
    return (TextSpan(f"{margin}{tab.key}", key, action), TextSpan(f"{name}{margin}", "muted", action))
