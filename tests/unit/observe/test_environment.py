"""The server's part of where a run takes place: what is kept of it, and that a refusal is no end."""

import pytest

from tests.examples import SERVER
from tuibench.clock import SystemClock
from tuibench.model.target import Target
from tuibench.observe import environment
from tuibench.observe.environment import is_recorded_variable, read_environment


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("innodb_flush_log_at_trx_commit", True),
        ("sync_binlog", True),
        ("version_comment", True),
        ("binlog_format", True),
        ("innodb_data_home_dir", False),
        ("innodb_ft_cache_size", False),
        ("last_insert_id", False),
        ("slave_net_timeout", False),
    ],
)
def test_variables_that_matter_are_kept(name: str, kept: bool) -> None:
    assert is_recorded_variable(name) is kept


async def test_a_server_that_does_not_answer_leaves_a_gap() -> None:
    nobody = Target(socket="/nowhere/server.sock")
    found = await read_environment(nobody, SERVER, SystemClock().now_ns)
    assert (found.variables, found.round_trip, found.location) == ({}, None, "local")
    assert "round trip" in found.gaps[0]
    assert found.host.cores > 0


async def test_a_disk_that_cannot_be_found_leaves_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "disk_facts", lambda datadir: None)
    nobody = Target(socket="/nowhere/server.sock")
    found = await read_environment(nobody, SERVER, SystemClock().now_ns)
    assert SERVER.datadir
    assert (found.disk, SERVER.datadir in found.gaps[-1]) == (None, True)
