"""From what a step showed to what holds it back: a row of the table of rules a case."""

from typing import Any

import pytest

from tuibench.diagnosis.probe_rules import (
    CLIENT_LIMITED,
    CONNECTIONS,
    UNKNOWN,
    find_step_bottleneck,
    is_step_client_limited,
)
from tuibench.model.probe import ProbeStep, StepEvidence, StepPurpose

BUSY: dict[str, Any] = {"cpu_total": 97.0, "cpu_server": 90.0, "cpu_tuibench": 4.0, "cpu_rest": 3.0}
IDLE: dict[str, Any] = {"cpu_total": 40.0, "cpu_server": 30.0, "cpu_tuibench": 6.0, "cpu_rest": 4.0}


def step(evidence: StepEvidence, threads: float = 32.0) -> ProbeStep:
    return ProbeStep(
        level=threads,
        purpose=StepPurpose.UP,
        at_seconds=0,
        seconds=4,
        settling_seconds=1,
        tps=100,
        half_width=0.01,
        is_stable=True,
        evidence=evidence,
    )


@pytest.mark.parametrize(
    ("evidence", "name", "words"),
    [
        (
            StepEvidence(limited_share=0.8, worker_cpu=0.97, **BUSY),
            CLIENT_LIMITED,
            "busiest worker 97 % of a core",
        ),
        (StepEvidence(connections=20), CONNECTIONS, "20 connections are open"),
        (
            StepEvidence(cpu_total=99, cpu_server=60, cpu_tuibench=36, cpu_rest=3),
            "host CPU shared with tuibench",
            "tuibench 36 %",
        ),
        (
            StepEvidence(cpu_total=99, cpu_server=50, cpu_tuibench=9, cpu_rest=40),
            "host CPU taken by others",
            "others 40 %",
        ),
        (
            StepEvidence(limited_share=1.0, cpu_total=100, cpu_server=10, cpu_tuibench=5, cpu_rest=85),
            "host CPU taken by others",
            "others 85 %",
        ),
        (StepEvidence(**BUSY), "server CPU", "server 90 %"),
        (
            StepEvidence(limited_share=0.6, lag_ms=5.3, worker_cpu=0.5, **BUSY),
            "server CPU",
            "up to 5.3 ms late",
        ),
        (
            StepEvidence(limited_share=0.6, worker_cpu=0.5, **IDLE),
            CLIENT_LIMITED,
            "in 60 % of the ticks too much",
        ),
        (StepEvidence(waiting_for_locks=20.0, **IDLE), "row locks", "20.0 threads wait for a row lock"),
        (
            StepEvidence(commit_share=0.64, log_fsyncs_each=1.02, **IDLE),
            "redo log and fsync",
            "COMMIT takes 64 % of the transactions' time",
        ),
        (StepEvidence(log_fsyncs_each=0.9, **IDLE), "redo log and fsync", "0.90 log fsyncs"),
        (StepEvidence(log_waits_per_second=40.0, **IDLE), "log buffer", "40.0 waits a second"),
        (
            StepEvidence(table_misses_percent=30.0, open_tables=2000, table_open_cache=2000, **IDLE),
            "table cache",
            "2,000 of 2,000 tables open, 30.0 % of the look-ups miss",
        ),
        (StepEvidence(disk_reads_each=12.0, buffer_pool_hit=81.0, **IDLE), "disk reads", "hit 81.00 %"),
        (StepEvidence(commit_share=0.1, log_fsyncs_each=1.0, **IDLE), UNKNOWN, "COMMIT takes 10 %"),
        (StepEvidence(commit_share=0.9, log_fsyncs_each=0.0, **IDLE), UNKNOWN, "0.00 log fsyncs"),
    ],
)
def test_the_verdict_and_what_speaks_for_it(evidence: StepEvidence, name: str, words: str) -> None:
    found = find_step_bottleneck(step(evidence), 32.0)
    assert found.name == name
    assert words in "\n".join(found.evidence)
    assert found.advice


def test_the_client_is_blamed_before_the_server() -> None:
    """Whatever else was seen: a load that was not asked for says nothing of the server."""
    everything = StepEvidence(
        limited_share=1.0, worker_cpu=0.97, waiting_for_locks=30.0, commit_share=0.9, **BUSY
    )
    assert find_step_bottleneck(step(everything), 32.0).name == CLIENT_LIMITED


def test_a_client_that_others_keep_waiting_is_no_measure_of_the_server() -> None:
    """It is late, and so is the server: what both could do is not seen."""
    taken = StepEvidence(
        limited_share=0.9, worker_cpu=0.3, cpu_total=99, cpu_server=50, cpu_tuibench=9, cpu_rest=40
    )
    assert is_step_client_limited(step(taken))
    assert not is_step_client_limited(step(StepEvidence(limited_share=0.9, worker_cpu=0.5, **BUSY)))


def test_a_host_that_is_not_seen_is_not_judged() -> None:
    found = find_step_bottleneck(step(StepEvidence(log_fsyncs_each=1.0)), 32.0)
    assert found.name == UNKNOWN
    assert "not seen from here" in found.verdict
