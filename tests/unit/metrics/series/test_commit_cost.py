"""Cost of a commits, by the value that was active; and what belongs to no value."""

import msgspec
import pytest

from tests.ticks import server_tick
from tuibench.metrics.series.commit_cost import CostLedger
from tuibench.model.experiments.effect import CommitCost
from tuibench.model.settings import COMMIT_ROLES, ServerVariable, SettingGroup, SettingState

FLUSH_LOG, SYNC_BINLOG = ServerVariable.FLUSH_LOG, ServerVariable.SYNC_BINLOG

MARIADB = ("Innodb_data_fsyncs", "Innodb_lsn_current", "Binlog_bytes_written", "Binlog_group_commits")
MYSQL = (
    "Innodb_os_log_fsyncs",
    "Innodb_data_fsyncs",
    "Innodb_redo_log_current_lsn",
    "performance_schema.binlog_syncs",
    "performance_schema.binlog_bytes",
)
TICKS = (0.5, 1.0, 3.0, 1.0)
"""The lengths of ticks, in turn."""


def setting(name: str, value: str) -> SettingState:
    roles = COMMIT_ROLES if name in (FLUSH_LOG, SYNC_BINLOG) else ()
    return SettingState(
        name=name,
        value=value,
        original=value,
        meaning="",
        at_risk=False,
        group=SettingGroup.DURABILITY,
        roles=roles,
    )


class Server:
    """Counters that grow by so much for every commit, a hundred commits a second."""

    def __init__(self, counters: tuple[str, ...]) -> None:
        self.ledger = CostLedger()
        self.counters = counters
        self.values: dict[str, str] = {FLUSH_LOG: "1", SYNC_BINLOG: "1"}

    def work(self, *lengths: float, **each: float) -> None:
        for seconds in lengths:
            self.tick(seconds, round(100 * seconds), **each)

    def tick(self, seconds: float, commits: int, **each: float) -> None:
        growth = {name: commits * each.get(name.rpartition(".")[2], 0) for name in self.counters}
        self.ledger.add(server_tick(seconds=seconds, completed=commits, growth=growth), self.settings())

    def look(self) -> None:
        """A reading without one before it."""
        self.ledger.add(server_tick(), self.settings())

    def settings(self) -> list[SettingState]:
        return [setting(name, value) for name, value in self.values.items()]

    def set(self, name: str, value: str) -> None:
        self.values = {**self.values, name: value}
        self.ledger.changed()

    def cost(self, setting: str, value: str) -> CommitCost:
        return next(one for one in self.ledger.costs if (one.setting, one.value) == (setting, value))


def test_each_value_has_its_own_average() -> None:
    server = Server(MYSQL)
    server.look()
    server.work(*TICKS, Innodb_os_log_fsyncs=1.02, Innodb_redo_log_current_lsn=6000, binlog_syncs=1)
    server.set(FLUSH_LOG, "0")
    server.work(1.0, *TICKS, Innodb_os_log_fsyncs=0.01, Innodb_redo_log_current_lsn=5800, binlog_syncs=1)
    durable, unsafe = server.cost(FLUSH_LOG, "1"), server.cost(FLUSH_LOG, "0")
    assert durable.log_fsyncs == pytest.approx(1.02)
    assert unsafe.log_fsyncs == pytest.approx(0.01)
    assert unsafe.log_bytes == pytest.approx(5800)
    assert (durable.seconds, durable.transactions) == (5.5, 550)
    assert (unsafe.seconds, unsafe.transactions) == (5.5, 550)
    assert server.cost(SYNC_BINLOG, "1").binlog_syncs == pytest.approx(1)
    assert server.cost(SYNC_BINLOG, "1").transactions == 1100


def test_back_at_a_value_its_average_goes_on() -> None:
    server = Server(MYSQL)
    server.look()
    for value in ("0", "1", "0", "1"):
        server.set(FLUSH_LOG, value)
        server.work(1.0, 0.5, 1.5, Innodb_os_log_fsyncs=1 if value == "1" else 0)
    assert server.cost(FLUSH_LOG, "1").log_fsyncs == 1
    assert server.cost(FLUSH_LOG, "1").transactions == 400


@pytest.mark.parametrize(("sync", "expected"), [("1", 0.5), ("10", 0.05), ("0", 0.0)])
def test_mariadb_syncs_the_binary_log_once_for_so_many_groups(sync: str, expected: float) -> None:
    server = Server(MARIADB)
    server.values[SYNC_BINLOG] = sync
    server.look()
    server.work(*TICKS, Binlog_group_commits=0.5)
    assert server.cost(SYNC_BINLOG, sync).binlog_syncs == pytest.approx(expected)


def test_mysql_counts_the_logs_own_fsyncs() -> None:
    server = Server(MYSQL)
    server.look()
    server.work(0.5, 3.0, Innodb_os_log_fsyncs=1, Innodb_data_fsyncs=3)
    assert server.cost(FLUSH_LOG, "1").log_fsyncs == 1


def test_what_is_not_counted_is_none_and_not_zero() -> None:
    server = Server(("Innodb_data_fsyncs",))
    server.look()
    server.work(0.5, 3.0, Innodb_data_fsyncs=1)
    cost = server.cost(FLUSH_LOG, "1")
    assert (cost.log_bytes, cost.binlog_syncs, cost.binlog_bytes, cost.row_lock_waits) == (None,) * 4


def test_a_tick_without_growth_costs_nothing() -> None:
    """After a restart, a FLUSH STATUS or a missing reading."""
    server = Server(MYSQL)
    server.look()
    server.work(*TICKS, Innodb_os_log_fsyncs=1)
    server.look()
    server.work(0.5, 1.0, Innodb_os_log_fsyncs=2)
    cost = server.cost(FLUSH_LOG, "1")
    assert (cost.seconds, cost.transactions) == (7.0, 700)
    assert cost.log_fsyncs == pytest.approx((550 + 2 * 150) / 700)


def test_an_average_is_weighted_by_what_its_ticks_counted() -> None:
    server = Server(MYSQL)
    server.look()
    server.tick(3.0, 900, Innodb_os_log_fsyncs=1)
    server.tick(0.5, 100, Innodb_os_log_fsyncs=0)
    assert server.cost(FLUSH_LOG, "1").log_fsyncs == pytest.approx(0.9)


def test_other_settings_have_costs_once_they_changed() -> None:
    server = Server(MYSQL)
    name = ServerVariable.REDO_LOG_ENABLED
    server.values[name] = "ON"
    server.look()
    server.work(1.0, 1.0)
    assert [cost.setting for cost in server.ledger.costs] == [FLUSH_LOG, SYNC_BINLOG]
    server.set(name, "OFF")
    server.work(1.0, 1.0)
    assert server.cost(name, "OFF").transactions == 100


def test_a_setting_for_speed_has_no_cost() -> None:
    ledger = CostLedger()
    for value in "1122":
        tuned = msgspec.structs.replace(setting("innodb_flush_neighbors", value), group=SettingGroup.TUNING)
        ledger.add(server_tick(growth={"Innodb_data_fsyncs": 1}, completed=1), [tuned])
    assert ledger.costs == ()


def test_without_commits_there_is_no_cost() -> None:
    server = Server(MYSQL)
    server.look()
    server.tick(1.0, 0)
    assert server.cost(FLUSH_LOG, "1").log_fsyncs is None
