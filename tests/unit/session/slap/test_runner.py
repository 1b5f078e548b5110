"""What a slap does on its own connection, around the clients."""

from functools import partial

import pytest

from tests.fakes import FakeServer
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.session.slap import runner
from tuibench.session.slap.runner import SlapRunner
from tuibench.session.slap.spec import SlapSpec
from tuibench.workload.slap.script import SlapScript


async def dialled(server: FakeServer, target: Target, *, use_database: bool) -> Connection:
    assert not use_database
    return await server.connect(target)


async def test_it_stays_open_however_long_the_clients_take(monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer()
    monkeypatch.setattr(runner, "connect", partial(dialled, server))
    spec = SlapSpec(target=Target(database="mysqlslap"), script=SlapScript(), clients=())
    assert [benchmark async for benchmark in SlapRunner(spec, print).run()] == []
    assert server.heard_by(0) == ["SET SESSION wait_timeout=28800"]
    assert server.open_connections == 0
