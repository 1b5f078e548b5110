"""The search of the vulnerable range: its rules, and whole searches against a queue with a known capacity."""

import math

import msgspec
import pytest

from tests.tui.support import script
from tests.unit.load.programs import SINGLE, begin
from tests.unit.load.virtual_runs import Run, ran
from tuibench.base.errors import UsageError
from tuibench.features.probe.panel import probe_status
from tuibench.features.probe.recovery import (
    FINE,
    MOST_TRIALS,
    REMEDIES,
    TOP_SHARE,
    RecoverySearch,
    edge_of,
    expected_edge,
    next_rate,
    remedies_against,
)
from tuibench.features.probe.report import _charts
from tuibench.features.probe.screen import lower_chart
from tuibench.features.probe.text import trial_line, trial_text, vulnerable_lines
from tuibench.model.callers import Backoff, CallerPolicy, QueueOrder
from tuibench.model.findings import Mean
from tuibench.model.message import SetCallers
from tuibench.model.plan import Arrival, changed_policy
from tuibench.model.probe import (
    ProbeEnd,
    ProbeOrder,
    ProbeResult,
    ProbeState,
    ProbeStep,
    RecoveryEdge,
    RecoveryTrial,
    StepPurpose,
    TrialEnd,
    VulnerableRange,
    check_recovery,
)
from tuibench.model.schedule import Quantity
from tuibench.model.tick import Tick
from tuibench.session.laboratory import LoadLevel
from tuibench.tui.text import plain_text
from tuibench.tui.view import initial_view

SERVERS, SERVICE_SECONDS = 4, 0.04
CAPACITY = SERVERS / SERVICE_SECONDS
IMPATIENT = CallerPolicy(deadline_ms=600, attempts=3, backoff=Backoff(20, 1, True))
TICK_SECONDS = 0.5


def searched(
    policy: CallerPolicy,
    remedies: tuple[SetCallers, ...] = (),
    *,
    arrival: Arrival = Arrival.POISSON,
    seed: int = 1,
) -> VulnerableRange:
    """A search on servers with a constant service time, tick by tick."""
    found: list[VulnerableRange] = []

    async def script(run: Run) -> None:
        search = RecoverySearch(Mean(mean=CAPACITY, half_width=None, count=2), SERVERS, policy, remedies)
        before, now = run.counters, 0.0
        while not search.is_over:
            if (wanted := search.wanted) is not None:
                search.wanted, callers = None, policy
                for change in wanted.values():
                    match change:
                        case SetCallers(option=option, value=value):
                            callers = changed_policy(policy, option, value)
                            run.engine.set_callers(callers)
                        case LoadLevel(rate=rate, keeps_backlog=keeps_backlog):
                            if not keeps_backlog:
                                run.engine.set_rate(0)
                            run.engine.set_rate(rate)
                if callers == policy:
                    run.engine.set_callers(policy)
                search.applied(now)
            now += TICK_SECONDS
            await run.wait_until(now)
            counters = run.counters
            grown, before = counters - before, counters
            counted = ("good", "completed", "scheduled", "resent")
            sums = {name: float(getattr(grown, name)) for name in counted}
            levels = {"backlog": float(counters.backlog)}
            search.tick(Tick(end=now, seconds=TICK_SECONDS, sums=sums, levels=levels))
        found.append(search.found)

    how = msgspec.structs.replace(begin(SINGLE, arrival=arrival), seed=seed)
    ran(
        script, how, connections=SERVERS, rate=1.0, service_seconds=SERVICE_SECONDS, policy=policy
    )  # fmt: skip
    return found[0]


@pytest.mark.parametrize("attempts", [2, 3, 4])
def test_the_tipping_point_of_one_queue_is_its_capacity_over_the_attempts(attempts: int) -> None:
    policy = msgspec.structs.replace(IMPATIENT, attempts=attempts)
    found = searched(policy, arrival=Arrival.CONSTANT)
    edge = found.edges[0]
    assert edge.low is not None
    assert edge.high is not None
    assert math.sqrt(edge.low * edge.high) == pytest.approx(CAPACITY / attempts, rel=0.05)
    assert edge.high / edge.low <= FINE * 1.01
    assert edge.trials <= 5


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("attempts", [2, 3, 4])
def test_arrivals_at_random_widen_the_interval(attempts: int, seed: int) -> None:
    edge = searched(msgspec.structs.replace(IMPATIENT, attempts=attempts), seed=seed).edges[0]
    assert edge.low is not None
    assert edge.high is not None
    assert 0.9 * edge.low <= CAPACITY / attempts <= 1.1 * edge.high
    assert edge.high / edge.low <= 1.4


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("one attempt", {"attempts": 1}),
        ("lifo", {"queue": QueueOrder.LIFO}),
        ("shed", {"queue": QueueOrder.SHED}),
        ("budget", {"retry_budget": 5.0}),
    ],
)
def test_without_a_storm_of_attempts_every_rate_recovers(name: str, change: dict[str, object]) -> None:
    found = searched(msgspec.structs.replace(IMPATIENT, **change))
    edge = found.edges[0]
    assert (edge.low, edge.high) == (TOP_SHARE * CAPACITY, None)


def test_each_remedy_is_tried_alone_and_moves_the_edge_up() -> None:
    found = searched(IMPATIENT, (SetCallers("queue", "shed"), SetCallers("queue", "lifo")))
    plain, *others = found.edges
    assert plain.high is not None
    assert plain.high < 0.5 * CAPACITY
    assert [(each.remedy, each.low, each.high, each.trials) for each in others] == [
        ("queue=shed", TOP_SHARE * CAPACITY, None, 1),
        ("queue=lifo", TOP_SHARE * CAPACITY, None, 1),
    ]
    before, after = (dict(way) for way in found.hysteresis.values())
    assert before[plain.high] == pytest.approx(plain.high, rel=0.25)
    assert after[plain.high] < 0.2 * before[plain.high]


# The rules of the search


def trial(rate: float, end: TrialEnd, remedy: str = "") -> RecoveryTrial:
    return RecoveryTrial(rate=rate, remedy=remedy, end=end, before=rate, lowest=0, after=0, seconds=None)


def sought(
    edge: float, expected: float, *, most: int = MOST_TRIALS, is_confirmed: bool = True
) -> list[RecoveryTrial]:
    """The trials on a load that recovers below an edge, with a capacity of 1,000/s."""
    trials: list[RecoveryTrial] = []
    while (rate := next_rate(trials, 1000.0, expected, most=most, is_confirmed=is_confirmed)) is not None:
        trials.append(trial(rate, TrialEnd.RECOVERED if rate < edge else TrialEnd.STAYS))
        assert len(trials) <= most
    return trials


@pytest.mark.parametrize("edge", [70.0, 150.0, 310.0, 333.0, 360.0, 500.0, 620.0, 800.0])
@pytest.mark.parametrize("expected", [200.0, 333.0, 1000.0])
def test_the_edge_lies_in_a_narrow_interval_wherever_it_is(edge: float, expected: float) -> None:
    trials = sought(edge, expected)
    low, high = edge_of(trials)
    assert low is not None
    assert high is not None
    assert low < edge <= high
    assert high / low <= FINE * 1.01 or len(trials) == MOST_TRIALS
    assert high / low < 1.6


def test_an_edge_where_it_is_expected_takes_two_trials_and_two_more_to_be_sure() -> None:
    assert [each.rate for each in sought(333.0, 333.0)] == [317, 350, 317, 350]
    assert [each.rate for each in sought(2000.0, 333.0)][-1] == 850
    assert [each.rate for each in sought(2000.0, 1050.0, is_confirmed=False)] == [850]


def test_no_rate_that_recovers_ends_at_the_lowest() -> None:
    trials = sought(1.0, 333.0)
    assert edge_of(trials) == (None, min(each.rate for each in trials))


def test_trials_that_contradict_each_other_widen_the_interval() -> None:
    back, stays = TrialEnd.RECOVERED, TrialEnd.STAYS
    trials = [trial(200, back), trial(300, back), trial(350, stays), trial(300, stays), trial(350, stays)]
    assert edge_of(trials) == (200, 350)
    assert edge_of([*trials, trial(350, TrialEnd.DRAINS)]) == (200, None)
    assert edge_of([*trials, trial(150, TrialEnd.UNSTEADY)]) == (200, 350)
    assert edge_of([*trials, trial(900, TrialEnd.UNSTEADY)]) == (200, 350)


@pytest.mark.parametrize(
    ("change", "edge"),
    [
        ({}, 1000 / 3),
        ({"attempts": 1}, 1000.0),
        ({"retry_budget": 25.0}, 800.0),
        ({"retry_budget": 500.0}, 1000 / 3),
        ({"queue": QueueOrder.SHED}, 1000.0),
    ],
)
def test_the_edge_that_is_expected(change: dict[str, object], edge: float) -> None:
    assert expected_edge(msgspec.structs.replace(IMPATIENT, **change), 1000.0) == pytest.approx(edge)


def test_remedies_that_the_load_has_are_not_tried() -> None:
    assert remedies_against(IMPATIENT) == REMEDIES
    policy = msgspec.structs.replace(IMPATIENT, attempts=1, queue=QueueOrder.LIFO)
    assert [each.value for each in remedies_against(policy)] == ["shed", "50%,5s", "kill"]


@pytest.mark.parametrize(
    ("order", "policy", "reason"),
    [
        (ProbeOrder(recover=True), IMPATIENT, "--recover needs arrivals that do not wait"),
        (ProbeOrder(by=Quantity.RATE, recover=True), CallerPolicy(), "--recover needs a deadline"),
        (ProbeOrder(by=Quantity.RATE, remedies=True), IMPATIENT, "--remedies needs --recover"),
        (
            ProbeOrder(by=Quantity.RATE, recover=True),
            CallerPolicy(deadline_ms=20_000),
            "--recover takes a deadline of at most 10s",
        ),
    ],
)
def test_what_a_search_needs(order: ProbeOrder, policy: CallerPolicy, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check_recovery(order, policy)


# What is said and drawn


def vulnerable(*edges: RecoveryEdge, trials: tuple[RecoveryTrial, ...] = ()) -> VulnerableRange:
    capacity = Mean(mean=812.0, half_width=None, count=2)
    return VulnerableRange(
        capacity=capacity, deadline_ms=200, attempts=3, highest=690, edges=edges, trials=trials
    )


def lines_of(found: VulnerableRange | None) -> list[str]:
    order = ProbeOrder(by=Quantity.RATE, recover=True)
    result = ProbeResult(
        order=order, end=ProbeEnd.KNEE, reason="", seconds=90, steps=(), ceiling=9, vulnerable=found
    )
    return list(vulnerable_lines(result))


EDGE = RecoveryEdge(low=262, high=290, trials=4)
TRIALS = (
    RecoveryTrial(rate=262, end=TrialEnd.DRAINS, before=261, lowest=0, after=0, seconds=None,
                  backlog=4100, growth=-41),
    RecoveryTrial(rate=290, end=TrialEnd.STAYS, before=289, lowest=0, after=2, seconds=None,
                  backlog=5300, growth=60),
    RecoveryTrial(rate=275, end=TrialEnd.STAYS, before=276, lowest=0, after=2, seconds=None,
                  backlog=5000, growth=2, is_sure=False),
    RecoveryTrial(rate=690, remedy="queue=shed", end=TrialEnd.RECOVERED, before=688, lowest=300, after=690,
                  seconds=1.0),
    RecoveryTrial(rate=690, remedy="queue=lifo", end=TrialEnd.UNSTEADY, before=500, lowest=500, after=None,
                  seconds=None),
)  # fmt: skip


def test_the_range_is_one_sentence_and_one_for_each_remedy() -> None:
    shed = RecoveryEdge(remedy="queue=shed", low=690, high=None, trials=1)
    breaker = RecoveryEdge(remedy="breaker=50%,5s", low=500, high=560, trials=4)
    assert lines_of(vulnerable(EDGE, shed, breaker)) == [
        "Recovery with a deadline of 200ms and 3 attempts: the load recovers from a burst by itself up to "
        "262/s, and not at 290/s: from there to the capacity of 812/s it runs well until something happens "
        "once.",
        "  With queue=shed it recovers up to 690/s, 85 % of the capacity.",
        "  With breaker=50%,5s up to 500/s, not at 560/s.",
    ]
    (line,) = lines_of(vulnerable(RecoveryEdge(low=690, high=None, trials=2)))
    assert line.endswith("a burst is recovered from at every rate tried, up to 690/s, 85 % of the capacity.")
    (line,) = lines_of(vulnerable(RecoveryEdge(low=None, high=41, trials=9)))
    assert line.endswith("the load does not recover from a burst even at 41/s.")
    assert lines_of(None) == [
        "Recovery: unknown, because the capacity is: the server kept up with every rate."
    ]


def test_a_trial_says_what_became_of_it() -> None:
    assert [trial_text(each) for each in TRIALS] == [
        "drains: queue 4,100, falling by 41/s: about 100 s",
        "does not recover: queue 5,300, growing by 60/s",
        "does not recover: queue 5,000, near the edge",
        "recovered in 1 s",
        "does not hold without a burst",
    ]
    assert trial_line(TRIALS[3]) == "burst at 690/s with queue=shed: recovered in 1 s"


def test_the_two_ways_part_at_the_edge_in_both_charts() -> None:
    found = vulnerable(EDGE, trials=TRIALS)
    assert found.hysteresis == {
        "before the burst": [(262, 261), (275, 276), (290, 289)],
        "after it": [(262, 261), (275, 2), (290, 2)],
    }
    order = ProbeOrder(by=Quantity.RATE, recover=True)
    state = ProbeState(order=order, vulnerable=found, trial="275/s: burst", level=550.0, tps=12.0)
    view = initial_view(msgspec.structs.replace(script.hello(60), probe=state))
    drawn = [plain_text(line) for line in lower_chart(view, 80, 8)]
    assert "○ before the burst · ● after it · │ edge 262 to 290/s" in drawn[0]
    assert drawn[-1].count("●") >= 1
    assert sum(row.count("○") for row in drawn[1:4]) >= 2
    status = [plain_text(line) for line in probe_status(view, 80, 2)]
    assert "275/s: burst · goodput 12" in status[0]
    assert "5 bursts tried" in status[1]
    step = ProbeStep(
        level=400, purpose=StepPurpose.UP, at_seconds=0, seconds=4, settling_seconds=1, tps=399,
        half_width=None, is_stable=True,
    )  # fmt: skip
    result = ProbeResult(
        order=order, end=ProbeEnd.KNEE, reason="", seconds=90, steps=(step,), ceiling=9, vulnerable=found
    )
    *_, chart = str(_charts(result)).split("<figure")
    assert "<b>Goodput before a burst and after it</b>" in chart
    assert [f">{name}</span>" in chart for name in ("before the burst", "after it")] == [True, True]
