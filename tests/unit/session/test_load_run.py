"""A run from its warm-up to its summary, with workers that are played."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.ticks import server_tick
from tests.unit.session.simulated_session import PlayedFleet, Prepare, simulate_session
from tests.unit.session.worker_reports import report
from tuibench.errors import UsageError
from tuibench.load.worker_report import Counters, WorkerReport
from tuibench.metrics.figures import read
from tuibench.model.command import Command, Pause, ResetStats
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.plan import RunPlan
from tuibench.model.tick import Tick
from tuibench.observe.server.status_reading import ServerObservation
from tuibench.record.files.loading import load_run
from tuibench.record.report.sysbench_replay import final_report
from tuibench.session.load_run import LoadRun
from tuibench.session.sampling.hosts import HostsObservation
from tuibench.session.sampling.sampler import TickObservation

PLAN = RunPlan(profile="oltp_point_select", threads=4, seconds=8, warmup_seconds=8)


@pytest.mark.parametrize(("busy_in_the_warm_up", "limited"), [(True, False), (False, True)])
def test_a_busy_warm_up_does_not_put_the_run_in_doubt(
    tmp_path: Path, busy_in_the_warm_up: bool, limited: bool
) -> None:
    def play(fleet: PlayedFleet) -> list[WorkerReport]:
        is_warm = "reset_stats" in fleet.told
        return [report(0, cpu_seconds=0.2 if is_warm is busy_in_the_warm_up else 0.99)]

    summary = simulate_session(PLAN, play, tmp_path)
    assert summary.seconds == pytest.approx(8)
    assert summary.client.limited is limited
    assert any("client-limited" in warning for warning in summary.warnings) is limited


# Workers that say nothing


def test_a_tick_without_any_answer_is_a_gap_and_the_next_one_makes_up_for_it(tmp_path: Path) -> None:
    def play(fleet: PlayedFleet) -> list[WorkerReport]:
        second = fleet.clock.time()
        done = round(second * 10)
        seconds = 1.0 if second < 4.5 else 3.0
        counters = Counters(scheduled=done, completed=done)
        return [] if 2.5 < second < 4.5 else [report(0, counters=counters, seconds=seconds)]

    tps: list[float | None] = []
    intervals: list[int] = []

    def listen(session: LoadRun) -> None:
        def hear(message: object) -> None:
            if isinstance(message, Sample):
                tps.append(read("tps", message.load) if message.load else None)

        session.watcher.bus.listeners.append(hear)
        session.watcher.bus.interval_listeners.append(
            lambda tick: intervals.append(round(tick.sums["completed"]))
        )

    simulate_session(replace(MEASURED, seconds=5), play, tmp_path, listen)
    assert tps == [10, 10, None, None, 10]
    assert intervals == [10, 10, 30]


def test_a_worker_that_never_reported_its_end_is_named(tmp_path: Path) -> None:
    def play(fleet: PlayedFleet) -> list[WorkerReport]:
        fleet.unresponsive = ("worker process 17",)
        return ten_a_second(fleet)

    summary = simulate_session(MEASURED, play, tmp_path)
    assert [warning for warning in summary.warnings if "worker process 17 did not answer" in warning]
    assert summary.reconciliation.foreign is None


# Figures that begin anew

MEASURED = RunPlan(profile="oltp_point_select", threads=4, seconds=8)


def ten_a_second(fleet: PlayedFleet) -> list[WorkerReport]:
    done = round(fleet.clock.time() * 10)
    return [report(0, counters=Counters(scheduled=done, completed=done))]


def submitting(commands: Sequence[tuple[float, Command]], answers: list[object]) -> Prepare:
    """Submits each command at its second; the answers, and what is raised instead, are kept."""

    async def submit(session: LoadRun, command: Command) -> None:
        try:
            answers.append(await session.submit(command))
        except UsageError as error:
            answers.append(error)

    def begin(session: LoadRun, command: Command) -> None:
        answers.append(asyncio.ensure_future(submit(session, command)))

    def prepare(session: LoadRun) -> None:
        loop = asyncio.get_running_loop()
        for at, command in commands:
            loop.call_later(at, begin, session, command)

    return prepare


def test_the_summary_covers_the_time_since_the_reset(tmp_path: Path) -> None:
    fleets: list[PlayedFleet] = []

    def play(fleet: PlayedFleet) -> list[WorkerReport]:
        fleets.append(fleet)
        return ten_a_second(fleet)

    answers: list[object] = []
    summary = simulate_session(MEASURED, play, tmp_path, submitting([(3.5, ResetStats())], answers))
    assert answers[1] == "the figures of the run are reset"
    assert summary.seconds == pytest.approx(4.5)
    assert summary.transactions.total == 45
    assert summary.scheduled == 45
    (event,) = [event for event in summary.events if event.kind is EventKind.RESET]
    assert event.elapsed_seconds == pytest.approx(3.5)
    assert fleets[0].told == ["pause", "threads 4", "resume", "pause", "reset_stats", "resume", "kill"]


def test_a_paused_run_stays_paused(tmp_path: Path) -> None:
    fleets: list[PlayedFleet] = []

    def play(fleet: PlayedFleet) -> list[WorkerReport]:
        fleets.append(fleet)
        return ten_a_second(fleet)

    simulate_session(MEASURED, play, tmp_path, submitting([(2.5, Pause()), (3.5, ResetStats())], []))
    assert fleets[0].told[2:] == ["resume", "pause", "pause", "reset_stats", "kill"]


@pytest.mark.parametrize(
    ("plan", "at", "words"),
    [
        (replace(MEASURED, events=1000), 3.5, "cannot be reset"),
        (PLAN, 3.5, "nothing has been measured yet"),
    ],
)
def test_a_reset_that_is_not_possible_is_refused_with_the_reason(
    tmp_path: Path, plan: RunPlan, at: float, words: str
) -> None:
    answers: list[object] = []
    summary = simulate_session(plan, ten_a_second, tmp_path, submitting([(at, ResetStats())], answers))
    assert words in str(answers[1])
    assert summary.seconds == pytest.approx(8)


# A load that begins without a thread

IDLE = RunPlan(profile="oltp_point_select", threads=0, seconds=4)


def watching(run: LoadRun) -> None:
    """The server's clients send 100 statements and 10 commits a second."""

    async def observe(*_: object) -> TickObservation:
        return TickObservation(server=SERVER_PART, hosts=HostsObservation(), traffic=TRAFFIC)

    run.watcher.sampler.observe = observe  # type: ignore[method-assign,assignment]
    run.watcher.sampler.last_observations = [ServerObservation(tick=SERVER_PART, traffic=REMAINDER)]


TRAFFIC = Tick(
    seconds=1.0,
    sums={
        "completed": 10,
        "commits": 10,
        "rollbacks": 0,
        "queries": 100,
        "reads": 70,
        "writes": 20,
        "others": 10,
    },
    missing={"latency": "none here"},
)
REMAINDER = replace(TRAFFIC, seconds=0.5, sums={name: count / 2 for name, count in TRAFFIC.sums.items()})
SERVER_PART = server_tick(
    uptime_seconds=100,
    threads_running=3,
    threads_connected=9,
    max_connections=151,
    open_tables=20,
    table_open_cache=2000,
    questions_total=5000,
    slow_queries_total=0,
)


def test_a_load_that_never_had_a_thread_ends_with_the_summary_of_the_traffic(tmp_path: Path) -> None:
    texts: list[Callable[[], str]] = []

    def prepare(run: LoadRun) -> None:
        watching(run)
        texts.append(lambda: run.text(summary))

    summary = simulate_session(IDLE, lambda _: [report(0, connections=0)], tmp_path, prepare)
    assert summary.watched is not None
    assert (summary.transactions.total, summary.queries.total, summary.queries.read) == (45, 450, 315)
    assert (summary.watched.threads_running_avg, summary.watched.latency_note) == (3, "none here")
    assert "The server's own traffic, 4.5 s" in texts[0]()
    recorded = load_run(tmp_path / "record")
    assert recorded.summary == summary
    assert final_report(recorded) == texts[0]()


def test_a_load_that_was_added_ends_with_its_own_summary(tmp_path: Path) -> None:
    def play(fleet: PlayedFleet) -> list[WorkerReport]:
        done = 10 if fleet.clock.time() > 2.5 else 0
        return [report(0, counters=Counters(scheduled=done, completed=done))]

    summary = simulate_session(IDLE, play, tmp_path, watching)
    assert summary.watched is None
    assert summary.transactions.total == 10
