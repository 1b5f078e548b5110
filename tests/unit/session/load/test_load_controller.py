"""Opening, draining and measuring a load whose workers' reports are scripted."""

from collections.abc import Callable, Sequence
from typing import cast

import msgspec
import pytest

from tests.fakes import FakeClock
from tests.unit.load.programs import SINGLE, program
from tests.unit.session.worker_reports import report
from tuibench.errors import ExitCode, RunError
from tuibench.load.worker_report import Counters, FairnessStats, WorkerReport
from tuibench.load.workers.fleet import Fleet
from tuibench.load.workers.replacement import Loss
from tuibench.metrics.figures import read
from tuibench.model.cluster.host import LoadHost
from tuibench.model.histogram import Histogram
from tuibench.model.measurements.headline import Headline
from tuibench.model.plan import RunPlan
from tuibench.model.tick import Tick, total_tick
from tuibench.session.load.load_controller import POLL_SECONDS, LoadController

PLAN = RunPlan(profile="test", threads=8, rate=50.0, opening_seconds=2.0)
Round = Sequence[WorkerReport]


class FakeFleet:
    """Gives the scripted rounds of reports, the last one again and again; notes what it is told."""

    def __init__(self, *rounds: Round) -> None:
        self.told: list[str] = []
        self.overdue: tuple[str, ...] = ()
        self.silent: tuple[str, ...] = ()
        self.losses: list[Loss] = []
        self.hosts: tuple[LoadHost, ...] = ()
        self.worker_count = 1
        self.ended_ns: int | None = None
        self.unresponsive: tuple[str, ...] = ()
        self._rounds = list(rounds)

    def take_notices(self) -> list[str]:
        return []

    async def report(self, *, checkpoint: bool = False) -> list[WorkerReport]:
        if checkpoint:
            self.told.append("checkpoint")
        return list(self._rounds.pop(0) if len(self._rounds) > 1 else self._rounds[0])

    async def finish(self, grace_seconds: float) -> list[WorkerReport]:
        self.told.append(f"finish {grace_seconds:g}")
        return await self.report()

    async def set_threads(self, threads: int) -> None:
        self.told.append(f"threads {threads}")

    def set_rate(self, rate_per_second: float) -> None:
        self.told.append(f"rate {rate_per_second:g}")

    async def kill(self) -> None:
        self.told.append("kill")

    def __getattr__(self, name: str) -> Callable[[], None]:
        return lambda: self.told.append(name)


def loading(
    *rounds: Round, plan: RunPlan = PLAN, headline: Headline | None = None
) -> tuple[LoadController, FakeFleet, FakeClock]:
    fleet, clock = FakeFleet(*rounds), FakeClock()
    of = msgspec.structs.replace(program(SINGLE), headline=headline)
    return LoadController(plan, of, cast(Fleet, fleet), clock), fleet, clock


def opened(*connections: int, refused: int = 0, reason: str = "") -> Round:
    """Reports of as many workers with so many connections each; the first was refused some."""
    reports = [report(worker, connections=number) for worker, number in enumerate(connections)]
    counters = Counters(refused={1040: refused} if refused else {})
    return [msgspec.structs.replace(reports[0], counters=counters, last_refusal=reason), *reports[1:]]


def never() -> bool:
    return False


# Opening


async def test_the_load_is_held_while_its_connections_open() -> None:
    load, fleet, clock = loading(opened(0, 0), opened(3, 1), opened(4, 4))
    assert await load.open(never) == ""
    assert fleet.told == ["pause", "threads 8"]
    assert clock.slept == [POLL_SECONDS] * 2


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "cannot reach a server at db:3306",
            "only 5 of 8 connections opened in 2 s: cannot reach a server at db:3306",
        ),
        ("", "only 5 of 8 connections opened in 2 s"),
    ],
)
async def test_connections_that_take_too_long_are_given_up_with_the_reason(reason: str, words: str) -> None:
    load, _, clock = loading(opened(2, 3, reason=reason))
    with pytest.raises(RunError) as failure:
        await load.open(never)
    assert failure.value.message == words
    assert failure.value.hint == "increase --thread-init-timeout"
    assert 2.0 < clock.now_ns() / 1e9 < 2.1


async def test_some_refused_connections_make_a_smaller_run() -> None:
    load, fleet, _ = loading(opened(1, 0), opened(4, 2, refused=2))
    told = await load.open(never)
    assert told == "2 refused: too many connections (error 1040, max_connections); continuing with 6"
    assert load.threads == 6
    assert fleet.told[-1] == "threads 6"


async def test_a_server_that_refuses_all_of_them_ends_the_run() -> None:
    load, _, _ = loading(opened(0, 0, refused=8))
    with pytest.raises(RunError, match="the server refused every connection"):
        await load.open(never)


async def test_a_stop_does_not_wait_for_the_connections() -> None:
    load, _, clock = loading(opened(0))
    assert await load.open(lambda: len(clock.slept) >= 3) == ""


async def test_a_worker_that_cannot_go_on_ends_the_run_with_its_reason_and_exit_code() -> None:
    broken = msgspec.structs.replace(
        report(1), failure="no such table", failure_hint="prepare it", failure_exit=ExitCode.USAGE_ERROR
    )
    load, _, _ = loading([report(0), broken])
    for ask in (lambda: load.open(never), load.tick, lambda: load.drain(1)):
        with pytest.raises(RunError, match=r"no such table \(prepare it\)") as failure:
            await ask()
        assert failure.value.exit_code == ExitCode.USAGE_ERROR


# The warm-up


def flying(in_flight: int) -> Round:
    return [report(0), report(1, counters=Counters(in_flight=in_flight))]


async def test_draining_waits_until_nothing_is_in_flight_and_then_starts_over() -> None:
    load, fleet, clock = loading(flying(3), flying(1), flying(0))
    await load.drain(10)
    assert fleet.told == ["pause", "reset_stats"]
    assert clock.slept == [POLL_SECONDS] * 2


async def test_draining_does_not_wait_for_ever() -> None:
    load, fleet, clock = loading(flying(1))
    await load.drain(0.5)
    assert fleet.told == ["pause", "reset_stats"]
    assert 0.5 < clock.now_ns() / 1e9 < 0.6


async def test_what_happened_before_measuring_begins_leaves_no_trace() -> None:
    warm = report(
        0,
        5_000,
        counters=Counters(scheduled=70, completed=60, abandoned=10, questions=900, errors={1213: 4}),
    )
    measured = report(
        0,
        1_000,
        counters=Counters(
            scheduled=75, completed=64, failed=1, abandoned=10, questions=990, errors={1213: 5}
        ),
        events_per_connection=FairnessStats.of([4.0]),
    )
    load, _, clock = loading([warm], [warm], [warm], [measured])
    await load.begin()
    await load.tick()
    clock.advance(3)
    assert await load.begin() == clock.now_ns()
    clock.advance(2)
    tick = await load.tick()
    assert (tick.tick.sums["completed"], load.accounting.transactions_total, tick.tick.levels["rate"]) == (
        4,
        4,
        50.0,
    )
    await load.finish(1)
    totals = load.accounting.totals
    assert (totals.scheduled, totals.completed, totals.failed, totals.abandoned) == (5, 4, 1, 0)
    assert (totals.questions, totals.errors) == (90, {1213: 1})
    assert load.accounting.transactions.max_us == 1_000
    assert load.accounting.per_connection("events_per_connection").total == 4
    assert load.seconds == pytest.approx(2.0)


async def test_a_load_that_never_began_has_no_time_and_no_figures() -> None:
    load, fleet, clock = loading([report(0, counters=Counters(completed=3))])
    clock.advance(5)
    await load.finish(2)
    assert (load.seconds, load.accounting.totals.completed) == (0.0, 0)
    assert fleet.told == ["finish 2", "kill"]


async def test_threads_and_rate_are_remembered_and_passed_on() -> None:
    load, fleet, _ = loading([report(0)])
    assert (load.threads, load.rate) == (8, 50.0)
    await load.set_threads(3)
    load.set_rate(7.5)
    assert (load.threads, load.rate, fleet.told) == (3, 7.5, ["threads 3", "rate 7.5"])


async def test_a_checkpoint_tells_what_was_done_since_the_one_before() -> None:
    def done(completed: int, events_since: float) -> Round:
        counted = Counters(scheduled=completed, completed=completed, reads=completed * 2)
        return [report(0, 2_000, counters=counted, events_since=FairnessStats.of([events_since]))]

    load, fleet, clock = loading(done(0, 0), done(20, 20), done(50, 30), done(60, 10))
    await load.begin()
    clock.advance(2)
    first = await load.checkpoint()
    clock.advance(1)
    second = await load.checkpoint()
    clock.advance(1)
    await load.finish(1)
    last = load.since_checkpoint()
    told = [first, second, last]
    assert [each.transactions.total for each in told] == [20, 30, 10]
    assert [each.transactions.per_second for each in told] == pytest.approx([10.0, 30.0, 10.0])
    assert [each.queries.read for each in told] == [40, 60, 20]
    assert [each.total_seconds for each in told] == pytest.approx([2.0, 3.0, 4.0])
    assert [each.fairness.events_avg for each in told] == [20, 30, 10]
    assert fleet.told.count("checkpoint") == 2
    assert load.accounting.totals.completed == 60


async def test_a_silent_workers_figures_come_later_and_it_is_named_once() -> None:
    def done(worker: int, completed: int) -> WorkerReport:
        return report(worker, counters=Counters(scheduled=completed, completed=completed, refused={1040: 1}))

    load, fleet, _ = loading([done(0, 0), done(1, 0)], [done(0, 5)], [done(0, 9)], [done(0, 12), done(1, 30)])
    load.alarms.refused([done(0, 0), done(1, 0)])
    await load.begin()
    fleet.overdue = fleet.silent = ("worker process 4711",)
    first = await load.tick()
    assert (load.accounting.transactions_total, first.tick.levels["connections"], first.refused) == (5, 8, "")
    assert [text for _, text in load.alarms.check(first.tick) if "4711" in text]
    second = await load.tick()
    assert load.alarms.check(second.tick) == []
    fleet.overdue = fleet.silent = ()
    third = await load.tick()
    assert (
        load.accounting.transactions_total,
        total_tick((Tick(end=-1.0), third.tick)).sums["completed"],
    ) == (42, 33)


async def test_a_reset_load_counts_time_and_transactions_from_the_reset() -> None:
    rounds = [[report(0, counters=Counters(scheduled=n, completed=n))] for n in (0, 5, 7, 8, 11)]
    load, fleet, clock = loading(*rounds)
    await load.begin()
    clock.advance(3)
    await load.tick()
    await load.drain(1)
    await load.reset_stats()
    clock.advance(2)
    tick = await load.tick()
    assert (tick.tick.sums["completed"], load.accounting.transactions_total) == (6, 11)
    await load.finish(1)
    assert load.accounting.totals.completed == 3
    assert load.seconds == pytest.approx(2.0)
    assert load.since_checkpoint().seconds == pytest.approx(2.0)
    assert fleet.told == ["pause", "reset_stats", "finish 1", "kill"]


# The headline


@pytest.mark.parametrize(
    ("kinds", "headline"), [({"single": Histogram.of([10, 20])}, 60.0), ({"other": Histogram.of([10])}, 0.0)]
)
async def test_a_tick_tells_the_headline(kinds: dict[str, Histogram], headline: float) -> None:
    of = Headline(title="tpm", transaction="single")
    load, _, _ = loading([report(0, seconds=2.0, by_transaction=kinds)], headline=of)
    assert read("headline", (await load.tick()).tick) == headline


async def test_a_single_kind_of_transaction_is_the_headline_itself() -> None:
    load, _, _ = loading([report(0, 10, 20, 30)], headline=Headline(title="tpm", transaction="single"))
    assert read("headline", (await load.tick()).tick) == 180.0
    without, _, _ = loading([report(0, 10)])
    assert read("headline", (await without.tick()).tick) is None
