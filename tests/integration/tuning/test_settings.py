"""The catalogue against real servers: what it calls dynamic changes and comes back, the rest says why not."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.support.commands import tuibench
from tests.integration.support.steering import a_user, opened
from tests.validation import check_valid
from tuibench.base.errors import SQLError, UsageError
from tuibench.model.server import Flavour
from tuibench.model.settings import REQUIRES_RESTART, SettingState
from tuibench.mysql.connection import connect
from tuibench.servers.server import PrivateServer
from tuibench.tuning import catalogue
from tuibench.tuning.catalogue import SETTINGS, SETTINGS_BY_NAME
from tuibench.tuning.changer import SettingsManager, WorkloadSettings
from tuibench.tuning.connection import AdminConnection, admin_connector
from tuibench.tuning.journal import journal_path
from tuibench.tuning.restore import RestoreOutcome
from tuibench.tuning.setting import NEVER, Setting, SettingScope, ValueKind

Server = PrivateServer

ON_SERVER = [setting for setting in SETTINGS if setting.scope is not SettingScope.WORKLOAD]
OTHERWISE = {
    "innodb_buffer_pool_size": ("128M", "384M"),
    "innodb_io_capacity": ("150", "2000"),
    "innodb_io_capacity_max": ("40000", "25000"),
    "innodb_log_file_size": ("64M",),
    "innodb_redo_log_capacity": ("64M", "100000000"),
    "innodb_max_dirty_pages_pct_lwm": ("0", "5"),
    "query_cache_size": ("0", "1M"),
    "innodb_log_buffer_size": ("16M", "20000000"),
}
"""Values to try where those that are offered would take too much of a test's host."""

BEYOND = {
    "innodb_io_capacity": "each other's limits are tried with the pair",
    "innodb_io_capacity_max": "each other's limits are tried with the pair",
    "innodb_buffer_pool_size": "as much memory as there is",
    "innodb_redo_log_capacity": "as much disk as there is",
    "innodb_log_file_size": "as much disk as there is",
    "table_open_cache": "takes files",
    "innodb_max_dirty_pages_pct": "each other's limits are tried with the pair",
    "innodb_max_dirty_pages_pct_lwm": "each other's limits are tried with the pair",
}
"""Where the limits themselves are not tried, and why."""


READ_ONLY_VARIABLE = 1238
NOT_REFUSED = {"character_set_server", "innodb_log_file_buffering", "thread_pool_size"}
"""The server accepts a change of these, which does not do what it says (`Setting.at_start`)."""


NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.PERCENT)


@pytest.fixture
async def admin(server: Server) -> AsyncIterator[AdminConnection]:
    control = AdminConnection(admin_connector(server.target))
    yield control
    await control.close()


async def everything(admin: AdminConnection) -> dict[str, str]:
    return await admin.values(setting.name for setting in ON_SERVER)


def changeable(tuner: SettingsManager) -> list[SettingState]:
    return [
        state
        for state in tuner.known
        if not state.unavailable and SETTINGS_BY_NAME[state.name].scope != "workload"
    ]


async def test_what_is_called_dynamic_is_changed_read_back_and_restored(
    server: Server, admin: AdminConnection
) -> None:
    before = await everything(admin)
    tuner = await opened(server.target)
    tried = changeable(tuner)
    assert len(tried) > 60
    for state in tried:
        values = OTHERWISE.get(state.name, tuple(state.choices))
        for value in values:
            changed = await tuner.change(state.name, value)
            assert (await admin.values([state.name]))[state.name] == changed.value
            assert changed.original == before[state.name]
            assert (
                not tuner.rounding(state.name, value, changed.value) or SETTINGS_BY_NAME[state.name].rounding
            )
    restored = await tuner.restore()
    expected = {RestoreOutcome.RESTORED, RestoreOutcome.UNCHANGED}
    assert [one for one in restored if one.outcome not in expected] == []
    assert await everything(admin) == before
    assert not journal_path("test").exists()
    await tuner.close()


async def test_limits_are_the_servers_own(server: Server, admin: AdminConnection) -> None:
    before = await everything(admin)
    tuner = await opened(server.target)
    for state in changeable(tuner):
        support = SETTINGS_BY_NAME[state.name].support(tuner.server)
        if (
            state.name in BEYOND
            or support is None
            or SETTINGS_BY_NAME[state.name].kind
            not in (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.PERCENT)
        ):
            continue
        for value in (support.low, support.high):
            changed = await tuner.change(state.name, str(value))
            assert float(changed.value) == value
    await tuner.restore()
    await tuner.close()
    assert await everything(admin) == before


async def test_a_pair_goes_up_and_down_together_and_comes_back(
    server: Server, admin: AdminConnection
) -> None:
    before = await everything(admin)
    tuner = await opened(server.target)
    names = ("innodb_io_capacity", "innodb_io_capacity_max")
    with pytest.raises(UsageError, match="may not be above"):
        await tuner.change(names[0], str(int(before[names[1]]) + 1))
    await tuner.change(names[1], "90000")
    await tuner.change(names[0], "80000")
    assert await admin.values(names) == {names[0]: "80000", names[1]: "90000"}
    await tuner.restore()
    assert await everything(admin) == before
    await tuner.change(names[0], "150")
    await tuner.change(names[1], "160")
    await tuner.restore()
    assert await everything(admin) == before
    await tuner.close()


async def test_what_cannot_be_changed_says_why(server: Server, admin: AdminConnection) -> None:
    tuner = await opened(server.target)
    mariadb = server.binary.flavour is Flavour.MARIADB
    reasons = {state.name: state.unavailable for state in tuner.known if state.unavailable}
    flavours = {
        setting.name: {support.flavour for support in setting.supported} for setting in catalogue.SETTINGS
    }
    other = Flavour.MYSQL if mariadb else Flavour.MARIADB
    only_there = {name for name, found in flavours.items() if found == {other}}
    assert all(reasons[name].startswith(f"only {other}") for name in only_there)
    at_start = await only_at_start(tuner, admin)
    assert {"innodb_page_size", "performance_schema", "large_pages"} <= at_start <= reasons.keys()
    assert all(reasons[name].endswith(f"changing it {REQUIRES_RESTART}") for name in at_start)
    never = {setting.name for setting in ON_SERVER if is_never_dynamic(setting, tuner.server.flavour)}
    reasons = {name: reason for name, reason in reasons.items() if name not in only_there | never}
    if mariadb:
        # MariaDB 11.0 has no change buffer, and its doublewrite can be changed from 11.0.6 on.
        newer = server.binary.version_tuple >= (11, 0, 6)
        changed = (
            {"innodb_change_buffering", "innodb_change_buffer_max_size"} if newer else {"innodb_doublewrite"}
        )
        assert reasons.keys() == changed | {
            "innodb_thread_concurrency",
            "innodb_thread_sleep_delay",
            "innodb_concurrency_tickets",
            "query_cache_type",
        }
        if not newer:
            assert "it is read-only on MariaDB" in reasons["innodb_doublewrite"]
        assert reasons["query_cache_type"] == "it is OFF; changing that requires a restart"
    else:
        assert not reasons
    for name, reason in reasons.items():
        with pytest.raises(UsageError) as caught:
            await tuner.change(name, SETTINGS_BY_NAME[name].offered[0])
        assert caught.value.message == f"{name} cannot be changed here: {reason}"
    assert not journal_path("test").exists()
    await tuner.close()


def is_never_dynamic(setting: Setting, flavour: Flavour) -> bool:
    supported = [support for support in setting.supported if support.flavour == flavour]
    return bool(supported) and all(support.dynamic_since == NEVER for support in supported)


async def only_at_start(tuner: SettingsManager, admin: AdminConnection) -> set[str]:
    """What the catalogue says no version of the flavour lets one change: the server must refuse it, too."""
    values = await everything(admin)
    names = set()
    for setting in ON_SERVER:
        support = setting.support(tuner.server)
        if support is None or support.dynamic_since != NEVER or setting.name not in values:
            continue
        names.add(setting.name)
        if setting.name not in NOT_REFUSED:
            with pytest.raises(SQLError) as refused:
                await admin.set_global(setting.name, values[setting.name])
            assert refused.value.code == READ_ONLY_VARIABLE, setting.name
    return names


async def test_the_privileges_are_those_that_the_server_asks_for(
    server: Server, admin: AdminConnection
) -> None:
    """A login with none is refused by us and by the server alike; each privilege by itself is enough."""
    before = await everything(admin)
    async with a_user(server, "nobody") as nobody:
        wanted = await refused_all(await opened(nobody), before)
    for privilege in sorted({privilege for needed in wanted.values() for privilege in needed}):
        async with a_user(server, "member", privilege) as member:
            tuner = await opened(member)
            allowed = {state.name for state in changeable(tuner)}
            assert allowed == {name for name, needed in wanted.items() if privilege in needed}
            for name in allowed:
                await tuner.control.set_global(name, before[name])
            await tuner.close()
    assert await everything(admin) == before


async def refused_all(tuner: SettingsManager, before: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Without a privilege nothing can be changed, say we and the server. What each setting asks for."""
    info = tuner.server
    wanted = {
        setting.name: setting.privileges(info.flavour, info.version_tuple)
        for setting in ON_SERVER
        if setting.name in before and setting.support(info)
    }
    fixed = await tuner.control.read_only(wanted) if info.flavour is Flavour.MARIADB else set()
    for name in {*fixed, *(setting.name for setting in SETTINGS if _is_fixed(setting, tuner, before))}:
        wanted.pop(name, None)
    for name in wanted:
        with pytest.raises(UsageError, match="cannot be changed here: this login cannot change it"):
            await tuner.change(name, before[name])
        with pytest.raises(SQLError, match="Access denied") as caught:
            await tuner.control.set_global(name, before[name])
        assert caught.value.code == 1227
    await tuner.close()
    return wanted


def _is_fixed(setting: Setting, tuner: SettingsManager, before: dict[str, str]) -> bool:
    """True for what only a restart changes, whatever the privileges."""
    support = setting.support(tuner.server)
    is_stuck = support is not None and before.get(setting.name) in support.stuck
    return is_stuck or bool(catalogue.unsupported_reason(setting, tuner.server))


async def test_settings_of_the_workload_affect_no_other_sessions(
    server: Server, admin: AdminConnection
) -> None:
    connection = await connect(server.target)
    workload = WorkloadSettings()
    said: list[tuple[str, ...]] = []
    workload.run = said.append
    tuner = await opened(server.target, workload=workload)
    before = await admin.session_values()
    await tuner.change("sql_log_bin", "OFF")
    await tuner.change("transaction_isolation", "READ-COMMITTED")
    for sql in said[-1]:
        await connection.query(sql)
    names = "'sql_log_bin', 'tx_isolation', 'transaction_isolation'"
    variables = f"SHOW SESSION VARIABLES WHERE Variable_name IN ({names})"
    assert {value for _, value in await connection.query(variables)} == {"OFF", "READ-COMMITTED"}
    assert (
        await admin.session_values()
        == before
        == {"sql_log_bin": "ON", "transaction_isolation": "REPEATABLE-READ"}
    )
    await tuner.restore()
    for sql in said[-1]:
        await connection.query(sql)
    assert {value for _, value in await connection.query(variables)} == {"ON", "REPEATABLE-READ"}
    await connection.close()
    await tuner.close()


async def test_a_login_without_privilege_gets_the_list_with_reasons(server: Server) -> None:
    async with a_user(server, "reader") as reader:
        listed = tuibench("settings", "list", "--format=json", target=reader)
    assert listed.code == 0, listed.err
    found = {each["name"]: each for each in check_valid("settings", listed.out)["settings"]}
    assert list(found) == [setting.name for setting in SETTINGS]
    assert "needs the privilege" in found["sync_binlog"]["unavailable"]
    assert found["transaction_isolation"]["unavailable"] == ""
    text = tuibench("settings", target=server.target)
    assert text.code == 0, text.err
    assert "sync_binlog" in text.out
    assert "unsafe: innodb_flush_log_at_trx_commit=0, sync_binlog=0" in text.out
    assert "takes whole numbers from 0 to 4294967295" in text.out
    assert not journal_path("list").exists()


async def test_one_setting_is_put_back_by_itself_and_it_is_known_whose_a_value_is(
    server: Server, admin: AdminConnection
) -> None:
    before = await everything(admin)
    tuner = await opened(server.target)
    try:
        await tuner.apply("unsafe")
        await admin.set_global("long_query_time", "3.000000")
        whose = {state.name: state.changed_by for state in await tuner.states() if state.changed_by}
        assert whose == {
            "innodb_flush_log_at_trx_commit": "us",
            "sync_binlog": "us",
            "long_query_time": "others",
        }
        (restored,) = await tuner.restore(["sync_binlog"])
        assert (restored.setting, restored.outcome) == ("sync_binlog", RestoreOutcome.RESTORED)
        now = await everything(admin)
        assert (now["sync_binlog"], now["innodb_flush_log_at_trx_commit"]) == (before["sync_binlog"], "0")
    finally:
        await admin.set_global("long_query_time", before["long_query_time"])
        await tuner.restore()
        await tuner.close()
    assert await everything(admin) == before
