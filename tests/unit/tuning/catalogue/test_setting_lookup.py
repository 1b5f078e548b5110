"""The catalogue's words and limits, version by version, and the presets over it."""

from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tests.unit.tuning.fakes import INFO
from tuibench.errors import UsageError
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.settings import ServerVariable, SettingTopic
from tuibench.tuning.catalogue import preset_lookup, setting_lookup
from tuibench.tuning.catalogue.preset_lookup import BUILTIN_PRESETS
from tuibench.tuning.catalogue.setting_lookup import (
    SETTING_ALIASES,
    SETTINGS,
    SETTINGS_BY_NAME,
    SettingScope,
    ValueKind,
)

FLUSH_LOG = SETTINGS_BY_NAME["innodb_flush_log_at_trx_commit"]
SYNC_BINLOG = SETTINGS_BY_NAME["sync_binlog"]
NUMBERS = [setting for setting in SETTINGS if setting.kind in (ValueKind.INTEGER, ValueKind.SIZE)]


def server(flavour: Flavour, version: str) -> ServerInfo:
    return msgspec.structs.replace(INFO, flavour=flavour, version=version)


MARIADB, MYSQL = server(Flavour.MARIADB, "10.11.19"), server(Flavour.MYSQL, "9.7.4")
OLD = (server(Flavour.MARIADB, "10.5.9"), server(Flavour.MYSQL, "5.7.44"), server(Flavour.MYSQL, "8.0.36"))
SERVERS = (MARIADB, MYSQL, *OLD)


@pytest.mark.parametrize("name", ["sync_binlog", "SYNC_BINLOG", " sync-binlog "])
def test_a_setting_is_found_however_it_is_spelled(name: str) -> None:
    assert setting_lookup.find_setting(name) is SYNC_BINLOG


def test_other_names_lead_to_settings() -> None:
    for name, meant in SETTING_ALIASES.items():
        assert setting_lookup.find_setting(name) is SETTINGS_BY_NAME[meant]
        assert name not in SETTINGS_BY_NAME


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sync_binlgo", "did you mean 'sync_binlog'?"), ("zzz", "see tuibench settings list")],
)
def test_an_unknown_setting_names_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        setting_lookup.find_setting(name)
    assert caught.value.hint == hint


@given(st.sampled_from(NUMBERS), st.sampled_from(SERVERS), st.integers(-(10**30), 10**30))
def test_a_number_is_taken_within_the_limits_and_answered_with_the_nearest_outside(
    setting: setting_lookup.Setting, here: ServerInfo, number: int
) -> None:
    support = setting.support(here)
    if support is None:
        with pytest.raises(UsageError, match="cannot be changed here"):
            setting_lookup.canonical_value(setting, here, str(number))
        return
    if support.low <= number <= support.high:
        assert setting_lookup.canonical_value(setting, here, f" {number} ") == str(number)
        return
    with pytest.raises(UsageError) as caught:
        setting_lookup.canonical_value(setting, here, str(number))
    nearest = caught.value.hint.removeprefix("the nearest is ")
    assert nearest in (str(support.low), str(support.high))
    assert setting_lookup.canonical_value(setting, here, nearest) == nearest


@pytest.mark.parametrize("text", ["", "off", "1.5", "1_0", "0x1", "1; DROP TABLE t", "٣"])
def test_what_is_not_a_whole_number_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="whole numbers from 0 to 3"):
        setting_lookup.canonical_value(FLUSH_LOG, MARIADB, text)


@for_each(
    ("name", "text", "said"),
    [
        ("innodb_buffer_pool_size", "256M", "268435456"),
        ("innodb_buffer_pool_size", "1 GiB", "1073741824"),
        ("innodb_buffer_pool_size", "6mb", "6291456"),
        ("innodb_buffer_pool_size", "5242880", "5242880"),
        ("long_query_time", "0.5", "0.500000"),
        ("long_query_time", ".25", "0.250000"),
        ("long_query_time", "10", "10.000000"),
        ("slow_query_log", "1", "ON"),
        ("slow_query_log", "False", "OFF"),
        ("transaction_isolation", "read committed", "READ-COMMITTED"),
        ("transaction_isolation", "Repeatable_Read", "REPEATABLE-READ"),
        ("innodb_doublewrite", "detect_only", "DETECT_ONLY"),
        ("innodb_doublewrite", "DETECT_AND_RECOVER", "ON"),
        ("innodb_doublewrite", "on", "ON"),
    ],
)
def test_values_as_people_write_them_and_as_the_server_says_them(name: str, text: str, said: str) -> None:
    assert setting_lookup.canonical_value(SETTINGS_BY_NAME[name], MYSQL, text) == said


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("innodb_buffer_pool_size", "256X", "sizes from 5 MiB up"),
        ("innodb_buffer_pool_size", "1.5G", "sizes from 5 MiB up"),
        ("long_query_time", "-1", "seconds from 0 to 31536000"),
        ("long_query_time", ".", "seconds from 0"),
        ("long_query_time", "1e3", "seconds from 0"),
        ("long_query_time", "nan", "seconds from 0"),
        ("slow_query_log", "maybe", "on or off"),
        ("transaction_isolation", "snapshot", "one of READ-UNCOMMITTED, READ-COMMITTED"),
        ("innodb_doublewrite", "OFF", "one of ON, DETECT_ONLY on MySQL"),
    ],
)
def test_what_cannot_be_a_value_is_refused_with_what_can(name: str, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        setting_lookup.canonical_value(SETTINGS_BY_NAME[name], MYSQL, text)


def test_three_is_mariadbs_own() -> None:
    assert setting_lookup.canonical_value(FLUSH_LOG, MARIADB, "3") == "3"
    with pytest.raises(UsageError) as caught:
        setting_lookup.canonical_value(FLUSH_LOG, MYSQL, "3")
    assert caught.value.hint == "the nearest is 2"


@pytest.mark.parametrize(
    ("name", "here", "why"),
    [
        ("binlog_order_commits", MARIADB, "only MySQL 5.6 and later has it; this is MariaDB 10.11.19"),
        ("innodb_redo_log_capacity", server(Flavour.MYSQL, "8.0.28"), "MySQL has it since 8.0.30; this is"),
        ("innodb_log_file_size", MYSQL, "MySQL has it only before 8.0.30; this is MySQL 9.7.4"),
        (
            "innodb_log_file_size",
            server(Flavour.MYSQL, "5.7.44"),
            "it is read-only on MySQL 5.7.44: changing it requires a",
        ),
        (
            "innodb_log_file_size",
            server(Flavour.MARIADB, "10.6.4"),
            "and dynamic since 10.9: changing it requires a restart",
        ),
        (
            "innodb_doublewrite",
            server(Flavour.MYSQL, "8.0.28"),
            "dynamic since 8.0.30: changing it requires a restart",
        ),
        ("innodb_thread_concurrency", MARIADB, "MariaDB has it only before 10.6; this is MariaDB 10.11.19"),
        ("innodb_thread_concurrency", server(Flavour.MARIADB, "10.5.9"), ""),
        ("innodb_log_file_size", MARIADB, ""),
        ("innodb_redo_log_capacity", MYSQL, ""),
    ],
)
def test_why_a_version_lacks_a_setting(name: str, here: ServerInfo, why: str) -> None:
    found = setting_lookup.unsupported_reason(SETTINGS_BY_NAME[name], here)
    assert why in found
    assert bool(found) is bool(why)


@pytest.mark.parametrize(
    ("setting", "value", "at_risk", "words"),
    [
        (FLUSH_LOG, "0", True, "lost in any crash"),
        (FLUSH_LOG, "1", False, "no commit is lost"),
        (FLUSH_LOG, "2", True, "if the host crashes"),
        (FLUSH_LOG, "3", False, "no commit is lost"),
        (SYNC_BINLOG, "0", True, "left to the OS"),
        (SYNC_BINLOG, "1", False, "no event is lost"),
        (SYNC_BINLOG, "250", True, "every 250 commits"),
        (SETTINGS_BY_NAME["innodb_buffer_pool_size"], "268435456", False, "256 MiB of pages"),
        (SETTINGS_BY_NAME["long_query_time"], "0.500000", False, "longer than 0.5 s"),
        (SETTINGS_BY_NAME["sql_log_bin"], "OFF", True, "not written to the binary log"),
    ],
)
def test_values_in_words(setting: setting_lookup.Setting, value: str, at_risk: bool, words: str) -> None:
    state = setting_lookup.setting_state(setting, MARIADB, value, "1")
    assert state.at_risk is at_risk
    assert words in state.meaning
    assert state.changed is (value != "1")


def test_a_setting_that_the_server_lacks_says_nothing_of_a_value() -> None:
    state = setting_lookup.setting_state(SYNC_BINLOG, MARIADB, "", "", "MariaDB 4 does not show it")
    assert (state.meaning, state.at_risk, state.changed) == ("", False, False)
    assert state.unavailable == "MariaDB 4 does not show it"


@for_each("setting", SETTINGS)
def test_an_entry_is_whole(setting: setting_lookup.Setting) -> None:
    """Each has a risk in a sentence, counters, and offers values that it takes and can put in words."""
    assert setting.risk.endswith(".")
    assert setting.counters
    assert setting.needs or setting.name == "transaction_isolation"
    assert setting.topic.heading
    assert set(setting.tried or ()) <= set(setting.offered)
    assert not setting.acts_with.keys() - SETTINGS_BY_NAME.keys() - set(ServerVariable) - {"thread_handling"}
    assert any(setting.support(here) for here in (MARIADB, MYSQL))
    for here in SERVERS:
        support = setting.support(here)
        if support is None:
            continue
        state = setting_lookup.setting_state(setting, here, "", "")
        assert state.only == ""
        assert len(state.choices) >= 2
        assert set(state.risky) <= set(state.choices)
        assert all(
            setting_lookup.canonical_value(setting, here, choice) == choice for choice in state.choices
        )
        if setting.kind in (ValueKind.INTEGER, ValueKind.SIZE, ValueKind.DECIMAL):
            assert Decimal(support.low) < Decimal(support.high)


def test_there_are_sixty_on_each_flavour_and_topics_are_in_one_piece() -> None:
    for here in (MARIADB, MYSQL):
        dynamic = [setting for setting in SETTINGS if not setting_lookup.unsupported_reason(setting, here)]
        assert len(dynamic) >= 60
    topics = [setting.topic for setting in SETTINGS]
    assert [topic for topic, before in zip(topics, [None, *topics], strict=False) if topic != before] == list(
        SettingTopic
    )


def test_a_flavour_may_write_a_value_in_its_own_way() -> None:
    lwm = SETTINGS_BY_NAME["innodb_adaptive_flushing_lwm"]
    assert setting_lookup.canonical_value(lwm, MARIADB, "30") == "30.000000"
    assert setting_lookup.canonical_value(lwm, MYSQL, "30") == "30"
    assert lwm.meaning("30.000000") == lwm.meaning("30")
    with pytest.raises(UsageError, match="percentages from 0 to 70"):
        setting_lookup.canonical_value(lwm, MARIADB, "71")


def test_only_the_workloads_own_settings_stay_off_the_server() -> None:
    own = {setting.name for setting in SETTINGS if setting.scope is SettingScope.WORKLOAD}
    assert own == {"sql_log_bin", "transaction_isolation"}


@pytest.mark.parametrize(
    ("flavour", "version", "name", "needed"),
    [
        (Flavour.MARIADB, (10, 4, 30), "sync_binlog", ("SUPER",)),
        (Flavour.MARIADB, (10, 11, 19), "sync_binlog", ("BINLOG ADMIN", "SUPER")),
        (Flavour.MARIADB, (11, 4, 2), "sync_binlog", ("BINLOG ADMIN",)),
        (Flavour.MARIADB, (10, 11, 19), "innodb_flush_log_at_trx_commit", ("SUPER",)),
        (Flavour.MARIADB, (10, 11, 19), "max_connections", ("CONNECTION ADMIN", "SUPER")),
        (Flavour.MYSQL, (5, 7, 44), "sync_binlog", ("SUPER",)),
        (Flavour.MYSQL, (9, 7, 4), "max_connections", ("SYSTEM_VARIABLES_ADMIN", "SUPER")),
        (Flavour.MYSQL, (8, 0, 21), "innodb_redo_log_enabled", ("INNODB_REDO_LOG_ENABLE",)),
        (
            Flavour.MYSQL,
            (9, 7, 4),
            "sql_log_bin",
            ("SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN", "SUPER"),
        ),
        (Flavour.MYSQL, (9, 7, 4), "transaction_isolation", ()),
    ],
)
def test_privileges_by_flavour_and_version(
    flavour: Flavour, version: tuple[int, ...], name: str, needed: tuple[str, ...]
) -> None:
    assert SETTINGS_BY_NAME[name].privileges(flavour, version) == needed


def test_presets_are_valid_on_both_flavours_and_what_they_risk_is_said() -> None:
    for here in SERVERS:
        for preset, there in zip(
            BUILTIN_PRESETS, preset_lookup.presets_for_server(BUILTIN_PRESETS, here), strict=True
        ):
            assert there.values == {
                name: value for name, value in preset.values.items() if SETTINGS_BY_NAME[name].support(here)
            }
            assert list(there.values)[:2] == ["innodb_flush_log_at_trx_commit", "sync_binlog"]
    for preset in BUILTIN_PRESETS:
        risky = [setting_lookup.find_setting(name).at_risk(value) for name, value in preset.values.items()]
        assert any(risky) is (preset.name not in ("durable", "grouped", "batched"))
        assert preset.risk.endswith(".")


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'unsafe'"):
        preset_lookup.find_preset(BUILTIN_PRESETS, "unsave")
    assert preset_lookup.find_preset(BUILTIN_PRESETS, " Unsafe ").name == "unsafe"


def test_a_setting_of_the_other_flavour_says_whose_it_is() -> None:
    redo = setting_lookup.find_setting("innodb_redo_log_enabled")
    assert setting_lookup.setting_state(redo, MARIADB, "", "").only == "MySQL"
    assert setting_lookup.setting_state(redo, MYSQL, "ON", "ON").only == ""
