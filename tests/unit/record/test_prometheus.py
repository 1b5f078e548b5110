"""The page for Prometheus."""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from tests import examples
from tests.paths import ROOT
from tests.tables import for_each
from tests.ticks import changed, host_tick, server_tick
from tests.unit.record.snapshots import BEFORE_THE_FIRST_SAMPLE, MOMENT, SAMPLE, SERVER_PART, SETTING
from tuibench.metrics.figures import all_values
from tuibench.model.tick import HOST, Histogram, bucket_index, bucket_upper_bound
from tuibench.record.prometheus import BOUNDS, MetricsSnapshot, cumulated, render_page, sum_seconds

# The page as a scraper reads it: every figure under its name, in its unit, by Prometheus' conventions.


UNITS = re.compile(r"millisecond|_ms$|_us$|percent|kilobyte|megabyte")
NO_LABELS: Mapping[str, str] = {}
Labels = tuple[tuple[str, str], ...]


def families(moment: MetricsSnapshot = MOMENT) -> list[Metric]:
    return list(read_text(render_page(moment)[0].decode()))


def values(found: Iterable[Metric]) -> dict[tuple[str, Labels], float]:
    return {
        (sample.name.removeprefix("tuibench_"), tuple(sorted(sample.labels.items()))): sample.value
        for family in found
        for sample in family.samples
    }


def value(name: str, moment: MetricsSnapshot = MOMENT, labels: Mapping[str, str] = NO_LABELS) -> float | None:
    return values(families(moment)).get((name, tuple(sorted(labels.items()))))


@for_each(
    ("name", "labels", "wanted"),
    [
        ("transactions_total", {}, 300),
        ("transactions_failed_total", {}, 2),
        ("transactions_abandoned_total", {}, 1),
        ("transaction_retries_total", {}, 7),
        ("reconnects_total", {}, 4),
        ("queries_total", {"kind": "read"}, 4200),
        ("queries_total", {"kind": "write"}, 1200),
        ("queries_total", {"kind": "other"}, 600),
        ("errors_total", {"code": "1213", "name": "LOCK_DEADLOCK"}, 5),
        ("errors_total", {"code": "99999", "name": ""}, 1),
        ("events_total", {"kind": "setting"}, 2),
        ("events_total", {"kind": "restart"}, 0),
        ("transaction_duration_seconds_bucket", {"transaction": "payment", "le": "0.001"}, 1),
        ("transaction_duration_seconds_bucket", {"transaction": "payment", "le": "0.015"}, 1),
        ("transaction_duration_seconds_bucket", {"transaction": "payment", "le": "+Inf"}, 3),
        ("transaction_duration_seconds_count", {"transaction": "payment"}, 3),
        ("transaction_duration_seconds_sum", {"transaction": "payment"}, 0.0409),
        ("transaction_duration_seconds_count", {"transaction": "new_order"}, 0),
        ("transaction_service_seconds_count", {}, 1),
        ("threads", {}, 8),
        ("target_rate_per_second", {}, 200),
        ("client_delay_seconds", {}, 0.02),
        ("state", {"state": "running"}, 1),
        ("state", {"state": "paused"}, 0),
        ("setting_info", {"name": "sync_binlog", "value": "0", "original": "1"}, 1),
        ("build_info", {"version": "1.2.3"}, 1),
        ("worker_loop_lag_seconds", {}, 0.0001),
        ("server_questions_total", {}, 1000),
        ("server_buffer_pool_hit_ratio", {}, 0.995),
        ("host_cpu_ratio", {"owner": "server"}, 0.6),
        ("host_disk_written_bytes_per_second", {}, 2.5e6),
    ],
)
def test_a_figure_is_found_under_its_name(name: str, labels: dict[str, str], wanted: float) -> None:
    assert value(name, labels=labels) == pytest.approx(wanted)


def test_every_figure_of_the_table_is_exported() -> None:
    found = {
        dict(labels)["figure"]: each
        for (name, labels), each in values(families()).items()
        if name == "figure"
    }
    assert found == pytest.approx(all_values(SAMPLE.tick))
    assert {"tps", "p95"} < set(found)


def test_milliseconds_of_the_server_become_seconds() -> None:
    counted = replace(SERVER_PART, levels={**SERVER_PART.levels, "Innodb_row_lock_time": 2500})
    moment = replace(MOMENT, sample=changed(SAMPLE, server=counted))
    assert value("server_row_lock_wait_seconds_total", moment) == 2.5


def test_settings_that_a_server_does_not_have_are_absent() -> None:
    status = examples.status(settings=(replace(SETTING, name="sync_binlog", value="", original=""),))
    assert not [
        name for name, _ in values(families(replace(MOMENT, status=status))) if name == "setting_info"
    ]


def test_labels_with_quotes_and_backslashes_come_through() -> None:
    (run,) = [family for family in families() if family.name == "tuibench_run_info"]
    assert run.samples[0].labels["profile"] == MOMENT.plan.profile
    assert run.samples[0].labels["server_flavour"] == "MariaDB"


def test_names_follow_the_conventions() -> None:
    for family in families():
        assert family.name.startswith("tuibench_")
        assert family.documentation.endswith("."), family.name
        assert not UNITS.search(family.name), family.name
        for sample in family.samples:
            assert sample.name.endswith("_total") is (family.type == "counter"), sample.name


def test_no_series_appears_twice() -> None:
    lines = [line for line in render_page(MOMENT)[0].decode().splitlines() if not line.startswith("#")]
    series = [line.rpartition(" ")[0] for line in lines]
    assert len(series) == len(set(series)) > 100


def test_what_was_not_measured_is_absent() -> None:
    blind = values(families(replace(MOMENT, sample=changed(SAMPLE, server=None, host=None))))
    assert not [name for name, _ in blind if name.startswith(("server_", "host_"))]
    bare = server_tick(
        uptime_seconds=1,
        threads_running=1,
        threads_connected=1,
        max_connections=1,
        open_tables=1,
        table_open_cache=1,
        questions_total=None,
        slow_queries_total=None,
    )
    known = values(families(replace(MOMENT, sample=changed(SAMPLE, server=bare))))
    assert ("server_buffer_pool_hit_ratio", ()) not in known
    assert ("server_questions_total", ()) not in known
    assert known["server_threads_running", ()] == 1


def test_the_client_has_figures_of_its_own_where_the_server_is_elsewhere() -> None:
    host = SAMPLE.host
    assert host is not None
    client = host_tick(cores=3, cpu_tuibench=33.0)
    both = values(families(replace(MOMENT, sample=changed(SAMPLE, client_host=client))))
    assert both["host_cpus", ()] == host.levels.get(HOST + "cores")
    assert both["client_host_cpus", ()] == 3
    assert both["client_host_cpu_ratio", (("owner", "tuibench"),)] == pytest.approx(0.33)
    assert not [name for name, _ in values(families()) if name.startswith("client_host")]


def test_before_the_first_sample_the_counters_stand_at_zero() -> None:
    first = values(families(BEFORE_THE_FIRST_SAMPLE))
    assert first["transactions_total", ()] == 0
    assert first["threads", ()] == 8


def test_openmetrics_is_for_those_who_ask() -> None:
    _, plain = render_page(MOMENT, "*/*")
    body, modern = render_page(MOMENT, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert plain.startswith("text/plain")
    assert modern.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
    read = values(read_openmetrics(body.decode()))  # type: ignore[no-untyped-call]
    assert read["transactions_total", ()] == 300
    assert {name for name, _ in read} == {name for name, _ in values(families())}


# What is written about it

METRIC = re.compile(r"tuibench_[a-z_]+")


def test_every_metric_of_the_dashboard_exists() -> None:
    dashboard = json.loads((ROOT / "docs/grafana/tuibench.json").read_text())
    asked = set(METRIC.findall(json.dumps(dashboard)))
    there = {f"tuibench_{name}" for name, _ in values(families())}
    assert len(asked) > 30
    assert asked <= there


def test_every_metric_is_in_the_documentation() -> None:
    said = (ROOT / "docs/sessions.md").read_text()
    names = {family.name.removeprefix("tuibench_") for family in families()}
    told = {name for name in names if not name.startswith(("server_", "host_"))}
    assert not [name for name in sorted(told) if name not in said]


# Histograms in fixed buckets against the latencies they were made of.


LATENCIES = st.lists(st.integers(0, 200_000_000), max_size=40)


def test_bounds_are_six_to_a_decade_and_rise() -> None:
    assert all(low < high <= 2 * low for low, high in pairwise(BOUNDS))
    assert (BOUNDS[0], BOUNDS[-1]) == (0.0001, 60.0)


@given(LATENCIES)
def test_a_latency_counts_in_every_bucket_that_reaches_it(latencies_us: list[int]) -> None:
    histogram = Histogram.of(latencies_us)
    told = [bucket_upper_bound(bucket_index(latency)) for latency in latencies_us]
    found = cumulated(histogram)
    assert [count for _, count in found[:-1]] == [
        sum(latency <= bound * 1e6 * (1 + 1e-12) for latency in told) for bound in BOUNDS
    ]
    assert dict(found)["+Inf"] == len(latencies_us)
    assert sum_seconds(histogram) == sum(latencies_us) / 1e6


def test_a_bound_holds_its_own_value() -> None:
    found = dict(cumulated(Histogram.of([100, 101, 1500, 1501])))
    assert (found["0.0001"], found["0.00015"], found["0.0015"], found["0.002"]) == (1, 2, 3, 4)
