"""Plans as people write them."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.errors import UsageError
from tuibench.model.schedule import (
    MAX_RATE,
    MAX_STAGES,
    MAX_THREADS,
    ConstantStage,
    Quantity,
    RampStage,
    Schedule,
    Stage,
    first_level,
    format_schedule,
    most_threads,
    parse_schedule,
    total_seconds,
    validate_schedule,
)

RATE = Quantity.RATE

seconds = st.integers(100, 10**7).map(lambda milliseconds: milliseconds / 1000)
threads = st.integers(1, MAX_THREADS).map(float)
rates = st.integers(1, MAX_RATE * 100).map(lambda hundredths: hundredths / 100)
stages = st.one_of(
    st.builds(ConstantStage, level=threads, seconds=seconds),
    st.builds(ConstantStage, quantity=st.just(RATE), level=st.one_of(st.just(0.0), rates), seconds=seconds),
    st.builds(RampStage, first=threads, last=threads, seconds=seconds, doubling=st.booleans()),
    st.builds(
        RampStage, quantity=st.just(RATE), first=rates, last=rates, seconds=seconds, doubling=st.booleans()
    ),
)
schedules = st.lists(stages, min_size=1, max_size=8).map(tuple)


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("8:30s", (ConstantStage(level=8, seconds=30),)),
        ("8:30s,16:1m30s", (ConstantStage(level=8, seconds=30), ConstantStage(level=16, seconds=90))),
        (
            " 8:30s , threads 16:1m ",
            (ConstantStage(level=8, seconds=30), ConstantStage(level=16, seconds=60)),
        ),
        ("1..128/60s", (RampStage(first=1, last=128, seconds=60),)),
        ("128..1/60s doubling", (RampStage(first=128, last=1, seconds=60, doubling=True),)),
        (
            "rate 0.5..200/1h,rate 0:500ms",
            (
                RampStage(quantity=RATE, first=0.5, last=200, seconds=3600),
                ConstantStage(quantity=RATE, level=0, seconds=0.5),
            ),
        ),
        (
            "threads 8:30s,rate 200:30s",
            (ConstantStage(level=8, seconds=30), ConstantStage(quantity=RATE, level=200, seconds=30)),
        ),
    ],
)
def test_a_plan_is_stages_with_commas(text: str, schedule: Schedule) -> None:
    assert parse_schedule(text) == schedule


@given(schedules)
def test_what_is_written_is_read_back(schedule: Schedule) -> None:
    assert parse_schedule(format_schedule(schedule)) == schedule


@for_each(
    ("text", "words"),
    [
        ("", "character 1, '': a stage is LEVEL:TIME or FIRST..LAST/TIME"),
        ("8:30s,", "character 7, '': a stage is"),
        ("8:30s,16;30s", "character 7, '16;30s': a stage is"),
        ("8:30s, 16", "character 8, '16': a stage is"),
        ("8:30s,  16:30", "character 12, '16:30': '30' is not a duration"),
        ("1..128:60s", "character 1, '1..128:60s': a stage is"),
        ("1...8/60s", "character 1"),
        ("-8:30s", "character 1"),
        ("8:30s doubling", "character 7, '8:30s doubling': only a ramp can be doubling"),
        ("8:30s trebling", "character 1"),
        ("tps 8:30s", "character 1"),
        ("8:30s,0:30s", "character 7, '0:30s': threads are whole numbers from 1 to 100,000"),
        ("8.5:30s", "threads are whole numbers"),
        ("1..100001/1m", "threads are whole numbers"),
        ("8:0s", "it must take between 0.1s and"),
        ("8:99999999s", "it must take between"),
        ("rate 10000001:30s", "a rate is between 0 and 10,000,000 per second"),
        ("rate 0..5/30s", "both ends of a ramp of rates must be above 0"),
        ("rate 5:3s,400:3s", "character 11, '400:3s': if a stage sets a rate, each stage must name"),
        ("400:3s,rate 5:3s", "character 8, 'rate 5:3s': if a stage sets a rate, each stage must name"),
    ],
)
def test_what_is_no_plan_is_refused_with_its_position_and_an_example(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse_schedule(text)
    assert words in refusal.value.message
    assert "8:30s,16:30s" in refusal.value.hint


@given(st.text("0123456789.,:/ smhratedoubling-+e١²１\0\n", max_size=30))
@example("9" * 400 + ":30s")
@example("1..2/" + "9" * 400 + "s")
@example("rate 1" + "0" * 5000 + ":1s")
@example("8:" + "1h" * 5000)
@example("5:5100ms")
def test_whatever_is_written_is_a_plan_or_refused_in_words(text: str) -> None:
    with suppress(UsageError):
        schedule = parse_schedule(text)
        again = parse_schedule(format_schedule(schedule))
        assert total_seconds(again) == pytest.approx(total_seconds(schedule))


def test_without_a_name_a_stage_is_about_what_the_option_says() -> None:
    assert parse_schedule("100..2000/60s", RATE) == (
        RampStage(quantity=RATE, first=100, last=2000, seconds=60),
    )


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ([], "between 1 and 100 stages, not 0"),
        ([ConstantStage(level=1, seconds=1)] * (MAX_STAGES + 1), "not 101"),
        (
            [ConstantStage(level=1, seconds=1), ConstantStage(level=0, seconds=1)],
            "stage 2 of the plan: threads are",
        ),
        ([ConstantStage(level=1, seconds=float("nan"))], "stage 1 of the plan: it must take between"),
        ([ConstantStage(quantity=RATE, level=float("inf"), seconds=1)], "a rate is between"),
        ([ConstantStage(level=float("nan"), seconds=1)], "threads are whole numbers"),
    ],
)
def test_stages_that_came_by_wire_are_checked_too(stages: list[Stage], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        validate_schedule(stages)


def test_what_a_plan_needs_is_known_beforehand() -> None:
    plan = parse_schedule("threads 8:30s,rate 200:30s,threads 64..2/1m")
    assert (total_seconds(plan), most_threads(plan)) == (120, 64)
    assert (first_level(plan, Quantity.THREADS), first_level(plan, RATE)) == (8, 200)
    assert first_level(parse_schedule("8:1s"), RATE) is None
    assert most_threads(parse_schedule("rate 8:1s")) == 0
