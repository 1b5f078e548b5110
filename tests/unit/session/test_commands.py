"""Commands to a session: order, effects, refusals, guards."""

import asyncio
import math
from collections.abc import Collection, Coroutine
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.examples import SERVER
from tests.fakes import FakeClock
from tests.tables import for_each
from tests.unit.session.fakes import FakeControllable
from tuibench.base.errors import SQLError, TuibenchError, UsageError
from tuibench.model.event import CHANGE_KINDS, EventKind
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    Command,
    HoldPlan,
    KeepSettings,
    KillQuery,
    Mark,
    Pause,
    ResetStats,
    RestoreSettings,
    Resume,
    ResumePlan,
    RunState,
    SetCallers,
    SetDelay,
    SetHardware,
    SetPlan,
    SetRate,
    SetThreads,
    SetWeights,
    Stop,
    TrustServer,
    Watch,
)
from tuibench.model.schedule import (
    MAX_RATE,
    MAX_THREADS,
    ConstantStage,
    Quantity,
    Schedule,
    checked_rate,
    checked_threads,
)
from tuibench.model.settings import SettingState
from tuibench.model.tick import ReplicaSample
from tuibench.session.dispatch import AnyCommand, Origin
from tuibench.session.laboratory import LoadLevel
from tuibench.session.replicas import LagGuard, LagLimit
from tuibench.session.settings import ProductionGuard, Settings
from tuibench.session.timeline import FollowPlan, PlannedLevel
from tuibench.tuning.changer import ProductionConsent, ProductionError, SettingsManager, WorkloadSettings
from tuibench.tuning.guardian import Guardian
from tuibench.tuning.restore import RestoreOutcome, RestoreResult

# What each command to a session does, and what is answered.


Told = list[tuple[EventKind, str]]

PLAN: Schedule = (ConstantStage(level=8, seconds=30), ConstantStage(level=16, seconds=60))
CHANGE = ChangeSetting("sync_binlog", "0")


@pytest.mark.parametrize(
    ("command", "answer", "done", "told"),
    [
        (
            SetThreads(16),
            "threads: 16",
            ["threads 16", "threads by hand"],
            [(EventKind.THREADS, "threads 8 → 16")],
        ),
        (SetThreads(8), "threads: 8, as before", [], []),
        (
            SetRate(1500),
            "rate: 1,500/s",
            ["rate 1500", "rate by hand"],
            [(EventKind.RATE, "rate none → 1,500/s")],
        ),
        (SetRate(0.5), "rate: 0.5/s", ["rate 0.5", "rate by hand"], [(EventKind.RATE, "rate none → 0.5/s")]),
        (
            SetWeights({"new": 50, "old": 50}),
            "weights: 50/50",
            ["weights {'new': 50, 'old': 50}"],
            [(EventKind.WEIGHTS, "weights: new 90 → 50, old 10 → 50")],
        ),
        (SetWeights({"new": 90}), "weights: 90/10, as before", ["weights {'new': 90, 'old': 10.0}"], []),
        (
            SetDelay(20),
            "simulated network delay: 20ms on each round trip",
            ["delay 20"],
            [(EventKind.DELAY, "simulated network delay 0ms → 20ms on each round trip")],
        ),
        (
            SetCallers("deadline", "0.2s"),
            "deadline: 200ms",
            ["callers 200ms"],
            [(EventKind.CALLERS, "deadline 0 → 200ms")],
        ),
        (SetCallers("deadline", "0"), "deadline: 0, as before", [], []),
        (SetPlan(PLAN), "planned", ["plan 8:30s,16:1m"], []),
        (HoldPlan(), "held", ["hold plan"], []),
        (ResumePlan(), "resumed", ["resume plan"], []),
        (CHANGE, "sync_binlog  → 0", [], [(EventKind.SETTING, "sync_binlog  → 0")]),
        (
            ApplyPreset("unsafe"),
            "preset unsafe: s ? → 0, t ? → 1",
            [],
            [(EventKind.SETTING, "preset unsafe: s ? → 0, t ? → 1")],
        ),
        (RestoreSettings(), "nothing was changed, so there is nothing to restore", [], []),
        (Pause(), "paused", ["pause", "pause plan"], [(EventKind.PAUSE, "paused")]),
        (Resume(), "not paused", [], []),
        (Mark("here"), "marked", [], [(EventKind.MARK, "here")]),
        (Mark(), "marked", [], [(EventKind.MARK, "mark")]),
        (
            ResetStats(),
            "the figures of the run are reset",
            ["reset"],
            [(EventKind.RESET, "figures of the run are reset")],
        ),
        (KillQuery(7), "killed 7", ["kill 7"], [(EventKind.KILL, "killed 7")]),
        (Watch("activity"), "watching", ["renew"], []),
        (Stop(), "stopping", [], []),
    ],
)
async def test_each_command_has_its_effect_its_event_and_its_answer(
    command: Command, answer: str, done: list[str], told: Told
) -> None:
    session = FakeControllable()
    assert await session.execute(command) == answer
    assert (session.done, session.told) == (done, told)


async def test_a_pause_ends_with_resume_and_is_not_doubled() -> None:
    session = FakeControllable()
    answers = [await session.execute(command) for command in (Pause(), Pause(), Resume(), Resume())]
    assert answers == ["paused", "already paused", "resumed", "not paused"]
    assert session.done == ["pause", "pause plan", "resume", "unpause plan"]
    assert [kind for kind, _ in session.told] == [EventKind.PAUSE, EventKind.RESUME]


async def test_threads_change_while_paused() -> None:
    session = FakeControllable(RunState.PAUSED)
    assert await session.execute(SetThreads(3)) == "threads: 3"
    assert session.state is RunState.PAUSED


async def test_a_rate_is_taken_off_again() -> None:
    session = FakeControllable()
    answers = [await session.execute(SetRate(rate)) for rate in (200, 300, 0)]
    assert answers == ["rate: 200/s", "rate: 300/s", "rate: none"]
    assert [done for done in session.done if done != "rate by hand"] == ["rate 200", "rate 300", "rate 0"]
    assert [text for _, text in session.told][1:] == ["rate 200/s → 300/s", "rate 300/s → none"]


async def test_a_load_that_has_not_started_cannot_be_paused() -> None:
    session = FakeControllable(RunState.STARTING)
    with pytest.raises(UsageError, match="has not started yet"):
        await session.execute(Pause())
    assert session.done == []


async def test_a_warm_up_cannot_be_paused_but_steered() -> None:
    session = FakeControllable(RunState.WARMING)
    with pytest.raises(UsageError, match="still warming up"):
        await session.execute(Pause())
    assert await session.execute(Resume()) == "not paused"
    assert await session.execute(SetRate(3)) == "rate: 3/s"
    assert await session.execute(SetThreads(3)) == "threads: 3"
    assert session.state is RunState.WARMING


async def test_what_was_changed_is_restored_and_reported() -> None:
    session = FakeControllable()
    session.manager.changed = {"sync_binlog", "long_query_time"}
    reply = await session.execute(RestoreSettings(("sync_binlog", "long_query_time")))
    assert reply == "long_query_time is back; sync_binlog is back"
    assert session.told == [(EventKind.SETTING, reply)]
    assert session.manager.asked == [("long_query_time", "sync_binlog")]


async def test_a_stop_ends_the_session() -> None:
    session = FakeControllable()
    await session.execute(Stop())
    assert (session.lifecycle.over.is_set(), session.lifecycle.outcome) == (True, "stopped")


async def test_a_session_without_load_refuses_what_would_change_it() -> None:
    session = FakeControllable()
    session.session.steered_load = None
    with pytest.raises(UsageError, match="has no load to change"):
        await session.execute(SetThreads(3))


# Commands to a session that are refused: in words, and without an event.


COMMANDS: list[AnyCommand] = [
    SetThreads(4),
    SetRate(50),
    SetWeights({"new": 1}),
    SetDelay(20),
    SetHardware("fsync=2ms"),
    SetPlan(PLAN),
    HoldPlan(),
    ResumePlan(),
    CHANGE,
    ApplyPreset("unsafe"),
    RestoreSettings(),
    KeepSettings(),
    TrustServer(),
    Pause(),
    Resume(),
    Mark("x"),
    ResetStats(),
    KillQuery(7),
    FollowPlan(),
    LoadLevel(9, 0.0, "step: 9 threads"),
]


@for_each(
    ("command", "told"),
    [
        *(
            (SetThreads(threads), "threads must be between 1 and 100,000")
            for threads in (0, -1, MAX_THREADS + 1, 10**9)
        ),
        *(
            (SetRate(rate), "the rate must be between 0 and 10,000,000 per second, not")
            for rate in (-0.1, MAX_RATE + 1, math.inf, math.nan)
        ),
        *(
            (SetDelay(delay), "the client delay must be between 0 and 10000ms, not")
            for delay in (-0.1, 10_000.1, math.inf, math.nan)
        ),
    ],
)
async def test_a_value_out_of_range_is_refused_in_words(command: Command, told: str) -> None:
    session = FakeControllable()
    with pytest.raises(UsageError, match=told):
        await session.execute(command)
    assert (session.load.threads, session.load.rate, session.done, session.told) == (8, 0.0, [], [])


def test_the_ends_of_the_ranges_are_in_them() -> None:
    assert [checked_rate(rate) for rate in (0, 0.01, MAX_RATE)] == [0, 0.01, MAX_RATE]
    assert [checked_threads(threads) for threads in (1, MAX_THREADS)] == [1, MAX_THREADS]


@pytest.mark.parametrize("command", [CHANGE, ApplyPreset("unsafe")])
async def test_a_change_the_server_refuses_is_no_event(command: Command) -> None:
    session = FakeControllable()
    session.manager.refusal = SQLError(1227, "you need SUPER", "grant it")
    with pytest.raises(SQLError, match=r"you need SUPER \(error 1227\) \(grant it\)"):
        await session.execute(command)
    assert session.told == []


@pytest.mark.parametrize("command", [CHANGE, ApplyPreset("unsafe")])
async def test_a_production_server_is_changed_after_a_yes_only(command: Command) -> None:
    session = FakeControllable()
    session.guard.signs = ("2 replicas attached",)
    with pytest.raises(UsageError, match="looks like a production server: 2 replicas attached"):
        await session.execute(command)
    assert (session.manager.asked, session.told) == ([], [])
    assert await session.execute(TrustServer()) == "it may be changed"
    assert session.told == [(EventKind.WARNING, "it may be changed")]
    await session.execute(command)
    assert len(session.manager.asked) == 1


async def test_after_a_refusal_the_next_command_has_its_turn() -> None:
    session = FakeControllable()
    session.manager.refusal = TuibenchError("no")
    with pytest.raises(TuibenchError):
        await session.execute(CHANGE)
    assert await session.execute(SetThreads(2)) == "threads: 2"


@for_each("state", [RunState.STOPPING, RunState.ENDED])
@for_each("command", COMMANDS)
async def test_nothing_is_changed_once_the_run_is_ending(state: RunState, command: AnyCommand) -> None:
    session = FakeControllable(state)
    session.plan.moves = [TO_16]
    with pytest.raises(UsageError, match="the run is ending"):
        await session.execute(command)
    assert (session.done, session.told, session.manager.asked) == ([], [], [])


async def test_stopping_twice_is_fine() -> None:
    assert await FakeControllable(RunState.STOPPING).execute(Stop()) == "stopping"


# Commands to a session take turns, and some wait for nobody.


async def test_settings_are_changed_one_after_the_other_in_order() -> None:
    session = FakeControllable()
    session.manager.gate.clear()
    changes = [asyncio.create_task(session.execute(ChangeSetting("s", str(n)))) for n in range(3)]
    await asyncio.sleep(0)
    assert session.manager.asked == [("s", "0")]
    session.manager.gate.set()
    await asyncio.gather(*changes)
    assert session.manager.asked == [("s", "0"), ("s", "1"), ("s", "2")]
    assert session.manager.most_working == 1


async def test_the_load_is_steered_in_order() -> None:
    session = FakeControllable()
    session.load.gate.clear()
    steps = [asyncio.create_task(session.execute(SetThreads(threads))) for threads in (40, 1)]
    steps.append(asyncio.create_task(session.execute(Pause())))
    await asyncio.sleep(0)
    assert session.done == []
    session.load.gate.set()
    await asyncio.gather(*steps)
    done = [word for word in session.done if "by hand" not in word]
    assert done == ["threads 40", "threads 1", "pause", "pause plan"]


@for_each(
    ("command", "events"),
    [
        *((command, 1) for command in (SetThreads(2), SetRate(9), Pause(), Mark("x"), ResetStats())),
        (KillQuery(7), 1),
        (Stop(), 0),
    ],
)
async def test_nobody_waits_for_a_setting_that_hangs(command: Command, events: int) -> None:
    """A query on which it hangs can be killed meanwhile."""
    session = FakeControllable()
    session.manager.gate.clear()
    hanging = asyncio.create_task(session.execute(CHANGE))
    await asyncio.sleep(0)
    await session.execute(command)
    assert len(session.told) == events
    session.manager.gate.set()
    await hanging


async def test_a_reset_is_refused_before_anything_is_measured() -> None:
    for state in (RunState.STARTING, RunState.WARMING):
        session = FakeControllable(state)
        with pytest.raises(UsageError, match="nothing has been measured yet"):
            await session.execute(ResetStats())
        assert session.done == []


async def test_a_kill_that_is_refused_is_no_event() -> None:
    session = FakeControllable()
    session.activity_monitor.refusal = SQLError(1095, "not yours")
    with pytest.raises(SQLError, match="not yours"):
        await session.execute(KillQuery(7))
    assert session.told == []


async def test_a_command_whose_turn_comes_after_the_end_is_refused() -> None:
    """It would change the server after its settings were put back."""
    session = FakeControllable()
    session.manager.gate.clear()
    first = asyncio.create_task(session.execute(CHANGE))
    second = asyncio.create_task(session.execute(ApplyPreset("unsafe")))
    await asyncio.sleep(0)
    session.lifecycle.state = RunState.STOPPING
    session.manager.gate.set()
    await first
    with pytest.raises(UsageError, match="the run is ending"):
        await second
    assert session.manager.asked == [("sync_binlog", "0")]


# What moves the load by itself takes its turn among the commands.


TO_16 = PlannedLevel(30, Quantity.THREADS, 16, 1, "plan 2/2: 16 threads for 1m")
TO_8 = PlannedLevel(0, Quantity.THREADS, 8, 0, "plan 1/2: 8 threads for 30s")
ON_THE_WAY = PlannedLevel(31, Quantity.THREADS, 17, 1)
RAMP = PlannedLevel(30, Quantity.RATE, 0, 1, "plan 2/2: from no rate to 9/s in 1m", is_ramp=True)


async def follow(session: FakeControllable) -> None:
    await session.execute(FollowPlan(), Origin.SESSION)


@pytest.mark.parametrize(
    ("moves", "done", "told"),
    [
        ([TO_16], ["threads 16"], [(EventKind.THREADS, TO_16.text)]),
        ([TO_8], [], [(EventKind.PLAN, TO_8.text)]),
        ([ON_THE_WAY], ["threads 17"], []),
        ([RAMP], ["rate 0"], [(EventKind.RATE, RAMP.text)]),
        ([], [], []),
    ],
)
async def test_a_plan_step_is_reported_once_and_marked_if_a_level_changes(
    moves: list[PlannedLevel], done: list[str], told: Told
) -> None:
    session = FakeControllable()
    session.plan.moves = moves
    await follow(session)
    assert (session.done, session.told) == (done, told)


async def test_a_plan_does_not_ask_again_for_what_the_server_refuses_but_an_operator_may() -> None:
    session = FakeControllable()
    session.load.accepted_connections = 12
    for move in (TO_16, ON_THE_WAY):
        session.plan.moves = [move]
        await follow(session)
    assert session.done == ["threads 12"]
    await session.execute(SetThreads(20))
    assert session.load.threads == 20
    assert session.load.accepted_connections is None


async def test_which_moves_are_due_is_asked_when_their_turn_comes() -> None:
    """A change by hand may have held the plan meanwhile."""
    session = FakeControllable()
    session.load.gate.clear()
    change = asyncio.create_task(session.execute(SetThreads(9)))
    await asyncio.sleep(0)
    session.plan.moves = [TO_16]
    following = asyncio.create_task(follow(session))
    await asyncio.sleep(0)
    session.plan.moves = []
    session.load.gate.set()
    await asyncio.gather(change, following)
    assert session.done == ["threads 9", "threads by hand"]


# What counts as ours on the server: every value that we set, an original that we went back to, too.


SYNC = SettingState(name="sync_binlog", value="1", original="1", meaning="", at_risk=False)
OTHER = SettingState(name="max_connections", value="151", original="151", meaning="", at_risk=False)


class FakeTuner:
    """One setting that can be changed, and one that nobody touches."""

    def __init__(self) -> None:
        self.known = (SYNC, OTHER)

    async def change(self, name: str, value: str) -> SettingState:
        changed = msgspec.structs.replace(SYNC, value=value)
        self.known = (changed, OTHER)
        return changed

    async def apply(self, preset: str) -> tuple[SettingState, ...]:
        return (await self.change("sync_binlog", "0"),)

    async def restore(self, only: Collection[str] = ()) -> list[RestoreResult]:
        await self.change("sync_binlog", "1")
        text = f"sync_binlog 0 → 1, as before ({', '.join(sorted(only))})"
        return [
            RestoreResult(
                setting="sync_binlog", outcome=RestoreOutcome.RESTORED, value="1", original="1", text=text
            )
        ]

    async def keep_values(self, only: Collection[str] = ()) -> list[tuple[SettingState, SettingState]]:
        was = self.known[0]
        self.known = (msgspec.structs.replace(was, original=was.value), OTHER)
        return [(was, self.known[0])]

    def rounding(self, name: str, value: str, now: str) -> str:
        return ""


def settings() -> Settings:
    nobody: Any = None
    return Settings(
        cast(SettingsManager, FakeTuner()),
        cast(Guardian, nobody),
        cast(WorkloadSettings, nobody),
        cast(ProductionGuard, nobody),
        FakeClock(),
        lambda kind, text: None,
    )


async def test_what_was_never_changed_is_not_ours() -> None:
    assert settings().ours == {}


async def test_an_original_that_we_went_back_to_is_no_foreign_change() -> None:
    hand = settings()
    await hand.change("sync_binlog", "0")
    assert hand.ours == {"sync_binlog": "0"}
    await hand.change("sync_binlog", "1")
    assert hand.ours == {"sync_binlog": "1"}


async def test_what_a_preset_set_is_ours() -> None:
    hand = settings()
    await hand.apply("unsafe")
    await hand.change("sync_binlog", "1")
    assert hand.ours == {"sync_binlog": "1"}


async def test_what_was_put_back_is_ours_and_a_name_that_is_no_setting_is_refused() -> None:
    hand = settings()
    await hand.change("sync_binlog", "0")
    assert await hand.restore_named(("sync-binlog",)) == ("sync_binlog 0 → 1, as before (sync_binlog)",)
    assert hand.ours == {"sync_binlog": "1"}
    with pytest.raises(UsageError, match="did you mean 'sync_binlog'"):
        await hand.restore_named(("sync_binlgo",))


async def test_what_is_kept_says_what_a_restart_does() -> None:
    hand = settings()
    await hand.change("sync_binlog", "0")
    assert await hand.keep_named(("sync-binlog",)) == (
        "kept sync_binlog 0 (was 1): until the server restarts, which sets what its option files say; "
        "to keep it for good, in my.cnf below [mysqld]: sync_binlog = 0"
    )
    with pytest.raises(UsageError, match="did you mean 'sync_binlog'"):
        await hand.keep_named(("sync_binlgo",))


async def test_keeping_is_reported_and_is_no_change_whose_effect_is_measured() -> None:
    session = FakeControllable()
    session.manager.changed = {"sync_binlog"}
    reply = await session.execute(KeepSettings(("sync_binlog",)))
    assert session.told == [(EventKind.RESTORE, reply)]
    assert EventKind.RESTORE not in CHANGE_KINDS


async def test_a_stop_that_keeps_does_so_first_and_goes_on_if_it_cannot() -> None:
    session = FakeControllable()
    session.manager.changed = {"sync_binlog"}
    await session.execute(Stop(keeps=True))
    assert [kind for kind, _ in session.told] == [EventKind.RESTORE]
    assert session.lifecycle.over.is_set()
    other = FakeControllable()
    with pytest.raises(UsageError, match="nothing to keep"):
        await other.execute(Stop(keeps=True))
    assert not other.lifecycle.over.is_set(), "the settings would be restored"


# A server that looks like production is changed after a yes only, and asks once.


SIGNS = ("2 replicas attached",)


def test_without_signs_of_production_no_confirmation_is_required(tmp_path: Path) -> None:
    ProductionGuard(SERVER, (), FakeClock(), ProductionConsent(tmp_path / "s")).require_confirmation()


def test_with_signs_it_refuses_until_yes_and_remembers(tmp_path: Path) -> None:
    consent = ProductionConsent(tmp_path / "s")
    caution = ProductionGuard(SERVER, SIGNS, FakeClock(), consent)
    with pytest.raises(ProductionError, match="2 replicas attached"):
        caution.require_confirmation()
    assert caution.confirm().startswith("you allowed changes on ")
    caution.require_confirmation()
    assert caution.signs == ()
    assert ProductionGuard(SERVER, SIGNS, FakeClock(), consent).signs == ()


def test_a_second_yes_is_no_news(tmp_path: Path) -> None:
    caution = ProductionGuard(SERVER, (), FakeClock(), ProductionConsent(tmp_path / "s"))
    assert caution.confirm() == "changes of this server are already allowed"
    assert not (tmp_path / "s").exists()


# When the load is held back for a replica, and when it goes on.


def behind(seconds: float | None, *, is_running: bool = True, name: str = "db2:3306") -> ReplicaSample:
    return ReplicaSample(
        name=name, lag_seconds=seconds, is_running=is_running, state="the applier is stopped"
    )


UNREAD = ReplicaSample(name="db2:3306", note="no answer")


def pauses(limit: LagLimit, *ticks: tuple[ReplicaSample, ...]) -> list[bool | None]:
    decisions = [limit.check(tick) for tick in ticks]
    return [isinstance(decision[0], Pause) if decision else None for decision in decisions]


def test_it_is_held_past_the_limit_and_goes_on_at_half_of_it() -> None:
    ticks = [(behind(seconds),) for seconds in (0, 5, 6, 9, 4, 3, 2, 0)]
    assert pauses(LagLimit(5.0), *ticks) == [None, None, True, None, None, None, False, None]


def test_a_replica_that_stopped_holds_it_too() -> None:
    limit = LagLimit(5.0)
    assert pauses(limit, (behind(None, is_running=False),), (behind(0),)) == [True, False]
    decision = limit.check((behind(0), behind(None, is_running=False, name="db3:3306")))
    assert decision is not None
    assert decision[1] == (
        "load paused: replica db3:3306 does not replicate: the applier is stopped (--max-lag 5.0 s)"
    )


def test_what_cannot_be_read_decides_nothing() -> None:
    assert pauses(LagLimit(5.0), (UNREAD,), (behind(9),), (UNREAD,), ()) == [None, True, None, None]


def test_all_must_have_caught_up() -> None:
    two = [
        (behind(9), behind(0, name="b")),
        (behind(0), behind(4, name="b")),
        (behind(1), behind(1, name="b")),
    ]
    assert pauses(LagLimit(5.0), *two) == [True, None, False]


async def test_decisions_are_the_operators_commands_and_a_refusal_is_reported() -> None:
    submitted: list[Command] = []
    told: list[tuple[EventKind, str]] = []
    tasks: list[asyncio.Task[None]] = []

    async def submit(command: Command) -> str:
        submitted.append(command)
        if isinstance(command, Resume):
            raise UsageError("the run is ending")
        return ""

    def start(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        tasks.append(asyncio.create_task(work, name=name))
        return tasks[-1]

    guard = LagGuard(5.0, submit, lambda kind, text: told.append((kind, text)), start)
    guard.tick((behind(9),))
    guard.tick((behind(0),))
    await asyncio.gather(*tasks)
    assert submitted == [Pause(), Resume()]
    assert [text.partition(":")[0] for _, text in told] == [
        "load paused",
        "load resumed",
        "--max-lag",
    ]
