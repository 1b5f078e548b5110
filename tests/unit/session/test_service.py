"""A session behind its socket: who hears what, who may say what, and how long it waits for viewers."""

import asyncio
import contextlib
import json
import os
import signal
import stat
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.examples import EVENT, hello, sample, status, summary
from tests.unit.load.driving import until
from tests.unit.session.fakes import FakeSession, service_spec
from tuibench.errors import RunError, SessionAwayError, UsageError
from tuibench.model.command import Mark, SetThreads, Stop, WatchActivity
from tuibench.model.event import Event
from tuibench.model.message import PROTOCOL_VERSION, READ_ONLY, Answer, Downward, Ended, Gap, RunState
from tuibench.model.sample import Sample
from tuibench.session import service as service_module
from tuibench.session import viewers
from tuibench.session.client import SessionClient
from tuibench.session.core import Session
from tuibench.session.door import LONGEST_LINE_BYTES
from tuibench.session.outbox import Outbox
from tuibench.session.peers import Peer
from tuibench.session.service import FIRST_VIEWER_SECONDS, Service
from tuibench.session.viewers import MOST_AT_ONCE

Timer = tuple[float, Callable[..., object], tuple[object, ...]]


class Served:
    """A service under test: its fake session, its socket, and the grace timers it has set."""

    def __init__(self, session: FakeSession, socket: Path) -> None:
        self.session = session
        self.socket = socket
        self.timers: list[Timer] = []
        self.cancelled = 0
        self.serving: asyncio.Task[None]

    async def join(self) -> SessionClient:
        return await SessionClient.join(self.socket)

    async def raw(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A viewer without our client: its hello has been read."""
        reader, writer = await asyncio.open_unix_connection(self.socket)
        assert json.loads(await reader.readline())["type"] == "hello"
        return reader, writer

    async def raw_viewer(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The same, after it has joined."""
        reader, writer = await self.raw()
        writer.write(b'{"type":"join","samples":0}\n')
        assert json.loads(await reader.readline())["type"] == "hello"
        return reader, writer

    async def end(self) -> None:
        self.session.end()
        await self.serving


class Handle:
    """A timer that only the test rings."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def cancel(self) -> None:
        self._served.cancelled += 1


Serve = Callable[..., contextlib.AbstractAsyncContextManager[Served]]


@pytest.fixture
def serve(tuibench_home: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    monkeypatch.setattr(service_module, "_tell_launcher", lambda message: None)

    @contextlib.asynccontextmanager
    async def started(grace_seconds: float | None = 60.0) -> AsyncIterator[Served]:
        session = FakeSession(tuibench_home)
        served = Served(session, tuibench_home / "run" / "s1.sock")
        loop = asyncio.get_running_loop()
        really = loop.call_later

        def call_later(seconds: float, callback: Callable[..., object], *args: Any, **more: Any) -> Any:
            if callback != session.request_stop:
                return really(seconds, callback, *args, **more)
            served.timers.append((seconds, callback, args))
            return Handle(served)

        monkeypatch.setattr(loop, "call_later", call_later)
        service = Service(cast("Session", session), service_spec(session, served.socket, grace_seconds))
        served.serving = asyncio.create_task(service.serve())
        await until(lambda: bool(served.timers) or (grace_seconds is None and served.socket.exists()))
        try:
            yield served
        finally:
            await served.end()
            for number in service_module.STOPPING_SIGNALS:
                loop.remove_signal_handler(number)

    return started


async def next_of(client: SessionClient, count: int) -> list[object]:
    messages = client.messages()
    return [await anext(messages) for _ in range(count)]


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
            assert (answer.ok, answer.text) == (False, READ_ONLY)
        assert (await viewer.submit(WatchActivity())).ok
        assert served.session.submitted == [WatchActivity()]
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
        said: list[Downward] = [sample(1), EVENT, status(state=RunState.PAUSED), sample(2)]
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
        ended = Ended(
            summary=summary(), text="the summary\n", run_directory=served.session.spec.run_directory
        )
        assert heard == [sample(1), ended]
        assert not served.socket.exists()
        await client.close()


async def test_nobody_else_may_join(serve: Serve) -> None:
    async with serve() as served:
        assert stat.S_IMODE(served.socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(served.socket.parent.stat().st_mode) == 0o700


async def test_another_users_viewer_is_turned_away(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "peer_of", lambda sock: Peer(1, os.getuid() + 1))
    async with serve() as served:
        with pytest.raises(RunError, match="hung up"):
            await served.join()


async def test_viewers_are_known_by_their_process_while_they_are_there(serve: Serve) -> None:
    async with serve() as served:
        client = await served.join()
        await until(lambda: served.session.viewer_pids == {os.getpid()})
        await client.close()
        await until(lambda: served.session.viewer_pids == set())


# What viewers say


async def test_an_answer_carries_the_number_of_its_command(serve: Serve) -> None:
    async with serve() as served:
        reader, writer = await served.raw()
        writer.write(b'{"type":"submit","id":41,"command":{"type":"mark","text":"x"}}\n')
        assert msgspec.json.decode(await reader.readline(), type=Answer) == Answer(
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
        answer = msgspec.json.decode(await reader.readline(), type=Answer)
        assert not answer.ok
        assert answer.text.startswith("not a command: ")
        assert served.session.submitted == []
        writer.write(b'{"type":"submit","id":7,"command":{"type":"mark","text":"x"}}\n')
        answer = msgspec.json.decode(await reader.readline(), type=Answer)
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
    monkeypatch.setattr(viewers, "Outbox", partial(Outbox, most_bytes=1 << 16))
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


async def test_a_viewer_that_is_slow_misses_samples_and_is_told(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it does not read, more is said than fits on its way; then it reads again."""
    monkeypatch.setattr(viewers, "Outbox", partial(Outbox, most_samples=3))
    async with serve() as served:
        reader, writer = await served.raw_viewer()
        told = [msgspec.structs.replace(EVENT, text=f"{number} {'x' * 20_000}") for number in range(40)]
        for number, event in enumerate(told, 1):
            served.session.say(sample(number))
            served.session.say(event)
            await asyncio.sleep(0)
        heard: list[Downward] = []
        while not heard or heard[-1] != told[-1]:
            heard.append(msgspec.json.decode(await reader.readline(), type=Downward))
        assert [each for each in heard if isinstance(each, Event)] == told
        numbers = [each.number for each in heard if isinstance(each, Sample)]
        missed = sum(each.samples for each in heard if isinstance(each, Gap))
        assert missed > 0
        assert len(numbers) + missed == len(told)
        assert numbers == sorted(numbers)
        writer.close()


async def test_so_many_commands_at_once_are_too_many(serve: Serve) -> None:
    async with serve() as served:
        served.session.answering.clear()
        client = await served.join()
        asked = [asyncio.create_task(client.submit(Mark())) for _ in range(MOST_AT_ONCE + 1)]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result().text for task in done] == [f"{MOST_AT_ONCE} commands wait already"]
        served.session.answering.set()
        assert sum(answer.ok for answer in await asyncio.gather(*asked)) == MOST_AT_ONCE
        await client.close()


# How long it waits


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


async def test_a_detached_session_waits_for_nobody(serve: Serve) -> None:
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
        assert isinstance(heard[-1], Ended)
        assert served.session.stops == ["interrupted"]
        await client.close()


# What goes wrong at the start


async def test_a_place_where_nobody_can_listen_is_said_with_a_way_out(tuibench_home: Path) -> None:
    session = FakeSession(tuibench_home)
    (tuibench_home / "file").touch()
    path = tuibench_home / "file" / "s1.sock"
    with pytest.raises(RunError, match=r"cannot listen at .*TUIBENCH_HOME"):
        await Service(cast("Session", session), service_spec(session, path)).serve()


# The viewer's end


async def test_nobody_behind_the_socket_is_said(tuibench_home: Path) -> None:
    with pytest.raises(RunError, match=r"no session answers at .*it may have ended"):
        await SessionClient.connect(tuibench_home / "none.sock")


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        (b"", "hung up"),
        (b"HTTP/1.1 400 Bad Request\r\n", "is no session of this"),
        (b'{"protocol":"\xff","\xff":1}\n', "is no session of this"),
        (
            msgspec.json.encode(hello(protocol=PROTOCOL_VERSION + 1)) + b"\n",
            f"protocol {PROTOCOL_VERSION + 1}",
        ),
        (msgspec.json.encode(EVENT) + b"\n", "is no session of this"),
    ],
)
async def test_somebody_else_behind_the_socket_is_said(
    tuibench_home: Path, greeting: bytes, words: str
) -> None:
    async with stranger(tuibench_home / "s.sock", greeting):
        with pytest.raises(RunError, match=words):
            await SessionClient.connect(tuibench_home / "s.sock")


@contextlib.asynccontextmanager
async def stranger(path: Path, greeting: bytes) -> AsyncIterator[asyncio.Event]:
    """Greets whoever comes and says no more; hangs up when told to, or at once without a greeting."""
    hang_up = asyncio.Event()
    callers: list[asyncio.StreamWriter] = []

    async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        callers.append(writer)
        writer.write(greeting)
        if greeting:
            await hang_up.wait()
        writer.close()

    server = await asyncio.start_unix_server(welcome, path)
    try:
        yield hang_up
    finally:
        hang_up.set()
        await turns()
        server.close()
        for writer in callers:
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def turns(count: int = 20) -> None:
    """Lets the loop take in whoever has just called."""
    for _ in range(count):
        await asyncio.sleep(0)


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
    said = [hello(), {"type": "weather"}, sample(1), Answer(id=99, ok=True, text="nobody asked")]
    lines = b"".join(msgspec.json.encode(message) + b"\n" for message in said)
    async with stranger(path, lines) as hang_up:
        client = await SessionClient.connect(path)
        hang_up.set()
        assert [message async for message in client.messages()] == [sample(1)]
        await client.close()


async def test_a_session_that_is_stopped_is_not_waited_for(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    async with stranger(path, b" "):
        with pytest.raises(SessionAwayError, match="does not answer"):
            await SessionClient.connect(path, patience_seconds=0.05)


async def test_a_session_that_ends_before_it_lets_a_viewer_join_is_an_error(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    async with stranger(path, msgspec.json.encode(hello()) + b"\n") as hang_up:
        joining = asyncio.create_task(SessionClient.join(path))
        await asyncio.sleep(0)
        hang_up.set()
        with pytest.raises(SessionAwayError, match=r"before it let us join|hung up"):
            await joining
