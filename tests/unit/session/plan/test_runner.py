"""A whole session that follows a plan, in make-believe time: what each tick had, and what was told."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.unit.session.simulated_session import simulate_session
from tests.unit.session.worker_reports import report
from tuibench.errors import UsageError
from tuibench.load.worker_report import Counters
from tuibench.model.command import HoldPlan, Pause, Resume, ResumePlan, SetPlan, SetRate, SetThreads
from tuibench.model.event import Event, EventKind
from tuibench.model.plan import RunPlan
from tuibench.model.schedule import PlanPhase, parse_schedule
from tuibench.session.load_run import LoadRun

Script = Callable[[LoadRun], Awaitable[None]]


class Followed(NamedTuple):
    """The threads (or rates) of each tick, and the events about the plan and the levels."""

    threads: list[int]
    rates: list[float]
    told: list[tuple[EventKind, str]]
    events: tuple[Event, ...]


async def watching(_: LoadRun) -> None:
    return


def followed(folder: Path, plan: str, script: Script = watching, **changes: Any) -> Followed:
    """What became of a run with a plan; a script may steer it meanwhile."""
    schedule = parse_schedule(plan) if plan else ()
    fields: dict[str, Any] = {"threads": 8, "seconds": 6.0} | changes
    threads: list[int] = []
    rates: list[float] = []
    scripts: list[asyncio.Task[None]] = []

    def prepare(session: LoadRun) -> None:
        session.watcher.bus.interval_listeners.append(
            lambda tick: threads.append(round(tick.levels["threads"]))
        )
        session.watcher.bus.interval_listeners.append(lambda tick: rates.append(tick.levels["rate"]))

        async def played() -> None:
            await script(session)

        scripts.append(asyncio.get_running_loop().create_task(played()))

    summary = simulate_session(
        RunPlan(profile="oltp_point_select", schedule=schedule, **fields),
        lambda fleet: [report(0, connections=100)],
        folder,
        prepare,
    )
    assert scripts[0].done()
    scripts[0].result()
    kinds = (EventKind.PLAN, EventKind.THREADS, EventKind.RATE)
    told = [(event.kind, event.text) for event in summary.events if event.kind in kinds]
    return Followed(threads, rates, told, summary.events)


def after(seconds: float, *commands: Any) -> Script:
    """Submits the commands after so many seconds of the run, one a second."""

    async def script(session: LoadRun) -> None:
        await asyncio.sleep(seconds)
        for command in commands:
            await session.submit(command)
            await asyncio.sleep(1)

    return script


def test_each_tick_has_the_threads_of_its_step(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:2s,16:2s,4:2s")
    assert run.threads == [8, 8, 16, 16, 4, 4]
    assert run.told == [
        (EventKind.PLAN, "plan 1/3: 8 threads for 2s"),
        (EventKind.THREADS, "plan 2/3: 16 threads for 2s"),
        (EventKind.THREADS, "plan 3/3: 4 threads for 2s"),
    ]
    changes = [event for event in run.events if event.kind is EventKind.THREADS]
    marked = [(event.marker, round(event.elapsed_seconds)) for event in changes]
    assert marked == [(1, 2), (2, 4)]


def test_a_ramp_is_one_line_in_the_charts(tmp_path: Path) -> None:
    run = followed(tmp_path, "1..6/6s", threads=1)
    assert run.threads == [1, 2, 3, 4, 5, 6]
    assert run.told == [(EventKind.THREADS, "plan 1/1: from 1 thread to 6 threads in 6s")]


def test_a_rate_is_planned_like_threads(tmp_path: Path) -> None:
    run = followed(tmp_path, "rate 20:2s,rate 40:2s,rate 0:2s", rate=20.0)
    assert run.rates == [20, 20, 40, 40, 0, 0]
    assert set(run.threads) == {8}


def test_a_run_that_outlasts_its_plan_keeps_the_last_level_and_says_so(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:1s,16:2s", seconds=5.0)
    assert run.threads == [8, 16, 16, 16, 16]
    assert run.told[-1] == (EventKind.PLAN, "the plan has ended; its last level stays")


def test_the_warm_up_is_not_part_of_the_plan(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:2s,16:4s", warmup_seconds=3.0)
    assert run.threads == [8, 8, 16, 16, 16, 16]


def test_a_change_by_hand_holds_the_plan_until_it_is_resumed_where_it_stopped(tmp_path: Path) -> None:
    """Held at 2.5 s with half a second left of the first step; resumed at 4.5 s."""
    run = followed(tmp_path, "8:3s,16:9s", after(2.5, SetThreads(5), SetRate(9), ResumePlan()), seconds=8.0)
    assert run.threads == [8, 8, 5, 5, 8, 16, 16, 16]
    assert run.told[1:] == [
        (EventKind.THREADS, "threads 8 → 5"),
        (EventKind.PLAN, "plan held: the threads were set manually"),
        (EventKind.RATE, "rate open → 9/s"),
        (EventKind.THREADS, "plan continues with 8 threads"),
        (EventKind.THREADS, "plan 2/2: 16 threads for 9s"),
    ]


def test_what_the_plan_is_not_about_can_be_steered_beside_it(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:2s,16:9s", after(0.5, SetRate(9)), seconds=3.0)
    assert run.threads == [8, 8, 16]
    assert not any("held" in text for _, text in run.told)


def test_a_plan_is_held_and_resumed_by_command(tmp_path: Path) -> None:
    phases = []

    async def script(session: LoadRun) -> None:
        for command in (HoldPlan(), HoldPlan(), ResumePlan(), ResumePlan()):
            await asyncio.sleep(0.5)
            answer = await session.submit(command)
            assert session.plan_runner.state is not None
            phases.append((session.plan_runner.state.phase, answer))

    run = followed(tmp_path, "8:2s,16:9s", script, seconds=4.0)
    assert [phase for phase, _ in phases] == [
        PlanPhase.HELD,
        PlanPhase.HELD,
        PlanPhase.RUNNING,
        PlanPhase.RUNNING,
    ]
    assert [answer for _, answer in phases][1::2] == ["the plan is already held", "the plan is not held"]
    assert run.threads == [8, 8, 8, 16]


def test_the_plan_is_held_while_the_load_is_paused(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:3s,16:9s", after(1.5, Pause(), Resume()))
    assert run.threads == [8, 8, 8, 8, 16, 16]
    assert not any(kind is EventKind.PLAN and "goes on" in text for kind, text in run.told)


def test_another_plan_takes_the_place_of_the_first(tmp_path: Path) -> None:
    run = followed(tmp_path, "8:3s,16:9s", after(1.5, SetPlan(parse_schedule("3:1s,2:1s"))))
    assert run.threads == [8, 3, 2, 2, 2, 2]
    assert (EventKind.PLAN, "plan 3:1s,2:1s") in run.told


def test_a_run_without_a_plan_can_be_given_one(tmp_path: Path) -> None:
    run = followed(tmp_path, "", after(1.5, SetPlan(parse_schedule("3:1s,2:1s"))))
    assert run.threads == [8, 3, 2, 2, 2, 2]


@pytest.mark.parametrize("command", [HoldPlan(), ResumePlan()])
@pytest.mark.parametrize("plan", ["", "8:1s"])
def test_without_a_plan_under_way_there_is_nothing_to_hold(tmp_path: Path, command: Any, plan: str) -> None:
    async def script(session: LoadRun) -> None:
        await asyncio.sleep(2)
        with pytest.raises(UsageError, match="no plan is running"):
            await session.submit(command)

    followed(tmp_path, plan, script)


def test_a_ramp_into_the_servers_limit_is_reported_once(tmp_path: Path) -> None:
    """The server lets 10 in; the eleventh is refused, and those after it are not tried."""
    asked: list[int] = []
    refused = Counters(refused={1040: 1})

    def play(fleet: Any) -> list[Any]:
        asked[:] = [int(word.split()[1]) for word in fleet.told if word.startswith("threads ")]
        return [report(0, connections=10, counters=refused if max(asked, default=0) > 10 else Counters())]

    schedule = parse_schedule("9..14/6s")
    summary = simulate_session(
        RunPlan(profile="oltp_point_select", threads=9, seconds=6.0, schedule=schedule), play, tmp_path
    )
    assert max(asked) == 11
    assert [
        event.text for event in summary.events if event.kind is EventKind.THREADS and "refused" in event.text
    ] == ["1 refused: too many connections (error 1040, max_connections); continuing with 10"]
