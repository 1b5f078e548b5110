"""Privileges of a login, from the lines of SHOW GRANTS, and the settings that it cannot change."""

import re
from collections.abc import Iterable

import msgspec

from tuibench.errors import SQLError
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.settings import SettingGroup
from tuibench.tuning.catalogue.lookup import SETTINGS, unsupported_reason
from tuibench.tuning.catalogue.setting import (
    Setting,
    SettingScope,
)
from tuibench.tuning.connection import AdminConnection

_GLOBAL_GRANT = re.compile(r"GRANT (.+?) ON \*\.\* TO ", re.IGNORECASE | re.DOTALL)


def global_privileges(grants: Iterable[str]) -> frozenset[str]:
    """The privileges on `*.*` that the lines of SHOW GRANTS name, in capitals. `ALL` means every one."""
    found: set[str] = set()
    for line in grants:
        match = _GLOBAL_GRANT.match(line.strip())
        if match:
            found.update(" ".join(name.split()).upper() for name in match[1].split(","))
    return frozenset("ALL" if name == "ALL PRIVILEGES" else name for name in found)


def missing_privilege(setting: Setting, server: ServerInfo, held: frozenset[str]) -> str:
    """Why a login with these privileges cannot change the setting; empty if it can."""
    needed = setting.privileges(server.flavour, server.version_tuple)
    if not needed or "ALL" in held or held.intersection(needed):
        return ""
    return "this login cannot change it: it needs the privilege " + " or ".join(needed)


WITHOUT_EFFECT = "this server has no InnoDB: it accepts the variable, which has no effect"


def needs_innodb(setting: Setting) -> bool:
    """True for settings of InnoDB, and for those of durability, which mean its log and the log beside it."""
    is_log = setting.group is SettingGroup.DURABILITY and setting.scope is not SettingScope.WORKLOAD
    return is_log or setting.name.startswith("innodb_")


async def unavailable_settings(control: AdminConnection, server: ServerInfo) -> dict[str, str]:
    """The settings that cannot be changed here, each with the reason."""
    names = [setting.name for setting in SETTINGS]
    present = await control.values(names) | await control.session_values()
    fixed = await control.read_only(names) if server.flavour == Flavour.MARIADB else set()
    held = await _held_privileges(control)
    has_innodb = await control.has_innodb()
    reasons = {
        setting.name: unsupported_reason(setting, server)
        or ("" if has_innodb or not needs_innodb(setting) else WITHOUT_EFFECT)
        or _read_only_reason(setting, server, present.get(setting.name), is_fixed=setting.name in fixed)
        or missing_privilege(setting, server, held)
        for setting in SETTINGS
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _read_only_reason(setting: Setting, server: ServerInfo, value: str | None, *, is_fixed: bool) -> str:
    """What keeps this one server from changing it, though its version could."""
    support = setting.support(server)
    if value is None:
        return f"{server.flavour} {server.version} does not have it here"
    if is_fixed:
        return "it is read-only on this server: changing it requires a restart"
    if support is not None and value in support.stuck:
        return f"it is {value}; changing that requires a restart"
    return ""


async def _held_privileges(control: AdminConnection) -> frozenset[str]:
    """The login's privileges; if the server does not report them, the change itself is the test."""
    try:
        return global_privileges(await control.grants())
    except SQLError:
        return frozenset({"ALL"})


EVERYTHING = "ALL"

_GRANT = re.compile(r"GRANT (.+?) ON (?:TABLE )?(\S+)\.(\S+) TO ", re.IGNORECASE | re.DOTALL)

_ACCOUNT = re.compile(r" TO ([`'\"][^`'\"]*[`'\"]@[`'\"][^`'\"]*[`'\"])")

_COLUMNS = re.compile(r"\([^)]*\)")


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """Privileges in capitals: on everything, on one database, and (`partly`) on some of its tables.

    `account` is the login as the server writes it.
    """

    everywhere: frozenset[str]
    database: frozenset[str]
    partly: bool
    account: str = ""

    def lacks(self, privileges: Iterable[str]) -> tuple[str, ...]:
        """Those of the privileges that the login has neither everywhere nor on the database."""
        held = self.everywhere | self.database
        return () if EVERYTHING in held else tuple(name for name in privileges if name not in held)

    def may(self, *any_of: str) -> bool:
        """True if the login has one of these global privileges."""
        return bool(self.everywhere.intersection((EVERYTHING, *any_of)))


def parse_grants(lines: Iterable[str], database: str) -> Grants:
    """What the lines grant, as far as it concerns the database."""
    known = list(lines)
    on_database: set[str] = set()
    partly = False
    for line in known:
        match = _GRANT.match(line.strip())
        if not match or match[2] == "*" or not _covers(_unquoted(match[2]), database):
            continue
        if match[3] == "*":
            on_database |= _privilege_names(match[1])
        else:
            partly = True
    return Grants(
        everywhere=global_privileges(known),
        database=frozenset(on_database),
        partly=partly,
        account=next((match[1] for line in known if (match := _ACCOUNT.search(line))), ""),
    )


def _privilege_names(text: str) -> set[str]:
    names = {" ".join(name.split()).upper() for name in _COLUMNS.sub("", text).split(",")}
    return {EVERYTHING if name == "ALL PRIVILEGES" else name for name in names}


def _unquoted(name: str) -> str:
    return name.strip("`'\"")


def _covers(pattern: str, database: str) -> bool:
    r"""Whether a grant's database pattern means this one: `%` and `_` are wild, unless after a backslash."""
    parts = re.split(r"(\\.|%|_)", pattern)
    wild = {"%": ".*", "_": "."}
    expression = "".join(
        wild.get(part, re.escape(part[1:] if part.startswith("\\") and len(part) == 2 else part))
        for part in parts
    )
    return re.fullmatch(expression, database) is not None
