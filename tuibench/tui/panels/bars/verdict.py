"""Verdict line below the header: the most important fact for judging the figures.

A cause takes precedence over its symptom: other programs that use up the host come before a client that is
limited by it. The text is not cut inside a clause: if space is short, it ends after a clause. The help lists
every verdict in full. The coach line suggests the first change in a demo.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tuibench.diagnosis.evidence import collect_evidence
from tuibench.diagnosis.indicators import is_host_starved
from tuibench.diagnosis.rules import is_taken_by_others
from tuibench.model.event import CHANGE_KINDS, EventKind
from tuibench.model.experiments.probe import ProbeState
from tuibench.model.message import RunState
from tuibench.model.schedule import PlanPhase, PlanProgress
from tuibench.tui.commands.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.text.spans import TextLine, TextSpan, pad_line
from tuibench.tui.view import View
from tuibench.units import hms, percent

RECENT_SAMPLES = 5
"""Number of newest samples whose mean is diagnosed."""
CLIENT_LIMITED = "client-limited"
CLAUSE_ENDS = ("; ", ", ", ": ")
_GLYPH_WIDTH = 2
UNSAFE = "unsafe"
"""The preset with the most visible effect."""
TRIED_KINDS = CHANGE_KINDS - {EventKind.MARK, EventKind.RESTART, EventKind.FOREIGN}


class Verdict(NamedTuple):
    """Fact about the validity of the figures. `role` is its colour; `glyph` works without colour."""

    text: str
    glyph: str = "▲"
    role: str = "warn"


def verdicts(view: View) -> list[Verdict]:
    """All verdicts, most important first."""
    return [*_states(view), *_warnings(view), *_progress(view)]


def verdict_line(view: View, width: int, height: int) -> list[TextLine]:
    """The first verdict, and the number of further ones in the help; empty without a verdict."""
    found = verdicts(view)
    if not found:
        return []
    first = found[0]
    key = action_key(ACTIONS_BY_NAME["help"], view)
    more = f"   +{len(found) - 1} in the help ({key})" if len(found) > 1 else ""
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


def _states(view: View) -> Iterator[Verdict]:
    """States in which the current figures do not describe the server: paused, host busy, host disturbed."""
    if view.status.state is RunState.PAUSED and view.replay is None:
        key = action_key(ACTIONS_BY_NAME["pause"], view)
        yield Verdict(f"paused: no load is running; {key} resumes it", "‖")
    recent, interval = view.recent[-RECENT_SAMPLES:], view.plan.interval_seconds
    evidence = collect_evidence(recent, is_local=view.server_info.is_local)
    if is_taken_by_others(evidence):
        yield Verdict(f"host busy: other programs use {percent(evidence.cpu_others)} of CPU")
    if any(is_host_starved(sample, interval) for sample in recent):
        yield Verdict(
            "host disturbed: it was suspended, or tuibench got no CPU time; the last figures are wrong"
        )


def _warnings(view: View) -> Iterator[Verdict]:
    """The session's warnings: client limits first, then the newest."""
    newest_first = tuple(reversed(view.status.warnings))
    limits = [text for text in newest_first if text.startswith(CLIENT_LIMITED)]
    yield from map(Verdict, [*limits, *(text for text in newest_first if text not in limits)])


def _progress(view: View) -> Iterator[Verdict]:
    """Automatic changes of the load: probe and plan."""
    if view.is_probing and view.probe is not None:
        yield Verdict(_probe_text(view.probe), "◆", "strong")
    if view.plan_under_way is not None:
        yield Verdict(_plan_text(view, view.plan_under_way), "◆", "strong")


def _probe_text(probe: ProbeState) -> str:
    """Progress of a probe. Its time is known in advance, its number of steps is not."""
    left = hms(max(0.0, probe.order.seconds - probe.elapsed_seconds))
    return f"probe: step {len(probe.steps) + 1} at {probe.level:,g} {probe.order.by}, about {left} left"


def _plan_text(view: View, plan: PlanProgress) -> str:
    key = action_key(ACTIONS_BY_NAME["plan"], view)
    stage = f"plan: stage {plan.stage} of {len(plan.stages)}"
    if plan.due_seconds is None:
        words = f"held; {key} resumes it" if plan.phase is PlanPhase.HELD else plan.phase.value
        return f"{stage}, {words}"
    left = hms(max(0.0, plan.due_seconds - view.elapsed_seconds))
    return f"{stage}, {plan.following or 'ends'} in {left}; {key} holds it"


def coach_line(view: View) -> TextLine:
    """Suggestion of a first change, until one was made; empty if not applicable."""
    if not view.coach or view.cannot_steer or view.stopping or not view.points or not _can_be_unsafe(view):
        return ()
    if any(event.kind in TRIED_KINDS for event in view.events):
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
