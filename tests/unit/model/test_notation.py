"""Notations of the command line: schedules, durations, weights, places and targets."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.base.errors import UsageError
from tuibench.model.cluster import expanded, parse_places
from tuibench.model.option import parse_duration
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
    format_delay,
    format_duration,
    format_schedule,
    format_weights,
    most_threads,
    parse_delay_ms,
    parse_schedule,
    parse_weights,
    total_seconds,
    validate_schedule,
)
from tuibench.model.server import Endpoint, Target

# Plans as people write them.


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


# Lengths of time as people write them.


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20ms", 0.02),
        ("500us", 0.0005),
        ("500µs", 0.0005),
        ("30s", 30),
        ("1m", 60),
        ("1m30s", 90),
        ("1h0.5m", 3630),
        ("0.25s", 0.25),
        (" 2h ", 7200),
        ("0", 0),
        ("0s", 0),
    ],
)
def test_a_length_of_time_is_a_number_with_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "20", "s", "20 ms", "-20ms", "2x", "1e3s", "20ms!", "1m30", ".5s", "∞s"]
)
def test_what_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a duration \(a number with its unit: 20ms"):
        parse_duration(text)


@given(st.integers(1, 10**8).map(lambda milliseconds: milliseconds / 1000))
def test_notation_duration_what_is_written_is_read_back(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(0, 10**7))
def test_delays_too_down_to_the_microsecond(delay_us: int) -> None:
    assert parse_delay_ms(format_delay(delay_us / 1000)) == pytest.approx(delay_us / 1000)


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "0ms"), (0.5, "500us"), (20, "20ms"), (1.5, "1.5ms"), (1000, "1000ms")]
)
def test_a_delay_is_said_in_milliseconds_or_less(milliseconds: float, text: str) -> None:
    assert format_delay(milliseconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(30, "30s"), (60, "1m"), (90, "90s"), (7200, "2h"), (0.5, "0.5s")]
)
def test_a_duration_is_said_in_the_largest_unit_that_leaves_it_whole(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


# Weights of transactions as people write them.


NAMES = ("new_order", "payment", "status")


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("45/43/4", {"new_order": 45, "payment": 43, "status": 4}),
        ("45, 43, 4", {"new_order": 45, "payment": 43, "status": 4}),
        ("0 0 0.5", {"new_order": 0, "payment": 0, "status": 0.5}),
        ("payment=50", {"payment": 50}),
        ("payment=50 status=1", {"payment": 50, "status": 1}),
    ],
)
def test_weights_come_in_order_or_by_name(text: str, weights: dict[str, float]) -> None:
    assert parse_weights(text, NAMES) == weights


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "3 weights are required, for new_order, payment, status .such as 1/1/1, or new_order=50"),
        ("1/2", "3 weights are required"),
        ("1/2/3/4", "3 weights are required"),
        ("1/2/x", "'x' is not a weight"),
        ("payment=-1", "'-1' is not a weight"),
        ("payment=1e3", "'1e3' is not a weight"),
        ("payment=", "'' is not a weight"),
        ("order=1", "there is no transaction 'order' .there are new_order, payment, status"),
        ("payment=50 4", "there is no transaction '4'"),
    ],
)
def test_what_is_no_weight_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_weights(text, NAMES)


def test_weights_are_said_in_their_order() -> None:
    assert format_weights({"new": 90, "old": 0.5}) == "90/0.5"


# What `--cluster` names.


@pytest.mark.parametrize(
    ("given", "places"),
    [
        (["ssh:a,b"], ("ssh:a", "ssh:b")),
        (["ssh:ann@a:2222", "ssh:[::1]:22"], ("ssh:ann@a:2222", "ssh:[::1]:22")),
        (["ssh:load-{1..3}.example"], ("ssh:load-1.example", "ssh:load-2.example", "ssh:load-3.example")),
        (
            ["ssh:{east,west}-{08..10}"],
            tuple(f"ssh:{side}-{n}" for side in ("east", "west") for n in ("08", "09", "10")),
        ),
        (
            ["exec:kubectl exec -i load-{0..1} -- tuibench agent"],
            tuple(f"exec:kubectl exec -i load-{n} -- tuibench agent" for n in (0, 1)),
        ),
        (["exec:a --x={p,q}"], ("exec:a --x=p", "exec:a --x=q")),
    ],
)
def test_places(given: list[str], places: tuple[str, ...]) -> None:
    assert parse_places(given) == places


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("host1,host2", "has no ssh:, exec: or tls:"),
        ("ssh:-oProxyCommand=evil", "'-oProxyCommand=evil' is not a host for ssh"),
        ("ssh:a,,b", "'' is not a host for ssh"),
        ("ssh:a b", "is not a host for ssh"),
        ("ssh:a,a", "names a twice"),
        ("ssh:x{1..5000}", "more than 1000 hosts"),
        ("ssh:x{1..999},y{1..999}", "the maximum is 1000"),
        ("exec:", "needs a command"),
        ("exec:'open", "quote the command"),
    ],
)
def test_what_names_no_host_is_refused(given: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_places([given])


def test_ranges_count_down_and_keep_their_zeros() -> None:
    assert expanded("{3..1}") == ["3", "2", "1"]
    assert expanded("{01..03}") == ["01", "02", "03"]
    assert expanded("plain") == ["plain"]


# Several servers as one target: whose turn it is, and what is told of it.


SEVERAL = Target(
    host="db1",
    user="ann",
    password="secret",
    password_command="print secret",
    further=(Endpoint(host="db2", port=3307), Endpoint(socket="/run/db3.sock")),
)


def test_connections_take_turns() -> None:
    places = [SEVERAL.for_connection(number).where for number in range(7)]
    assert places[:3] == ["db1:3306", "db2:3307", "socket /run/db3.sock"]
    assert places[3:] == [*places[:3], places[0]]
    assert {SEVERAL.for_connection(number).password for number in range(3)} == {"secret"}


def test_one_server_is_everybodys() -> None:
    one = Target(host="db")
    assert one.for_connection(5) is one


def test_texts_count_further_servers_and_contain_no_secrets() -> None:
    assert SEVERAL.where == "db1:3306 and 2 more"
    assert "secret" not in repr(SEVERAL)
    assert b"secret" not in msgspec.json.encode(SEVERAL.without_password())
