"""A session behind its socket: what viewers say, too much of it, and those who do not read."""

import asyncio
import contextlib
from functools import partial

import msgspec
import pytest

from tests.examples import EVENT, sample
from tests.unit.load.engine.driving import until
from tests.unit.session.serving import Serve
from tuibench.errors import UsageError
from tuibench.model.command import Mark, SetThreads, Stop
from tuibench.model.event import Event
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import CommandReply, SampleGap, SessionMessage
from tuibench.session.service import viewers
from tuibench.session.service.listener import LONGEST_LINE_BYTES
from tuibench.session.service.viewers import MAX_PENDING_COMMANDS, Outbox


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


async def test_a_slow_viewer_misses_samples_and_is_notified(
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
