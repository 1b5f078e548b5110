"""What is made of a probe's steps: an answer that says no more than was measured."""

import shlex
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.session.probe.simulated_probe import Curve, Noise, probe
from tuibench.diagnosis.rules import CLIENT_LIMITED, QUEUE_OUTSIDE
from tuibench.model.cluster.plan import ClusterPlan
from tuibench.model.experiments.probe import ProbeEnd, ProbeOrder, ProbeResult, ProbeStep, StepPurpose
from tuibench.model.measurements.finding import Evidence
from tuibench.model.plan import RunPlan
from tuibench.model.schedule import Quantity
from tuibench.model.target import Target
from tuibench.record.report.probe_text import probe_lines, probe_text
from tuibench.session.probe.level_search import ProbeProgress
from tuibench.session.probe.result import formal_level, formal_run_commands, probe_result, usl_of, usl_steps

CALM = Noise(deviation=0.01, settling_seconds=0.0)
LIMITED = Evidence(client_limited_share=0.9, worker_cpu=0.98, connections=10**6)


LAW, ENDLESS, ORDER = Curve(), Curve(sigma=0.0, kappa=0.0), ProbeOrder()


def probed(curve: Curve = LAW, order: ProbeOrder = ORDER, ceiling: float = 1024) -> ProbeProgress:
    return probe(order, curve, 5, CALM, ceiling).progress()


def answered(
    progress: ProbeProgress, end: ProbeEnd = ProbeEnd.KNEE, reason: str = "", disturbances: Sequence[str] = ()
) -> ProbeResult:
    found = probe_result(progress, end, reason, None, disturbances)
    return replace(found, lines=probe_lines(found))


def with_evidence(progress: ProbeProgress, evidence: Evidence, from_level: float = 0.0) -> ProbeProgress:
    """The same steps, from some level on with this seen."""
    steps = [
        replace(step, evidence=evidence) if step.level >= from_level else step for step in progress.steps
    ]
    return progress._replace(steps=steps)


def test_a_knee_has_an_interval_and_a_recovery() -> None:
    found = answered(probed())
    assert found.knee is not None
    assert 19 <= found.knee.level <= 27
    assert found.knee_low is not None
    assert found.knee_high is not None
    assert found.knee_low <= Curve().knee <= found.knee_high
    assert found.recovery is not None
    assert not found.recovery.differs
    assert found.confidence == "high"
    assert found.lines[0].startswith(f"Saturated at {found.knee.level:.0f} threads (")


@pytest.mark.parametrize("from_level", [0.0, 16.0, 32.0])
def test_a_client_that_was_the_limit_is_never_the_servers_limit(from_level: float) -> None:
    """Workers as slow as this make a curve with a knee; it is theirs."""
    found = answered(with_evidence(probed(), LIMITED, from_level))
    assert found.client_limited
    assert found.knee is None
    assert found.confidence == "low"
    assert found.bottleneck is not None
    assert found.bottleneck.id == CLIENT_LIMITED
    assert "Saturated" not in probe_text(found)
    assert found.lines[0].startswith("The load generator was the limit, not the server, which can do ")
    assert found.lines[0].endswith(" or more.")


def test_others_on_the_host_are_named_instead_of_the_client() -> None:
    taken = replace(LIMITED, cpu_total=100.0, cpu_server=10.0, cpu_tuibench=5.0, cpu_others=85.0)
    found = answered(with_evidence(probed(), taken))
    assert found.client_limited
    assert found.knee is None
    assert found.lines[0].startswith("Other programs take this host's CPU: the server did ")


def test_a_queue_in_front_of_the_server_is_seen_where_it_is_longest() -> None:
    """At the knee the wait for a processor is as long as the queue; it does not grow with the level."""
    busy: dict[str, Any] = {"cpu_total": 100.0, "cpu_server": 3.0, "cpu_tuibench": 6.0, "cpu_others": 91.0}
    near = Evidence(
        client_limited_share=0.9,
        usual_lag_ms=9.0,
        threads_running=1.1,
        in_flight=4.0,
        outside_ms=14.0,
        **busy,
    )
    far = replace(near, in_flight=64.0, outside_ms=210.0)
    progress = with_evidence(probed(), near)
    assert answered(progress).client_limited
    highest = max(step.level for step in progress.measured)
    found = answered(with_evidence(progress, far, highest))
    assert not found.client_limited
    assert found.knee is not None
    assert found.bottleneck is not None
    assert found.bottleneck.id == QUEUE_OUTSIDE
    assert "64.0 transactions in flight" in found.bottleneck.evidence[0]


def test_a_client_that_was_the_limit_at_the_ceiling_says_so_too() -> None:
    progress = with_evidence(probed(ENDLESS, ceiling=32), LIMITED, 32.0)
    found = answered(progress, ProbeEnd.LIMIT)
    assert found.client_limited
    assert "Saturated" not in probe_text(found)


def test_a_client_that_shares_a_host_the_server_uses_up_does_not_hide_the_knee() -> None:
    late = Evidence(client_limited_share=0.9, worker_cpu=0.5, lag_ms=5.0, cpu_total=98.0, cpu_server=75.0)
    found = answered(with_evidence(probed(), late))
    assert not found.client_limited
    assert found.lines[0].startswith("Saturated at ")
    assert found.bottleneck is not None
    assert found.bottleneck.id == "server_cpu"
    assert "scheduling delay up to 5.0 ms" in probe_text(found)


def test_a_client_that_does_more_at_a_higher_level_set_no_limit_at_the_lower_one() -> None:
    progress = with_evidence(probed(), LIMITED)
    steps = sorted(progress.measured, key=lambda step: step.tps)
    assert steps[0] in usl_steps(progress.measured)
    assert steps[-1] not in usl_steps(progress.measured)


def test_no_knee_is_no_saturation() -> None:
    found = answered(probed(ENDLESS, ceiling=32), ProbeEnd.LIMIT)
    assert found.knee is None
    assert found.bottleneck is None
    assert found.lines[0].startswith("Not saturated: throughput still grew at the highest level allowed.")


def test_an_objective_is_answered_with_the_best_level_within_it() -> None:
    found = answered(probed(order=ProbeOrder(slo=("p95<40ms",))), ProbeEnd.SLO)
    assert found.objective is not None
    assert found.objective.most is not None
    assert found.objective.missed_at is not None
    assert found.objective.best is not None
    assert found.objective.best <= found.objective.most < found.objective.missed_at
    assert found.objective.missed[0].startswith("p95<40ms: ")
    value = found.objective.missed[0].removeprefix("p95<40ms: ")
    assert any(f"missed at {found.objective.missed_at:g} threads ({value})" in line for line in found.lines)
    assert found.objective.tps is not None
    assert found.objective.tps >= 0.97 * max(s.tps for s in found.steps if s.level <= found.objective.most)


def test_an_objective_that_nothing_keeps() -> None:
    found = answered(probed(order=ProbeOrder(slo=("p95<1us",))), ProbeEnd.SLO)
    assert found.objective is not None
    assert found.objective.most is None
    assert any("met at no level; missed at 1 thread" in line for line in found.lines)


def test_a_missing_recovery_is_reported() -> None:
    progress = probed()
    steps = [replace(s, tps=0.7 * s.tps) if s.purpose is StepPurpose.BACK else s for s in progress.steps]
    found = answered(progress._replace(steps=steps))
    assert found.recovery is not None
    assert found.recovery.differs
    assert found.confidence == "medium"
    assert "it has not recovered" in found.doubts[0]


def test_steps_that_were_not_stable_lower_the_confidence() -> None:
    progress = probed()
    one = [replace(s, is_stable=False) if s.level == 64 else s for s in progress.steps]
    assert answered(progress._replace(steps=one)).confidence == "medium"
    low = [replace(s, is_stable=False) if s.level < 4 else s for s in progress.steps]
    assert answered(progress._replace(steps=low)).confidence == "high", (
        "far below the knee it does not matter"
    )
    most = [replace(s, is_stable=False) for s in progress.steps]
    assert answered(progress._replace(steps=most)).confidence == "low"


def test_changes_by_other_sessions_are_reported() -> None:
    found = answered(probed(), disturbances=("the load was changed during the probe: sync_binlog 1 → 0",))
    assert found.confidence == "medium"
    assert any("sync_binlog" in line for line in found.lines)


def test_ended_early_it_answers_for_what_there_is() -> None:
    progress = probed()
    found = answered(
        progress._replace(steps=progress.steps[:3]), ProbeEnd.ABORTED, "the server was restarted"
    )
    assert found.end is ProbeEnd.ABORTED
    assert found.confidence == "low"
    assert found.lines[0] == "Ended early: the server was restarted. The results are from the time before."
    assert answered(progress._replace(steps=[]), ProbeEnd.ABORTED, "the run was interrupted").lines[0] == (
        "Nothing was measured: the run was interrupted."
    )


def test_the_law_is_fitted_below_what_is_no_law() -> None:
    progress = with_evidence(probed(), LIMITED, 32.0)
    assert max(step.level for step in usl_steps(progress.measured)) < 32
    refused = Evidence(connections=40)
    assert max(step.level for step in usl_steps(with_evidence(probed(), refused, 64.0).measured)) < 64


def test_the_fit_is_part_of_the_answer() -> None:
    pytest.importorskip("scipy")
    fitted = usl_of(probed())
    assert fitted.sigma == pytest.approx(0.05, rel=0.2)
    assert fitted.peak_level == pytest.approx(43.6, rel=0.2)
    assert not fitted.refusal
    assert len(fitted.curve) == 40


def test_a_rate_has_no_fit() -> None:
    assert "not to a rate" in usl_of(ProbeProgress(ProbeOrder(by=Quantity.RATE), 100, (), 0.0)).refusal


def test_the_commands_of_the_formal_run() -> None:
    plan = RunPlan(profile="oltp_read_write", options={"tables": 4, "table_size": 1000, "auto_inc": False})
    target = Target(host="db1", port=3307, user="app", password="secret")
    told = formal_run_commands(plan, target, Quantity.THREADS, 24.0, 1, has_password=True)
    assert told == {
        "sysbench": "sysbench oltp_read_write --threads=24 --time=300 --report-interval=10 --mysql-host=db1 "
        '--mysql-port=3307 --mysql-user=app --mysql-db=sbtest --mysql-password="$MYSQL_PWD" --tables=4 '
        "--table-size=1000 --auto-inc=off run",
        "tuibench": "tuibench run oltp_read_write --threads=24 --time=300 --report-interval=10 "
        "--warmup-time=30 --host=db1 --port=3307 --user=app --database=sbtest --tables=4 "
        "--table-size=1000 --auto-inc=off",
    }


def test_a_profile_that_sysbench_has_not_has_our_command_only() -> None:
    told = formal_run_commands(
        RunPlan(profile="tpcc"), Target(socket="/s"), Quantity.RATE, 150.0, 64, has_password=False
    )
    assert list(told) == ["tuibench"]
    assert "--threads=64 --rate=150 " in told["tuibench"]


def test_the_formal_run_is_driven_as_the_probe_was() -> None:
    hosts = ClusterPlan(places=("ssh:a", "exec:kubectl exec -i b -- tuibench agent"), lease_seconds=9.0)
    plan = RunPlan(profile="oltp_read_only", cluster=hosts, isolation="read-committed", client_delay_ms=2.5)
    told = formal_run_commands(plan, Target(host="db1"), Quantity.THREADS, 4.0, 1, has_password=False)
    words = shlex.split(told["tuibench"])
    assert {"--cluster=ssh:a", "--cluster=exec:kubectl exec -i b -- tuibench agent"} < set(words)
    assert {"--cluster-lease=9", "--isolation=read-committed", "--client-delay=2.5ms"} < set(words)
    assert "cluster" not in told["sysbench"]
    assert not any(word.startswith(("--rand-seed", "--interval")) for word in words)


def test_adhoc_sql_is_shown_as_given() -> None:
    own = RunPlan(profile="sql", sql_words=("--sql=DO 1",))
    told = formal_run_commands(own, Target(socket="/s"), Quantity.THREADS, 4.0, 1, has_password=False)
    assert told["tuibench"].startswith("tuibench run '--sql=DO 1' --threads=4 ")


def test_the_table_is_by_level_and_then_what_came_back() -> None:
    found = answered(probed())
    rows = [line.split()[0] for line in probe_text(found).splitlines()[1 : 1 + len(found.steps)]]
    levels = [float(cell) for cell in rows]
    back = [step for step in found.steps if step.purpose is StepPurpose.BACK]
    assert levels[: -len(back)] == sorted(levels[: -len(back)])
    assert levels[-len(back) :] == [step.level for step in back]


@pytest.mark.parametrize(
    ("percent", "margin", "words"),
    [
        (1.0, 3.0, "equal within ±10 % (+1.0 ± 3.0 %)"),
        (33.8, 71.4, "not significant (+33.8 ± 71.4 %)"),
        (33.8, None, "not significant (+33.8 %)"),
    ],
)
def test_noise_is_not_sold_as_sameness(percent: float, margin: float | None, words: str) -> None:
    found = answered(probed())
    assert found.recovery is not None
    recovery = replace(found.recovery, percent=percent, margin=margin, differs=False)
    assert words in "\n".join(probe_lines(replace(found, recovery=recovery)))


@pytest.mark.parametrize(
    ("first", "is_stable", "words"),
    [
        (Evidence(cpu_others=40.0, disk_reads_per_transaction=3.0), True, "more: other programs used 37 %"),
        (Evidence(disk_reads_per_transaction=3.0), False, "more: it was not stable at first"),
        (Evidence(disk_reads_per_transaction=3.0), True, "warming up at first (3 pages read from disk"),
        (Evidence(), True, "same level gives 43 % more"),
    ],
)
def test_a_level_that_gives_more_later_is_explained_by_what_was_measured(
    first: Evidence, is_stable: bool, words: str
) -> None:
    progress = probed()
    back = progress.of(StepPurpose.BACK)[0]
    steps = [
        replace(step, evidence=first, is_stable=is_stable, tps=back.tps * 0.7)
        if step.purpose is StepPurpose.UP and step.level == back.level
        else replace(step, evidence=Evidence(cpu_others=3.0))
        for step in progress.steps
    ]
    (doubt,) = [each for each in answered(progress._replace(steps=steps)).doubts if "same level" in each]
    assert words in doubt
    assert ("warming up" in doubt) == ("warming up" in words)
    assert words.endswith("more") == doubt.endswith("more")


QUEUE = Evidence(
    threads=64.0,
    client_limited_share=0.8,
    worker_cpu=0.1,
    lag_ms=9.0,
    cpu_total=100.0,
    cpu_server=3.0,
    cpu_tuibench=5.0,
    cpu_others=92.0,
    threads_running=0.3,
    in_flight=63.9,
    outside_ms=106.0,
)


def rate_steps(*steps: tuple[float, float, float, Evidence]) -> ProbeProgress:
    """Rates with their TPS, p95 and evidence."""
    order = ProbeOrder(by=Quantity.RATE)
    made = [
        ProbeStep(
            level=level,
            purpose=StepPurpose.UP,
            at_seconds=6.0 * place,
            seconds=5.0,
            settling_seconds=1.0,
            tps=tps,
            half_width=0.01,
            is_stable=True,
            qps=tps,
            p95_ms=p95_ms,
            errors_percent=0.0,
            missed=(),
            evidence=replace(evidence, rate=level),
        )
        for place, (level, tps, p95_ms, evidence) in enumerate(steps)
    ]
    return ProbeProgress(order, 10_000.0, made, 60.0)


CALM_STEPS = [
    (level, level, 3.0 + level / 100, Evidence(is_rate_met=True)) for level in (74.0, 149.0, 298.0, 500.0)
]
FULL_STEPS = [
    (596.0, 599.0, 310.0, replace(QUEUE, is_rate_met=True)),
    (700.0, 594.0, 802.0, replace(QUEUE, backlog=400)),
    (836.0, 601.0, 1360.0, replace(QUEUE, backlog=1000)),
    (1190.0, 607.0, 3600.0, replace(QUEUE, backlog=3000)),
]


def test_a_plateau_over_rates_is_the_capacity_also_on_a_busy_host() -> None:
    found = answered(rate_steps(*CALM_STEPS, *FULL_STEPS))
    assert not found.client_limited
    assert found.knee is not None
    assert found.peak is not None
    assert (found.knee.level, found.peak.level, found.peak.tps) == (596.0, 596.0, 599.0)
    assert found.bottleneck is not None
    assert found.bottleneck.id == QUEUE_OUTSIDE
    assert "63.9 transactions in flight, 0.3 threads running in the server" in probe_text(found)
    assert "ther programs take" not in probe_text(found)


def test_the_recommended_rate_is_below_the_capacity_with_a_calm_p95() -> None:
    assert formal_level(answered(rate_steps(*CALM_STEPS, *FULL_STEPS))) == 500.0
    taken = replace(
        LIMITED, cpu_total=100.0, cpu_server=10.0, cpu_tuibench=5.0, cpu_others=85.0, backlog=9000
    )
    limited = [(level, tps, p95, taken) for level, tps, p95, _ in FULL_STEPS]
    assert formal_level(answered(rate_steps(*CALM_STEPS, *limited))) == 500.0
    slow = (500.0, 500.0, 90.0, Evidence(is_rate_met=True))
    assert formal_level(answered(rate_steps(*CALM_STEPS[:3], slow, *FULL_STEPS))) == 298.0
    assert formal_level(answered(rate_steps(*FULL_STEPS[1:]))) is None
    assert formal_level(answered(rate_steps(*CALM_STEPS), ProbeEnd.LIMIT)) == 500.0
