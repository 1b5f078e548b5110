"""The server's disk is full under load: transactions fail, and go on once there is room again."""

import pytest

from tests.faults.load import WAYS, Report, fault_spec, loaded
from tests.faults.small_disk import MIB, can_mount, small_disk
from tests.integration.support import sbtest
from tests.integration.support.shared import FRUGAL, Templates
from tuibench.load.tables import prepare_tables
from tuibench.model.server import Flavour
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

pytestmark = pytest.mark.skipif(not can_mount(), reason="no file systems can be mounted here")

DISK_MIB = {Flavour.MARIADB: 200, Flavour.MYSQL: 320}
LEFT_BYTES = 512 * 1024
OPTIONS = (*FRUGAL, "--skip-log-bin")
"""With a binary log, a server waits a minute for room before it looks again."""


@pytest.mark.whole
@pytest.mark.parametrize("way", WAYS)
async def test_disk_full(binary: Binary, templates: Templates, way: str, report: Report) -> None:
    with small_disk(DISK_MIB[binary.flavour]) as disk:
        started = PrivateServer.start(
            binary,
            base=disk.path,
            options=(*OPTIONS, *templates.tls_options(binary)),
            template=templates.of(binary),
            buffer_pool_bytes=32 * MIB,
            redo_log_bytes=16 * MIB,
        )
        async with await started as server:
            await prepare_tables(server.target, sbtest.program("oltp_insert", table_size=500))
            async with loaded(fault_spec(server.target, way, profile="oltp_insert")) as load:
                disk.fill(LEFT_BYTES)
                await load.fails()
                disk.empty()
                report("server's disk full", await load.recovery_seconds())
                summary = await load.stop()
    assert summary.errors.total > 0
