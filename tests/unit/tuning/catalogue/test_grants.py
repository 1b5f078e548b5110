"""What SHOW GRANTS grants: everywhere, on the one database, on parts of it."""

import pytest

from tuibench.tuning.catalogue.access import parse_grants

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
