"""Which values are tried: those that are safe on this server and may have an effect."""

from typing import Any

import msgspec
import pytest

from tests.unit.tuning.catalogue.test_setting_lookup import MARIADB, MYSQL
from tuibench.errors import UsageError
from tuibench.model.experiments.tune import Candidate, TunePlan
from tuibench.model.server import ServerInfo
from tuibench.model.settings import SettingState
from tuibench.session.tune.candidates import Room, find_candidates, most_candidates, spread, wanted_settings
from tuibench.tuning.catalogue import setting_lookup

GIB = 2**30
ROOM = Room(memory_bytes=16 * GIB, disk_bytes=100 * GIB, connections=8)
VALUES = {
    "innodb_flush_log_at_trx_commit": "1",
    "sync_binlog": "1",
    "innodb_io_capacity": "200",
    "innodb_io_capacity_max": "2000",
    "innodb_buffer_pool_size": str(256 * 2**20),
    "innodb_log_file_size": str(16 * 2**20),
    "sort_buffer_size": str(256 * 2**10),
    "table_open_cache": "10",
    "slow_query_log": "ON",
    "general_log": "OFF",
    "thread_pool_oversubscribe": "3",
    "innodb_deadlock_detect": "ON",
    "max_connections": "151",
}
VARIABLES = {"log_bin": "ON", "thread_handling": "one-thread-per-connection"}


def states(server: ServerInfo, values: dict[str, str]) -> tuple[SettingState, ...]:
    return tuple(
        setting_lookup.setting_state(
            setting,
            server,
            values.get(setting.name, ""),
            values.get(setting.name, ""),
            setting_lookup.unsupported_reason(setting, server)
            or ("" if setting.name in values else "not here"),
        )
        for setting in setting_lookup.SETTINGS
    )


def found(
    server: ServerInfo = MARIADB, room: Room = ROOM, values: dict[str, str] | None = None, **plan: Any
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The values by setting, and why the others are left out."""
    candidates, left_out = find_candidates(
        states(server, {**VALUES, **(values or {})}), server, VARIABLES, room, TunePlan(**plan)
    )
    by_name: dict[str, list[str]] = {}
    for one in candidates:
        by_name.setdefault(one.setting, []).append(one.value)
    return by_name, {one.setting: one.why for one in left_out}


def test_risky_values_are_tried_only_when_asked_for() -> None:
    safe, left_out = found()
    assert "innodb_flush_log_at_trx_commit" not in safe
    assert "--allow-risk: committed data can be lost" in left_out["innodb_flush_log_at_trx_commit"]
    assert "only with --allow-risk" in left_out["innodb_deadlock_detect"]
    risky, _ = found(allow_risk=True)
    assert risky["innodb_flush_log_at_trx_commit"] == ["2", "0"]
    assert risky["innodb_deadlock_detect"] == ["OFF"]


def test_limits_and_logs_are_no_question_of_speed() -> None:
    tried, left_out = found(allow_risk=True)
    assert "max_connections" not in tried
    assert "max_connections" not in left_out
    assert "does not affect speed" in found(only=("max_connections",))[1]["max_connections"]
    assert tried["slow_query_log"] == ["OFF"]
    assert left_out["general_log"] == "there is no other value to test"


def test_what_another_setting_keeps_from_acting_is_left_out() -> None:
    tried, left_out = found()
    assert "thread_pool_oversubscribe" not in tried
    assert (
        "it has an effect only with thread_handling=pool-of-threads" in left_out["thread_pool_oversubscribe"]
    )


def test_memory_and_disk_must_suffice() -> None:
    tried, _ = found(values={"innodb_buffer_pool_size": str(GIB)}, room=ROOM._replace(memory_bytes=2 * GIB))
    assert "innodb_buffer_pool_size" not in tried
    few = Room(memory_bytes=64 * 2**20, disk_bytes=GIB, connections=1000)
    tried, left_out = found(room=few)
    assert "sort_buffer_size" not in tried
    assert "not enough memory is free" in left_out["sort_buffer_size"]
    assert tried["innodb_log_file_size"] == [str(96 * 2**20)]
    remote = Room(None, None, 8)
    tried, left_out = found(room=remote)
    assert "innodb_buffer_pool_size" not in tried
    assert "memory of the server's host is not known" in left_out["innodb_buffer_pool_size"]


def test_a_limit_between_two_settings_is_kept() -> None:
    tried, left_out = found(values={"innodb_io_capacity_max": "1000"})
    assert tried["innodb_io_capacity"] == ["1000"]
    assert "may not be above innodb_io_capacity_max" in left_out["innodb_io_capacity"]


def test_only_names_and_topics_are_tried() -> None:
    assert set(found(only=("flushing",))[0]) == {"innodb_io_capacity", "innodb_io_capacity_max"}
    assert set(found(only=("io-capacity".replace("io", "innodb_io"), "caches"))[0]) == {
        "innodb_io_capacity",
        "table_open_cache",
    }
    with pytest.raises(UsageError, match="--only: 'flusing' is not a setting") as caught:
        wanted_settings(("flusing",))
    assert caught.value.hint == "did you mean 'flushing'?"


def test_a_short_budget_tries_one_value_of_each_setting_first() -> None:
    plan = TunePlan(budget_seconds=200, window_seconds=4, candidates_per_block=3)
    assert most_candidates(plan) == 5
    tried, left_out = found(budget_seconds=200.0, window_seconds=4.0, candidates_per_block=3)
    assert sum(map(len, tried.values())) == 5
    assert len(tried) == 5
    assert any("the budget of 200 s is enough for 5 values" in why for why in left_out.values())


@pytest.mark.parametrize(
    ("values", "present", "count", "chosen"),
    [
        (["400", "2000", "4000", "10000"], "10", 2, ["2000", "10000"]),
        (["400", "2000", "4000", "10000"], "10", 1, ["4000"]),
        (["0", "10", "50"], "10.000000", 2, ["50", "0"]),
        (["0", "10"], "50", 2, ["0", "10"]),
        (["1", "2", "3"], "0", 8, ["1", "2", "3"]),
    ],
)
def test_numbers_are_taken_from_both_sides(
    values: list[str], present: str, count: int, chosen: list[str]
) -> None:
    others = [value for value in values if float(value) != float(present)]
    assert spread(others, present, count) == chosen


def test_a_candidate_says_what_it_changes() -> None:
    candidates, _ = find_candidates(
        states(MARIADB, VALUES), MARIADB, VARIABLES, ROOM, TunePlan(only=("innodb_log_file_size",), values=1)
    )
    (one,) = candidates
    assert one == msgspec.structs.replace(one, number=1, change="16 MiB → 1 GiB", at_risk=False)
    assert isinstance(one, Candidate)
    assert "1 GiB of redo log" in one.meaning
    assert find_candidates(states(MYSQL, VALUES), MYSQL, VARIABLES, ROOM, TunePlan())[0]
