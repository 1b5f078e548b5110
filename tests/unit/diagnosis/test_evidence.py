"""Evidence from samples: the same for a report and for a probe's step, so that both name one bottleneck."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests import examples
from tests.ticks import host_tick, server_tick
from tests.unit.record.steady import steady
from tuibench.diagnosis.evidence import collect_evidence
from tuibench.diagnosis.rules import CLIENT_LIMITED, HOST_CPU_OTHERS, diagnose
from tuibench.metrics.series.slots import Slot
from tuibench.model.counters import Counter
from tuibench.model.experiments.probe import ProbeStep, StepPurpose
from tuibench.model.histogram import Latency
from tuibench.model.measurements.sample import Sample
from tuibench.model.schedule import Quantity
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import Run
from tuibench.record.report.analysis import run_evidence
from tuibench.session.probe.step import ProbeTick, StepRun

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
    """A probe's step of these ticks, after one that it discards."""
    run = StepRun(Quantity.THREADS, 8.0, StepPurpose.UP, 0.0, 60.0)
    for number, each in enumerate([samples[0], *samples], 1):
        threads = int(each.load.levels["connections"]) if each.load else None
        run.add_tick(ProbeTick(Slot(float(number), 1.0, 100), each, threads=threads))
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
