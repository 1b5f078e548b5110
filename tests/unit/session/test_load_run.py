"""A run with load: start, ticks, control, end."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import msgspec
import pytest
from msgspec.structs import replace

from tests.examples import PLAN as SPEC_PLAN
from tests.fakes import FakeClock
from tests.ticks import server_tick
from tests.unit.load.programs import SINGLE, program
from tests.unit.session.simulated_session import PlayedFleet, Prepare, simulate_session
from tests.unit.session.worker_reports import report
from tuibench.base.clock import ticks
from tuibench.base.errors import ExitCode, RunError, TuibenchError, UsageError
from tuibench.load.fleet import FILES_OF_A_WORKER, Fleet, Loss
from tuibench.load.messages import Counters, FairnessStats, WorkerReport
from tuibench.metrics.figures import read
from tuibench.model.cluster import ClusterPlan, LoadHost
from tuibench.model.event import EventKind
from tuibench.model.findings import ErrorMessage, Headline
from tuibench.model.message import (
    Command,
    Pause,
    ResetStats,
    ServiceSpec,
    SessionSpec,
    SetWeights,
    Status,
)
from tuibench.model.plan import EngineChoice, RunPlan
from tuibench.model.server import Target
from tuibench.model.tick import Histogram, Sample, Tick, total_tick
from tuibench.observe.status import ServerObservation
from tuibench.record.reader import load_run
from tuibench.report.text import final_report
from tuibench.session import registry
from tuibench.session.lifecycle import ticks_until
from tuibench.session.load import POLL_SECONDS, LoadController
from tuibench.session.load_run import LoadRun
from tuibench.session.preflight import required_open_files
from tuibench.session.registry import launch
from tuibench.session.sampling import TickObservation
from tuibench.tuning.preflight import load_requirements
from tuibench.workload import library

# A run from its warm-up to its summary, with workers that are played.


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


def test_a_change_of_weights_is_in_the_status(tmp_path: Path) -> None:
    shares: list[float | None] = []

    def prepare(session: LoadRun) -> None:
        def hear(message: object) -> None:
            if isinstance(message, Status):
                shares.append(message.weights.get("payment"))

        session.watcher.bus.listeners.append(hear)
        submitting([(3.0, SetWeights({"payment": 90.0}))], [])(session)

    simulate_session(replace(MEASURED, profile="tpcc"), ten_a_second, tmp_path, prepare)
    assert shares[0] not in (None, 90.0)
    assert shares[-1] == 90.0


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
        return TickObservation(server=SERVER_PART, traffic=TRAFFIC)

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


# Opening, draining and measuring a load whose workers' reports are scripted.


LOAD_CONTROLLER_PLAN = RunPlan(profile="test", threads=8, rate=50.0, opening_seconds=2.0)
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
    *rounds: Round, plan: RunPlan = LOAD_CONTROLLER_PLAN, headline: Headline | None = None
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
        report(1), failure=ErrorMessage("no such table", "prepare it", ExitCode.USAGE_ERROR)
    )
    load, _, _ = loading([report(0), broken])
    for ask in (lambda: load.open(never), load.tick, lambda: load.drain(1)):
        with pytest.raises(TuibenchError, match=r"no such table \(prepare it\)") as failure:
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
        fairness=FairnessStats.of([(4.0, 0.5)]),
    )
    load, _, clock = loading([warm], [warm], [warm], [measured])
    await load.begin()
    await load.tick()
    clock.advance(3)
    assert await load.begin() == clock.now_ns()
    clock.advance(2)
    tick = (await load.tick()).tick
    assert tick is not None
    assert (tick.levels["threads"], tick.levels["rate"], tick.hist("response").max_us) == (8, 50.0, 1_000)
    counted = [tick.sums.get(name, 0) for name in ("scheduled", "completed", "failed", "abandoned")]
    assert (counted, load.reported.transactions) == ([5, 4, 1, 0], 4)
    assert (tick.sums["questions"], tick.counts("error.")) == (90, {"1213": 1})
    await load.finish(1)
    assert load.reported.fairness.events == 4
    clock.advance(3)
    assert load.seconds == pytest.approx(2.0)


async def test_a_load_that_never_began_has_no_time_and_no_figures() -> None:
    load, fleet, clock = loading([report(0, counters=Counters(completed=3))])
    clock.advance(5)
    await load.finish(2)
    assert (load.seconds, load.remainder()) == (0.0, None)
    assert fleet.told == ["finish 2", "kill"]


async def test_threads_and_rate_are_remembered_and_passed_on() -> None:
    load, fleet, _ = loading([report(0)])
    assert (load.threads, load.rate) == (8, 50.0)
    await load.set_threads(4)
    assert (load.threads, fleet.told) == (4, []), "no connection is opened before all are"
    await load.open(lambda: True)
    assert fleet.told.pop() == "threads 4"
    fleet.told.clear()
    await load.set_threads(3)
    load.set_rate(7.5)
    assert (load.threads, load.rate, fleet.told) == (3, 7.5, ["threads 3", "rate 7.5"])


async def test_a_silent_workers_figures_come_later_and_it_is_named_once() -> None:
    def done(worker: int, completed: int) -> WorkerReport:
        return report(worker, counters=Counters(scheduled=completed, completed=completed, refused={1040: 1}))

    load, fleet, _ = loading([done(0, 0), done(1, 0)], [done(0, 5)], [done(0, 9)], [done(0, 12), done(1, 30)])
    load.alarms.refused([done(0, 0), done(1, 0)])
    await load.begin()
    fleet.overdue = fleet.silent = ("worker process 4711",)
    first = await load.tick()
    assert first.tick is not None
    assert (load.reported.transactions, first.tick.levels["connections"], first.refused) == (5, 8, "")
    assert [text for _, text in load.alarms.check(first.tick) if "4711" in text]
    second = await load.tick()
    assert second.tick is not None
    assert load.alarms.check(second.tick) == []
    fleet.overdue = fleet.silent = ()
    third = await load.tick()
    assert third.tick is not None
    assert load.reported.transactions == 42
    assert total_tick((Tick(end=-1.0), third.tick)).sums["completed"] == 33


async def test_a_reset_load_counts_time_from_the_reset() -> None:
    rounds = [[report(0, counters=Counters(scheduled=n, completed=n))] for n in (0, 5, 7, 8, 11)]
    load, fleet, clock = loading(*rounds)
    await load.begin()
    clock.advance(3)
    await load.tick()
    await load.drain(1)
    load.remainder()
    load.reset_stats()
    clock.advance(2)
    tick = (await load.tick()).tick
    assert tick is not None
    assert (tick.sums["completed"], load.reported.transactions) == (1, 8)
    await load.finish(1)
    remainder = load.remainder()
    assert remainder is not None
    assert (remainder.sums["completed"], remainder.levels, remainder.peaks) == (3, {}, {})
    assert load.seconds == pytest.approx(2.0)
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


# What the preflight check requires of this host.


async def test_load_hosts_open_the_files_of_their_connections() -> None:
    program = library.load_program("oltp_point_select", {})
    for cluster, wanted in ((None, 1000 + FILES_OF_A_WORKER), (ClusterPlan(places=("ssh:load1",)), None)):
        plan = RunPlan(
            profile="oltp_point_select",
            threads=4000,
            workers=4,
            engine=EngineChoice.ASYNCIO,
            cluster=cluster,
        )
        found = await required_open_files(Target(), plan, program)
        assert found == wanted
        assert load_requirements(plan, program, found).threads == 4000


# What crosses to the session's process, and what of it may be seen.


SPEC = ServiceSpec(
    session=SessionSpec(
        session="s1",
        plan=msgspec.structs.replace(SPEC_PLAN, options={"tables": 4, "skip_trx": True}, seconds=None),
        target=Target(host="db", user="ann", password="secret"),
        run_directory="/runs/s1",
        inherit_fds=(7, 9),
        private_server="/var/tmp/tuibench-demo-1",
    ),
    socket="/run/s1.sock",
    grace_seconds=None,
)


NO_PIPES = msgspec.structs.replace(SPEC, session=msgspec.structs.replace(SPEC.session, inherit_fds=()))


def test_the_sessions_process_gets_all_pipes() -> None:
    assert SPEC.session.pass_fds == (7, 9)
    assert msgspec.structs.replace(SPEC.session, control=(11, 12)).pass_fds == (7, 9, 11, 12)


@pytest.mark.parametrize("message", [SPEC, ErrorMessage("no", "h", 3)])
def test_it_arrives_as_one_line(message: msgspec.Struct) -> None:
    line = msgspec.json.encode(message)
    assert b"\n" not in line
    assert msgspec.json.decode(line, type=type(message)) == message


def test_the_password_arrives_and_is_not_shown() -> None:
    assert (
        msgspec.json.decode(msgspec.json.encode(SPEC), type=ServiceSpec).session.target.password == "secret"
    )
    assert "secret" not in repr(SPEC)


# Starting a session's process: what keeps it from being started is said in words.


async def test_a_log_that_cannot_be_written_is_said_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"cannot write the sessions' log .*TUIBENCH_HOME"):
        await launch(SPEC, tmp_path / "file" / "sessions.log")


async def test_a_process_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_COMMAND", ("/nowhere/python",))
    with pytest.raises(RunError, match="cannot start the session's process: No such file"):
        await launch(NO_PIPES, tmp_path / "sessions.log")


# The ticks of a session: all of them, or none after its end.


async def test_all_ticks_come_until_the_schedule_ends() -> None:
    clock = FakeClock()
    seen = [tick.number async for tick in ticks_until(asyncio.Event(), ticks(clock, 0, 10**9, 3 * 10**9))]
    assert seen == [1, 2, 3]


async def test_a_session_that_is_over_has_no_next_tick() -> None:
    over, seen = asyncio.Event(), []
    async for tick in ticks_until(over, ticks(FakeClock(), 0, 10**9)):
        seen.append(tick.number)
        if tick.number == 2:
            over.set()
    assert seen == [1, 2]


async def test_the_end_does_not_wait_for_the_next_tick() -> None:
    class Stuck(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    over = asyncio.Event()
    asyncio.get_running_loop().call_soon(over.set)
    async with asyncio.timeout(30):
        assert [tick async for tick in ticks_until(over, ticks(Stuck(), 0, 10**9))] == []
