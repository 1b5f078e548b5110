"""Planted hot keys on real servers: ranked by how long transactions waited for them."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.integration.support.session_process import FULL_SPEED_MS, session_spec, watched
from tuibench.model.message import SessionSpec, Stop
from tuibench.model.server import HotRow
from tuibench.servers.server import PrivateServer

PROFILE = """
name = "hot"
summary = "updates of some rows, each locked for a while"
data_set = "sbtest"
"""
TRANSACTION = """
[[transactions]]
name = "row{key}"
weight = {weight}

[[transactions.steps]]
statements = [
  {{ name = "write{key}", sql = "UPDATE sbtest1 SET pad = 'x' WHERE id = {key}" }},
  {{ name = "hold", sql = "DO SLEEP(0.02)" }},
]
"""
PLANTED = {
    "one": {7: 1},
    "five": {11: 64, 22: 48, 33: 4, 44: 2, 55: 1},
    "zipfian": {key: round(2000 / (key - 99) ** 1.5) for key in range(100, 120)},
}
READINGS = 12
"""Samples with waits, at least: a reading a second or so."""


def hot_spec(server: PrivateServer, planted: str, *, no_keys: bool = False) -> SessionSpec:
    spec = session_spec(server.target, "hot", threads=10, interval_seconds=0.5, delay_ms=FULL_SPEED_MS)
    text = PROFILE + "".join(
        TRANSACTION.format(key=key, weight=weight) for key, weight in PLANTED[planted].items()
    )
    return replace(spec, plan=replace(spec.plan, profile_text=text, no_keys=no_keys))


async def hot_rows(spec: SessionSpec) -> tuple[HotRow, ...]:
    """Those of a run with so many ticks."""
    async with watched(spec) as watcher:
        await watcher.ticks(2 * READINGS)
        await watcher.submit(Stop())
        return (await watcher.end()).summary.hot_rows


@pytest.mark.one_flavour
@pytest.mark.parametrize("planted", PLANTED)
async def test_planted_keys_are_ranked(tables: PrivateServer, tuibench_home: Path, planted: str) -> None:
    """Waits grow faster than the weights: the row that is locked all the time comes first, then one that is
    locked three quarters of it. For the others hardly anybody waits, and they may be in any order.
    """
    keys = sorted(PLANTED[planted], key=lambda key: -PLANTED[planted][key])
    found = await hot_rows(hot_spec(tables, planted))
    assert found
    assert {(row.table, row.index) for row in found} == {("sbtest.sbtest1", "PRIMARY")}
    sure = 2 if planted == "five" else 1
    assert [row.key for row in found[:sure]] == [str(key) for key in keys[:sure]]
    assert [row.share for row in found] == sorted((row.share for row in found), reverse=True)
    assert found[0].share > 0.5
    assert 0.9 < sum(row.share for row in found) <= 1.000001
    assert found[0].holder in ("", "DO SLEEP(?)", "UPDATE sbtest1 SET pad = ? WHERE id = ?", "COMMIT")


@pytest.mark.one_flavour
async def test_private_keys_are_not_kept(tables: PrivateServer, tuibench_home: Path) -> None:
    found = await hot_rows(hot_spec(tables, "five", no_keys=True))
    assert [(row.table, row.index, row.key) for row in found] == [("sbtest.sbtest1", "PRIMARY", "")]
    assert found[0].share == pytest.approx(1.0)
