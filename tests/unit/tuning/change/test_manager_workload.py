"""Settings that only the workload's own connections have."""

from pathlib import Path

import pytest

from tests.unit.tuning.fakes import FakeServer
from tests.unit.tuning.managers import opened, outcomes
from tuibench.errors import SQLError
from tuibench.tuning.change.settings_manager import WorkloadSettings
from tuibench.tuning.undo.restore import RestoreOutcome


async def test_the_workloads_own_settings_never_reach_the_server(tmp_path: Path) -> None:
    server, told = FakeServer(), list[tuple[str, ...]]()
    workload = WorkloadSettings()
    workload.run = told.append
    tuner = await opened(server, tmp_path, workload=workload)
    server.sent.clear()
    state = await tuner.change("sql_log_bin", "off")
    assert (state.value, state.original, state.at_risk, state.scope) == ("OFF", "ON", True, "workload")
    await tuner.change("transaction_isolation", "read committed")
    assert told[-1] == (
        "SET SESSION sql_log_bin = 'OFF'",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )
    assert server.sent[:2] == ["SET SESSION sql_log_bin = 'OFF'", "SET SESSION sql_log_bin = 'ON'"]
    assert not any("GLOBAL" in sql for sql in server.sent)
    assert not tuner.journal.path.exists()
    assert [one.text for one in await tuner.restore()] == [
        "sql_log_bin OFF → ON for the workload, as before",
        "transaction_isolation READ-COMMITTED → REPEATABLE-READ for the workload, as before",
    ]
    assert told[-1] == (
        "SET SESSION sql_log_bin = 'ON'",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    )
    assert await tuner.restore() == []


async def test_what_the_logins_set_is_what_the_workload_goes_back_to(tmp_path: Path) -> None:
    workload = WorkloadSettings({"transaction_isolation": "SERIALIZABLE"})
    tuner = await opened(FakeServer(), tmp_path, workload=workload)
    state = await tuner.change("transaction_isolation", "READ-COMMITTED")
    assert state.original == "SERIALIZABLE"


async def test_a_refusal_for_the_workload_never_reaches_its_connections(tmp_path: Path) -> None:
    server, told = FakeServer(), list[tuple[str, ...]]()
    workload = WorkloadSettings()
    workload.run = told.append
    tuner = await opened(server, tmp_path, workload=workload)
    server.refuses_session = SQLError(1227, "Access denied")
    with pytest.raises(SQLError, match="this login cannot change sql_log_bin"):
        await tuner.change("sql_log_bin", "OFF")
    assert told == []
    assert {state.name: state.value for state in tuner.known}["sql_log_bin"] == "ON"


async def test_the_workloads_copies_follow_the_server(tmp_path: Path) -> None:
    server, told = FakeServer(innodb_lock_wait_timeout="50"), list[tuple[str, ...]]()
    workload = WorkloadSettings()
    workload.run = told.append
    tuner = await opened(server, tmp_path, workload=workload)
    await tuner.change("innodb_lock_wait_timeout", "5")
    assert told == [("SET SESSION innodb_lock_wait_timeout = 5",)]
    assert outcomes(await tuner.restore()) == {"innodb_lock_wait_timeout": RestoreOutcome.RESTORED}
    assert told[-1] == ("SET SESSION innodb_lock_wait_timeout = 50",)
