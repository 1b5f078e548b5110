"""What SHOW GRANTS means for a setting, and how a refusal reads. The lines are the servers' own."""

import msgspec
import pytest

from tests.unit.tuning.fakes import INFO, FakeServer
from tuibench.errors import SQLError
from tuibench.model.server import Flavour
from tuibench.tuning.admin_connection import AdminConnection
from tuibench.tuning.catalogue import access
from tuibench.tuning.catalogue.setting_lookup import SETTINGS_BY_NAME
from tuibench.tuning.change import refusals

MYSQL = msgspec.structs.replace(INFO, flavour=Flavour.MYSQL, version="9.7.4")
FLUSH_LOG = SETTINGS_BY_NAME["innodb_flush_log_at_trx_commit"]
SYNC_BINLOG = SETTINGS_BY_NAME["sync_binlog"]


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
    assert access.global_privileges(lines) == held


def test_the_missing_privilege_is_named() -> None:
    assert access.missing_privilege(SYNC_BINLOG, INFO, frozenset({"BINLOG ADMIN"})) == ""
    assert access.missing_privilege(FLUSH_LOG, INFO, frozenset({"BINLOG ADMIN"})).endswith("privilege SUPER")
    reason = access.missing_privilege(FLUSH_LOG, MYSQL, frozenset({"USAGE"}))
    assert reason.endswith("it needs the privilege SYSTEM_VARIABLES_ADMIN or SUPER")


async def test_reasons_why_settings_cannot_be_changed() -> None:
    server = FakeServer()
    del server.settings["innodb_flush_log_at_timeout"]
    server.read_only = {"sync_binlog"}
    server.grants = ["GRANT SELECT ON *.* TO `u`@`%`"]
    reasons = await access.unavailable_settings(AdminConnection(server.connect), INFO)
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
    reasons = await access.unavailable_settings(AdminConnection(server.connect), MYSQL)
    assert reasons["innodb_doublewrite"] == "it is OFF; changing that requires a restart"
    server.settings["innodb_doublewrite"] = "DETECT_ONLY"
    assert "innodb_doublewrite" not in await access.unavailable_settings(
        AdminConnection(server.connect), MYSQL
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
    error = refusals.explain_refusal(SQLError(code, "its words"), SYNC_BINLOG, "7", MYSQL)
    assert (error.code, error.message) == (code, message)
    assert hint in error.hint
