"""The saturation probe: plan and result."""

import functools
import math
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.examples import sample, summary
from tests.ticks import load_tick
from tests.unit.features.probe.simulated_probe import (
    TICK_SECONDS,
    Curve,
    Noise,
    probe,
    probe_of,
    wanted_level,
)
from tuibench.base.errors import UsageError
from tuibench.features.probe.experiment import (
    deciding_sweep,
    formal_run_commands,
    result_of,
    usl_of,
    usl_steps,
)
from tuibench.features.probe.plan import (
    FEWEST_TICKS,
    ProbeProgress,
    end_of_climb,
    next_level,
    recommended_level,
)
from tuibench.features.probe.report import REPORT
from tuibench.features.probe.text import probe_lines, probe_text
from tuibench.metrics.diagnosis import CLIENT_LIMITED, QUEUE_OUTSIDE
from tuibench.metrics.thresholds import parse_objectives
from tuibench.model.cluster import ClusterPlan
from tuibench.model.findings import Evidence
from tuibench.model.plan import RunPlan
from tuibench.model.probe import ProbeEnd, ProbeOrder, ProbeResult, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.model.server import Target

# The plan of a probe: which levels it asks for, when a step is over, and how it ends.


CALM = Noise(deviation=0.005, settling_seconds=0.0)
Server = Callable[[float], float]


class Driven:
    """A plan on a server whose throughput is a function of the level, tick by tick."""

    def __init__(self, order: ProbeOrder, server: Server = math.sqrt, ceiling: float = 64.0) -> None:
        self.now = 0.0
        self.plan = probe_of(order, ceiling)
        self.level = 0.0
        self._server = server

    def enter(self) -> None:
        self.level = wanted_level(self.plan)
        self.plan.wanted = None
        self.plan.applied(self.now)

    def ticks(self, count: int, **load: int) -> None:
        """Samples of a load with all connections, or as given."""
        for number in range(count):
            self.now += TICK_SECONDS
            rate = 1000 * self._server(self.level) * (1 + 0.004 * (-1) ** number)
            part = load_tick(
                seconds=TICK_SECONDS,
                **{"connections": self.level, "transactions_per_second": rate} | load,
            )
            seen = sample(elapsed_seconds=self.now, load=part)
            self.plan.tick(replace(part, end=self.now), seen)


def test_the_way_up_doubles_then_levels_between_then_back() -> None:
    plan = probe(ProbeOrder(), Curve(), seed=1, noise=CALM)
    levels: dict[StepPurpose, list[float]] = {}
    for step in plan.steps:
        levels.setdefault(step.purpose, []).append(step.level)
    assert levels[StepPurpose.UP] == [1, 2, 4, 8, 16, 32, 64]
    assert all(16 < level < 64 for level in levels[StepPurpose.REFINE])
    found = recommended_level(plan.progress)
    assert found is not None
    place = plan.progress.levels.index(found)
    assert {*plan.progress.levels[place - 1 : place + 2]} <= {step.level for step in plan.steps[-3:]}
    assert plan.end_kind is ProbeEnd.KNEE
    purposes = [step.purpose for step in plan.steps]
    assert set(purposes[:7]) == {StepPurpose.UP}
    assert (purposes[7], *purposes[-3:]) == (StepPurpose.REFINE, *[StepPurpose.CONFIRM] * 3)


def test_a_step_is_over_when_its_throughput_is_known() -> None:
    driven = Driven(ProbeOrder())
    driven.enter()
    driven.ticks(FEWEST_TICKS)
    assert not driven.plan.steps, "the first tick does not count"
    driven.ticks(6)
    (step,) = driven.plan.steps
    assert step.is_stable
    assert step.half_width is not None
    assert step.half_width <= 0.03
    assert wanted_level(driven.plan) == 2


def test_a_step_that_does_not_come_to_rest_ends_with_its_time() -> None:
    driven = Driven(ProbeOrder(step_seconds=4.0), lambda level: level * (1 + driven.now))
    driven.enter()
    driven.ticks(7)
    assert not driven.plan.steps
    driven.ticks(1)
    (step,) = driven.plan.steps
    assert not step.is_stable
    assert step.seconds + step.settling_seconds == pytest.approx(4.0)


def test_ticks_before_all_connections_are_open_do_not_count() -> None:
    driven = Driven(ProbeOrder(least=8.0))
    driven.enter()
    driven.ticks(6, connections=3, threads=8)
    assert driven.plan.message.waiting == "connections: 3 of 8 are open"
    driven.ticks(2, connections=8, threads=8)
    assert driven.plan.message.waiting == f"settled samples: 1 of {FEWEST_TICKS}"


def test_a_step_whose_connections_never_opened_says_nothing_of_the_server() -> None:
    driven = Driven(ProbeOrder(step_seconds=4.0))
    driven.enter()
    driven.ticks(12, connections=1, threads=1)
    driven.enter()
    driven.ticks(8, connections=1, threads=2)
    assert [step.level for step in driven.plan.steps] == [1]
    assert (driven.plan.end_kind, driven.plan.why_ended) == (ProbeEnd.TIME, "connections: 1 of 2 are open")


def test_the_server_lets_no_more_in() -> None:
    driven = Driven(ProbeOrder(least=8.0))
    driven.enter()
    driven.ticks(12, connections=5, threads=5)
    (step,) = driven.plan.steps
    assert step.tps > 0, "it is measured with those it has"
    assert end_of_climb(driven.plan.progress) is ProbeEnd.CONNECTIONS


@pytest.mark.parametrize(
    ("slo", "curve", "end"),
    [
        (("p95<20ms",), Curve(), ProbeEnd.SLO),
        (("p95<20s",), Curve(), ProbeEnd.KNEE),
        (("tps>1000",), Curve(), ProbeEnd.KNEE),
        ((), Curve(kappa=0.5), ProbeEnd.KNEE),
        ((), Curve(sigma=0.0, kappa=0.0), ProbeEnd.LIMIT),
    ],
)
def test_why_the_way_up_ends(slo: tuple[str, ...], curve: Curve, end: ProbeEnd) -> None:
    assert probe(ProbeOrder(slo=slo), curve, 1, CALM, ceiling=256).end_kind is end


def test_it_stays_below_its_ceiling_and_measures_there() -> None:
    plan = probe(ProbeOrder(), Curve(sigma=0.0, kappa=0.0), 1, CALM, ceiling=100)
    assert max(step.level for step in plan.steps) == 100


def test_a_collapse_ends_the_way_up() -> None:
    plan = probe(ProbeOrder(), Falling(), 1, CALM)
    assert plan.end_kind is ProbeEnd.COLLAPSE
    assert max(step.level for step in plan.steps) == 32


class Falling(Curve):
    """In proportion up to 16, and next to nothing above it."""

    def tps(self, threads: float) -> float:
        return 100 * threads if threads <= 16 else 50.0


@pytest.mark.parametrize("slo", [("p95<20ms", "errors<1%")])
def test_the_edge_of_an_objective_is_refined(slo: tuple[str, ...]) -> None:
    law = Curve()
    plan = probe(ProbeOrder(slo=slo), law, 3, CALM)
    levels = sorted({step.level for step in plan.steps})
    true = law.most_within(20)
    below, above = max(x for x in levels if x <= true), min(x for x in levels if x > true)
    assert above / below <= 1.25


def test_a_rate_is_stepped_up_until_it_is_not_kept_up_with() -> None:
    steps = [
        rate_step(0, 1000, StepPurpose.SCALE),
        *(rate_step(rate, min(rate, 1000.0)) for rate in (125.0, 250.0, 500.0, 1000.0, 2000.0)),
    ]
    order = ProbeOrder(by=Quantity.RATE)
    asked = [next_level(ProbeProgress(order, 1e6, steps[:count], 5.0 * count)) for count in range(1, 7)]
    assert [next_level.level for next_level in asked if next_level] == [125, 250, 500, 1000, 2000, 1410]
    assert asked[-1] is not None
    assert asked[-1].purpose is StepPurpose.REFINE
    assert end_of_climb(ProbeProgress(order, 1e6, steps, 30.0)) is ProbeEnd.KNEE


def rate_step(rate: float, tps: float, purpose: StepPurpose = StepPurpose.UP) -> ProbeStep:
    return ProbeStep(
        level=rate,
        purpose=purpose,
        at_seconds=0,
        seconds=4,
        settling_seconds=1,
        tps=tps,
        half_width=0.01,
        is_stable=True,
        evidence=Evidence(connections=64),
    )


def test_a_growing_backlog_is_not_kept_up_with() -> None:
    waiting = replace(rate_step(800, 790), evidence=Evidence(connections=64, backlog=900))
    assert end_of_climb(ProbeProgress(ProbeOrder(by=Quantity.RATE), 1e6, [waiting], 5.0)) is ProbeEnd.KNEE


def test_when_the_time_is_up_it_ends_with_what_it_has() -> None:
    plan = probe(ProbeOrder(seconds=15.0), Curve(), 1, CALM)
    assert plan.end_kind is ProbeEnd.TIME
    assert plan.progress.elapsed_seconds <= 18
    assert plan.steps


def test_a_jump_ends_the_step_with_what_is_known() -> None:
    driven = Driven(ProbeOrder())
    driven.enter()
    with pytest.raises(UsageError, match="nothing of this step"):
        driven.plan.next_step(driven.now)
    driven.ticks(4)
    driven.plan.next_step(driven.now)
    (step,) = driven.plan.steps
    assert not step.is_stable
    assert driven.plan.wanted is not None
    with pytest.raises(UsageError, match="no step"):
        driven.plan.next_step(driven.now)


def test_a_disturbed_step_restarts() -> None:
    driven = Driven(ProbeOrder())
    driven.enter()
    driven.ticks(5)
    driven.plan.disturb("")
    assert driven.plan.message.tps is None
    driven.ticks(12)
    assert [step.at_seconds for step in driven.plan.steps] == [2.5]


def test_ended_early_it_keeps_what_was_measured() -> None:
    driven = Driven(ProbeOrder())
    driven.enter()
    driven.ticks(12)
    driven.enter()
    driven.ticks(2)
    driven.plan.end(driven.now, "stopped")
    assert driven.plan.end_kind is ProbeEnd.ABORTED
    assert driven.plan.why_ended == "stopped"
    assert [step.level for step in driven.plan.steps] == [1]
    assert driven.plan.wanted is None


def test_objectives_are_what_a_step_measures() -> None:
    assert [each.figure for each in parse_objectives(("p99<1s", "errors<1%", "tps>10"))] == [
        "p99",
        "errors_percent",
        "tps",
    ]
    with pytest.raises(UsageError, match="cannot be judged by abandoned"):
        parse_objectives(("abandoned<1%",))


# What is made of a probe's steps: an answer that says no more than was measured.


RESULT_CALM = Noise(deviation=0.01, settling_seconds=0.0)
LIMITED = Evidence(client_limited_share=0.9, worker_cpu=0.98, connections=10**6)


LAW, ENDLESS, ORDER = Curve(), Curve(sigma=0.0, kappa=0.0), ProbeOrder()


@functools.cache
def probed(curve: Curve = LAW, order: ProbeOrder = ORDER, ceiling: float = 1024) -> ProbeProgress:
    return probe(order, curve, 5, RESULT_CALM, ceiling).progress


def answered(
    progress: ProbeProgress, end: ProbeEnd = ProbeEnd.KNEE, reason: str = "", disturbances: Sequence[str] = ()
) -> ProbeResult:
    found = result_of(progress, end, reason, None, disturbances)
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
    assert 27 <= found.knee.level <= 38
    assert found.knee_low is not None
    assert found.knee_high is not None
    assert found.knee_low <= Curve().saturation <= found.knee_high
    assert found.knee_low < found.knee.level <= found.knee_high
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
    steps = [replace(s, tps=0.7 * s.tps) if s.purpose is StepPurpose.CONFIRM else s for s in progress.steps]
    found = answered(progress._replace(steps=steps))
    assert found.recovery is not None
    assert found.recovery.differs
    assert found.confidence != "high"
    assert any("it has not recovered" in doubt for doubt in found.doubts)


def test_steps_that_were_not_stable_lower_the_confidence() -> None:
    progress = probed()
    one = [replace(s, is_stable=False) if s.level == 64 else s for s in progress.steps]
    assert answered(progress._replace(steps=one)).confidence == "medium"
    low = [replace(s, is_stable=False) if s.level < 4 else s for s in progress.steps]
    assert answered(progress._replace(steps=low)).confidence == answered(progress).confidence, (
        "far below the knee it does not matter"
    )
    most = [replace(s, is_stable=False) for s in progress.steps]
    assert answered(progress._replace(steps=most)).confidence == "medium"
    few = progress._replace(steps=[step for step in most if step.level in (1, 8, 64)][:3])
    assert len(few.steps) == 3
    assert answered(few).confidence == "low", "three steps, none of them stable"
    calm = few._replace(steps=[replace(step, is_stable=True) for step in few.steps])
    assert answered(calm).confidence != "low"


def test_noise_that_hides_the_saturation_point_is_inconclusive_and_names_the_sweep_that_decides() -> None:
    progress = probed()
    noisy = [
        replace(s, half_width=0.9, tps=s.tps * (0.8 if n % 2 else 1.1)) for n, s in enumerate(progress.steps)
    ]
    found = answered(progress._replace(steps=noisy))
    assert found.is_inconclusive
    assert found.recommended is None
    assert found.lines[0].startswith("Inconclusive: throughput stops growing somewhere from ")
    assert found.knee_low is not None
    assert found.knee_high is not None
    tiles = REPORT.tiles(summary(probe=found))
    assert tiles[0] == (
        "saturation point",
        f"{found.knee_low:g} to {found.knee_high:g} threads",
        "inconclusive",
    )
    assert tiles[1][0] == "plateau", "no throughput of a level that may not be the saturation point"
    (line,) = deciding_sweep(RunPlan(profile="tpcc"), Target(socket="/s"), found).values()
    assert line.startswith("tuibench sweep tpcc --threads=")
    levels = [float(word) for word in line.split("--threads=")[1].split()[0].split(",")]
    assert (levels[0], levels[-1]) == (found.knee_low, found.knee_high)
    assert " --repeat=3 " in line


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
    assert found.lines[0] == (
        "The probe ended early: the server was restarted. Its results are from the time before."
    )
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


def test_the_table_is_by_level() -> None:
    found = answered(probed())
    rows = [line.split()[0] for line in probe_text(found).splitlines()[1 : 1 + len(found.steps)]]
    levels = [float(cell) for cell in rows]
    assert levels == sorted(step.level for step in found.steps)
    assert probe_text(found).count("once more") == len(
        [step for step in found.steps if step.purpose is StepPurpose.CONFIRM]
    )


@pytest.mark.whole
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


@pytest.mark.whole
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
    recovery = answered(progress).recovery
    assert recovery is not None
    steps = [
        replace(step, evidence=first, is_stable=is_stable, tps=recovery.after * 0.7)
        if step.purpose is StepPurpose.UP and step.level == recovery.level
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
    assert found.plateau is not None
    assert found.knee.level == 596.0
    assert found.plateau.mean == pytest.approx((594 + 601 + 607) / 3)
    assert found.bottleneck is not None
    assert found.bottleneck.id == QUEUE_OUTSIDE
    assert "63.9 transactions in flight, 0.3 threads running in the server" in probe_text(found)
    assert "ther programs take" not in probe_text(found)


def test_the_recommended_rate_is_below_the_capacity_with_a_calm_p95() -> None:
    assert answered(rate_steps(*CALM_STEPS, *FULL_STEPS)).recommended == 500.0
    taken = replace(
        LIMITED, cpu_total=100.0, cpu_server=10.0, cpu_tuibench=5.0, cpu_others=85.0, backlog=9000
    )
    limited = [(level, tps, p95, taken) for level, tps, p95, _ in FULL_STEPS]
    assert answered(rate_steps(*CALM_STEPS, *limited)).recommended == 500.0
    slow = (500.0, 500.0, 90.0, Evidence(is_rate_met=True))
    assert answered(rate_steps(*CALM_STEPS[:3], slow, *FULL_STEPS)).recommended == 298.0
    assert answered(rate_steps(*FULL_STEPS[1:])).recommended is None
    assert answered(rate_steps(*CALM_STEPS), ProbeEnd.LIMIT).recommended == 500.0
