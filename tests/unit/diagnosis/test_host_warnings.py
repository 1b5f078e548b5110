"""Warnings about the measurement name the host of a load from several hosts."""

from typing import Any

from tests.examples import load_part
from tuibench.diagnosis.measurement_warnings import TICKS_NEEDED, ClientLimit
from tuibench.model.cluster.host import LoadHost

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
    (text,) = warnings(CALM, robbed, throttled, worker_cpu=0.2, lag_p99_ms=0.0)
    assert text.startswith("host disturbed: host south: its control group is throttled 30 % of the time")


def test_hosts_that_were_not_sampled_are_no_cause() -> None:
    assert warnings(LoadHost(name="east"), worker_cpu=0.2, lag_p99_ms=0.0) == ()
