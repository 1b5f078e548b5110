"""Which settings this login cannot change on this server, and why, found out without trying."""

import re
from collections.abc import Iterable

from tuibench.errors import SQLError
from tuibench.model.server import Flavour, ServerInfo
from tuibench.tuning.catalogue import SETTINGS, Setting, absence
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
    present = await control.values(names) | await control.session_values()
    fixed = await control.read_only(names) if server.flavour == Flavour.MARIADB else set()
    held = await _held(control)
    reasons = {
        setting.name: absence(setting, server)
        or _obstacle(setting, server, present.get(setting.name), is_fixed=setting.name in fixed)
        or missing_privilege(setting, server, held)
        for setting in SETTINGS
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _obstacle(setting: Setting, server: ServerInfo, value: str | None, *, is_fixed: bool) -> str:
    """What keeps this one server from changing it, though its version could."""
    form = setting.form(server)
    if value is None:
        return f"{server.flavour} {server.version} does not show it here"
    if is_fixed:
        return "it is read only on this server: only a restart changes it"
    if form is not None and value in form.stuck:
        return f"it is {value}, and only a restart changes that"
    return ""


async def _held(control: Control) -> frozenset[str]:
    """The login's privileges; a server that does not tell them is asked by the change itself."""
    try:
        return global_privileges(await control.grants())
    except SQLError:
        return frozenset({"ALL"})
