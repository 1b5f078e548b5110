"""A session behind its socket: who may listen, and who hears what."""

import os
import stat
from pathlib import Path
from typing import cast

import pytest

from tests.examples import EVENT, hello, sample, status, summary
from tests.unit.load.engine.driving import until
from tests.unit.session.fakes import FakeSession, service_spec
from tests.unit.session.serving import Serve, next_of
from tuibench.errors import RunError
from tuibench.model.command import Mark, SetThreads, Stop, WatchActivity
from tuibench.model.message import READ_ONLY_REFUSAL, RunState, SessionEnded, SessionMessage
from tuibench.session.load_run import LoadRun
from tuibench.session.service import service as service_module
from tuibench.session.service.client import SessionClient
from tuibench.session.service.service import SessionService
from tuibench.session.service.unix_sockets import Peer

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
