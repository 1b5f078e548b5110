"""The service of a session: clients, viewers, their queues, and the time without any."""

import asyncio
import contextlib
import os
import signal
import stat
from functools import partial
from pathlib import Path
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import EVENT, hello, sample, status, summary
from tests.unit.load.driving import until
from tests.unit.session.fakes import FakeSession, service_spec
from tests.unit.session.serving import Serve, next_of, stranger
from tuibench.base.errors import RunError, SessionUnreachableError, UsageError
from tuibench.model.event import Event
from tuibench.model.message import (
    PROTOCOL_VERSION,
    READ_ONLY_REFUSAL,
    CommandReply,
    Mark,
    RunState,
    SampleGap,
    SessionEnded,
    SessionMessage,
    SetThreads,
    Status,
    Stop,
    Watch,
)
from tuibench.model.tick import Sample
from tuibench.session import service
from tuibench.session import service as service_module
from tuibench.session.client import Peer, SessionClient
from tuibench.session.load_run import LoadRun
from tuibench.session.registry import LONGEST_LINE_BYTES
from tuibench.session.service import (
    FIRST_VIEWER_SECONDS,
    MAX_PENDING_COMMANDS,
    Outbox,
    SessionService,
    encode_line,
)

# A session behind its socket: who may listen, and who hears what.


# What viewers hear


async def test_a_viewer_hears_first_what_it_must_know(serve: Serve) -> None:
    async with serve() as served:
        client = await served.join()
        assert client.hello == hello(viewers=1, grace_seconds=60.0)
        await client.close()


async def test_a_viewer_that_may_only_look_is_refused_what_steers(serve: Serve) -> None:
    async with serve() as served:
        viewer = await SessionClient.join(served.socket, read_only=True)
        for command in (Mark(), SetThreads(99), Stop()):
            answer = await viewer.submit(command)
            assert (answer.ok, answer.text) == (False, READ_ONLY_REFUSAL)
        assert (await viewer.submit(Watch("activity"))).ok
        assert served.session.submitted == [Watch("activity")]
        await viewer.close()


async def test_who_only_asks_gets_the_newest_sample_and_is_no_viewer(serve: Serve) -> None:
    async with serve() as served:
        served.session.past = [sample(number) for number in range(1, 4)]
        served.session.told = [EVENT]
        caller = await SessionClient.connect(served.socket)
        assert caller.hello == hello(samples=(sample(3),), grace_seconds=60.0)
        assert (await caller.submit(Mark())).ok
        await caller.close()
        assert served.cancelled == 0
        assert served.session.viewer_pids == set()


@pytest.mark.parametrize(("wanted", "got"), [(2, [2, 3]), (0, []), (99, [1, 2, 3])])
async def test_a_viewer_gets_as_much_of_the_past_as_it_asks_for(
    serve: Serve, wanted: int, got: list[int]
) -> None:
    async with serve() as served:
        served.session.past = [sample(number) for number in range(1, 4)]
        served.session.told = [EVENT]
        client = await SessionClient.join(served.socket, samples=wanted)
        assert [each.number for each in client.hello.samples] == got
        assert client.hello.events == (EVENT,)
        await client.close()


async def test_everybody_hears_the_same(serve: Serve) -> None:
    async with serve() as served:
        clients = [await served.join() for _ in range(2)]
        said: list[SessionMessage] = [sample(1), EVENT, status(state=RunState.PAUSED), sample(2)]
        for message in said:
            served.session.say(message)
        for client in clients:
            assert await next_of(client, len(said)) == said
            await client.close()


async def test_the_end_is_the_last_word(serve: Serve) -> None:
    async with serve() as served:
        client = await served.join()
        served.session.say(sample(1))
        await served.end()
        heard = [message async for message in client.messages()]
        ended = SessionEnded(
            summary=summary(), text="the summary\n", run_directory=served.session.spec.run_directory
        )
        assert heard == [sample(1), ended]
        assert not served.socket.exists()
        await client.close()


async def test_other_users_may_not_connect(serve: Serve) -> None:
    async with serve() as served:
        assert stat.S_IMODE(served.socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(served.socket.parent.stat().st_mode) == 0o700


async def test_another_users_viewer_is_turned_away(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "peer_of", lambda sock: Peer(1, os.getuid() + 1))
    async with serve() as served:
        with pytest.raises(RunError, match="closed the connection"):
            await served.join()


async def test_viewers_are_known_by_their_process_while_they_are_there(serve: Serve) -> None:
    async with serve() as served:
        client = await served.join()
        await until(lambda: served.session.viewer_pids == {os.getpid()})
        await client.close()
        await until(lambda: served.session.viewer_pids == set())


# What goes wrong at the start


async def test_an_unusable_socket_folder_is_reported_with_a_remedy(tuibench_home: Path) -> None:
    session = FakeSession(tuibench_home)
    (tuibench_home / "file").touch()
    path = tuibench_home / "file" / "s1.sock"
    with pytest.raises(RunError, match=r"cannot listen at .*TUIBENCH_HOME"):
        await SessionService(cast("LoadRun", session), service_spec(session, path)).serve()


# A session behind its socket: what viewers say, too much of it, and those who do not read.


async def test_an_answer_carries_the_number_of_its_command(serve: Serve) -> None:
    async with serve() as served:
        reader, writer = await served.raw()
        writer.write(b'{"type":"submit","id":41,"command":{"type":"mark","text":"x"}}\n')
        assert msgspec.json.decode(await reader.readline(), type=CommandReply) == CommandReply(
            id=41, ok=True, text="did 1"
        )
        assert served.session.submitted == [Mark("x")]
        writer.close()


async def test_each_viewer_gets_its_own_answers(serve: Serve) -> None:
    async with serve() as served:
        first, second = await served.join(), await served.join()
        answers = await asyncio.gather(
            first.submit(Mark("a")), second.submit(Mark("b")), first.submit(Stop())
        )
        assert [answer.id for answer in answers] == [1, 1, 2]
        assert {answer.text for answer in answers} == {"did 1", "did 2", "did 3"}
        await first.close()
        await second.close()


async def test_a_refusal_is_an_answer_in_words(serve: Serve) -> None:
    async with serve() as served:
        served.session.refusal = UsageError("threads must be more", "try 1")
        client = await served.join()
        answer = await client.submit(SetThreads(0))
        assert (answer.ok, answer.text) == (False, "threads must be more (try 1)")
        await client.close()


@pytest.mark.parametrize(
    "line",
    [
        b"hello?\n",
        b'{"type":"submit","id":1}\n',
        b'{"type":"submit","id":1,"command":{"type":"format disk"}}\n',
        b'{"type":"submit","id":"one","command":{"type":"stop"}}\n',
        b"\xff\xfe\n",
        b'{"\xff":1}\n',
        b'{"type":"submit","id":1,"command":{"type":"mark","text":"\xff"}}\n',
        b"\n",
    ],
)
async def test_what_is_no_command_is_said_to_be_none_and_passed_over(serve: Serve, line: bytes) -> None:
    async with serve() as served:
        reader, writer = await served.raw()
        writer.write(line)
        answer = msgspec.json.decode(await reader.readline(), type=CommandReply)
        assert not answer.ok
        assert answer.text.startswith("not a command: ")
        assert served.session.submitted == []
        writer.write(b'{"type":"submit","id":7,"command":{"type":"mark","text":"x"}}\n')
        answer = msgspec.json.decode(await reader.readline(), type=CommandReply)
        assert (answer.id, answer.ok) == (7, True)
        writer.close()


async def test_a_line_without_an_end_is_not_read_for_ever(serve: Serve) -> None:
    async with serve() as served:
        reader, writer = await served.raw()
        with contextlib.suppress(ConnectionError):
            writer.write(b"x" * (4 * LONGEST_LINE_BYTES))
            await writer.drain()
        with contextlib.suppress(ConnectionError):
            assert b"too long" in await reader.read()
        writer.close()
        other = await served.join()
        assert (await other.submit(Mark())).ok
        await other.close()


async def test_a_command_is_carried_out_though_its_viewer_leaves(serve: Serve) -> None:
    async with serve() as served:
        served.session.answering.clear()
        _, writer = await served.raw_viewer()
        writer.write(b'{"type":"submit","id":1,"command":{"type":"stop"}}\n')
        await until(lambda: served.session.submitted == [Stop()])
        writer.close()
        await until(lambda: len(served.timers) == 2)
        served.session.answering.set()
        other = await served.join()
        assert (await other.submit(Mark())).ok
        await other.close()


async def test_a_viewer_that_does_not_read_is_dropped_and_the_others_go_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "Outbox", partial(Outbox, most_bytes=1 << 16))
    async with serve() as served:
        _, sleeper = await served.raw_viewer()
        client = await served.join()
        bulky = msgspec.structs.replace(EVENT, text="x" * 50_000)
        messages = client.messages()
        for _ in range(40):
            served.session.say(bulky)
            assert await anext(messages) == bulky
        await client.close()
        await until(lambda: len(served.timers) == 2)
        sleeper.close()


async def test_a_slow_viewer_misses_samples_and_is_notified(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it does not read, more is said than fits on its way; then it reads again."""
    monkeypatch.setattr(service, "Outbox", partial(Outbox, most_samples=3))
    async with serve() as served:
        reader, writer = await served.raw_viewer()
        told = [msgspec.structs.replace(EVENT, text=f"{number} {'x' * 20_000}") for number in range(40)]
        for number, event in enumerate(told, 1):
            served.session.say(sample(number))
            served.session.say(event)
            await asyncio.sleep(0)
        heard: list[SessionMessage] = []
        while not heard or heard[-1] != told[-1]:
            heard.append(msgspec.json.decode(await reader.readline(), type=SessionMessage))
        assert [each for each in heard if isinstance(each, Event)] == told
        numbers = [each.number for each in heard if isinstance(each, Sample)]
        missed = sum(each.samples for each in heard if isinstance(each, SampleGap))
        assert missed > 0
        assert len(numbers) + missed == len(told)
        assert numbers == sorted(numbers)
        writer.close()


async def test_so_many_commands_at_once_are_too_many(serve: Serve) -> None:
    async with serve() as served:
        served.session.answering.clear()
        client = await served.join()
        asked = [asyncio.create_task(client.submit(Mark())) for _ in range(MAX_PENDING_COMMANDS + 1)]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result().text for task in done] == [
            f"{MAX_PENDING_COMMANDS} commands are already waiting"
        ]
        served.session.answering.set()
        assert sum(answer.ok for answer in await asyncio.gather(*asked)) == MAX_PENDING_COMMANDS
        await client.close()


# The viewer's end of a session's socket: nobody there, somebody else, and sessions that vanish.


async def test_a_missing_session_is_reported(tuibench_home: Path) -> None:
    with pytest.raises(RunError, match=r"no session answers at .*it may have ended"):
        await SessionClient.connect(tuibench_home / "none.sock")


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n", "is not a session of this"),
        (b'{"protocol":"\xff","\xff":1}\n', "is not a session of this"),
        (
            msgspec.json.encode(hello(protocol=PROTOCOL_VERSION + 1)) + b"\n",
            f"protocol {PROTOCOL_VERSION + 1}",
        ),
        (msgspec.json.encode(EVENT) + b"\n", "is not a session of this"),
    ],
)
async def test_a_foreign_program_behind_the_socket_is_reported(
    tuibench_home: Path, greeting: bytes, words: str
) -> None:
    async with stranger(tuibench_home / "s.sock", greeting):
        with pytest.raises(RunError, match=words):
            await SessionClient.connect(tuibench_home / "s.sock")


async def test_a_command_whose_session_vanishes_is_an_error(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    async with stranger(path, msgspec.json.encode(hello()) + b"\n") as hang_up:
        client = await SessionClient.connect(path)
        waiting = [asyncio.create_task(client.submit(Mark())) for _ in range(2)]
        await asyncio.sleep(0)
        hang_up.set()
        for task in waiting:
            with pytest.raises(RunError, match="ended before it answered"):
                await task
        with pytest.raises(RunError, match="ended before it answered"):
            await client.submit(Stop())
        assert [message async for message in client.messages()] == []
        await client.close()


async def test_lines_the_viewer_does_not_know_are_passed_over(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    said = [hello(), {"type": "weather"}, sample(1), CommandReply(id=99, ok=True, text="nobody asked")]
    lines = b"".join(msgspec.json.encode(message) + b"\n" for message in said)
    async with stranger(path, lines) as hang_up:
        client = await SessionClient.connect(path)
        hang_up.set()
        assert [message async for message in client.messages()] == [sample(1)]
        await client.close()


async def test_a_session_that_is_stopped_is_not_waited_for(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    async with stranger(path, b" "):
        with pytest.raises(SessionUnreachableError, match="does not answer"):
            await SessionClient.connect(path, timeout_seconds=0.05)


async def test_a_session_that_ends_before_it_lets_a_viewer_join_is_an_error(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    async with stranger(path, msgspec.json.encode(hello()) + b"\n") as hang_up:
        joining = asyncio.create_task(SessionClient.join(path))
        await asyncio.sleep(0)
        hang_up.set()
        with pytest.raises(
            SessionUnreachableError, match=r"before the viewer could join|closed the connection"
        ):
            await joining


# What a slow viewer misses, and what it never does.


MOST = 3
ENDED = SessionEnded(summary=summary(), text="", run_directory="/r")
KINDS = st.sampled_from(["sample", "event", "status", "answer", "take"])


def made(kind: str, number: int) -> SessionMessage:
    match kind:
        case "sample":
            return sample(number)
        case "event":
            return msgspec.structs.replace(EVENT, text=str(number))
        case "status":
            return status(threads=number)
        case _:
            return CommandReply(id=number, ok=True, text="")


def put(outbox: Outbox, message: SessionMessage) -> None:
    outbox.put(message, encode_line(message))


def taken(outbox: Outbox) -> list[SessionMessage]:
    lines = iter(outbox.next_line, None)
    return [msgspec.json.decode(line, type=SessionMessage) for line in lines if line is not None]


@given(st.lists(KINDS, max_size=60))
def test_only_samples_and_old_states_are_dropped_and_every_dropped_sample_is_reported(
    kinds: list[str],
) -> None:
    outbox = Outbox(most_samples=MOST)
    given_: list[SessionMessage] = []
    got: list[SessionMessage] = []
    for number, kind in enumerate(kinds):
        if kind == "take":
            line = outbox.next_line()
            got += [msgspec.json.decode(line, type=SessionMessage)] if line else []
        else:
            given_.append(made(kind, number))
            put(outbox, given_[-1])
    got += taken(outbox)
    kept = (Event, CommandReply)
    assert [each for each in got if isinstance(each, kept)] == [
        each for each in given_ if isinstance(each, kept)
    ]
    missed = sum(each.samples for each in got if isinstance(each, SampleGap))
    samples = [each for each in got if isinstance(each, Sample)]
    assert len(samples) + missed == sum(isinstance(each, Sample) for each in given_)
    assert [each for each in given_ if each in got] == [
        each for each in got if not isinstance(each, SampleGap)
    ]
    states = [each for each in given_ if isinstance(each, Status)]
    assert [each for each in got if isinstance(each, Status)][-1:] == states[-1:]
    assert len(outbox) == 0
    assert not outbox.is_overfull


def test_the_oldest_samples_are_dropped_and_the_gap_is_sent_before_the_rest() -> None:
    outbox = Outbox(most_samples=2)
    for message in (sample(1), EVENT, sample(2), sample(3), sample(4), ENDED):
        put(outbox, message)
    assert taken(outbox) == [SampleGap(samples=2), EVENT, sample(3), sample(4), ENDED]


def test_a_viewer_that_never_reads_is_overfull_by_what_cannot_be_left_out() -> None:
    outbox = Outbox(most_samples=2, most_bytes=10_000)
    for number in range(1000):
        put(outbox, sample(number))
        put(outbox, status(threads=number))
    states = [outbox.is_overfull]
    for _ in range(100):
        put(outbox, EVENT)
    states.append(outbox.is_overfull)
    taken(outbox)
    assert [*states, outbox.is_overfull] == [False, True, False]


# A session behind its socket: how long it waits for viewers, and what ends it.


async def test_the_first_viewer_has_time_to_come_whatever_the_grace(serve: Serve) -> None:
    async with serve(grace_seconds=0.0) as served:
        assert [seconds for seconds, _, _ in served.timers] == [FIRST_VIEWER_SECONDS]


async def test_the_grace_begins_when_the_last_viewer_leaves_and_ends_when_one_comes(serve: Serve) -> None:
    async with serve(grace_seconds=45.0) as served:
        first, second = await served.join(), await served.join()
        assert (len(served.timers), served.cancelled) == (1, 1)
        await first.close()
        await until(lambda: len(served.session.viewer_pids) == 0)
        assert len(served.timers) == 1
        await second.close()
        await until(lambda: len(served.timers) == 2)
        assert served.timers[1][0] == 45.0
        third = await served.join()
        assert served.cancelled == 2
        await third.close()


async def test_when_the_grace_is_over_the_run_is_stopped_in_good_order(serve: Serve) -> None:
    async with serve(grace_seconds=45.0) as served:
        _, ring, words = served.timers[0]
        ring(*words)
        await served.serving
        assert served.session.stops == ["stopped"]


async def test_a_detached_session_continues_without_viewers(serve: Serve) -> None:
    async with serve(grace_seconds=None) as served:
        client = await served.join()
        await client.close()
        await until(lambda: served.session.viewer_pids == set())
        assert served.timers == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_signal_ends_the_run_with_its_summary(serve: Serve, number: signal.Signals) -> None:
    async with serve() as served:
        client = await served.join()
        os.kill(os.getpid(), number)
        heard = [message async for message in client.messages()]
        assert isinstance(heard[-1], SessionEnded)
        assert served.session.stops == ["interrupted"]
        await client.close()
