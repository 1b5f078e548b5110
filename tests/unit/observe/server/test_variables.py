"""Which changes of variables are news."""

import pytest

from tuibench.observe.server.variables import ALIASES, VariableChange, is_volatile, variable_changes

BEFORE = {"sync_binlog": "1", "timestamp": "1.0", "gtid_executed": "a:1", "gtid_mode": "OFF", "port": "3306"}


def test_nothing_changed() -> None:
    assert variable_changes(BEFORE, dict(BEFORE)) == ()


def test_changes_come_by_name() -> None:
    after = BEFORE | {"sync_binlog": "0", "gtid_mode": "ON"}
    assert variable_changes(BEFORE, after) == (
        VariableChange("gtid_mode", "OFF", "ON"),
        VariableChange("sync_binlog", "1", "0"),
    )


def test_what_always_moves_is_no_news() -> None:
    assert variable_changes(BEFORE, BEFORE | {"timestamp": "2.0", "gtid_executed": "a:1-9"}) == ()


def test_own_changes_are_not_reported_until_another_session_changes_the_variable() -> None:
    ours = {"sync_binlog": "0"}
    assert variable_changes(BEFORE, BEFORE | {"sync_binlog": "0"}, ours) == ()
    assert variable_changes(BEFORE, BEFORE | {"sync_binlog": "7"}, ours) == (
        VariableChange("sync_binlog", "1", "7"),
    )


@pytest.mark.parametrize(("first", "second"), [(first, second) for second, first in ALIASES.items()])
def test_a_variable_with_two_names_is_reported_once(first: str, second: str) -> None:
    assert variable_changes({first: "10", second: "10"}, {first: "7", second: "7"}) == (
        VariableChange(first, "10", "7"),
    )


def test_a_second_name_alone_is_reported() -> None:
    assert variable_changes({"tx_isolation": "A"}, {"tx_isolation": "B"}) == (
        VariableChange("tx_isolation", "A", "B"),
    )


def test_variables_of_a_plugin_that_comes_or_goes_are_no_changes() -> None:
    assert variable_changes(BEFORE, BEFORE | {"plugin_x": "1"}) == ()
    assert variable_changes(BEFORE | {"plugin_x": "1"}, BEFORE) == ()


@pytest.mark.parametrize(
    "name", ["gtid_current_pos", "gtid_binlog_state", "last_insert_id", "rand_seed1", "timestamp"]
)
def test_volatile(name: str) -> None:
    assert is_volatile(name)


@pytest.mark.parametrize("name", ["gtid_mode", "gtid_strict_mode", "innodb_flush_log_at_trx_commit"])
def test_settings_are_not_volatile(name: str) -> None:
    assert not is_volatile(name)
