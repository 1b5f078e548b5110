"""Planted stalls of a load: the connection that caused each is named in its event and in the summary."""

from pathlib import Path

import pytest

from tests.faults.load import loaded
from tests.integration.support.stalls import (
    DELAYS,
    PLANTS,
    THREADS,
    bystanders,
    plant,
    stallable,
    stalling_spec,
)
from tuibench.load.tables import prepare_tables
from tuibench.model.findings import Culprit, Stall
from tuibench.report.effects import stalls_line
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer
from tuibench.workload import library


async def planted_stall(server: PrivateServer, planted: str) -> tuple[Stall, int]:
    """The longest stall of a run with a planted one, which its event and the summary explain the same way."""
    async with bystanders(server), loaded(stalling_spec(server, planted)) as load:
        holder = await plant(server, load, planted)
        summary = await load.stop()
    assert summary.steadiness is not None
    longest = max(summary.steadiness.stalls, key=lambda stall: stall.seconds)
    told = [event.text for event in summary.events if event.text.startswith("stall of ")]
    assert isinstance(longest.culprit, Culprit), told
    assert any(f": {longest.culprit.text}" in text for text in told), told
    assert longest.culprit.text in stalls_line(summary.steadiness)
    return longest, holder


@pytest.mark.one_flavour
@pytest.mark.parametrize("planted", PLANTS)
async def test_the_culprit_of_a_stall_is_named(
    tables: PrivateServer, tuibench_home: Path, planted: str
) -> None:
    stall, holder = await planted_stall(tables, planted)
    assert PLANTS[planted].explains(stall, holder), stall.culprit
    assert stall.culprit is not None
    assert f"session {holder} (" in stall.culprit.text
    assert THREADS - 1 <= stall.culprit.blocked <= THREADS + 2


@pytest.mark.one_flavour
@pytest.mark.parametrize("planted", DELAYS)
async def test_a_delay_inside_innodb_is_named(binary: Binary, tuibench_home: Path, planted: str) -> None:
    async with await stallable(binary) as server:
        await prepare_tables(
            server.target, library.load_program("oltp_read_write", {"tables": 2, "table_size": 500})
        )
        stall, holder = await planted_stall(server, planted)
    assert DELAYS[planted].explains(stall, holder), stall.culprit
