"""From the options of a planned load to the plan of the run."""

from typing import Any

import pytest

from tuibench.cli.options.run_options import RUN_SECONDS, RunOptions, schedule_from_options
from tuibench.errors import UsageError
from tuibench.model.plan import RunPlan
from tuibench.model.schedule import Quantity, RampStage


def plan(default_seconds: float = RUN_SECONDS, /, **given: Any) -> RunPlan:
    return RunOptions(**given).plan("oltp_read_write", {}, default_seconds)


def test_a_run_begins_with_its_plan_and_ends_with_it() -> None:
    made = plan(plan_text="8:30s,16:30s,64:1m", threads=3)
    assert (made.threads, made.most_threads, made.rate, made.seconds) == (8, 64, 0, 120)


def test_a_plan_of_rates_leaves_the_threads() -> None:
    made = plan(plan_text="rate 200:30s,rate 400:30s", threads=16)
    assert (made.threads, made.most_threads, made.rate, made.seconds) == (16, 16, 200, 60)


def test_a_rate_that_comes_later_does_not_begin_the_run() -> None:
    assert plan(plan_text="threads 8:30s,rate 200:30s").rate == 0
    assert plan(plan_text="8:30s", rate=50).rate == 50


@pytest.mark.parametrize(("time", "seconds"), [(None, 60), (5.0, 5.0), (100.0, 100.0), (0.0, None)])
def test_a_time_given_outdoes_the_plans(time: float | None, seconds: float | None) -> None:
    assert plan(ramp="1..128/60s", time=time).seconds == seconds


def test_the_live_monitor_goes_on_after_the_plan() -> None:
    assert plan(0.0, ramp="1..128/60s").seconds is None


def test_ramps_have_short_forms() -> None:
    assert schedule_from_options("", "1..128/60s doubling", "") == (
        RampStage(first=1, last=128, seconds=60, doubling=True),
    )
    assert schedule_from_options("", "", "100..2000/60s") == (
        RampStage(quantity=Quantity.RATE, first=100, last=2000, seconds=60),
    )
    assert schedule_from_options("", "", "") == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"plan_text": "8:1s", "ramp": "1..2/1s"}, "--plan and --ramp: one plan at a time"),
        ({"ramp": "1..2/1s", "ramp_rate": "1..2/1s"}, "--ramp and --ramp-rate: one plan"),
        ({"ramp": "8:3s"}, "--ramp takes one ramp, not '8:3s'"),
        ({"ramp": "1..8/3s,8:3s"}, "--ramp takes one ramp"),
        ({"ramp_rate": "1..8/3"}, "--ramp-rate: character 6, '1..8/3': '3' is not a duration"),
        ({"plan_text": "8:30s,x"}, "--plan: character 7, 'x': a stage is"),
    ],
)
def test_what_is_no_plan_is_refused_by_its_option(given: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan(**given)


@pytest.mark.parametrize(("text", "delay_ms"), [("0", 0), ("20ms", 20), ("500us", 0.5), ("0.18s", 180)])
def test_a_client_delay_has_a_unit(text: str, delay_ms: float) -> None:
    assert plan(client_delay=text).client_delay_ms == delay_ms


@pytest.mark.parametrize("text", ["20", "-1ms", "11s", "fast", ""])
def test_a_client_delay_without_one_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--client-delay: "):
        plan(client_delay=text)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"plan_text": "8:30s", "threads": 3},
            "tuibench: --threads=3 is not used: the plan begins with 8 threads\n",
        ),
        ({"plan_text": "8:30s", "threads": 8}, ""),
        ({"plan_text": "8:30s"}, ""),
        ({"ramp_rate": "100..200/60s", "threads": 3}, ""),
    ],
)
def test_threads_replaced_by_the_plan_are_reported(
    given: dict[str, object], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(**given)
    assert capsys.readouterr().err == told
