"""From the options of a planned load to the plan of the run."""

import pytest

from tests.unit.cli.plans import planned
from tuibench.errors import UsageError
from tuibench.model.schedule import Quantity, RampStage


def test_a_run_begins_with_its_plan_and_ends_with_it() -> None:
    made = planned("--plan=8:30s,16:30s,64:1m", "--threads=3")
    assert (made.threads, made.most_threads, made.rate, made.seconds) == (8, 64, 0, 120)


def test_a_plan_of_rates_leaves_the_threads() -> None:
    made = planned("--plan=rate 200:30s,rate 400:30s", "--threads=16")
    assert (made.threads, made.most_threads, made.rate, made.seconds) == (16, 16, 200, 60)


def test_a_rate_that_comes_later_does_not_begin_the_run() -> None:
    assert planned("--plan=threads 8:30s,rate 200:30s").rate == 0
    assert planned("--plan=8:30s", "--rate=50").rate == 50


@pytest.mark.parametrize(
    ("time", "seconds"), [("", 60), ("--time=5", 5.0), ("--time=100", 100.0), ("--time=0", None)]
)
def test_a_time_given_outdoes_the_plans(time: str, seconds: float | None) -> None:
    assert planned("--ramp=1..128/60s", *[time] * bool(time)).seconds == seconds


def test_the_live_monitor_goes_on_after_the_plan() -> None:
    assert planned("--ramp=1..128/60s", command="live").seconds is None


def test_ramps_have_short_forms() -> None:
    assert planned("--ramp=1..128/60s doubling").schedule == (
        RampStage(first=1, last=128, seconds=60, doubling=True),
    )
    assert planned("--ramp-rate=100..2000/60s").schedule == (
        RampStage(quantity=Quantity.RATE, first=100, last=2000, seconds=60),
    )
    assert planned().schedule == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"plan": "8:1s", "ramp": "1..2/1s"}, "--plan and --ramp: one plan at a time"),
        ({"ramp": "1..2/1s", "ramp_rate": "1..2/1s"}, "--ramp and --ramp-rate: one plan"),
        ({"ramp": "8:3s"}, "--ramp takes one ramp, not '8:3s'"),
        ({"ramp": "1..8/3s,8:3s"}, "--ramp takes one ramp"),
        ({"ramp_rate": "1..8/3"}, "--ramp-rate: character 6, '1..8/3': '3' is not a duration"),
        ({"plan": "8:30s,x"}, "--plan: character 7, 'x': a stage is"),
    ],
)
def test_what_is_no_plan_is_refused_by_its_option(given: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        planned(*(f"--{name.replace('_', '-')}={text}" for name, text in given.items()))


@pytest.mark.parametrize(("text", "delay_ms"), [("0", 0), ("20ms", 20), ("500us", 0.5), ("0.18s", 180)])
def test_a_client_delay_has_a_unit(text: str, delay_ms: float) -> None:
    assert planned(f"--client-delay={text}").client_delay_ms == delay_ms


@pytest.mark.parametrize("text", ["20", "-1ms", "11s", "fast", ""])
def test_a_client_delay_without_one_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--client-delay: "):
        planned(f"--client-delay={text}")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"plan": "8:30s", "threads": 3},
            "tuibench: --threads=3 is not used: the plan begins with 8 threads\n",
        ),
        ({"plan": "8:30s", "threads": 8}, ""),
        ({"plan": "8:30s"}, ""),
        ({"ramp_rate": "100..200/60s", "threads": 3}, ""),
    ],
)
def test_threads_replaced_by_the_plan_are_reported(
    given: dict[str, object], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    planned(*(f"--{name.replace('_', '-')}={text}" for name, text in given.items()))
    assert capsys.readouterr().err == told
