"""Recorded runs are shown again; samples and events of a session."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from tests.examples import EVENT, LATENCY, load_part, sample
from tests.fakes import FakeClock
from tests.ticks import GAUGE_NAMES
from tests.tui.support.script import server_part
from tests.unit.record.written import setting_changed, written
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.clock import NS_PER_SECOND
from tuibench.metrics.figures import read
from tuibench.model.counters import CUMULATIVE_NAMES
from tuibench.model.effect import CommitCosts
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.message import REPLAY_REFUSAL, REPLAY_SPEEDS, Hello, ReplayState, SetThreads, Status
from tuibench.model.tick import Sample
from tuibench.record.reader import Run, load_run
from tuibench.session.events import EventLog, SampleHistory, Steps
from tuibench.session.replay import ReplayClient, ReplayMessage

# A replay says what the session said, when it said it; it can be moved through, and not steered.


Heard = list[tuple[float, ReplayMessage]]
Play = Callable[[ReplayClient], Awaitable[None]]


async def watching(_: ReplayClient) -> None:
    """Just look."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Six seconds, with a change of a setting at 2.5."""
    written(tmp_path / "r1", ticks=6)
    return load_run(tmp_path / "r1")


def heard(run: Run, play: Play = watching, seconds: float = 10.0, speed: float = 1.0) -> tuple[Hello, Heard]:
    """What a screen hears in so many seconds of its own time, and when."""

    async def scenario(clock: VirtualClock) -> tuple[Hello, Heard]:
        client = ReplayClient(run, speed, clock)
        said: Heard = []

        async def listen() -> None:
            async for message in client.messages():
                said.append((clock.time(), message))

        listening = asyncio.create_task(listen())
        playing = asyncio.ensure_future(play(client))
        await clock.sleep(seconds)
        await client.close()
        await asyncio.gather(listening, playing)
        return client.hello, said

    return in_no_time(scenario)


def samples(said: Heard) -> list[tuple[float, int]]:
    return [(at, message.number) for at, message in said if isinstance(message, Sample)]


def states(said: Heard) -> list[ReplayState]:
    return [message for _, message in said if isinstance(message, ReplayState)]


def test_it_begins_as_a_viewer_would_have(run: Run) -> None:
    hello, _ = heard(run)
    assert (hello.plan, hello.server, hello.samples) == (run.plan.plan, run.plan.server, ())
    assert hello.events == (EVENT,)
    assert hello.status == run.states[0][1]


def test_everything_comes_at_its_time(run: Run) -> None:
    _, said = heard(run)
    assert samples(said) == [(float(number), number) for number in range(1, 7)]
    events = [(at, message) for at, message in said if isinstance(message, Event)]
    assert events == [(2.5, setting_changed(2.5))]
    assert [message for _, message in said if isinstance(message, Status)] == [run.states[1][1]]
    costs = [message for _, message in said if isinstance(message, CommitCosts)]
    assert costs[-1].costs == run.costs[-1]


def test_replay_pauses_at_the_end(run: Run) -> None:
    last = states(heard(run)[1])[-1]
    assert (last.paused, last.position_seconds, last.last_seconds) == (True, 6.0, 6.0)


@pytest.mark.parametrize(
    ("speed", "times"), [(2.0, [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]), (0.5, [2.0, 4.0, 6.0, 8.0])]
)
def test_the_speed_is_how_many_times_as_fast(run: Run, speed: float, times: list[float]) -> None:
    _, said = heard(run, seconds=9.0, speed=speed)
    assert [at for at, _ in samples(said)] == times


def test_very_fast_it_shows_pictures_instead_of_single_messages(run: Run) -> None:
    _, said = heard(run, speed=64.0)
    assert not samples(said)
    (picture,) = [message for _, message in said if isinstance(message, Hello)]
    assert [sample.number for sample in picture.samples] == [1, 2, 3, 4, 5, 6]


def test_a_pause_lasts_until_it_goes_on(run: Run) -> None:
    async def play(client: ReplayClient) -> None:
        await client._clock.sleep(2.5)
        client.toggle()
        await client._clock.sleep(3.0)
        client.toggle()

    _, said = heard(run, play)
    assert samples(said) == [(1.0, 1), (2.0, 2), (6.0, 3), (7.0, 4), (8.0, 5), (9.0, 6)]


def test_after_a_jump_the_history_up_to_that_position_is_sent(run: Run) -> None:
    async def play(client: ReplayClient) -> None:
        await client._clock.sleep(0.5)
        client.seek(4.0)
        await client._clock.sleep(1.0)
        client.seek(-4.0)

    _, said = heard(run, play)
    on, back = [(at, message) for at, message in said if isinstance(message, Hello)]
    assert (on[0], [sample.number for sample in on[1].samples]) == (0.5, [1, 2, 3, 4])
    assert (on[1].status, on[1].events) == (run.states[1][1], (EVENT, setting_changed(2.5)))
    assert (back[0], [sample.number for sample in back[1].samples]) == (1.5, [1])
    assert (back[1].status, back[1].events) == (run.states[0][1], (EVENT,))
    assert samples(said)[:2] == [(1.0, 5), (2.0, 2)]


def test_a_jump_ends_at_the_ends(run: Run) -> None:
    async def play(client: ReplayClient) -> None:
        await client._clock.sleep(1.0)
        client.seek(1e9)
        await client._clock.sleep(1.0)
        client.seek(-1e9)

    places = [state.position_seconds for state in states(heard(run, play, 2.5)[1])]
    assert (max(places), places[-1] < 1.0) == (6.0, True)


def test_from_the_end_it_goes_on_at_the_beginning(run: Run) -> None:
    async def play(client: ReplayClient) -> None:
        await client._clock.sleep(7.0)
        client.toggle()

    _, said = heard(run, play)
    assert samples(said)[-2:] == [(8.0, 1), (9.0, 2)]


def test_the_speed_goes_up_and_down_in_steps(run: Run) -> None:
    async def play(client: ReplayClient) -> None:
        client.faster()
        await client._clock.sleep(0.1)
        for _ in range(20):
            client.slower()
        await client._clock.sleep(0.1)
        for _ in range(20):
            client.faster()

    speeds = [state.speed for state in states(heard(run, play, 0.3)[1])]
    assert 2.0 in speeds
    assert (min(speeds), max(speeds)) == (REPLAY_SPEEDS[0], REPLAY_SPEEDS[-1])


def test_nothing_can_be_steered(run: Run) -> None:
    async def scenario(clock: VirtualClock) -> str:
        answer = await ReplayClient(run, 1.0, clock).submit(SetThreads(3))
        assert not answer.ok
        return answer.text

    assert in_no_time(scenario) == REPLAY_REFUSAL


def test_a_record_without_states_is_shown_all_the_same(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    (tmp_path / "r1" / "status.jsonl").unlink()
    hello, said = heard(load_run(tmp_path / "r1"))
    assert hello.status.threads == 8
    assert len(samples(said)) == 3


# The past is bounded and slim; the newest sample is whole.


def whole(number: int) -> Sample:
    server = server_part(1, 100.0, 8, 1.0)
    return sample(number, load=load_part(statements={"begin": LATENCY}), server=server)


def kept(history: SampleHistory, wanted: int) -> list[Sample]:
    """The samples as a viewer decodes them."""
    return msgspec.json.decode(msgspec.json.encode(history.newest(wanted)), type=list[Sample])


@pytest.mark.parametrize(("wanted", "got"), [(0, []), (1, [5]), (2, [4, 5]), (3, [3, 4, 5]), (9, [3, 4, 5])])
def test_the_newest_are_kept_in_order(wanted: int, got: list[int]) -> None:
    history = SampleHistory(most=3)
    for number in range(1, 6):
        history.add(sample(number))
    assert [each.number for each in kept(history, wanted)] == got


def test_only_the_newest_is_whole() -> None:
    history = SampleHistory()
    history.add(whole(1))
    history.add(whole(2))
    old, new = kept(history, 2)
    assert new.tick.sums == whole(2).tick.sums
    assert old.load is not None
    assert (old.load.named("stmt."), old.tick.hist("response")) == ({}, whole(1).tick.hist("response"))
    assert old.server is not None
    new_server = new.server
    assert new_server is not None
    assert not (CUMULATIVE_NAMES | GAUGE_NAMES) & set(old.tick.levels)
    assert {name for name in old.tick.sums if name in CUMULATIVE_NAMES} == {
        "Innodb_os_log_fsyncs",
        "Innodb_data_fsyncs",
        "Innodb_buffer_pool_reads",
        "Innodb_buffer_pool_read_requests",
    }
    for figure in ("threads_running", "threads_connected", "open_tables", "pool_hit"):
        assert read(figure, old.server) == read(figure, new_server) is not None, figure
    assert read("fsyncs", old.server) == read("fsyncs", new_server) == 1.0


def test_a_sample_with_missing_parts_stays_one() -> None:
    history = SampleHistory()
    history.add(sample(1, load=None, server=None))
    history.add(sample(2))
    assert kept(history, 2)[0] == sample(1, load=None, server=None)


# The run's log: times, markers, and that everybody hears everything once.


def test_elapsed_time_counts_from_the_start_of_the_load() -> None:
    clock, heard = FakeClock(), list[Event]()
    log = EventLog(clock, heard.append)
    clock.advance(5)
    log.emit(EventKind.WARNING, "early")
    log.start(clock.now_ns() + NS_PER_SECOND)
    log.emit(EventKind.START, "a second before")
    clock.advance(3)
    log.emit(EventKind.STOP, "after")
    assert [event.elapsed_seconds for event in heard] == [0.0, -1.0, 2.0]
    assert heard == log.events
    assert heard[2].at == clock.wall_seconds()


def test_only_changes_are_numbered_and_without_a_gap() -> None:
    log = EventLog(FakeClock(), lambda event: None)
    for kind in EventKind:
        log.emit(kind, kind)
    numbered = [event for event in log.events if event.marker is not None]
    assert {event.kind for event in numbered} == CHANGE_KINDS
    assert [event.marker for event in numbered] == list(range(1, len(CHANGE_KINDS) + 1))


def test_presses_that_follow_each_other_are_one_change_with_one_marker() -> None:
    clock, heard = FakeClock(), list[Event]()
    log = EventLog(clock, heard.append)
    log.start(clock.now_ns())
    for threads in (8, 9, 10):
        clock.advance(2.9)
        log.emit_threads(threads, threads + 1)
    assert [(event.marker, event.text) for event in log.events] == [(1, "threads 8 → 11")]
    assert [event.text for event in heard] == ["threads 8 → 9", "threads 8 → 10", "threads 8 → 11"]
    clock.advance(3.1)
    log.emit_threads(11, 12)
    log.emit(EventKind.MARK, "mark")
    log.emit_threads(12, 13)
    assert [(event.marker, event.text) for event in log.events][1:] == [
        (2, "threads 11 → 12"),
        (3, "mark"),
        (4, "threads 12 → 13"),
    ]


def test_threads_that_go_back_at_once_are_two_changes() -> None:
    log = EventLog(FakeClock(), lambda event: None)
    log.emit_threads(8, 9)
    log.emit_threads(9, 8)
    assert [event.text for event in log.events] == ["threads 8 → 9", "threads 9 → 8"]


def test_only_the_first_step_of_an_experiment_is_numbered() -> None:
    log = EventLog(FakeClock(), lambda event: None)
    log.steps = Steps(EventKind.SETTING, "A/B test", is_numbered=True)
    for text in ("sync_binlog 1 → 0", "innodb_flush_log_at_trx_commit 1 → 0"):
        log.emit(EventKind.SETTING, text)
    log.emit(EventKind.MARK, "mark")
    assert [(event.marker, event.experiment) for event in log.events] == [
        (1, "A/B test"),
        (None, "A/B test"),
        (2, ""),
    ]
