"""From evidence to the bottleneck: a case for each row of the table of rules."""

import re
from pathlib import Path
from typing import Any

import pytest

from tuibench.diagnosis.rules import (
    CLIENT_LIMITED,
    HOST_CPU_OTHERS,
    QUEUE_OUTSIDE,
    RULES,
    diagnose,
    is_client_limited,
)
from tuibench.model.measurements.finding import Evidence, Severity

UNKNOWN = "unknown"
PROBE_PAGE = Path(__file__).parents[3] / "docs" / "probe.md"
BUSY: dict[str, Any] = {"cpu_total": 97.0, "cpu_server": 90.0, "cpu_tuibench": 4.0, "cpu_others": 3.0}
QUEUED: dict[str, Any] = {
    "cpu_total": 100.0,
    "cpu_server": 4.0,
    "cpu_tuibench": 6.0,
    "cpu_others": 90.0,
    "threads_running": 1.2,
    "in_flight": 42.5,
    "outside_ms": 37.0,
}
IDLE: dict[str, Any] = {"cpu_total": 40.0, "cpu_server": 30.0, "cpu_tuibench": 6.0, "cpu_others": 4.0}


@pytest.mark.parametrize(
    ("evidence", "name", "words"),
    [
        (
            Evidence(client_limited_share=0.8, worker_cpu=0.97, **BUSY),
            CLIENT_LIMITED,
            "busiest worker 97 % of a core",
        ),
        (Evidence(connections=20, threads=32), "connections", "20 connections for 32 threads"),
        (
            Evidence(client_limited_share=0.9, lag_ms=9.0, **QUEUED),
            QUEUE_OUTSIDE,
            "42.5 transactions in flight, 1.2 threads running in the server; a query spends 37.0 ms",
        ),
        (Evidence(lag_ms=400.0, usual_lag_ms=9.0, **QUEUED), QUEUE_OUTSIDE, "42.5 transactions in flight"),
        (Evidence(lag_ms=20.0, usual_lag_ms=20.0, **QUEUED), HOST_CPU_OTHERS, "others 90 %"),
        (Evidence(client_limited_share=0.9, worker_cpu=0.97, **QUEUED), HOST_CPU_OTHERS, "others 90 %"),
        (Evidence(**{**QUEUED, "threads_running": 30.0}), HOST_CPU_OTHERS, "others 90 %"),
        (Evidence(**{**QUEUED, "outside_ms": 0.4}), HOST_CPU_OTHERS, "others 90 %"),
        (
            Evidence(cpu_total=99, cpu_server=60, cpu_tuibench=36, cpu_others=3),
            "host_cpu_tuibench",
            "tuibench 36 %",
        ),
        (
            Evidence(cpu_total=99, cpu_server=50, cpu_tuibench=9, cpu_others=40),
            HOST_CPU_OTHERS,
            "others 40 %",
        ),
        (
            Evidence(client_limited_share=1.0, cpu_total=100, cpu_server=10, cpu_tuibench=5, cpu_others=85),
            HOST_CPU_OTHERS,
            "others 85 %",
        ),
        (Evidence(**BUSY), "server_cpu", "server 90 %"),
        (
            Evidence(client_limited_share=0.6, lag_ms=5.3, worker_cpu=0.5, **BUSY),
            "server_cpu",
            "scheduling delay up to 5.3 ms",
        ),
        (
            Evidence(client_limited_share=0.6, worker_cpu=0.5, **IDLE),
            CLIENT_LIMITED,
            "over the limit in 60 % of the samples",
        ),
        (Evidence(lock_waiters=20.0, **IDLE), "row_locks", "on average 20.0 threads wait for a row lock"),
        (
            Evidence(commit_share=0.64, log_fsyncs_per_transaction=1.02, **IDLE),
            "redo_log",
            "COMMIT takes 64 % of the transactions' time",
        ),
        (Evidence(log_fsyncs_per_transaction=0.9, **IDLE), "redo_log", "0.90 log fsyncs"),
        (Evidence(log_waits_per_second=40.0, **IDLE), "log_buffer", "40.0 waits per second"),
        (
            Evidence(table_misses_percent=30.0, open_tables=2000, table_open_cache=2000, **IDLE),
            "table_cache",
            "2,000 of 2,000 tables open, 30.0 % of the lookups miss",
        ),
        (
            Evidence(disk_reads_per_transaction=12.0, buffer_pool_hit=81.0, **IDLE),
            "disk_reads",
            "hit rate 81.00 %",
        ),
        (Evidence(commit_share=0.1, log_fsyncs_per_transaction=1.0, **IDLE), UNKNOWN, "COMMIT takes 10 %"),
        (Evidence(commit_share=0.9, log_fsyncs_per_transaction=0.0, **IDLE), UNKNOWN, "0.00 log fsyncs"),
    ],
)
def test_the_bottleneck_of_a_saturated_step_and_its_evidence(
    evidence: Evidence, name: str, words: str
) -> None:
    found = diagnose(evidence, is_saturated=True)
    assert found.id == name
    assert words in "\n".join(found.evidence)
    assert found.remedy


@pytest.mark.parametrize(
    ("evidence", "name", "words"),
    [
        (Evidence(rate=50.0, is_rate_met=True, network_share=0.9, **IDLE), "rate", "host CPU 40 %"),
        (Evidence(network_share=0.6, **IDLE), "network", "network round trips take 60 %"),
        (Evidence(network_share=0.4, **IDLE), "threads", "host CPU 40 %"),
        (Evidence(network_share=0.6, **BUSY), "network", "network round trips take 60 %"),
        (Evidence(threads=8, lock_waiters=3.0, **IDLE), "row_locks", "on average 3.0 threads wait"),
    ],
)
def test_a_run_that_may_not_be_saturated(evidence: Evidence, name: str, words: str) -> None:
    found = diagnose(evidence)
    assert found.id == name
    assert words in "\n".join(found.evidence)


def test_a_rate_that_is_met_and_a_slow_network_are_no_queue() -> None:
    assert diagnose(Evidence(rate=50.0, is_rate_met=True, **QUEUED)).id == HOST_CPU_OTHERS
    calm = {**QUEUED, **IDLE}
    assert diagnose(Evidence(rate=50.0, is_rate_met=True, **calm)).id == "rate"
    assert diagnose(Evidence(network_share=0.8, **calm)).id == "network"
    assert diagnose(Evidence(network_share=0.3, **calm)).id == QUEUE_OUTSIDE


def test_more_threads_are_no_remedy_for_a_saturated_server() -> None:
    for rule in RULES:
        if rule.needs_headroom:
            assert rule.id in {"network", "threads"}
            assert "more threads" in rule.remedy
    assert diagnose(Evidence(network_share=0.6, **IDLE), is_saturated=True).id == UNKNOWN


def test_a_rate_that_was_missed_is_not_the_bottleneck() -> None:
    assert diagnose(Evidence(rate=50.0, **IDLE)).id == "threads"


def test_ids_are_unique_and_what_distorts_the_measurement_is_a_warning() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    warnings = {rule.id for rule in RULES if rule.severity is Severity.WARNING}
    assert warnings == {HOST_CPU_OTHERS, CLIENT_LIMITED, "host_cpu_tuibench"}


def test_the_documentation_lists_the_rules_in_their_order() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PROBE_PAGE.read_text(), re.MULTILINE)
    assert rows == [*(rule.id for rule in RULES), UNKNOWN]


def test_the_client_comes_before_the_server() -> None:
    everything = Evidence(
        client_limited_share=1.0, worker_cpu=0.97, lock_waiters=30.0, commit_share=0.9, **BUSY
    )
    assert diagnose(everything).id == CLIENT_LIMITED


@pytest.mark.parametrize(("others", "name"), [(40.0, CLIENT_LIMITED), (60.0, HOST_CPU_OTHERS)])
def test_a_saturated_worker_comes_before_others_unless_they_use_most_of_the_host(
    others: float, name: str
) -> None:
    evidence = Evidence(client_limited_share=1.0, worker_cpu=0.97, cpu_total=99.0, cpu_others=others)
    assert diagnose(evidence).id == name


def test_a_client_delayed_by_others_shows_nothing_of_the_server() -> None:
    taken = Evidence(
        client_limited_share=0.9,
        worker_cpu=0.3,
        cpu_total=99,
        cpu_server=50,
        cpu_tuibench=9,
        cpu_others=40,
    )
    assert is_client_limited(taken)
    assert diagnose(taken).id == HOST_CPU_OTHERS
    assert not is_client_limited(Evidence(client_limited_share=0.9, worker_cpu=0.5, **BUSY))


@pytest.mark.parametrize(
    "evidence", [Evidence(), Evidence(cpu_total=40.0, cpu_tuibench=5.0, cpu_others=35.0)]
)
def test_a_server_whose_host_is_not_monitored_is_not_judged_by_its_cpu(evidence: Evidence) -> None:
    found = diagnose(evidence)
    assert found.id == UNKNOWN
    assert "not monitored" in found.found
    assert "on the server's host" in found.remedy


def test_what_was_not_measured_is_not_shown() -> None:
    assert diagnose(Evidence()).evidence == ()
