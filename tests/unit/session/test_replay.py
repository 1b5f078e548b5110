"""A replay says what the session said, when it said it; it can be moved through, and not steered."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.examples import EVENT
from tests.unit.record.written import setting_changed, written
from tests.virtual import VirtualClock, in_no_time
from tuibench.model.command import SetThreads
from tuibench.model.event import Event
from tuibench.model.experiments.effect import CommitCosts
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import REPLAY_REFUSAL, REPLAY_SPEEDS, Hello, ReplayState, Status
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import Run
from tuibench.session.replay import ReplayClient, ReplayMessage

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
    assert hello.status == run.states[0].status


def test_everything_comes_at_its_time(run: Run) -> None:
    _, said = heard(run)
    assert samples(said) == [(float(number), number) for number in range(1, 7)]
    events = [(at, message) for at, message in said if isinstance(message, Event)]
    assert events == [(2.5, setting_changed(2.5))]
    assert [message for _, message in said if isinstance(message, Status)] == [run.states[1].status]
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
    assert (on[1].status, on[1].events) == (run.states[1].status, (EVENT, setting_changed(2.5)))
    assert (back[0], [sample.number for sample in back[1].samples]) == (1.5, [1])
    assert (back[1].status, back[1].events) == (run.states[0].status, (EVENT,))
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
