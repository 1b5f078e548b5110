"""The catalogue of settings: names, limits, access, privileges, presets."""

from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tests.unit.tuning.fakes import INFO, FakeServer
from tuibench.base.errors import SQLError, UsageError
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.settings import PresetState, ServerVariable, SettingTopic
from tuibench.mysql.info import global_privileges
from tuibench.tuning import catalogue, changer
from tuibench.tuning.catalogue import (
    BUILTIN_PRESETS,
    SETTING_ALIASES,
    SETTINGS,
    SETTINGS_BY_NAME,
    parse_grants,
)
from tuibench.tuning.connection import AdminConnection
from tuibench.tuning.setting import SettingScope, ValueKind

# The catalogue's words and limits, version by version, and the presets over it.


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
    assert catalogue.find_setting(name) is SYNC_BINLOG


def test_other_names_lead_to_settings() -> None:
    for name, meant in SETTING_ALIASES.items():
        assert catalogue.find_setting(name) is SETTINGS_BY_NAME[meant]
        assert name not in SETTINGS_BY_NAME


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sync_binlgo", "did you mean 'sync_binlog'?"), ("zzz", "see tuibench settings list")],
)
def test_an_unknown_setting_names_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        catalogue.find_setting(name)
    assert caught.value.hint == hint


@given(st.sampled_from(NUMBERS), st.sampled_from(SERVERS), st.integers(-(10**30), 10**30))
def test_a_number_is_taken_within_the_limits_and_answered_with_the_nearest_outside(
    setting: catalogue.Setting, here: ServerInfo, number: int
) -> None:
    support = setting.support(here)
    if support is None:
        with pytest.raises(UsageError, match="cannot be changed here"):
            catalogue.canonical_value(setting, here, str(number))
        return
    if support.low <= number <= support.high:
        assert catalogue.canonical_value(setting, here, f" {number} ") == str(number)
        return
    with pytest.raises(UsageError) as caught:
        catalogue.canonical_value(setting, here, str(number))
    nearest = caught.value.hint.removeprefix("the nearest is ")
    assert nearest in (str(support.low), str(support.high))
    assert catalogue.canonical_value(setting, here, nearest) == nearest


@pytest.mark.parametrize("text", ["", "off", "1.5", "1_0", "0x1", "1; DROP TABLE t", "٣"])
def test_what_is_not_a_whole_number_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="whole numbers from 0 to 3"):
        catalogue.canonical_value(FLUSH_LOG, MARIADB, text)


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
    assert catalogue.canonical_value(SETTINGS_BY_NAME[name], MYSQL, text) == said


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
        catalogue.canonical_value(SETTINGS_BY_NAME[name], MYSQL, text)


def test_three_is_mariadbs_own() -> None:
    assert catalogue.canonical_value(FLUSH_LOG, MARIADB, "3") == "3"
    with pytest.raises(UsageError) as caught:
        catalogue.canonical_value(FLUSH_LOG, MYSQL, "3")
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
    found = catalogue.unsupported_reason(SETTINGS_BY_NAME[name], here)
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
def test_values_in_words(setting: catalogue.Setting, value: str, at_risk: bool, words: str) -> None:
    state = catalogue.setting_state(setting, MARIADB, value, "1")
    assert state.at_risk is at_risk
    assert words in state.meaning
    assert state.changed is (value != "1")


def test_a_setting_that_the_server_lacks_says_nothing_of_a_value() -> None:
    state = catalogue.setting_state(SYNC_BINLOG, MARIADB, "", "", "MariaDB 4 does not show it")
    assert (state.meaning, state.at_risk, state.changed) == ("", False, False)
    assert state.unavailable == "MariaDB 4 does not show it"


@for_each("setting", SETTINGS)
def test_an_entry_is_whole(setting: catalogue.Setting) -> None:
    """Each has a risk in a sentence, counters, and offers values that it takes and can put in words."""
    assert setting.risk.endswith(".")
    assert setting.counters
    assert setting.needs or setting.name == "transaction_isolation"
    assert setting.topic.heading
    assert set(setting.tried or ()) <= set(setting.offered)
    assert not setting.acts_with.keys() - SETTINGS_BY_NAME.keys() - set(ServerVariable)
    assert any(setting.support(here) for here in SERVERS)
    for here in SERVERS:
        support = setting.support(here)
        if support is None:
            continue
        state = catalogue.setting_state(setting, here, "", "")
        assert state.only == ""
        assert len(state.choices) >= 2
        assert set(state.risky) <= set(state.choices)
        assert all(catalogue.canonical_value(setting, here, choice) == choice for choice in state.choices)
        if setting.kind in (ValueKind.INTEGER, ValueKind.SIZE, ValueKind.DECIMAL):
            assert Decimal(support.low) < Decimal(support.high)


def test_there_are_sixty_on_each_flavour_and_topics_are_in_one_piece() -> None:
    for here in (MARIADB, MYSQL):
        dynamic = [setting for setting in SETTINGS if not catalogue.unsupported_reason(setting, here)]
        assert len(dynamic) >= 60
    topics = [setting.topic for setting in SETTINGS]
    assert [topic for topic, before in zip(topics, [None, *topics], strict=False) if topic != before] == list(
        SettingTopic
    )


def test_a_flavour_may_write_a_value_in_its_own_way() -> None:
    lwm = SETTINGS_BY_NAME["innodb_adaptive_flushing_lwm"]
    assert catalogue.canonical_value(lwm, MARIADB, "30") == "30.000000"
    assert catalogue.canonical_value(lwm, MYSQL, "30") == "30"
    assert lwm.meaning("30.000000") == lwm.meaning("30")
    with pytest.raises(UsageError, match="percentages from 0 to 70"):
        catalogue.canonical_value(lwm, MARIADB, "71")


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


OF_ISOLATION = ("strict", "default")


def test_presets_of_isolation_differ_by_what_they_allow() -> None:
    isolation = SETTINGS_BY_NAME["transaction_isolation"]
    values = [preset.values for preset in BUILTIN_PRESETS if preset.name in OF_ISOLATION]
    allowed = [isolation.allows.get(each["transaction_isolation"], "") for each in values]
    assert allowed == ["", "lost updates, write skews"]


def test_presets_are_valid_on_both_flavours_and_what_they_risk_is_said() -> None:
    for here in SERVERS:
        for preset, there in zip(
            BUILTIN_PRESETS, catalogue.presets_for_server(BUILTIN_PRESETS, here), strict=True
        ):
            assert there.values == {
                name: value for name, value in preset.values.items() if SETTINGS_BY_NAME[name].support(here)
            }
            if preset.name not in OF_ISOLATION:
                assert list(there.values)[:2] == ["innodb_flush_log_at_trx_commit", "sync_binlog"]
    for preset in BUILTIN_PRESETS:
        risky = [catalogue.find_setting(name).at_risk(value) for name, value in preset.values.items()]
        assert any(risky) is (preset.name not in ("durable", "grouped", "batched", *OF_ISOLATION))
        assert preset.risk.endswith(".")


def test_an_unknown_preset_is_told_all_of_them_and_no_guess() -> None:
    with pytest.raises(UsageError, match=r"no preset 'safe' \(valid: durable, .*unsafe, .*\)"):
        catalogue.find_preset(BUILTIN_PRESETS, "safe")
    assert catalogue.find_preset(BUILTIN_PRESETS, " Unsafe ").name == "unsafe"


def test_a_setting_of_the_other_flavour_says_whose_it_is() -> None:
    redo = catalogue.find_setting("innodb_redo_log_enabled")
    assert catalogue.setting_state(redo, MARIADB, "", "").only == "MySQL"
    assert catalogue.setting_state(redo, MYSQL, "ON", "ON").only == ""


# What SHOW GRANTS means for a setting, and how a refusal reads. The lines are the servers' own.


ACCESS_MYSQL = msgspec.structs.replace(INFO, flavour=Flavour.MYSQL, version="9.7.4")


@pytest.mark.parametrize(
    ("lines", "held"),
    [
        (["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"], {"ALL"}),
        (["GRANT BINLOG ADMIN ON *.* TO `b`@`localhost`"], {"BINLOG ADMIN"}),
        (["GRANT SELECT, SUPER ON *.* TO `s`@`%`", "GRANT `boss` TO `s`@`%`"], {"SELECT", "SUPER"}),
        (["GRANT USAGE ON *.* TO `r`@`%`", "GRANT SUPER ON *.* TO `boss`"], {"USAGE", "SUPER"}),
        (["GRANT ALL PRIVILEGES ON `sbtest`.* TO `u`@`%`", "GRANT PROXY ON ``@`%` TO `u`@`%`"], set()),
        (["GRANT SUPER ON `*`.* TO `u`@`%`", "REVOKE SUPER ON *.* FROM `u`@`%`"], set()),
    ],
)
def test_global_privileges(lines: list[str], held: set[str]) -> None:
    assert global_privileges(lines) == held


def test_the_missing_privilege_is_named() -> None:
    assert catalogue.missing_privilege(SYNC_BINLOG, INFO, frozenset({"BINLOG ADMIN"})) == ""
    assert catalogue.missing_privilege(FLUSH_LOG, INFO, frozenset({"BINLOG ADMIN"})).endswith(
        "privilege SUPER"
    )
    reason = catalogue.missing_privilege(FLUSH_LOG, ACCESS_MYSQL, frozenset({"USAGE"}))
    assert reason.endswith("it needs the privilege SYSTEM_VARIABLES_ADMIN or SUPER")


async def test_reasons_why_settings_cannot_be_changed() -> None:
    server = FakeServer()
    del server.settings["innodb_flush_log_at_timeout"]
    server.read_only = {"sync_binlog"}
    server.grants = ["GRANT SELECT ON *.* TO `u`@`%`"]
    reasons = await catalogue.unavailable_settings(AdminConnection(server.connect), INFO)
    privilege = "this login cannot change it: it needs the privilege "
    expected = {
        "binlog_order_commits": "only MySQL 5.6 and later has it; this is MariaDB 10.11.19",
        "innodb_flush_log_at_timeout": "MariaDB 10.11.19 does not have it here",
        "innodb_flush_log_at_trx_commit": privilege + "SUPER",
        "innodb_redo_log_enabled": "only MySQL 8.0.21 and later has it; this is MariaDB 10.11.19",
        "innodb_thread_concurrency": "MariaDB has it only before 10.6; this is MariaDB 10.11.19",
        "sql_log_bin": privilege + "BINLOG ADMIN or SUPER",
        "sync_binlog": "it is read-only on this server: changing it requires a restart",
    }
    assert {name: reasons[name] for name in expected} == expected
    assert "transaction_isolation" not in reasons
    assert not any(sql.startswith("SET") for sql in server.sent)


async def test_a_value_that_only_a_restart_changes() -> None:
    server = FakeServer(innodb_doublewrite="OFF")
    reasons = await catalogue.unavailable_settings(AdminConnection(server.connect), ACCESS_MYSQL)
    assert reasons["innodb_doublewrite"] == "it is OFF; changing that requires a restart"
    server.settings["innodb_doublewrite"] = "DETECT_ONLY"
    assert "innodb_doublewrite" not in await catalogue.unavailable_settings(
        AdminConnection(server.connect), ACCESS_MYSQL
    )


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (1227, "this login cannot change sync_binlog (error 1227)", "SYSTEM_VARIABLES_ADMIN or SUPER"),
        (1193, "MySQL 9.7.4 has no variable sync_binlog (error 1193)", "another setting"),
        (1238, "sync_binlog is read-only on this server (error 1238)", "restart"),
        (1231, "MySQL 9.7.4 does not accept 7 for sync_binlog (error 1231)", "0 to 4294967295"),
        (1210, "MySQL 9.7.4 does not accept 7 for sync_binlog: its words (error 1210)", ""),
        (3577, "MySQL 9.7.4 refused to set sync_binlog to 7: its words (error 3577)", ""),
    ],
)
def test_refusals_in_words(code: int, message: str, hint: str) -> None:
    error = changer.explain_refusal(SQLError(code, "its words"), SYNC_BINLOG, "7", ACCESS_MYSQL)
    assert (error.code, error.message) == (code, message)
    assert hint in error.hint


# The user's presets: read strictly, and what is wrong is named by file, key and nearest name.


NIGHT = """
[presets.night]
settings = { sync_binlog = 0, long_query_time = 0.5, slow_query_log = true, innodb_buffer_pool_size = "1G" }
risk = "The latest of the binary log."
"""
PRESET_LOOKUP_MYSQL = msgspec.structs.replace(INFO, flavour=Flavour.MYSQL, version="9.7.4")


def test_user_presets_follow_the_built_in_ones(tuibench_home: Path) -> None:
    assert catalogue.all_presets() == BUILTIN_PRESETS
    folder = tuibench_home / "config"
    folder.mkdir()
    (folder / "config.toml").write_text(NIGHT)
    *ours, night = catalogue.all_presets()
    assert tuple(ours) == BUILTIN_PRESETS
    assert (night.name, night.risk) == ("night", "The latest of the binary log.")
    (here,) = catalogue.presets_for_server([night], PRESET_LOOKUP_MYSQL)
    assert here.values == {
        "sync_binlog": "0",
        "long_query_time": "0.500000",
        "slow_query_log": "ON",
        "innodb_buffer_pool_size": "1073741824",
    }


def test_a_setting_that_this_server_lacks_keeps_its_value_for_the_one_that_has_it() -> None:
    preset = PresetState(name="x", values={"binlog_order_commits": "off"}, risk="")
    assert catalogue.presets_for_server([preset], INFO)[0].values == {"binlog_order_commits": "off"}
    assert catalogue.presets_for_server([preset], PRESET_LOOKUP_MYSQL)[0].values == {
        "binlog_order_commits": "OFF"
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[presets", "c.toml: not valid TOML: "),
        ("[preset.x]", "c.toml: preset: unknown key (did you mean 'presets'?)"),
        ("presets = 3", "c.toml: presets: a table for each preset, not a number"),
        ("[presets.unsafe]\nsettings = {sync_binlog = 1}", "c.toml: presets.unsafe: unsafe is built in"),
        ("[presets.'Two Words']", "c.toml: presets.Two Words: a preset's name is small letters"),
        ("[presets.x]\nsetings = {}", "c.toml: presets.x.setings: unknown key (did you mean 'settings'?)"),
        ("[presets.x]\nrisk = 'r'", "c.toml: presets.x: object missing required field `settings`"),
        ("presets.x = 1", "c.toml: presets.x: expected `object`, got `int`"),
        ("[presets.x]\nsettings = {}", "c.toml: presets.x.settings: a preset has at least one setting"),
        ("[presets.x]\nsettings = {sync_binlog = [1]}", "c.toml: presets.x.settings: expected "),
        ("[presets.x]\nsettings = {sync_binlog = 0}\nrisk = 1", "c.toml: presets.x.risk: expected `str`"),
        (
            "[presets.x]\nsettings = {sync_binlgo = 0}",
            "c.toml: presets.x.settings.sync_binlgo: 'sync_binlgo' is not a setting that tuibench changes "
            "(did you mean 'sync_binlog'?)",
        ),
        (
            "[presets.x]\nsettings = {innodb_flush_log_at_trx_commit = 7}",
            "c.toml: presets.x.settings.innodb_flush_log_at_trx_commit: innodb_flush_log_at_trx_commit takes "
            "whole numbers from 0 to 2 on MySQL, not '7' (the nearest is 2)",
        ),
    ],
)
def test_faults_are_named(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        catalogue.all_presets(tmp_path / "c.toml")
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(fault)


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.mkdir()
    with pytest.raises(UsageError, match=r"cannot read the configuration .*config.toml"):
        catalogue.all_presets(path)


# Two settings of which one limits the other: no order of changes ever breaks the limit.


LOWER, UPPER = catalogue.LIMIT_PAIRS[0]
VALID = st.tuples(st.integers(100, 9999), st.integers(100, 9999)).map(sorted)


@given(VALID, VALID, st.booleans())
def test_each_step_from_one_valid_pair_to_another_keeps_the_limit(
    before: list[int], after: list[int], upper_first: bool
) -> None:
    now = {LOWER: str(before[0]), UPPER: str(before[1])}
    wanted = {LOWER: str(after[0]), "sync_binlog": "0", UPPER: str(after[1])}
    if upper_first:
        wanted = dict(reversed(wanted.items()))
    order = catalogue.order_by_limits(wanted, now)
    assert sorted(order) == sorted(wanted)
    assert order[1] == "sync_binlog"
    for name in order:
        catalogue.check_pair_limit(name, wanted[name], now.get(catalogue.paired_setting(name) or ""))
        now[name] = wanted[name]


def test_what_breaks_the_limit_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match=f"{LOWER} may not be above {UPPER}, which is 2000 .raise {UPPER}"):
        catalogue.check_pair_limit(LOWER, "2001", "2000")
    with pytest.raises(UsageError, match=f"{UPPER} may not be below {LOWER}, which is 200 .lower {LOWER}"):
        catalogue.check_pair_limit(UPPER, "199", "200")
    catalogue.check_pair_limit(LOWER, "2000", "2000")
    catalogue.check_pair_limit(LOWER, "2000", None)
    catalogue.check_pair_limit("sync_binlog", "2000", "1")
    assert catalogue.paired_setting("sync_binlog") is None


# What SHOW GRANTS grants: everywhere, on the one database, on parts of it.


USAGE = "GRANT USAGE ON *.* TO `app`@`%` IDENTIFIED BY PASSWORD '*49'"


@pytest.mark.parametrize(
    ("line", "lacking"),
    [
        ("GRANT ALL PRIVILEGES ON *.* TO `app`@`%` WITH GRANT OPTION", ()),
        ("GRANT SELECT, INSERT ON *.* TO `app`@`%`", ("DELETE",)),
        ("GRANT ALL PRIVILEGES ON `sbtest`.* TO `app`@`%`", ()),
        ("GRANT SELECT, DELETE ON `sbtest`.* TO `app`@`%`", ("INSERT",)),
        (r"GRANT ALL PRIVILEGES ON `sb\_test`.* TO `app`@`%`", ("SELECT", "INSERT", "DELETE")),
        ("GRANT ALL PRIVILEGES ON `sb_es%`.* TO `app`@`%`", ()),
        ("GRANT ALL PRIVILEGES ON `sbtest2`.* TO `app`@`%`", ("SELECT", "INSERT", "DELETE")),
        ("GRANT ALL PRIVILEGES ON `sbtest`.`sbtest1` TO `app`@`%`", ("SELECT", "INSERT", "DELETE")),
        ("GRANT `role`@`%` TO `app`@`%`", ("SELECT", "INSERT", "DELETE")),
        ("", ("SELECT", "INSERT", "DELETE")),
    ],
)
def test_what_is_lacking(line: str, lacking: tuple[str, ...]) -> None:
    assert parse_grants([USAGE, line], "sbtest").lacks(("SELECT", "INSERT", "DELETE")) == lacking


def test_several_lines_add_up() -> None:
    lines = [USAGE, "GRANT SELECT ON `sbtest`.* TO `app`@`%`", "GRANT DELETE ON `%`.* TO `role`"]
    assert parse_grants(lines, "sbtest").lacks(("SELECT", "DELETE")) == ()


@pytest.mark.parametrize(("table", "partly"), [("`sbtest`.`t`", True), ("`other`.`t`", False)])
def test_rights_on_single_tables_are_noticed(table: str, partly: bool) -> None:
    assert parse_grants([f"GRANT SELECT (`id`), INSERT ON {table} TO `app`@`%`"], "sbtest").partly == partly


def test_global_privileges_and_the_account() -> None:
    grants = parse_grants(["GRANT PROCESS, BINLOG ADMIN ON *.* TO `app`@`10.%` WITH GRANT OPTION"], "sbtest")
    assert (grants.may("PROCESS"), grants.may("BINLOG ADMIN", "X"), grants.may("SUPER")) == (
        True,
        True,
        False,
    )
    assert grants.account == "`app`@`10.%`"
