"""Which settings this login cannot change on this server, and why, found out without trying."""

import re
from collections.abc import Iterable

from tuibench.errors import SQLError
from tuibench.model.server import Flavour, ServerInfo
from tuibench.tuning.catalogue import SETTINGS, Setting
from tuibench.tuning.control import Control

_GLOBAL_GRANT = re.compile(r"GRANT (.+?) ON \*\.\* TO ", re.IGNORECASE | re.DOTALL)


def global_privileges(grants: Iterable[str]) -> frozenset[str]:
    """The privileges on `*.*` that the lines of SHOW GRANTS name, in capitals. `ALL` stands for every one."""
    found: set[str] = set()
    for line in grants:
        match = _GLOBAL_GRANT.match(line.strip())
        if match:
            found.update(" ".join(name.split()).upper() for name in match[1].split(","))
    return frozenset("ALL" if name == "ALL PRIVILEGES" else name for name in found)


def missing_privilege(setting: Setting, server: ServerInfo, held: frozenset[str]) -> str:
    """Why a login with these privileges may not change the setting; empty if it may."""
    needed = setting.privileges(server.flavour, server.version_tuple)
    if not needed or "ALL" in held or held.intersection(needed):
        return ""
    return "this login may not change it: it needs the privilege " + " or ".join(needed)


async def unavailable(control: Control, server: ServerInfo) -> dict[str, str]:
    """The settings that cannot be changed here, each with the reason."""
    names = [setting.name for setting in SETTINGS]
    present = await control.values(names)
    fixed = await control.read_only(names) if server.flavour == Flavour.MARIADB else set()
    held = await _held(control)
    reasons = {}
    for setting in SETTINGS:
        if setting.name not in present or server.flavour not in setting.limits:
            reasons[setting.name] = f"{server.flavour} {server.version} has no such variable"
        elif setting.name in fixed:
            reasons[setting.name] = "it is read only on this server: only a restart changes it"
        else:
            reasons[setting.name] = missing_privilege(setting, server, held)
    return {name: reason for name, reason in reasons.items() if reason}


async def _held(control: Control) -> frozenset[str]:
    """The login's privileges; a server that does not tell them is asked by the change itself."""
    try:
        return global_privileges(await control.grants())
    except SQLError:
        return frozenset({"ALL"})
