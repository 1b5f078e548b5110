"""The answer of a run: its sentence, its table, and the summary on leaving the screen."""

import pytest
from msgspec.structs import replace

from tests.examples import EVENT, summary
from tests.tui.support.probed import probed
from tests.unit.features.crash.crash_examples import KNOWN
from tuibench.base.document import text_lines
from tuibench.model.effect import Comparison, Effect, LevelMovement, MovementKind, Verdict
from tuibench.model.event import EventKind
from tuibench.model.message import SessionEnded
from tuibench.report.answer import EXIT_LINES, answer_sentence, answer_table, exit_summary

SURE = Comparison(
    figure="tps",
    verdict=Verdict.HIGHER,
    before=1376.0,
    after=2024.0,
    delta=648.0,
    low=400.0,
    high=800.0,
    percent=47.1,
    percent_low=29.1,
    percent_high=58.1,
)
NOT_ONLY = replace(
    SURE,
    verdict=Verdict.NOT_ONLY,
    percent=-53.0,
    percent_low=-71.0,
    percent_high=-25.0,
    movement=LevelMovement(kind=MovementKind.WANDERING, percent=44.2),
)
P95 = replace(NOT_ONLY, figure="p95_ms", percent=69.0, percent_low=35.0, percent_high=112.0)


def effect(marker: int, change: str, *comparisons: Comparison) -> Effect:
    return Effect(
        markers=(marker,),
        change=change,
        at_seconds=10.0 * marker,
        window_seconds=6.0,
        settling_seconds=2.0,
        settled=True,
        comparisons=comparisons,
    )


THREADS = effect(1, "threads 8 → 16", NOT_ONLY, replace(P95, movement=replace(P95.movement, percent=43.9)))  # type: ignore[type-var]
UNSAFE = effect(2, "preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0", SURE, P95)
RESTORED = replace(EVENT, kind=EventKind.RESTORE, text="sync_binlog 0 → 1, as before")


def test_the_sentence_is_that_of_the_strongest_certain_effect() -> None:
    """The other one is larger, but not only by its change."""
    run = summary(effects=(THREADS, UNSAFE))
    assert answer_sentence(run) == (
        "preset unsafe: TPS +47 % (29..58 %); p95 +69 % (35..112 %), and it was wandering by 44 % before "
        "the change"
    )
    table = answer_table(run)
    assert table is not None
    assert [line.split()[0] for line in text_lines(table)][1:] == ["TPS", "p95", "The", "Differences:"]
    assert table.notes == (
        "The strongest effect of 2; the others are under Changes.",
        "Differences: corrected for the trend of p95 before the change.",
    )
    assert "29..58 %" in table.rows[0]


def test_a_reason_that_reads_the_same_is_told_once() -> None:
    """44.2 and 43.9 % are both written as 44 %."""
    assert answer_sentence(summary(effects=(THREADS,))) == (
        "threads 8 → 16: TPS −53 % (−71..−25 %), and it was wandering by 44 % before the change; "
        "p95 +69 % (35..112 %), likewise"
    )


def test_a_run_without_a_change_has_no_two_sides() -> None:
    assert answer_sentence(summary()) == ""
    assert answer_table(summary()) is None


def test_a_run_that_failed_has_no_other_answer() -> None:
    run = summary(effects=(UNSAFE,), outcome="failed", failure="the server went away")
    assert answer_sentence(run) == "The run failed: the server went away"
    assert answer_table(run) is None


def test_sentence_and_table_are_of_the_same_experiment() -> None:
    crashed = summary(crashes=KNOWN.crashes, effects=(UNSAFE,))
    assert answer_sentence(crashed).startswith("lost: 147 acknowledged commits (0.94 s)")
    table = answer_table(crashed)
    assert table is not None
    assert table.header[0] == "setting"
    over = probed().over
    assert over.result is not None
    for run in (replace(crashed, probe=over.result), replace(crashed, failure="the server went away")):
        assert answer_sentence(run).startswith(("p95<40ms: met", "The run failed"))
        assert answer_table(run) is None


@pytest.mark.parametrize("width", [80, 120, 300])
def test_a_screen_is_left_with_six_lines_and_the_command_for_the_rest(width: int) -> None:
    long = "host busy: other programs use 79 % of CPU, which skews the results; stop them or use another host"
    run = summary(effects=(THREADS, UNSAFE), events=(RESTORED,), warnings=(long, long))
    lines = exit_summary(SessionEnded(summary=run, text="", run_directory="/runs/20261124-x"), width)
    command = next(place for place, line in enumerate(lines) if "tuibench report" in line)
    assert command <= EXIT_LINES
    assert lines[command].endswith("tuibench report 20261124-x")
    assert all(len(line) <= min(width, 120) for line in lines)
    told = " ".join(line.strip() for line in lines)
    assert "recorded in /runs/20261124-x" in told
    assert "TPS +47 % (29..58 %)" in told
    assert "put back: sync_binlog 0 → 1" in told
    whole = f"{answer_sentence(run)} warning: {long}".split()
    assert {word for word in told.split() if word.startswith(("wander", "skew", "progr"))} <= set(whole)


def test_what_has_no_room_is_counted() -> None:
    ended = SessionEnded(
        summary=summary(effects=(THREADS, UNSAFE), warnings=("a", "b", "c")), text="", run_directory="/r/1"
    )
    assert exit_summary(ended, 80)[-1] == "and 3 more results: tuibench report 1"
    quiet = replace(ended, summary=summary())
    assert exit_summary(quiet, 80)[-1] == "all figures: tuibench report 1"
