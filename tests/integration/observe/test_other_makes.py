"""A server of another make, which knows the load's statements and none of those about the server itself.

Everything gets as far as it can: tables, a run, a session without load, and the preflight checks.
"""

import asyncio
import json

from tests.integration.observe.refusing import EVERYTHING_OURS, RefusingProxy
from tests.integration.support import sbtest
from tests.integration.support.commands import Finished, tuibench
from tuibench.load.tables import prepare_tables
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer

TABLES = ("--tables=2", "--table-size=300")
TIDB = "8.0.11-TiDB-v7.5.0"


async def told(target: Target, *arguments: str) -> Finished:
    """The program on that server, without a traceback."""
    done = await asyncio.to_thread(tuibench, *arguments, "--ssl-mode=DISABLED", target=target)
    assert "Traceback" not in done.err, done.err
    return done


async def test_a_server_that_knows_nothing_of_itself_ends_no_command(any_server: PrivateServer) -> None:
    proxy = RefusingProxy(any_server.target, EVERYTHING_OURS, version=TIDB)
    async with proxy.listening() as target:
        await prepare_tables(target, sbtest.program(tables=2, table_size=300))

        run = await told(target, "run", "oltp_read_write", *TABLES, "--events=20", "--time=0", "--json=-")
        assert run.code == 0, run.err
        summary = json.loads(run.out)
        assert summary["transactions"]["total"] >= 20

        watch = await told(target, "watch", "--time=1", "--format=json")
        assert watch.code == 0, watch.err
        assert json.loads(watch.out)["outcome"] == "done"

        doctor = await told(target, "doctor", "oltp_read_write", *TABLES)
        assert "SHOW GRANTS" in doctor.out
        assert "no such table" not in doctor.out

        cleanup = await told(target, "cleanup", "oltp_read_write", *TABLES)
        assert cleanup.code == 0, cleanup.err
    assert proxy.refused["SHOW GLOBAL STATUS"] > 0
    assert proxy.refused["SELECT t.table_name, t.table_type,"] > 0
