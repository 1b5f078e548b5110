"""Bottlenecks and their evidence."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests import examples
from tests.paths import DOCS
from tests.ticks import host_tick, measured_tick, server_tick
from tests.unit.record.steady import steady
from tuibench.features.probe.plan import StepRun
from tuibench.metrics.diagnosis import (
    CLIENT_LIMITED,
    HOST_CPU_OTHERS,
    QUEUE_OUTSIDE,
    RULES,
    diagnose,
    is_client_limited,
)
from tuibench.metrics.figures import read
from tuibench.metrics.measurement_warnings import collect_evidence, is_delayed_by_host
from tuibench.model.counters import Counter
from tuibench.model.findings import Evidence, Severity
from tuibench.model.probe import ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.model.tick import Latency, Sample, total_tick
from tuibench.record.reader import Run, load_run
from tuibench.report.analysis import run_evidence

# From evidence to the bottleneck: a case for each row of the table of rules.


UNKNOWN = "unknown"
PROBE_PAGE = DOCS / "probe.md"
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


# Figures of many samples together: what is not known is None, and no zero.


@pytest.mark.parametrize(
    ("worker_cpu", "total", "rest", "expected"),
    [
        (0.5, 98.0, 2.0, True),
        (0.9, 98.0, 2.0, False),
        (0.5, 70.0, 2.0, False),
        (0.5, 98.0, 40.0, False),
        (0.5, None, None, False),
    ],
)
def test_late_like_all_is_a_client_with_time_to_spare_beside_a_server_that_has_none(
    worker_cpu: float, total: float | None, rest: float | None, expected: bool
) -> None:
    assert is_delayed_by_host(worker_cpu, total, rest) is expected


# Evidence from samples: the same for a report and for a probe's step, so that both name one bottleneck.


FULL: dict[str, Any] = {"cpu_total": 98.0, "cpu_server": 90.0, "cpu_tuibench": 5.0}
LENGTHS = (0.5, 1.0, 3.0)
"""Of the ticks, in turn."""
LATENCY = Latency(count=200, min=0.5, avg=8.0, p50=7.0, p95=9.0, p99=10.0, p999=11.0, max=12.0)


def sample(
    number: int, load: dict[str, Any], host: dict[str, Any], growth: Mapping[str, int], seconds: float = 0.0
) -> Sample:
    """A tick of a run. `growth` is that of counters per second."""
    seconds = seconds or LENGTHS[number % 3]
    done = round(100 * seconds)
    figures: dict[str, Any] = {
        "latency": replace(LATENCY, count=done),
        "statements": {"commit": replace(LATENCY, count=done, avg=1.0)},
    }
    server = server_tick(
        seconds=seconds,
        growth={name: value * seconds for name, value in growth.items()},
        log_fsyncs_per_transaction=0.9,
        completed=done,
    )
    busy: dict[str, Any] = {"cores": 4, "cpu_total": 60.0, "cpu_server": 50.0, "cpu_tuibench": 5.0, **host}
    return examples.sample(
        number,
        elapsed_seconds=math.fsum(LENGTHS[each % 3] for each in range(1, number + 1)),
        load=examples.load_part(seconds=seconds, **(figures | load)),
        server=server,
        host=host_tick(seconds=seconds, **busy),
    )


def step_of(samples: list[Sample]) -> ProbeStep:
    """A probe's step of these ticks, after one that it discards. The server lets no more connections in."""
    run = StepRun(Quantity.THREADS, 8.0, StepPurpose.UP, 0.0, 60.0)
    for number, each in enumerate([samples[0], *samples], 1):
        levels = each.tick.levels
        accepted = replace(each.tick, levels=levels | {"threads": levels["connections"]})
        run.add_tick(measured_tick(float(number), 1.0, 100), replace(each, tick=accepted))
    return run.finished(60.0, (), is_local=True)


def run_of(directory: Path, samples: list[Sample]) -> Run:
    return replace(load_run(steady(directory, "a")), samples=tuple(samples), environment=None)


COMMITS = {"statements": {"commit": replace(LATENCY, count=100, avg=6.0)}}


@pytest.mark.parametrize(
    ("expected", "load", "host", "growth"),
    [
        (HOST_CPU_OTHERS, {}, {**FULL, "cpu_server": 50.0}, {}),
        (HOST_CPU_OTHERS, {"lag_p99_ms": 5.0}, {**FULL, "cpu_server": 50.0}, {}),
        (CLIENT_LIMITED, {"worker_cpu": 0.95}, {}, {}),
        (CLIENT_LIMITED, {"lag_p99_ms": 5.0}, {}, {Counter.POOL_READS: 9000}),
        ("connections", {"connections": 5}, FULL, {}),
        ("rate", {"rate": 100.0}, FULL, {}),
        ("host_cpu_tuibench", {}, {**FULL, "cpu_server": 60.0, "cpu_tuibench": 35.0}, {}),
        ("server_cpu", {"lag_p99_ms": 5.0}, FULL, {Counter.ROW_LOCK_TIME: 6000}),
        ("row_locks", COMMITS, {}, {Counter.ROW_LOCK_TIME: 6000}),
        ("redo_log", COMMITS, {}, {Counter.POOL_READS: 9000}),
        ("log_buffer", {}, {}, {Counter.LOG_WAITS: 3, Counter.POOL_READS: 9000}),
        ("disk_reads", {}, {}, {Counter.POOL_READS: 9000}),
    ],
)
def test_a_report_and_a_probe_name_the_same_bottleneck(
    tmp_path: Path, expected: str, load: dict[str, Any], host: dict[str, Any], growth: dict[str, int]
) -> None:
    samples = [sample(number, load, host, growth) for number in range(1, 9)]
    of_run, of_step = run_evidence(run_of(tmp_path, samples)), step_of(samples).evidence
    assert of_run == of_step
    assert diagnose(of_run) == diagnose(of_step, is_saturated=True)
    assert diagnose(of_run).id == expected


def test_only_a_run_may_need_more_threads(tmp_path: Path) -> None:
    samples = [sample(number, {}, {}, {}) for number in range(1, 9)]
    assert diagnose(run_evidence(run_of(tmp_path, samples))).id == "threads"
    assert diagnose(step_of(samples).evidence, is_saturated=True).id == "unknown"


@pytest.mark.parametrize(("is_local", "others"), [(True, None), (False, 93.0)])
def test_a_server_on_this_host_that_was_not_found_is_not_another_program(
    is_local: bool, others: float | None
) -> None:
    samples = [sample(number, {}, {**FULL, "cpu_server": None}, {}) for number in (1, 2)]
    assert collect_evidence(samples, is_local=is_local).cpu_others == pytest.approx(others)


def test_a_server_that_was_not_found_in_some_ticks_has_the_share_of_the_others() -> None:
    samples = [sample(1, {}, {}, {}, 0.5), sample(2, {}, {"cpu_server": None}, {}, 3.0)]
    found = collect_evidence(samples)
    assert (found.cpu_total, found.cpu_server) == pytest.approx((60.0, 50.0))
    assert found.cpu_others == pytest.approx(5.0)
    whole = total_tick(each.tick for each in samples)
    assert read("cpu_server", whole) == pytest.approx(50.0)
    assert read("cpu", whole) == pytest.approx(read("cpu", samples[0].tick))


def test_a_rate_needs_throughput_and_a_short_queue() -> None:
    def met(**load: Any) -> bool:
        return collect_evidence([sample(number, load, {}, {}) for number in (1, 2)]).is_rate_met

    assert met(rate=100.0)
    assert met(rate=110.0, errors_per_second=8.0)
    assert not met(rate=110.0)
    assert not met(rate=100.0, backlog=60)
    assert not met(rate=0.0)


def test_the_network_share_counts_simulated_delay() -> None:
    samples = [
        sample(number, {"queries_per_second": 200.0, "client_delay_ms": 1.0}, {}, {}) for number in (1, 2)
    ]
    assert collect_evidence(samples, round_trip_ms=1.0).network_share == pytest.approx(0.5)
    assert collect_evidence(samples).network_share is None


def test_each_tick_weighs_what_it_counted() -> None:
    """A second that waits for locks and disks, and three that do not, however they are divided."""
    busy: dict[str, int] = {Counter.ROW_LOCK_TIME: 4000, Counter.POOL_READS: 800, Counter.LOG_WAITS: 8}
    first = sample(1, COMMITS | {"worker_cpu": 0.5}, {"cpu_total": 100.0, "cpu_server": 80.0}, busy, 1.0)
    calm: dict[str, int] = dict.fromkeys(busy, 0)
    whole = [first, sample(2, {}, {}, calm, 3.0)]
    halves = [first, *(sample(number, {}, {}, calm, 0.5) for number in range(2, 8))]
    for samples in (whole, halves):
        found = collect_evidence(samples)
        assert found.cpu_total == pytest.approx(70.0)
        assert found.cpu_server == pytest.approx(57.5)
        assert found.cpu_others == pytest.approx(7.5)
        assert found.lock_waiters == pytest.approx(1.0)
        assert found.log_waits_per_second == pytest.approx(2.0)
        assert found.disk_reads_per_transaction == pytest.approx(2.0)
        assert found.log_fsyncs_per_transaction == pytest.approx(0.9)
        assert found.commit_share == pytest.approx((100 * 6.0 + 300 * 1.0) / (400 * 8.0))


def test_one_tick_has_its_growth() -> None:
    found = collect_evidence([sample(1, {}, {}, {Counter.ROW_LOCK_TIME: 6000})])
    assert found.lock_waiters == pytest.approx(6.0)


def test_without_samples_there_is_no_evidence() -> None:
    assert diagnose(collect_evidence([])).id == "unknown"


def test_a_share_of_the_time_is_not_a_share_of_the_ticks() -> None:
    """The client was the bottleneck for one tick of 3 s among ticks of 0.5 and 1 s."""
    samples = [
        sample(1, {}, {}, {}, 0.5),
        sample(2, {"worker_cpu": 0.99}, {}, {}, 3.0),
        sample(3, {}, {}, {}, 1.0),
        sample(4, {}, {}, {}, 0.5),
    ]
    assert collect_evidence(samples).client_limited_share == pytest.approx(0.6)


def test_threads_are_weighted_by_the_length_of_a_tick() -> None:
    samples = [sample(1, {"threads": 4}, {}, {}, 0.5), sample(2, {"threads": 11}, {}, {}, 3.0)]
    assert collect_evidence(samples).threads == pytest.approx(10.0)
