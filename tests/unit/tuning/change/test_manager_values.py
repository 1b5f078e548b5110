"""Values that the server rounds, ignores, is slow to take or holds against another setting."""

from pathlib import Path

import pytest

from tests.unit.tuning.fakes import FakeServer
from tests.unit.tuning.managers import opened, outcomes
from tuibench.errors import TuibenchError, UsageError
from tuibench.tuning.undo.restore import RestoreOutcome


async def test_a_value_that_the_server_rounds_is_an_error_and_put_back(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    server.on_set = lambda name, value: server.settings.update({name: "50" if value == "100" else value})
    with pytest.raises(TuibenchError, match="set to 100 without an error, and it is 50 now"):
        await tuner.change("sync_binlog", "100")
    assert outcomes(await tuner.restore()) == {"sync_binlog": RestoreOutcome.RESTORED}
    assert server.settings["sync_binlog"] == "1"


async def test_a_change_without_effect_is_an_error_and_closed(tmp_path: Path) -> None:
    server = FakeServer()
    tuner = await opened(server, tmp_path)
    server.on_set = lambda name, _: server.settings.update({name: "1"})
    with pytest.raises(TuibenchError, match="it is 1 as before"):
        await tuner.change("sync_binlog", "100")
    assert not tuner.journal.path.exists()


POOL = "innodb_buffer_pool_size"
MIB = 2**20


async def test_a_size_rounded_by_the_server_is_reported_and_restored(tmp_path: Path) -> None:
    server = FakeServer(**{POOL: str(256 * MIB)})
    tuner = await opened(server, tmp_path)
    server.on_set = lambda name, value: server.settings.update({name: str(-(-int(value) // MIB) * MIB)})
    state = await tuner.change(POOL, "300000000")
    assert state.value == str(287 * MIB)
    assert tuner.rounding(POOL, "300000000", state.value).startswith("requested 286 MiB: it is rounded")
    assert tuner.rounding(POOL, "287M", state.value) == ""
    server.on_set = None
    assert outcomes(await tuner.restore()) == {POOL: RestoreOutcome.RESTORED}
    assert server.settings[POOL] == str(256 * MIB)


async def test_a_server_that_is_still_busy_with_the_change_before_is_asked_again(tmp_path: Path) -> None:
    server = FakeServer(**{POOL: str(256 * MIB)})
    tuner = await opened(server, tmp_path)
    busy = [True, True, False]

    def ignore(name: str, value: str) -> None:
        server.settings[name] = str(256 * MIB) if busy.pop(0) else value

    server.on_set = ignore
    assert (await tuner.change(POOL, "512M")).value == str(512 * MIB)
    assert busy == []


async def test_a_limit_between_two_settings_is_kept(tmp_path: Path) -> None:
    server = FakeServer(innodb_io_capacity="200", innodb_io_capacity_max="2000")
    tuner = await opened(server, tmp_path)
    with pytest.raises(UsageError, match="may not be above innodb_io_capacity_max, which is 2000"):
        await tuner.change("innodb_io_capacity", "5000")
    assert not any(sql.startswith("SET") for sql in server.sent)
    await tuner.change("innodb_io_capacity_max", "8000")
    assert (await tuner.change("innodb_io_capacity", "5000")).value == "5000"
