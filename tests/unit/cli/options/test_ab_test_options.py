"""What `--ab` takes, and what it refuses before anything is started."""

import pytest

from tests.examples import PLAN
from tests.unit.cli.plans import planned
from tuibench.cli.options.run_options import ab_test_announcement
from tuibench.errors import UsageError
from tuibench.model.experiments.effect import AbTestPlan, EffectFigure
from tuibench.model.plan import RunPlan


def tried(ab: str, *words: str) -> RunPlan:
    return planned(f"--ab={ab}", "--rand-seed=1", *words)


@pytest.mark.parametrize(
    ("text", "subject", "a", "b"),
    [
        ("innodb_flush_log_at_trx_commit=1,0", "innodb_flush_log_at_trx_commit", "1", "0"),
        ("Sync-Binlog = 1 , 0", "sync_binlog", "1", "0"),
        ("preset=durable,unsafe", "preset", "durable", "unsafe"),
        ("threads=8,16", "threads", "8", "16"),
        ("long_query_time=1,10", "long_query_time", "1", "10"),
    ],
)
def test_what_can_be_tried(text: str, subject: str, a: str, b: str) -> None:
    assert tried(text).trial == AbTestPlan(subject=subject, a=a, b=b, seed=1)


def test_the_time_follows_from_cycles_and_window() -> None:
    plan = tried("sync_binlog=1,0", "--cycles=4", "--window=7.5")
    assert plan.seconds == 60
    assert plan.warmup_seconds == 5
    assert ab_test_announcement(plan) == (
        "A/B: sync_binlog 1 against 0, 4 cycles of 2 windows of 7.5 s: 60 s after 5 s of warm-up"
    )
    assert tried("sync_binlog=1,0", "--time=100").seconds == 100


def test_a_warm_up_that_was_asked_for_is_kept() -> None:
    plan = tried("sync_binlog=1,0", "--warmup-time=20")
    assert plan.warmup_seconds == 20
    assert tried("sync_binlog=1,0", "--warmup-time=0").warmup_seconds == 0


def test_everything_is_made_ready_for_the_most_threads() -> None:
    assert tried("threads=64,16").threads == 64


def test_a_trial_has_the_same_load_in_all_its_windows() -> None:
    with pytest.raises(UsageError, match="--ab cannot be combined with a plan"):
        tried("sync_binlog=1,0", "--plan=8:30s,16:30s")


def test_without_ab_there_is_no_test() -> None:
    assert planned("--time=30").trial is None
    assert ab_test_announcement(PLAN) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sync_binlog", "SETTING=V1,V2"),
        ("sync_binlog=1", "SETTING=V1,V2"),
        ("sync_binlog=1,0,2", "SETTING=V1,V2"),
        ("sync_binlog=1,", "SETTING=V1,V2"),
        ("sync_binlog=1,1", "two different values"),
        ("sync_binlgo=1,0", "sync_binlgo"),
        ("preset=durable,unsave", "no preset 'unsave'"),
        ("threads=8,many", "whole numbers"),
        ("threads=8,0", "between 1 and"),
    ],
)
def test_what_cannot_be_tried(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tried(text)


def test_another_time_is_a_contradiction() -> None:
    with pytest.raises(UsageError, match=r"--time=30 cannot be combined with --ab.*are 100 s"):
        tried("sync_binlog=1,0", "--time=30")


@pytest.mark.parametrize(
    ("cycles", "window", "words"),
    [(3, 10.0, "--cycles must be between 4 and"), (10**6, 10.0, "between 4 and"), (5, 3.0, "too short")],
)
def test_too_little_is_no_trial(cycles: int, window: float, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tried("sync_binlog=1,0", f"--cycles={cycles}", f"--window={window}")


@pytest.mark.parametrize("text", ["±2%", "2", "+-2 %", "2.0%"])
def test_until_makes_it_sequential(text: str) -> None:
    plan = tried("sync_binlog=1,0", f"--until={text}", "--time=95")
    assert plan.trial is not None
    assert (plan.trial.is_sequential, plan.trial.tolerance_percent) == (True, 2.0)
    assert (plan.trial.cycles, plan.trial.window_seconds, plan.seconds) == (11, 4.0, 88.0)
    assert "until one is better or they are equal within ±2 %: at most 88 s" in ab_test_announcement(plan)


def test_at_a_fixed_rate_latency_decides() -> None:
    plan = tried("sync_binlog=1,0", "--rate=100")
    assert plan.trial is not None
    assert plan.trial.primary is EffectFigure.P95


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--until=soon"], "the tolerance is a percentage"),
        (["--until=0%"], "the tolerance is a percentage"),
        (["--until=2%", "--cycles=5"], "--cycles cannot be combined with --until"),
        (["--until=2%", "--time=30"], "takes between 32 and .* not 30"),
    ],
)
def test_what_until_does_not_take(options: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tried("sync_binlog=1,0", *options)


def test_until_needs_ab() -> None:
    with pytest.raises(UsageError, match="needs --ab"):
        planned("--until=2%")
