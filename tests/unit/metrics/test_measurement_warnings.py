"""Warnings about host and measurement."""

from typing import Any

import msgspec
import pytest

from tests.examples import LATENCY, SERVER, load_part, load_sample
from tests.ticks import host_tick
from tuibench.metrics.measurement_warnings import (
    TICKS_NEEDED,
    ClientLimit,
    is_client_limited,
    time_limit_warning,
)
from tuibench.model.callers import CallerPolicy, OnDeadline
from tuibench.model.cluster import LoadHost
from tuibench.model.server import Flavour
from tuibench.model.tick import HOST, Tick

# Warnings about the measurement name the host of a load from several hosts.


CALM = LoadHost(name="east", worker_cpu=0.2, lag_p99_ms=0.1, cpu_total=30.0, cpu_others=1.0)


def warnings(*hosts: LoadHost, **load: Any) -> tuple[str, ...]:
    limit = ClientLimit()
    for _ in range(TICKS_NEEDED):
        limit.add(load_part(**load), hosts=hosts)
    return limit.active_warnings


def test_the_host_of_a_full_worker_is_named() -> None:
    full = LoadHost(name="west", worker_cpu=0.97, lag_p99_ms=0.2, cpu_total=60.0, cpu_others=1.0)
    (text,) = warnings(CALM, full, worker_cpu=0.97, lag_p99_ms=0.2)
    assert text.startswith("client-limited: a worker of host west used 97 % of a core")
    assert text.endswith("use --workers or more hosts")


def test_the_host_of_a_late_worker_is_named() -> None:
    late = LoadHost(name="west", worker_cpu=0.1, lag_p99_ms=900.0, cpu_total=60.0, cpu_others=1.0)
    (text,) = warnings(CALM, late, worker_cpu=0.2, lag_p99_ms=900.0)
    assert text.startswith("client-limited: scheduling delay p99 900.0 ms of a worker of host west")


def test_a_host_that_others_use_up_is_named() -> None:
    busy = LoadHost(name="west", worker_cpu=0.1, cpu_total=99.0, cpu_others=70.0)
    (text,) = warnings(CALM, busy, worker_cpu=0.2, lag_p99_ms=0.0)
    assert text.startswith("host busy: other programs use 70 % of CPU of host west")


def test_a_host_that_is_robbed_or_throttled_is_named() -> None:
    robbed = LoadHost(name="west", cpu_total=50.0, cpu_others=0.0, cpu_steal=12.0)
    throttled = LoadHost(name="south", cpu_total=50.0, cpu_others=0.0, cpu_throttled=30.0)
    limited, disturbed = warnings(CALM, robbed, throttled, worker_cpu=0.2, lag_p99_ms=0.0)
    assert disturbed.startswith("host disturbed: host west: 12 % steal")
    assert limited.startswith(
        "client-limited: the CPU limit of the control group of host south stopped the client 30 % of the time"
    )


def test_hosts_that_were_not_sampled_are_no_cause() -> None:
    assert warnings(LoadHost(name="east"), worker_cpu=0.2, lag_p99_ms=0.0) == ()


# When the measurement itself is in doubt.


def load(cpu: float = 0.2, lag_ms: float = 0.1, p95_ms: float | None = 20.0) -> Tick:
    latency: Any = None if p95_ms is None else msgspec.structs.replace(LATENCY, p50=p95_ms / 2, p95=p95_ms)
    return load_sample(worker_cpu=cpu, lag_p99_ms=lag_ms, latency=latency)


def host(cpu_total: float, *, others: float = 5.0, **figures: Any) -> Tick:
    """A host, of which the server uses what neither tuibench nor others use."""
    server = cpu_total - others - 5.0
    made = host_tick(
        seconds=3.0, cores=4, cpu_total=cpu_total, cpu_server=server, cpu_tuibench=5.0, **figures
    )
    return made.moved("", HOST)


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
def test_the_limits_are_those_of_the_design(part: Tick, limited: bool) -> None:
    assert is_client_limited(part) is limited


def after(*parts: Tick) -> ClientLimit:
    limit = ClientLimit()
    for part in parts:
        limit.add(part)
    return limit


@pytest.mark.parametrize(
    ("parts", "now"),
    [
        ([], False),
        ([BAD, BAD], False),
        ([BAD, BAD, BAD], True),
        ([BAD, GOOD, BAD, GOOD, BAD], True),
        ([BAD, BAD, BAD, *[GOOD] * 9], True),
        ([BAD, BAD, BAD, *[GOOD] * 10], False),
        ([BAD, BAD, BAD, *[GOOD] * 9, BAD, *[GOOD] * 9], True),
    ],
)
def test_the_alarm_is_raised_by_most_of_five_ticks_and_lowered_by_ten_good_ones(
    parts: list[Tick], now: bool
) -> None:
    assert after(*parts).now is now


@pytest.mark.parametrize(
    ("good", "bad", "overall"), [(0, 0, False), (3, 1, False), (2, 1, True), (30, 10, False), (29, 10, True)]
)
def test_a_run_is_in_doubt_when_more_than_a_quarter_of_it_was(good: int, bad: int, overall: bool) -> None:
    assert after(*[GOOD] * good, *[BAD] * bad).overall is overall


@pytest.mark.parametrize(
    ("worst", "cpu_total", "expected"),
    [
        (
            load(cpu=0.97, lag_ms=12.34),
            100.0,
            "a worker used 97 % of a core, scheduling delay p99 12.3 ms",
        ),
        (load(lag_ms=12.34), 100.0, "this host has no CPU left, scheduling delay p99 12.3 ms of a worker"),
        (load(lag_ms=12.34), 40.0, "scheduling delay p99 12.3 ms of a worker"),
        (load(lag_ms=12.34), None, "scheduling delay p99 12.3 ms of a worker"),
    ],
)
def test_the_words_begin_with_what_the_limit_was_in_the_worst_tick(
    worst: Tick, cpu_total: float | None, expected: str
) -> None:
    limit = ClientLimit()
    for part in (load(lag_ms=3), worst, load(lag_ms=2.5), GOOD):
        limit.add(part, None if cpu_total is None else host(cpu_total))
    assert limit.text().startswith(f"client-limited: {expected}")
    assert "another host" in limit.text()


def test_without_a_doubt_there_are_no_words() -> None:
    assert after(GOOD, GOOD).text() == ""


def on_host(part: Tick, cpu_total: float, **figures: float) -> ClientLimit:
    """Three ticks of a load on a host with these percentages."""
    limit = ClientLimit()
    for _ in range(3):
        limit.add(part, host(cpu_total, **figures))
    return limit


LATE = load(lag_ms=12.0)


def test_a_host_that_other_programs_use_is_busy_and_the_client_is_not_the_limit() -> None:
    limit = on_host(LATE, cpu_total=99.0, others=83.0)
    (warning,) = limit.active_warnings
    assert warning.startswith("host busy: other programs use 83 % of CPU")
    assert not limit.overall


def test_what_the_hypervisor_takes_is_a_disturbance_and_no_program() -> None:
    limit = on_host(LATE, cpu_total=99.0, others=30.0, cpu_steal=12.0)
    assert [warning.partition(":")[0] for warning in limit.active_warnings] == ["host disturbed"]
    assert limit.active_warnings[0].startswith("host disturbed: 12 % steal")


def test_a_client_that_its_cpu_limit_stops_is_the_limit() -> None:
    """However little a worker uses: with a limit of half a core that is never a full one."""
    for one in (GOOD, LATE):
        limit = on_host(one, cpu_total=40.0, cpu_throttled=30.0)
        (warning,) = limit.active_warnings
        assert warning.startswith(
            "client-limited: the CPU limit of the control group stopped the client 30 % of the time"
        )
        assert limit.now


def test_a_full_worker_is_the_limit_on_a_busy_host_too() -> None:
    limit = on_host(BAD, cpu_total=99.0, others=83.0)
    assert limit.raised == {"client-limited", "host busy"}


def test_a_late_client_on_a_host_that_the_server_uses_up_is_the_limit() -> None:
    assert on_host(LATE, cpu_total=99.0, others=2.0).raised == {"client-limited"}


def test_a_calm_host_has_no_warning() -> None:
    assert on_host(GOOD, cpu_total=99.0, others=2.0, cpu_steal=4.9).active_warnings == ()


# By which limit a server ends what is late.


@pytest.mark.parametrize(
    ("flavour", "version", "said"),
    [
        (Flavour.MARIADB, "10.11.19", "max_statement_time ends every statement after 200ms"),
        (Flavour.MARIADB, "10.0.38", "this server (10.0.38) has no limit of statements: it ends none"),
        (
            Flavour.MYSQL,
            "9.7.4",
            "max_execution_time ends each SELECT after 200ms; the server goes on with writes and CALL",
        ),
        (Flavour.MYSQL, "5.7.7", "this server (5.7.7) has no limit of statements: it ends none"),
    ],
)
def test_the_limit_of_statements_is_named(flavour: Flavour, version: str, said: str) -> None:
    server = msgspec.structs.replace(SERVER, flavour=flavour, version=version)
    policy = CallerPolicy(deadline_ms=200, on_deadline=OnDeadline.KILL)
    assert time_limit_warning(policy, server) == (f"--on-deadline=kill: {said}",)
    for other in (CallerPolicy(deadline_ms=200), CallerPolicy(on_deadline=OnDeadline.KILL)):
        assert time_limit_warning(other, server) == ()
