"""When the measurement itself is in doubt."""

from typing import Any

import msgspec
import pytest

from tests.examples import LATENCY, load_part
from tuibench.model.sample import LoadPart
from tuibench.session.honesty import ClientLimit, is_limited


def load(cpu: float = 0.2, lag_ms: float = 0.1, p95_ms: float | None = 20.0) -> LoadPart:
    latency: Any = None if p95_ms is None else msgspec.structs.replace(LATENCY, p95=p95_ms)
    return load_part(worker_cpu=cpu, lag_p99_ms=lag_ms, latency=latency)


GOOD, BAD = load(), load(cpu=0.99)


@pytest.mark.parametrize(
    ("part", "limited"),
    [
        (load(cpu=0.85), False),
        (load(cpu=0.851), True),
        (load(lag_ms=2.0, p95_ms=20.0), False),
        (load(lag_ms=2.1, p95_ms=20.0), True),
        (load(lag_ms=500.0, p95_ms=None), False),
        (load(cpu=0.9, p95_ms=None), True),
    ],
)
def test_the_limits_are_those_of_the_design(part: LoadPart, limited: bool) -> None:
    assert is_limited(part) is limited


def after(*parts: LoadPart) -> ClientLimit:
    limit = ClientLimit()
    for part in parts:
        limit.look(part)
    return limit


@pytest.mark.parametrize(
    ("parts", "now"),
    [
        ([], False),
        ([BAD, BAD], False),
        ([BAD, BAD, BAD], True),
        ([BAD, GOOD, BAD, GOOD, BAD], True),
        ([BAD, BAD, BAD, GOOD, GOOD], True),
        ([BAD, BAD, BAD, GOOD, GOOD, GOOD], False),
    ],
)
def test_the_alarm_stands_while_most_of_the_last_five_ticks_were_limited(
    parts: list[LoadPart], now: bool
) -> None:
    assert after(*parts).now is now


@pytest.mark.parametrize(
    ("good", "bad", "overall"), [(0, 0, False), (3, 1, False), (2, 1, True), (30, 10, False), (29, 10, True)]
)
def test_a_run_is_in_doubt_when_more_than_a_quarter_of_it_was(good: int, bad: int, overall: bool) -> None:
    assert after(*[GOOD] * good, *[BAD] * bad).overall is overall


def test_the_words_tell_of_the_worst_tick_and_what_to_do() -> None:
    words = after(load(cpu=0.9, lag_ms=3), load(cpu=0.97, lag_ms=12.34), load(cpu=0.91), GOOD).words()
    assert words.startswith("client-limited: a worker used 97% of a core, its loop ran 12.3 ms late")
    assert "--workers" in words


def test_without_a_doubt_there_are_no_words() -> None:
    assert after(GOOD, GOOD).words() == ""
