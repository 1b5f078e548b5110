"""The network between a load and its server: cut and healed, reset, slow, lossy; a name that is lost."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.faults.detached import detached
from tests.faults.load import THREADS, Report, fault_spec, loaded
from tests.faults.network import Network, can_make_networks, network
from tests.faults.proxy import Proxy
from tests.integration.support.commands import assert_nothing_left
from tuibench.model.server import SslMode, Target
from tuibench.servers.server import PrivateServer

needs_namespaces = pytest.mark.skipif(not can_make_networks(), reason="no network namespaces here")

SHORT_TICKS = 6
TRANSPORTS = ("disabled", "required")
LONG_TRANSPORTS = ("disabled", pytest.param("required", marks=pytest.mark.whole))
"""`--ssl-mode`: TLS, or none."""
NET_TIMEOUT_SECONDS = 1.0


@pytest.fixture
def away() -> Iterator[Network]:
    with network() as made:
        yield made


@pytest.fixture
def proxy(any_tables: PrivateServer) -> Proxy:
    return Proxy(any_tables.target)


def behind(proxy: Proxy, host: str, port: int, ssl_mode: SslMode) -> Target:
    return msgspec.structs.replace(
        proxy.target,
        host=host,
        port=port,
        socket="",
        ssl_mode=ssl_mode,
        get_server_public_key=True,
        net_timeout=NET_TIMEOUT_SECONDS,
    )


@pytest.mark.whole
@needs_namespaces
@pytest.mark.parametrize("ssl_mode", TRANSPORTS)
async def test_a_short_partition_costs_no_connection(
    proxy: Proxy, away: Network, tuibench_home: Path, ssl_mode: SslMode, report: Report
) -> None:
    async with proxy.listening(away.here) as port:
        options = (f"--ssl-mode={ssl_mode}", "--get-server-public-key")
        async with detached(behind(proxy, away.here, port, ssl_mode), *options, prefix=away.prefix) as load:
            away.cut()
            await load.stalls(SHORT_TICKS)
            away.heal()
            report("partition of 1.5 s", await load.recovery_seconds())
            summary = await load.stop()
    assert summary.reconnects == 0
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


@needs_namespaces
@pytest.mark.parametrize("ssl_mode", LONG_TRANSPORTS)
async def test_a_partition_that_outlasts_the_net_timeout(
    proxy: Proxy, away: Network, tuibench_home: Path, ssl_mode: SslMode, report: Report
) -> None:
    """Connections that wait for an answer count as lost, those that wait for an acknowledgement too."""
    async with proxy.listening(away.here) as port:
        options = (
            f"--ssl-mode={ssl_mode}", "--get-server-public-key", f"--net-timeout={NET_TIMEOUT_SECONDS:g}"
        )  # fmt: skip
        async with detached(behind(proxy, away.here, port, ssl_mode), *options, prefix=away.prefix) as load:
            away.cut()
            await load.loses_all_connections()
            away.heal()
            report("partition beyond --net-timeout", await load.recovery_seconds())
            summary = await load.stop()
    assert summary.reconnects >= THREADS
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


@pytest.mark.whole
@needs_namespaces
async def test_a_name_that_stops_resolving(
    proxy: Proxy, away: Network, tuibench_home: Path, tmp_path: Path, report: Report
) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(f"{away.here} db.test\n")
    away.use_hosts(hosts)
    async with proxy.listening(away.here) as port:
        target = behind(proxy, "db.test", port, "disabled")
        async with detached(
            target, "--ssl-mode=disabled", "--get-server-public-key", prefix=away.prefix
        ) as load:
            hosts.write_text("")
            proxy.reset()
            await load.loses_all_connections()
            await load.stalls(SHORT_TICKS)
            hosts.write_text(f"{away.here} db.test\n")
            report("host name lost, connections reset, name back", await load.recovery_seconds())
            await load.stop()
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


@pytest.mark.parametrize("ssl_mode", TRANSPORTS)
async def test_connections_reset(proxy: Proxy, ssl_mode: SslMode, report: Report) -> None:
    async with (
        proxy.listening() as port,
        loaded(fault_spec(behind(proxy, "127.0.0.1", port, ssl_mode))) as load,
    ):
        proxy.reset()
        await load.reconnects(THREADS)
        report("all connections reset (RST)", await load.recovery_seconds())
        load.begins()
        proxy.is_refusing = True
        proxy.reset()
        await load.loses_all_connections()
        await load.stalls(SHORT_TICKS)
        proxy.is_refusing = False
        report("every connection reset for 1.5 s", await load.recovery_seconds())
        await load.stop()


@pytest.mark.whole
@pytest.mark.parametrize("ssl_mode", TRANSPORTS)
async def test_delay_and_loss(proxy: Proxy, ssl_mode: SslMode, report: Report) -> None:
    """A slow network makes a slow load, and no errors."""
    async with (
        proxy.listening() as port,
        loaded(fault_spec(behind(proxy, "127.0.0.1", port, ssl_mode))) as load,
    ):
        proxy.delay_seconds, proxy.loss = 0.05, 0.05
        await load.slows_down()
        proxy.delay_seconds = proxy.loss = 0.0
        report("50 ms delay and 5 % loss", await load.recovery_seconds())
        summary = await load.stop()
    assert summary.reconnects == 0
    assert set(summary.errors.by_code) <= {"1213", "1205", "1020"}
