"""The table of commands: each has a handler, its conditions, and a short way to it."""

import asyncio
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import get_args, get_type_hints

import pytest

from tests.tables import for_each
from tests.unit.load.driving import until
from tests.unit.session.fakes import FakeControllable
from tests.unit.session.serving import Serve
from tuibench.base.errors import UsageError
from tuibench.model.message import (
    READ_ONLY_REFUSAL,
    Command,
    Mark,
    PollCommand,
    SetThreads,
    StopExperiment,
    SubmitCommand,
    TrustServer,
    Watch,
)
from tuibench.session.dispatch import HANDLERS, AnyCommand, Needs, Origin, SteeredSession, handles
from tuibench.session.instrument import instrument_kinds
from tuibench.session.laboratory import experiment_kinds
from tuibench.tui.steering import CommandSender, UpdateInbox


def test_each_command_has_a_handler() -> None:
    experiment_kinds()  # Their modules declare the handlers.
    instrument_kinds()
    assert set(HANDLERS) == set(get_args(AnyCommand))
    assert set(get_args(Command)) < set(get_args(AnyCommand))


def test_a_command_has_one_handler() -> None:
    async def another(session: SteeredSession, command: Mark) -> str:
        return ""

    with pytest.raises(ValueError, match="Mark has a handler already"):
        handles(Mark, needs=Needs.NOTHING)(another)


def test_each_kind_of_experiment_is_started_and_stopped_by_its_commands() -> None:
    kinds, idle = experiment_kinds(), (Needs.IDLE_LABORATORY, Needs.CONSTANT_LOAD)
    starting = {command for command, handler in HANDLERS.items() if handler.needs in idle}
    assert starting == {kind.starts for kind in kinds if kind.starts is not None}
    stopped = [kind.kind for kind in kinds if kind.kind]
    assert sorted(stopped) == sorted(get_args(get_type_hints(StopExperiment)["kind"]))


def test_the_commands_that_change_nothing_are_those_that_viewers_do_not_report() -> None:
    assert {kind for kind, handler in HANDLERS.items() if handler.read_only} == {PollCommand}


@for_each("command", [SetThreads(9), TrustServer(), Mark()])
async def test_a_reader_changes_nothing(command: Command) -> None:
    session = FakeControllable()
    with pytest.raises(UsageError, match=READ_ONLY_REFUSAL):
        await session.execute(command, Origin.READER)
    assert (session.done, session.told, session.load.threads) == ([], [], 8)


async def test_a_reader_may_look() -> None:
    assert await FakeControllable().execute(Watch("activity"), Origin.READER) == "watching"


MOST_HOPS = 8
PACKAGE = str(Path(inspect.getfile(CommandSender)).parents[1])


@contextmanager
def hops(kinds: tuple[type, ...]) -> Iterator[set[CodeType]]:
    """The functions of the package that take or return an object of these types meanwhile."""
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, result: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE) or event not in ("call", "return"):
            return
        taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if isinstance(result, kinds) or any(isinstance(frame.f_locals.get(name), kinds) for name in taken):
            found.add(code)

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


async def test_a_key_reaches_the_load_in_few_steps(serve: Serve) -> None:
    """From the viewer's key over the socket to the call of the fleet, for a key that has a single level."""
    controlled = FakeControllable()
    async with serve() as served:
        served.session.submit = controlled.execute  # type: ignore[method-assign]
        client = await served.join()
        inbox = UpdateInbox(lambda message: None)
        sender = CommandSender(client, inbox, asyncio.ensure_future)
        with hops((SetThreads, SubmitCommand)) as found:
            sender.change_threads(lambda threads: threads + 1, client.hello.status)
            await until(lambda: controlled.load.threads == client.hello.status.threads + 1)
        await client.close()
    names = sorted(code.co_qualname for code in found)
    assert len(names) <= MOST_HOPS, names
    assert "set_threads" in names
