"""The hosts of a session: the server's and the client's, and what is reported of one that is lost."""

from typing import cast

import pytest

from tests.tui.support.script import host_part
from tests.unit.observe.fakes import FakeClock
from tests.unit.observe.host.remote.test_proc_text import SERVER
from tuibench.errors import RunError, UsageError
from tuibench.model.tick import Tick
from tuibench.observe.host.remote.remote_host import RemoteHost
from tuibench.observe.host.remote.source import NamedSample
from tuibench.observe.host.sampler import HostSampler
from tuibench.session.sampling.hosts import Hosts, HostsObservation

CLIENT, FAR = host_part(), host_part(origin="ssh:db1")
LOST = NamedSample(None, "ssh db1: gone", failed=True)


class PlayedRemote:
    def __init__(self, *answers: NamedSample) -> None:
        self.answers = list(answers)
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1

    async def finish(self, _: float | None = None) -> NamedSample:
        return self.answers.pop(0)


class PlayedLocal:
    def sample(self) -> Tick | None:
        return CLIENT


def hosts(*answers: NamedSample, is_local: bool = False) -> Hosts:
    remote = cast(RemoteHost, PlayedRemote(*answers)) if answers else None
    return Hosts(cast(HostSampler, PlayedLocal()), remote, is_local=is_local)


async def test_a_server_on_this_host() -> None:
    assert await hosts(is_local=True).finish() == HostsObservation(CLIENT)


async def test_a_server_elsewhere_leaves_the_clients_host() -> None:
    assert await hosts().finish() == HostsObservation(client=CLIENT)


async def test_a_remote_host_is_shown_beside_the_clients_host() -> None:
    assert await hosts(NamedSample(FAR)).finish() == HostsObservation(FAR, CLIENT)


async def test_a_loss_and_the_return_are_reported_once() -> None:
    watched = hosts(LOST, LOST, NamedSample(None, "the next sample has it"), NamedSample(FAR))
    seen = [await watched.finish() for _ in range(4)]
    assert [each.news for each in seen] == [
        "the server's host cannot be read: ssh db1: gone",
        "",
        "the server's host is read again",
        "",
    ]
    assert [each.note for each in seen] == ["ssh db1: gone", "ssh db1: gone", "the next sample has it", ""]
    assert seen[-1].host == FAR


async def test_a_host_that_cannot_be_read_at_the_start_ends_the_session() -> None:
    with pytest.raises(RunError, match="--host-metrics: ssh db1: gone"):
        await hosts(LOST).connect()
    await hosts(NamedSample(None, "the next sample has it")).connect()


def test_a_source_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError):
        Hosts.of(SERVER, "db1", lambda: (), FakeClock(), 1.0)
