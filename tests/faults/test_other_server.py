"""Behind the same address there is another server all at once, as after a failover to a newer version."""

import msgspec
import pytest

from tests.faults.load import THREADS, Report, fault_spec, loaded
from tests.faults.proxy import Proxy
from tests.integration.conftest import Binaries, binary_or_skip
from tests.integration.support import sbtest
from tests.integration.support.commands import ask
from tests.integration.support.session_process import DURABILITY, DURABLE
from tests.integration.support.shared import Starter
from tuibench.load.tables import prepare_tables
from tuibench.model.event import EventKind
from tuibench.model.message import ApplyPreset
from tuibench.model.server import Flavour


@pytest.mark.whole
async def test_another_version_behind_the_same_address(
    server_binaries: Binaries, start: Starter, report: Report
) -> None:
    """The load goes on with the other server, which the operator is told; its settings are left alone."""
    first = binary_or_skip(server_binaries, Flavour.MARIADB)
    second = binary_or_skip(server_binaries, Flavour.MYSQL)
    async with await start(first) as before, await start(second) as after:
        for server in (before, after):
            await prepare_tables(server.target, sbtest.program(table_size=500))
            await ask(
                server.target,
                "CREATE USER app@127.0.0.1 IDENTIFIED BY 'pass'",
                "GRANT ALL ON *.* TO app@127.0.0.1",
            )
        proxy = Proxy(before.target)
        async with proxy.listening() as port:
            target = msgspec.structs.replace(
                before.target, host="127.0.0.1", port=port, socket="", user="app", password="pass"
            )
            async with loaded(fault_spec(target)) as load:
                assert (await load.watcher.submit(ApplyPreset("unsafe"))).ok
                proxy.target = after.target
                load.begins()
                proxy.reset()
                await load.reconnects(THREADS)
                report("another server behind the same address", await load.recovery_seconds())
                await load.watcher.until(lambda: bool(load.watcher.told(EventKind.RESTART)))
                refused = await load.watcher.submit(ApplyPreset("unsafe"))
                assert (refused.ok, "this is another server" in refused.text) == (False, True), refused
                summary = await load.stop()
        assert await ask(after.target, DURABILITY) == [DURABLE]
    assert summary.outcome == "stopped"
    restored = [event.text for event in load.watcher.told(EventKind.RESTORE)]
    assert any(text.endswith("no setting is changed or restored here") for text in restored), restored
