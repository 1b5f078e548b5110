"""The verdict line and the coach line."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ticks import changed
from tests.tui.support import script
from tests.tui.support.probed import UNDER_WAY
from tests.unit.tui.views import text
from tuibench.model.event import Event, EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import Hello, RunState, Status
from tuibench.model.tick import Tick
from tuibench.tui.panels.bars.footer import message_line
from tuibench.tui.panels.bars.verdict import RECENT_SAMPLES, fitting_clauses, verdict_line, verdicts
from tuibench.tui.view import View, initial_view, next_view

LIMITED = (
    "client-limited: this host has no CPU left, scheduling delay p99 19.7 ms of a worker; add a load host"
)


def busy(cpu_server: float | None = 9.0) -> Tick:
    """A host at its limit, of which other programs use what the server does not."""
    return script.host_part(cpu_total=99.0, cpu_server=cpu_server, cpu_tuibench=7.0)


def view_of(status: Status | None = None, **changes: Any) -> View:
    """A run whose last samples have these parts."""
    view = initial_view(msgspec.structs.replace(script.hello(60), status=status or script.status()))
    for sample in script.samples(60 + RECENT_SAMPLES)[-RECENT_SAMPLES:] if changes else ():
        view = next_view(view, changed(sample, **changes))
    return view


def line(view: View, width: int = 118) -> str:
    return text(verdict_line(view, width, 1))


def test_a_calm_run_has_no_verdict() -> None:
    assert verdict_line(view_of(), 118, 1) == []


def test_other_programs_that_use_up_the_host_outweigh_a_limited_client() -> None:
    view = view_of(script.status(warnings=(LIMITED,)), host=busy())
    assert line(view) == "▲ host busy: other programs use 83 % of CPU   +1 in the help (?)"


def test_a_server_that_is_not_seen_is_not_another_program() -> None:
    assert line(view_of(host=busy(cpu_server=None))) == ""


def test_the_server_and_tuibench_may_use_up_the_host() -> None:
    assert line(view_of(host=busy(cpu_server=83.0))) == ""


def test_a_late_tick_is_a_disturbance() -> None:
    assert line(view_of(late_ms=1200.0)).startswith(
        "▲ host disturbed: it was suspended, or tuibench got no CPU"
    )


def test_a_limit_of_the_client_outweighs_other_warnings() -> None:
    view = view_of(script.status(warnings=(LIMITED, "incomplete: a worker process did not answer")))
    assert [each.text.partition(":")[0] for each in verdicts(view)] == ["client-limited", "incomplete"]


def test_a_paused_run_says_how_to_resume() -> None:
    assert line(view_of(script.status(RunState.PAUSED))) == "‖ paused: no load is running; p resumes it"


def test_a_probe_says_step_level_and_time_left() -> None:
    view = msgspec.structs.replace(view_of(), probe=UNDER_WAY)
    assert line(view).startswith(f"◆ probe: step {len(UNDER_WAY.steps) + 1} at ")
    assert line(view).endswith(" left")


def test_a_plan_says_its_stage() -> None:
    view = initial_view(script.hello(10, script.status(plan=script.PLAN)))
    assert line(view) == "◆ plan: stage 2 of 3, 64 threads in 00:23; H holds it"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (118, LIMITED),
        (
            97,
            "client-limited: this host has no CPU left, scheduling delay p99 19.7 ms of a worker   ? for all",
        ),
        (78, "client-limited: this host has no CPU left   ? for all"),
        (40, "client-limited   ? for all"),
    ],
)
def test_a_verdict_ends_with_a_clause_and_is_never_cut(width: int, shown: str) -> None:
    assert line(view_of(script.status(warnings=(LIMITED,))), width) == f"▲ {shown}"


@given(st.text("ab ,;:", max_size=80), st.integers(40, 80))
def test_what_is_shown_is_whole_clauses_that_fit(words: str, room: int) -> None:
    shown = fitting_clauses(words, room)
    assert "…" not in shown
    assert shown == words or not words.startswith(shown) or words[len(shown)] in ",;:"


COACH = "Press d and choose unsafe: watch fsyncs fall and TPS rise"
FRESH: Hello = script.hello(5, events=())


def coached(hello: Hello = FRESH) -> View:
    return msgspec.structs.replace(initial_view(hello), coach=True)


def test_the_coach_says_what_to_try_first() -> None:
    assert text(message_line(coached(), 78, 1)) == COACH


@pytest.mark.parametrize(
    "view",
    [
        initial_view(FRESH),
        coached(script.hello(0, events=())),
        coached(script.hello(5, script.status(unavailable="no privilege"), events=())),
        msgspec.structs.replace(coached(), read_only=True),
    ],
    ids=["without hints", "before the first sample", "without the privilege", "read-only"],
)
def test_the_coach_is_silent_where_it_does_not_apply(view: View) -> None:
    assert text(message_line(view, 78, 1)) == ""


@pytest.mark.parametrize(("kind", "shown"), [(EventKind.THREADS, ""), (EventKind.MARK, COACH)])
def test_the_coach_is_gone_after_the_first_change(kind: EventKind, shown: str) -> None:
    change = Event(at=0.0, elapsed_seconds=4.0, kind=kind, text="changed", marker=1)
    assert text(message_line(next_view(coached(), change), 78, 1)) == shown


def test_a_sample_after_the_disturbance_clears_it() -> None:
    view = view_of(late_ms=1200.0)
    samples: tuple[Sample, ...] = script.samples(60 + 2 * RECENT_SAMPLES)[-RECENT_SAMPLES:]
    for sample in samples:
        view = next_view(view, sample)
    assert line(view) == ""
