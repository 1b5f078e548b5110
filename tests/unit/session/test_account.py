"""The account of a session: every total is the sum of ticks in the record."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.unit.session.simulated_session import PlayedFleet, simulate_session
from tests.unit.session.test_load_run import submitting
from tests.unit.session.worker_reports import report
from tuibench.load.messages import Counters, WorkerReport
from tuibench.metrics.figures import all_values
from tuibench.model.event import EventKind
from tuibench.model.message import Command, Pause, ResetStats, Resume
from tuibench.model.plan import RunPlan
from tuibench.model.tick import Histogram, Tick, total_tick
from tuibench.record.reader import load_run
from tuibench.record.summary import summary_of
from tuibench.session.account import Account, Cut
from tuibench.session.load_run import LoadRun
from tuibench.session.sampling import TickObservation


def tick(end: float, completed: int, **more: float) -> Tick:
    return Tick(
        end=end,
        seconds=0.5,
        sums={"completed": completed, **more},
        levels={"threads": completed},
        hists={"response": Histogram.of([completed])},
    )


def completed(account: Account, cut: Cut) -> float:
    return account.since(cut).sums.get("completed", 0)


def test_a_total_begins_at_the_last_cut_of_its_kind_or_a_stronger_one() -> None:
    account = Account()
    account.add(tick(-1, 1))
    assert [completed(account, cut) for cut in Cut] == [1, 1, 1]
    account.cut(Cut.START)
    assert [completed(account, cut) for cut in Cut] == [0, 0, 0]
    account.add(tick(1, 2))
    account.cut(Cut.CHECKPOINT)
    account.add(tick(2, 4))
    assert [completed(account, cut) for cut in Cut] == [4, 6, 6]
    account.cut(Cut.RESET)
    account.add(tick(3, 8))
    account.cut(Cut.CHECKPOINT)
    account.add(tick(4, 16))
    account.cut(Cut.CHECKPOINT)
    account.add(tick(5, 32))
    assert [completed(account, cut) for cut in Cut] == [32, 56, 62]
    account.cut(Cut.RESET)
    assert [completed(account, cut) for cut in Cut] == [0, 0, 62]


def test_a_total_stays_as_it_is_when_the_account_grows() -> None:
    account = Account()
    account.add(tick(1, 2))
    before = account.total()
    account.add(tick(2, 3))
    assert (before.sums, before.hist("response")) == ({"completed": 2}, Histogram.of([2]))


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, *Cut]))))
def test_a_total_is_the_sum_of_the_ticks_since_its_cut(steps: list[tuple[int, Cut | None]]) -> None:
    """Each tick has arrears, of which a total has all."""
    account = Account()
    since: dict[Cut, list[Tick]] = {cut: [Tick(end=-1.0)] for cut in Cut}
    for place, (done, cut) in enumerate(steps):
        added = replace(tick(place, done), arrears={"completed": 0.25})
        account.add(added)
        for ticks in since.values():
            ticks.append(added)
        if cut is not None:
            account.cut(cut)
            since |= {each: [Tick(end=-1.0)] for each in Cut if each <= cut}
    for cut, ticks in since.items():
        total, expected = account.since(cut), total_tick(ticks)
        assert (total.sums, total.hists, total.seconds) == (expected.sums, expected.hists, expected.seconds)
        assert total.levels == expected.levels


# Whole sessions in virtual time, with workers and a server that are played.


class Disturbances(NamedTuple):
    """What happens in a run, at seconds after its start."""

    interval_seconds: float
    warmup_seconds: float
    checkpoints: tuple[int, ...]
    commands: tuple[tuple[float, Command], ...]
    silences: tuple[tuple[int, float, float], ...]
    """The number of a worker, and the times between which it does not answer."""
    losses: tuple[float, ...]
    """When a worker is lost, whose connections another one opens."""
    server_restarts: tuple[float, ...]
    seed: int


SECONDS = 7
times = st.integers(1, 10 * SECONDS).map(lambda tenths: tenths / 10)

disturbances = st.builds(
    Disturbances,
    interval_seconds=st.sampled_from([0.5, 1.0, 3.0]),
    warmup_seconds=st.sampled_from([0.0, 1.5]),
    checkpoints=st.lists(st.integers(1, SECONDS), max_size=3, unique=True).map(tuple),
    commands=st.lists(
        st.tuples(times, st.sampled_from([ResetStats(), ResetStats(), Pause(), Resume()])), max_size=4
    ).map(tuple),
    silences=st.lists(st.tuples(st.integers(0, 2), times, times), max_size=2).map(tuple),
    losses=st.lists(times, max_size=1).map(tuple),
    server_restarts=st.lists(times, max_size=1).map(tuple),
    seed=st.integers(0, 1000),
)


class PlayedWorker:
    """A worker that completes a random number of transactions between two reports."""

    def __init__(self, number: int, now: float) -> None:
        self.number = number
        self.counters = Counters()
        self.reported_at = now

    def report(self, now: float, random: Random, *, is_idle: bool) -> WorkerReport:
        seconds, self.reported_at = now - self.reported_at, now
        done = 0 if is_idle else random.randrange(20)
        failed, flying = random.randrange(2), 0 if is_idle else random.randrange(3)
        latencies = [random.randrange(1, 9_000) for _ in range(done)]
        before = self.counters
        self.counters = Counters(
            scheduled=before.scheduled + done + failed + flying - before.in_flight,
            completed=before.completed + done,
            failed=before.failed + failed,
            in_flight=flying,
            reads=before.reads + 3 * done,
            questions=before.questions + 4 * done,
            errors={1213: failures} if (failures := before.failed + failed) else {},
        )
        return report(
            self.number,
            *latencies,
            counters=self.counters,
            seconds=seconds,
            cpu_seconds=0.3 * seconds,
            statements={"select": Histogram.of(latencies)},
        )


class PlayedSession:
    """The workers and the server of a session, as they were disturbed."""

    def __init__(self, given: Disturbances) -> None:
        self.given = given
        self.random = Random(given.seed)
        self.remainders: list[Tick] = []
        self.account = Account()
        self.workers: list[PlayedWorker] = []
        self.closed: dict[int, WorkerReport] = {}
        self._read_at = 0.0

    def play(self, fleet: PlayedFleet) -> list[WorkerReport]:
        now, numbers = fleet.clock.time(), len(self.closed)
        self.workers = self.workers or [PlayedWorker(number, now) for number in range(3)]
        for lost_at in self.given.losses[numbers:]:
            if now > lost_at:
                gone, self.workers[0] = self.workers[0], PlayedWorker(3 + numbers, now)
                in_flight = gone.counters.in_flight
                last = replace(gone.counters, in_flight=0, abandoned=gone.counters.abandoned + in_flight)
                self.closed[gone.number] = report(gone.number, counters=last, seconds=0.0, connections=0)
        is_held = [told for told in fleet.told if told in ("pause", "resume")][-1:] != ["resume"]
        return [
            *self.closed.values(),
            *(
                worker.report(now, self.random, is_idle=is_held)
                for worker in self.workers
                if not any(number == worker.number and a < now < b for number, a, b in self.given.silences)
            ),
        ]

    def prepare(self, run: LoadRun) -> None:
        """A server that counts, and restarts; listeners for what the record does not keep."""
        self.account = run.watcher.account

        async def observe(number: int, transactions: int | None) -> TickObservation:
            before, now = self._read_at, run.watcher.clock.now_ns() / 1e9
            self._read_at = now
            if any(before < at <= now for at in self.given.server_restarts):
                return TickObservation(server=Tick(levels={"max_connections": 100}), restarted=True)
            grown = self.random.randrange(500)
            sums = {"Innodb_os_log_fsyncs": grown, "server.seconds": now - before, "server.completed": 7}
            return TickObservation(server=Tick(sums=sums, levels={"max_connections": 100}))

        def remainder(tick: Tick) -> None:
            self.remainders.append(tick)

        run.watcher.sampler.observe = observe  # type: ignore[method-assign,assignment]
        run.watcher.bus.recorder.remainder = remainder  # type: ignore[method-assign]
        submitting(self.given.commands, [])(run)


def rounded(values: Mapping[str, float]) -> Any:
    """The record has seven digits."""
    return pytest.approx(dict(values), rel=1e-5)


@given(disturbances)
@settings(max_examples=max(5, settings().max_examples // 3), phases=[Phase.explicit, Phase.generate])
def test_the_summary_is_that_of_the_ticks_in_the_record(given: Disturbances) -> None:
    played = PlayedSession(given)
    plan = RunPlan(
        profile="oltp_point_select",
        threads=4,
        seconds=SECONDS,
        interval_seconds=given.interval_seconds,
        warmup_seconds=given.warmup_seconds,
        checkpoints=tuple(sorted(given.checkpoints)),
    )
    with TemporaryDirectory() as folder:
        summary = simulate_session(plan, played.play, Path(folder), played.prepare)
        run = load_run(Path(folder) / "record")
        (run.directory / "summary.json").unlink()
        killed = load_run(run.directory)
    assert summary.outcome == "done"
    resets = [event.elapsed_seconds for event in summary.events if event.kind is EventKind.RESET]
    measured = [sample.tick for sample in run.samples if sample.elapsed_seconds > 0]
    since = [tick for tick in measured if tick.end > max(resets, default=0.0)]
    # The summary
    total = replace(total_tick((Tick(end=-9.0), *since, *played.remainders)), seconds=summary.seconds)
    expected = summary_of(run.plan, total, workers=1)
    for name in ("transactions", "queries", "errors", "scheduled", "failed", "abandoned", "percentiles"):
        assert getattr(summary, name) == getattr(expected, name), name
    assert summary.latency_histogram == expected.latency_histogram
    assert summary.scheduled == summary.transactions.total + summary.failed + summary.abandoned + sum(
        worker.counters.in_flight for worker in played.workers
    )
    assert summary.client.cpu_seconds == pytest.approx(expected.client.cpu_seconds, rel=1e-5)
    # An outage is found from the gaps of the workers.
    assert summary.figures == rounded(all_values(total) | {"outage": summary.figures["outage"]})
    # Exported counters, which a reset does not change
    whole, exported = total_tick((Tick(end=-9.0), *measured, *played.remainders)), played.account.total()
    assert exported.sums == rounded(whole.sums)
    assert exported.hist("response") == whole.hist("response")
    # The summary of the record of a session that was killed
    assert killed.cut_short
    assert killed.summary.transactions.total == round(total_tick((Tick(), *since)).sums.get("completed", 0))
    # sysbench's reports
    made = [line.report for line in run.reports]
    assert len(made) == len(given.checkpoints) + 1
    if not resets:
        assert sum(each.transactions.total for each in made) == summary.transactions.total
        assert sum(each.seconds for each in made) == pytest.approx(summary.seconds)
